"""The verbs: `score` makes a scorecard of one dataset, `compare` ranks several, `episode_scores` looks inside one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference, reference_of
from rlassay.errors import DatasetError, SettingsError
from rlassay.formats import load, with_extras
from rlassay.inspection.results import filled, flags
from rlassay.inspection.survey import survey
from rlassay.inspection.values import finite
from rlassay.results.card import Comparison, Scorecard
from rlassay.results.episodes import EpisodeTable
from rlassay.scoring.alike import differences
from rlassay.scoring.assessment import Assessment
from rlassay.scoring.card import describe, make_card
from rlassay.scoring.clock import Clock
from rlassay.scoring.compare import rank_cards, require_same_task
from rlassay.scoring.episodes import refuse_unknown, table_of, transitions_of
from rlassay.scoring.pooling import pooled_epsilons, shared_statistics
from rlassay.scoring.registry import ALL, FIRST_ASKED, resolve, spec_of
from rlassay.scoring.settings import Plan, Shared, plan, until_settled
from rlassay.scoring.stored import card_task, find_card, keep_card, told_again


def score(
    source: Any,
    *,
    preset: str = "default",
    seeds: int = 1,
    seed: int = 0,
    scores: Sequence[str] | None = None,
    reference: tuple[float, float] | None = None,
    settings: Mapping[str, Any] | None = None,
    env_id: str | None = None,
    read: Mapping[str, Any] | None = None,
    show_progress: bool = False,
    command: str | None = None,
    store: bool = False,
    refine: bool = False,
) -> Scorecard:
    """The scorecard of a dataset: anything that `rlassay.load` takes; `env_id` names its task if the file does not, `read` holds
    further options of `rlassay.load`.

    `scores` names some of the registered scores, or is "all"; by default it is `scoring.registry.FIRST_ASKED` (preset
    `default`) or all. With `store` the card is kept in the run store, and found there the next time. `reference` holds the returns that count as 0 and 1 in
    `relative` and `tq`. `settings` changes single settings of the preset, as `{"critic.steps": 20_000}`. `refine` rolls a clone
    out in a world learned from the data: half a minute more for 100,000 transitions.
    """
    names, chosen = asked_scores(scores, preset), until_settled(plan(preset, settings))
    reading = {"env_id": env_id} | dict(read or {})
    clock, numbers = Clock(), seed_numbers(seed, seeds)
    data = _load(source, clock, reading)
    given = [data], preset, seeds, seed, scores, reference, settings
    command = command or repeat_command(*given, more=["--refine"] if refine else [])
    scale = _reference(data, reference)
    task = card_task(data, chosen, names, numbers, scale, reading, refine) if store else None
    if task is not None and (found := find_card(task)) is not None:
        return told_again(found, describe(data), command, clock.seconds())
    assessment = Assessment(
        data, chosen, numbers, reference=scale, clock=clock, show_progress=show_progress
    )
    card = make_card(assessment, names, command, refine)
    if task is not None:
        keep_card(task, card)
    return card


def asked_scores(scores: Sequence[str] | None, preset: str) -> list[str]:
    """Preset `default` answers in seconds; the others compute whatever there is."""
    return resolve(scores, FIRST_ASKED if preset == "default" else None)


def assess(
    source: Any,
    *,
    preset: str = "default",
    seeds: int = 1,
    seed: int = 0,
    reference: tuple[float, float] | None = None,
    settings: Mapping[str, Any] | None = None,
    read: Mapping[str, Any] | None = None,
    show_progress: bool = False,
) -> Assessment:
    """The work behind `score`, for whoever needs rows instead of means: critic, transport and columns on demand."""
    clock = Clock()
    chosen = plan(preset, settings)
    data = _load(source, clock, read)
    return _assessment(data, chosen, seeds, seed, reference, clock, show_progress)


def score_with_episodes(
    source: Any,
    *,
    scores: Sequence[str] | None = None,
    preset: str = "default",
    seeds: int = 1,
    seed: int = 0,
    reference: tuple[float, float] | None = None,
    settings: Mapping[str, Any] | None = None,
    read: Mapping[str, Any] | None = None,
    show_progress: bool = False,
    refine: bool = False,
) -> tuple[Scorecard, EpisodeTable]:
    """The scorecard and the table of episodes, of the same critics."""
    names, chosen, clock = (
        asked_scores(scores, preset),
        until_settled(plan(preset, settings)),
        Clock(),
    )
    data = _load(source, clock, read)
    assessment = _assessment(data, chosen, seeds, seed, reference, clock, show_progress)
    given = [data], preset, seeds, seed, scores, reference, settings
    command = repeat_command(*given, more=["--refine"] if refine else [])
    return make_card(assessment, names, command, refine), table_of(assessment)


def episode_scores(
    data: Any,
    *,
    scores: Sequence[str] | None = None,
    preset: str = "default",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    seeds: int = 1,
) -> EpisodeTable:
    """Scores of every episode: the named ones, else all that the data allows. Means over `seeds` critics."""
    refuse_unknown(scores)
    return table_of(assess(data, preset=preset, settings=settings, seed=seed, seeds=seeds), scores)


def transition_scores(
    data: Any,
    *,
    scores: Sequence[str] | None = None,
    preset: str = "default",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    seeds: int = 1,
) -> dict[str, np.ndarray]:
    """The same for every transition, in the order of the rows; NaN where a score has no value."""
    refuse_unknown(scores)
    assessment = assess(data, preset=preset, settings=settings, seed=seed, seeds=seeds)
    return transitions_of(assessment, scores)


def compare(
    sources: Sequence[Any],
    *,
    preset: str = "default",
    seeds: int = 1,
    seed: int = 0,
    scores: Sequence[str] | None = None,
    reference: tuple[float, float] | None = None,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    show_progress: bool = False,
    command: str | None = None,
) -> Comparison:
    """Rank several datasets of one task with pooled standardisation, bounds, grid and epsilon.

    Scorecards may be given instead of data; they are ranked as they are, if their estimator, cost and epsilon agree.
    """
    if len(sources) < 2:
        raise SettingsError("a comparison needs two datasets or more", got=len(sources))
    cards = [source for source in sources if isinstance(source, Scorecard)]
    if cards:
        if len(cards) < len(sources):
            raise SettingsError(
                "scorecards and datasets cannot be mixed",
                remedy="compare the data, or cards of all of them",
            )
        return rank_cards(cards, force=force)
    names, chosen = resolve(scores), plan(preset, settings)
    clocks = [Clock() for _ in sources]
    datasets = []
    for source, clock in zip(sources, clocks, strict=True):
        datasets.append(_load(source, clock))
    require_same_task(datasets, force)
    given = datasets, preset, seeds, seed, scores, reference, settings
    command = command or repeat_command(*given, verb="compare")
    shared = shared_statistics(datasets)
    assessments = [
        _assessment(data, chosen, seeds, seed, reference, clock, show_progress, shared)
        for data, clock in zip(datasets, clocks, strict=True)
    ]
    _share_epsilons(assessments, names)
    cards = [make_card(each, names, command) for each in assessments]
    return rank_cards(cards, force=True, cautions=differences(datasets))


def _share_epsilons(assessments: list[Assessment], names: Sequence[str]) -> None:
    """One epsilon for all: one that moved with the data would break the order."""
    default = assessments[0].settings.transport.estimator
    wanted = {spec_of(name, default).estimator for name in names} - {None}
    able = [each for each in assessments if each.can_learn_values]
    if not wanted or not able:
        return
    epsilons = pooled_epsilons(able, sorted(str(name) for name in wanted))
    for each in able:
        each.share(replace(each.shared, epsilons=epsilons))


def _load(source: Any, clock: Clock, read: Mapping[str, Any] | None = None) -> Dataset:
    with clock.phase("load"):
        data = load(source, **(read or {}))
        _require_finite(data, read or {})
    if data.rewards is None:  # then times, tasks and successes beside the columns count
        return with_extras(data, source, **(read or {}))
    return data


def _require_finite(data: Dataset, reading: Mapping[str, Any]) -> None:
    for name in ("observations", "actions", "rewards"):
        rows = np.flatnonzero(survey(data).not_finite[name])
        if len(rows):
            where = f"{len(rows):,} rows, first row {rows[0]:,}"
            raise DatasetError(
                f"{name} of {data.origin.source} are not finite in {where}",
                remedy=filled(finite(data).remedy, data, reading),
            )
    if data.rewards is not None:
        _require_returns(data)


def _require_returns(data: Dataset) -> None:
    """Finite rewards may still sum to returns that are not, or have no variance."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(data.episode_returns).sum()
    if not np.isfinite(squares):
        raise DatasetError(
            f"the returns of {data.origin.source} are too large to be squared",
            remedy="divide its rewards by a constant",
        )


def _assessment(
    data: Dataset,
    chosen: Plan,
    seeds: int,
    seed: int,
    reference: tuple[float, float] | None,
    clock: Clock,
    show_progress: bool,
    shared: Shared | None = None,
) -> Assessment:
    return Assessment(
        data,
        chosen,
        seed_numbers(seed, seeds),
        shared=shared,
        reference=_reference(data, reference),
        clock=clock,
        show_progress=show_progress,
    )


def seed_numbers(seed: int, seeds: int) -> range:
    """`seeds` numbers from `seed` on."""
    if seeds < 1:
        raise SettingsError("the number of seeds is out of range", allowed="1 or more", got=seeds)
    return range(seed, seed + seeds)


def _reference(data: Dataset, given: tuple[float, float] | None) -> Reference | None:
    if given is None:
        return reference_of(data)
    low, high = (float(value) for value in given)
    if not low < high:
        raise SettingsError(
            "the reference returns are out of order",
            allowed="LOW,HIGH with LOW below HIGH",
            got=given,
        )
    return Reference(low, high, "given", horizon=int(data.episode_lengths.max()))


def repeat_command(
    datasets: Sequence[Dataset],
    preset: str,
    seeds: int,
    seed: int,
    scores: Sequence[str] | None,
    reference: tuple[float, float] | None,
    settings: Mapping[str, Any] | None,
    verb: str = "score",
    more: Sequence[str] = (),
) -> str:
    """The command line that makes the same card again; reading options that all datasets share are part of it."""
    words = ["rlassay", verb, *(data.origin.source for data in datasets)]
    reading = datasets[0].origin.reading
    if all(data.origin.reading == reading for data in datasets):
        words += flags(reading)
    words += ["--preset", preset]
    words += ["--seeds", str(seeds), "--seed", str(seed)]
    if scores is not None:
        named = [scores] if isinstance(scores, str) else scores
        words += ["--all"] if list(named) == [ALL] else ["--scores", ",".join(named)]
    if reference is not None:
        words += ["--reference", f"{reference[0]:g},{reference[1]:g}"]
    for key, value in (settings or {}).items():
        words += ["--set", f"{key}={_setting_text(value)}"]
    words += more
    return shlex.join(words)


def _setting_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
