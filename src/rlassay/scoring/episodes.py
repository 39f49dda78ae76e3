"""Scores of single episodes and transitions, consistent with the scores of the whole dataset.

A score that is a mean over evaluated rows is computed here for every row, by the same function and the same critic, and
on the evaluated rows with the same random actions. So the mean over those rows is the dataset's score, and an
episode's score is the mean over its transitions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rlassay.data.cells import visited_cells
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError, SettingsError
from rlassay.motion import scores as movement
from rlassay.motion.length import adjust_for_length
from rlassay.motion.trajectories import motion_of
from rlassay.results.card import Direction
from rlassay.results.episodes import EpisodeTable
from rlassay.runtime import one_thread_a_product
from rlassay.scoring.assessment import Assessment
from rlassay.scoring.columns import COLUMNS
from rlassay.scoring.registry import ScoreSpec, row_values, spec_of
from rlassay.scoring.scores import SCORES
from rlassay.scoring.unavailable import Unavailable, no_rewards
from rlassay.words import suggest

# What only an episode or a transition has, beside the registered scores that are means over rows.
OWN: dict[str, Direction] = {
    "return": "higher",
    "reward": "higher",
    "value_gap": "higher",  # Q(s,a) - E Q(s,a'), a' random; of discrete actions over all of them
    "random_distance": "higher",  # E[(Q(s,a) - Q(s,a'))_+ + weight |a'-a|^2], the cost `gap`
    "bc_surprise": "lower",  # squared error of a policy cloned from other episodes
    "coverage": "higher",  # the episode's own share in the states that are covered
}
DEFAULT = (
    *("return", "reward", "q", "advantage", "pd", "bwd"),
    *("value_gap", "random_distance", "bc_surprise", "coverage"),
)
MOVEMENT = tuple(
    movement.known_names()
)  # need neither rewards nor a fit; computed where they are named
# The other two that need no reward; like those of movement they come without what they owe to the length as well.
LENGTH_ADJUSTED = tuple(f"{name}{movement.ADJUSTED}" for name in ("bc_surprise", "coverage"))
OF_EPISODES = ("return", "coverage", *LENGTH_ADJUSTED, *MOVEMENT)  # a transition has none


@one_thread_a_product()
def table_of(assessment: Assessment, scores: Sequence[str] | None = None) -> EpisodeTable:
    """The table of a dataset that is under assay already."""
    refuse_unknown(scores)
    data = assessment.whole
    names = DEFAULT if scores is None else list(dict.fromkeys(scores))
    moved = _movement(data, [name for name in names if name in MOVEMENT])
    plain = functools.cache(functools.partial(_episode_values, assessment))

    def values(_: Assessment, name: str) -> np.ndarray:
        if name in moved:
            return _known(moved[name])
        if name in LENGTH_ADJUSTED:
            return adjust_for_length(plain(_unadjusted(name)), data.episode_lengths)
        return plain(name)

    columns = dict(_available(assessment, names, values, skip=scores is None))
    directions: dict[str, Direction] = {name: _direction(assessment, name) for name in columns}
    return EpisodeTable(data.episode_starts, data.episode_lengths, columns, directions)


def _unadjusted(name: str) -> str:
    return name.removesuffix(movement.ADJUSTED)


def _movement(data: Dataset, names: Sequence[str]) -> dict[str, np.ndarray]:
    return movement.measure(motion_of(data), names) if names else {}


def _known(column: np.ndarray) -> np.ndarray:
    if not np.isfinite(column).any():
        raise Unavailable("movement", "no episode of this data has what it needs")
    return column


@one_thread_a_product()
def transitions_of(
    assessment: Assessment, scores: Sequence[str] | None = None
) -> dict[str, np.ndarray]:
    """The scores of every transition, in the order of the rows; NaN where a score has no value."""
    refuse_unknown(scores)
    named = [name for name in DEFAULT if name not in OF_EPISODES] if scores is None else scores
    return dict(_available(assessment, named, rows_under_assay, skip=scores is None))


def known_scores() -> list[str]:
    """Every name that `--by` knows: our own, each registered score that is a mean over rows, and those of movement."""
    registered = [name for name, spec in SCORES.items() if spec.per in ("row", "state", "anchor")]
    return list(dict.fromkeys([*DEFAULT, *registered, *LENGTH_ADJUSTED, *MOVEMENT]))


def refuse_unknown(names: Sequence[str] | None) -> None:
    """Before anything is fitted: names that no episode can have."""
    known = known_scores()
    unknown = [name for name in names or () if name not in known]
    if unknown:
        meant = suggest(unknown[0], known)
        raise SettingsError(f"unknown episode score{meant}", allowed=known, got=unknown)


def _available(
    assessment: Assessment,
    names: Sequence[str],
    compute: Callable[[Assessment, str], np.ndarray],
    skip: bool,
) -> Iterator[tuple[str, np.ndarray]]:
    """Every score by name; one that the data cannot have is left out if `skip`, else refused."""
    for name in names:
        try:
            yield name, compute(assessment, name)
        except Unavailable as error:
            if not skip:
                raise DatasetError(
                    f"{name} cannot be computed: {error.what}",
                    remedy="name another score, such as coverage",
                ) from None


def _direction(assessment: Assessment, name: str) -> Direction:
    if name in OWN or name in LENGTH_ADJUSTED:
        return OWN[_unadjusted(name)]
    if name in MOVEMENT:
        return movement.episode_score(name).direction
    return spec_of(name, assessment.settings.transport.estimator).direction


# -- values ----------------------------------------------------------------------------------------------------------


def _episode_values(assessment: Assessment, name: str) -> np.ndarray:
    data = assessment.whole
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
        _require_rewards(assessment.whole)
        return np.asarray(assessment.whole.rewards, np.float64)
    _require_every_row(assessment)
    if name == "bc_surprise":
        return _cloning_surprise(assessment)
    if name in OWN:
        return np.mean([rows.gaps[name] for rows in assessment.every_row], axis=0)
    spec = spec_of(name, assessment.settings.transport.estimator)
    members = range(len(assessment.seeds))
    return _mean_of_known([_registered(assessment, spec, member) for member in members])


def _mean_of_known(values: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over seeds; a row that only some seeds have scored takes the mean of those."""
    known = sum((~np.isnan(each)).astype(np.float64) for each in values)
    total = sum(np.nan_to_num(each, nan=0.0) for each in values)
    return np.divide(total, known, out=np.full(len(values[0]), np.nan), where=known > 0)


def _require_rewards(data: Dataset) -> None:
    if data.rewards is None:
        raise no_rewards()


def _require_every_row(assessment: Assessment) -> None:
    if assessment.sample is not None:
        raise Unavailable(
            "sampled", "the data does not fit into memory, and it is learned for every row"
        )


def _cloning_surprise(assessment: Assessment) -> np.ndarray:
    from rlassay.scoring.policies import cloning_surprise

    settings, seed = assessment.settings.baselines, assessment.seeds[0]
    assessment.require_numbers()
    with assessment.clock.phase("scores", compiles=True):
        return cloning_surprise(assessment.data, assessment.shared.scaling, settings, seed)


def _registered(assessment: Assessment, spec: ScoreSpec, member: int) -> np.ndarray:
    """A registered score on every row; on the evaluated rows exactly what the dataset's score is made of."""
    values = np.full(len(assessment.data), np.nan)
    if spec.estimator is not None or all(COLUMNS[need].of_any_row for need in spec.needs):
        places, found = row_values(spec, assessment.every_row[member])
        values[places] = found
    places, found = row_values(spec, assessment.evaluated[member])
    values[places] = found
    return values
