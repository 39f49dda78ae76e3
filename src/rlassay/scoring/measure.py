"""From columns to scores: value, interval, convergence and the place between references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rlassay import stats
from rlassay.data.references import Reference
from rlassay.results.card import Score
from rlassay.scoring.assessment import Assessment
from rlassay.scoring.columns import episodes_of
from rlassay.scoring.meaningless import refuse_meaningless
from rlassay.scoring.registry import (
    SCORES,
    Measured,
    ScoreSpec,
    columns_of,
    evaluate,
    spec_of,
)
from rlassay.scoring.unavailable import Unavailable

CLONED = "cloning_errors"  # the column behind which a policy is cloned


class Missing(NamedTuple):
    """A score that the data does not allow, and why."""

    name: str
    reason: Unavailable


def measure_all(
    assessment: Assessment, names: Sequence[str]
) -> tuple[dict[str, Score], list[Missing]]:
    """Every named score that the data allows, and the others with their reasons."""
    found: dict[str, Score] = {}
    missing: list[Missing] = []
    asked = [SCORES[name] for name in names]
    if any(spec.of_critic for spec in asked) and any(CLONED in spec.needs for spec in asked):
        assessment.clone_ahead()
    for name in names:
        try:
            found[name] = measure(assessment, name)
        except Unavailable as reason:
            missing.append(Missing(name, reason))
    return found, missing


def measure(assessment: Assessment, name: str) -> Score:
    """One score with its interval: episodes are resampled and the statistic recomputed, the critic is not refitted."""
    spec = spec_of(name, assessment.settings.transport.estimator)
    refuse_meaningless(assessment, spec)
    measured = []
    for rows in assessment.evaluated if spec.seeded else assessment.evaluated[:1]:
        inputs = columns_of(spec, rows)
        with assessment.clock.phase("scores"):
            measured.append(evaluate(spec, inputs))
    with assessment.clock.phase("scores"):
        return _score(assessment, spec, measured)


def _score(assessment: Assessment, spec: ScoreSpec, measured: list[Measured]) -> Score:
    used = assessment.evaluated[: len(measured)]
    if not all(np.isfinite(each.values).all() for each in measured):
        raise Unavailable("not_finite", "its values are not finite numbers")
    per_seed = [float(each.statistic(each.values, np.ones(len(each.values)))) for each in measured]
    if not np.isfinite(per_seed).all():
        raise Unavailable("not_finite", "its value is not a finite number")
    groups = [episodes_of(rows, spec.per, spec.estimator) for rows in used]
    for each, group in zip(measured, groups, strict=True):
        _check(each.values, group, spec)
    resampling = stats.Resampling(assessment.settings.evaluation.replicates, assessment.seeds[0])
    samples = [(each.values, group) for each, group in zip(measured, groups, strict=True)]
    variance, count = resampling.variance(samples, measured[0].statistic)
    value = float(np.mean(per_seed))
    meaning, unit = spec.words(assessment.data.discrete_actions)
    return Score(
        value=value,
        interval=stats.interval(per_seed, variance, count, possible=(spec.least, spec.most)),
        per_seed=tuple(per_seed),
        direction=spec.direction,
        unit=unit,
        n=len(measured[0].values),
        converged=_converged(assessment, spec),
        relative=_relative(assessment, spec, value),
        title=spec.title,
        meaning=meaning,
    )


def _check(values: np.ndarray, group: np.ndarray, spec: ScoreSpec) -> None:
    if len(values) != len(group):
        raise Unavailable(
            "wrong_shape",
            f"its function returned {len(values):,} values for {len(group):,} entries (one per {spec.per})",
        )


def _converged(assessment: Assessment, spec: ScoreSpec) -> bool | None:
    """The critic's verdict, and the solver's where there is one; None for what is counted, not learned."""
    if not spec.of_critic:
        return None
    verdicts = [assessment.fitted.critic.diagnosis["converged"]]
    if spec.estimator is not None:
        results = assessment.transport(spec.estimator)
        verdicts += [result.converged for result in results if result.converged is not None]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _relative(assessment: Assessment, spec: ScoreSpec, value: float) -> float | None:
    reference = assessment.reference
    if reference is None or spec.relative is None:
        return None
    if spec.relative == "return":
        return (value - reference.low) / (reference.high - reference.low)
    scale = discounted(reference, assessment.settings.critic.discount)
    return None if scale is None else (value - scale[0]) / (scale[1] - scale[0])


def discounted(reference: Reference, discount: float) -> tuple[float, float] | None:
    """Reference values: the reference return spread evenly over a full episode, discounted without end.

    None where the task has no fixed length.
    """
    if reference.horizon is None:
        return None
    factor = 1.0 / (reference.horizon * (1.0 - discount))
    return reference.low * factor, reference.high * factor
