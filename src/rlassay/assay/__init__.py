"""The facade: `score` makes a scorecard of one dataset, `compare` ranks several."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rlassay import runtime
from rlassay.assay.assessment import Assessment, pooled_epsilons, shared_statistics
from rlassay.assay.card import make_card
from rlassay.assay.clock import Clock
from rlassay.assay.compare import rank_cards, require_same_task
from rlassay.assay.settings import PRESETS, Plan, ScoreSettings, plan
from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference, reference_of
from rlassay.errors import DatasetError, SettingsError
from rlassay.results.card import Comparison, Scorecard
from rlassay.scores import resolve

__all__ = ["PRESETS", "Assessment", "Plan", "ScoreSettings", "assess", "compare", "plan", "score"]


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
) -> Scorecard:
    """The scorecard of a dataset: anything that `rlassay.load` takes; `env_id` names its task if the file does not, `read` holds
    further options of `rlassay.load`.

    `scores` names some of the registered scores, all by default. `reference` holds the returns that count as 0 and 1 in
    `relative` and `tq`. `settings` changes single settings of the preset, as `{"critic.steps": 20_000}`.
    """
    names = resolve(scores)
    chosen = plan(preset, settings)
    clock = Clock()
    data = _load(source, clock, {"env_id": env_id} | dict(read or {}))
    command = command or repeat_command([data], preset, seeds, seed, scores, reference, settings)
    assessment = _assessment(data, chosen, seeds, seed, reference, clock, show_progress)
    return make_card(assessment, names, command)


def assess(
    source: Any,
    *,
    preset: str = "default",
    seeds: int = 1,
    seed: int = 0,
    reference: tuple[float, float] | None = None,
    settings: Mapping[str, Any] | None = None,
    show_progress: bool = False,
) -> Assessment:
    """The work behind `score`, for whoever needs rows instead of means: critic, transport and columns on demand."""
    clock = Clock()
    chosen = plan(preset, settings)
    data = _load(source, clock)
    return _assessment(data, chosen, seeds, seed, reference, clock, show_progress)


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
    command = command or repeat_command(
        datasets, preset, seeds, seed, scores, reference, settings, verb="compare"
    )
    shared = shared_statistics(datasets)
    assessments = [
        _assessment(data, chosen, seeds, seed, reference, clock, show_progress, shared)
        for data, clock in zip(datasets, clocks, strict=True)
    ]
    _share_epsilons(assessments, names)
    return rank_cards([make_card(each, names, command) for each in assessments], force=True)


def _share_epsilons(assessments: list[Assessment], names: Sequence[str]) -> None:
    """One epsilon for all: one that moved with the data would break the order."""
    from dataclasses import replace

    default = assessments[0].settings.transport.estimator
    wanted = {default if name == "bwd" else name[4:] for name in names if name.startswith("bwd")}
    able = [each for each in assessments if can_learn_values(each.data)]
    if not wanted or not able:
        return
    epsilons = pooled_epsilons(able, sorted(wanted))
    for each in able:
        each.share(replace(each.shared, epsilons=epsilons))


def can_learn_values(data: Dataset) -> bool:
    """Rewards and continuous actions."""
    return data.rewards is not None and not data.discrete_actions


def _load(source: Any, clock: Clock, read: Mapping[str, Any] | None = None) -> Dataset:
    with _loading(clock):
        from rlassay.formats import load

        data = load(source, **(read or {}))
        _require_finite(data)
    return data


@contextmanager
def _loading(clock: Clock) -> Iterator[None]:
    runtime.keep_compiled_programs()
    with clock.phase("load"):
        yield


def _require_finite(data: Dataset) -> None:
    for name in ("observations", "actions", "rewards"):
        column = getattr(data, name)
        if column is not None and not np.isfinite(column).all():
            rows = np.flatnonzero(~np.isfinite(column.reshape(len(data), -1)).all(axis=1))
            raise DatasetError(
                f"{name} of {data.origin.source} are not finite in {len(rows):,} rows, first row {rows[0]:,}",
                remedy="`rlassay inspect` names the rows; drop or repair them",
            )


def _assessment(
    data, chosen: Plan, seeds: int, seed: int, reference, clock, show_progress, shared=None
) -> Assessment:  # fmt: skip
    if seeds < 1:
        raise SettingsError("the number of seeds is out of range", allowed="1 or more", got=seeds)
    return Assessment(
        data,
        chosen,
        range(seed, seed + seeds),
        shared=shared,
        reference=_reference(data, reference),
        clock=clock,
        show_progress=show_progress,
    )


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
    datasets: Sequence[Dataset], preset: str, seeds: int, seed: int, scores, reference, settings, *,
    verb: str = "score",
) -> str:  # fmt: skip
    """The command line that makes the same card again."""
    words = ["rlassay", verb, *(data.origin.source for data in datasets), "--preset", preset]
    words += ["--seeds", str(seeds), "--seed", str(seed)]
    if scores is not None:
        words += ["--scores", ",".join(scores)]
    if reference is not None:
        words += ["--reference", f"{reference[0]:g},{reference[1]:g}"]
    for key, value in (settings or {}).items():
        words += ["--set", f"{key}={_setting_text(value)}"]
    return shlex.join(words)


def _setting_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
