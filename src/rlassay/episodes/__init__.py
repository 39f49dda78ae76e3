"""Scores of single episodes and transitions, consistent with the scores of the whole dataset.

A score that is a mean over evaluated rows is computed here for every row, by the same function and the same critic, and
on the evaluated rows with the same random actions. So the mean over those rows is the dataset's score, and an
episode's score is the mean over its transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rlassay.data.cells import visited_cells
from rlassay.data.dataset import Dataset
from rlassay.episodes.every_row import EveryRow, cloning_surprise
from rlassay.errors import DatasetError, SettingsError
from rlassay.results.episode_table import Direction, EpisodeTable, write_episode_table

if TYPE_CHECKING:
    from rlassay.assay import Assessment

__all__ = [
    "EpisodeTable", "episode_scores", "known_scores", "rows_under_assay", "table_of", "transition_scores", "write_episode_table",
]  # fmt: skip

# What only an episode or a transition has, beside the registered scores that are means over rows.
OWN: dict[str, Direction] = {
    "return": "higher",
    "reward": "higher",
    "value_gap": "higher",  # Q(s,a) - E Q(s,a'), a' random
    "random_distance": "higher",  # E[(Q(s,a) - Q(s,a'))_+ + weight |a'-a|^2], the cost `gap`
    "bc_surprise": "lower",  # squared error of a policy cloned from other episodes
    "coverage": "higher",  # the episode's own share in the states that are covered
}
DEFAULT = (
    "return", "reward", "q", "advantage", "pd", "bwd", "value_gap", "random_distance", "bc_surprise", "coverage",
)  # fmt: skip
OF_EPISODES = ("return", "coverage")  # a transition has none


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
    from rlassay.assay import assess

    _refuse_unknown(scores)
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
    from rlassay.assay import assess

    _refuse_unknown(scores)
    assessment = assess(data, preset=preset, settings=settings, seed=seed, seeds=seeds)
    named = [name for name in DEFAULT if name not in OF_EPISODES] if scores is None else scores
    return dict(_available(assessment, named, rows_under_assay, skip=scores is None))


def table_of(assessment: Assessment, scores: Sequence[str] | None = None) -> EpisodeTable:
    """The table of a dataset that is under assay already."""
    _refuse_unknown(scores)
    data = assessment.data
    names = DEFAULT if scores is None else list(dict.fromkeys(scores))
    columns = dict(_available(assessment, names, _episode_values, skip=scores is None))
    directions: dict[str, Direction] = {name: _direction(assessment, name) for name in columns}
    return EpisodeTable(data.episode_starts, data.episode_lengths, columns, directions)


def known_scores() -> list[str]:
    """Every name that `--by` knows: our own, and each registered score that is a mean over rows."""
    from rlassay.scores import SCORES

    registered = [name for name, spec in SCORES.items() if spec.per in ("row", "anchor")]
    return list(dict.fromkeys([*DEFAULT, *registered]))


def _refuse_unknown(names: Sequence[str] | None) -> None:
    known = known_scores()
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise SettingsError("unknown episode score", allowed=known, got=unknown)


def _available(
    assessment: Assessment,
    names: Sequence[str],
    compute: Callable[[Assessment, str], np.ndarray],
    skip: bool,
) -> Iterator[tuple[str, np.ndarray]]:
    """Every score by name; one that the data cannot have is left out if `skip`, else refused."""
    from rlassay.assay.assessment import Unavailable

    for name in names:
        try:
            yield name, compute(assessment, name)
        except Unavailable as error:
            if not skip:
                raise DatasetError(
                    f"{name} cannot be computed: {error}",
                    remedy="name another score, such as coverage or, with continuous actions, bc_surprise",
                ) from None


def _direction(assessment: Assessment, name: str) -> Direction:
    from rlassay.scores import spec_of

    if name in OWN:
        return OWN[name]
    return spec_of(name, assessment.settings.transport.estimator).direction


# -- values ----------------------------------------------------------------------------------------------------------


def _episode_values(assessment: Assessment, name: str) -> np.ndarray:
    data = assessment.data
    if name == "coverage":
        return visited_cells(data, assessment.seeds[0]).shares()
    if name == "return":
        _require_rewards(data)
        return data.episode_returns
    return episode_means(data, rows_under_assay(assessment, name))


def episode_means(data: Dataset, values: np.ndarray) -> np.ndarray:
    """Mean over the known values of each episode, NaN where an episode has none."""
    known = ~np.isnan(values)
    counts = np.add.reduceat(known.astype(np.float64), data.episode_starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), data.episode_starts)
    return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)


def rows_under_assay(assessment: Assessment, name: str) -> np.ndarray:
    """One score of every transition of a dataset that is under assay already."""
    if name in OF_EPISODES:
        raise SettingsError(f"{name} belongs to episodes, not to transitions")
    if name == "reward":
        _require_rewards(assessment.data)
        return np.asarray(assessment.data.rewards, np.float64)
    _require_continuous(assessment.data)
    if name == "bc_surprise":
        return cloning_surprise(assessment)
    rows = [_every_row(assessment, member) for member in range(len(assessment.seeds))]
    if name in OWN:
        return np.mean([each.gaps[name] for each in rows], axis=0)
    return _mean_of_known([_registered(assessment, each, name) for each in rows])


def _mean_of_known(values: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over seeds; a row that only some seeds have scored takes the mean of those."""
    known = sum((~np.isnan(each)).astype(np.float64) for each in values)
    total = sum(np.nan_to_num(each, nan=0.0) for each in values)
    return np.divide(total, known, out=np.full(len(values[0]), np.nan), where=known > 0)


def _require_rewards(data: Dataset) -> None:
    from rlassay.assay.assessment import Unavailable

    if data.rewards is None:
        raise Unavailable("the data has no rewards")


def _require_continuous(data: Dataset) -> None:
    from rlassay.assay.assessment import Unavailable

    if data.discrete_actions:
        raise Unavailable("the actions are discrete")


def _every_row(assessment: Assessment, member: int) -> EveryRow:
    """Columns of every row, kept with the assessment because several scores read them."""
    kept = assessment.__dict__.setdefault("_every_row", {})
    if member not in kept:
        kept[member] = EveryRow(assessment, member)
    return kept[member]


def _registered(assessment: Assessment, rows: EveryRow, name: str) -> np.ndarray:
    """A registered score on every row; on the evaluated rows exactly what the dataset's score is made of."""
    from rlassay.assay.columns import column
    from rlassay.scores import SCORES, evaluate, spec_of

    spec = spec_of(name, assessment.settings.transport.estimator)
    values = np.full(len(assessment.data), np.nan)
    if spec.per == "anchor":
        result = assessment.transport("sinkhorn")[rows.member]
        values[assessment.problem_rows[result.rows]] = result.integrand
        return values
    if spec.needs == SCORES["bwd.tail"].needs:
        values[:] = rows.tail_integrand
        values[assessment.rows] = assessment.transport("tail")[rows.member].integrand
        return values
    if set(spec.needs) <= set(EveryRow.COLUMNS):
        values[:] = evaluate(spec, {need: rows.column(need) for need in spec.needs}).values
    scored = {need: column(assessment, need, rows.member) for need in spec.needs}
    values[assessment.rows] = evaluate(spec, scored).values
    return values
