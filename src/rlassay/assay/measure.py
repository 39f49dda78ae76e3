"""From columns to scores: value, interval, convergence and the place between references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlassay import stats
from rlassay.assay.assessment import Assessment, Unavailable
from rlassay.assay.columns import column, entries
from rlassay.data.references import Reference
from rlassay.results.card import Score, Warning
from rlassay.scores import SCORES, SEEDED, ScoreSpec, evaluate, spec_of


def measure_all(
    assessment: Assessment, names: Sequence[str]
) -> tuple[dict[str, Score], list[Warning]]:
    """Every named score that the data allows; the others become warnings."""
    found: dict[str, Score] = {}
    missing: list[Warning] = []
    for name in names:
        try:
            found[name] = measure(assessment, name)
        except Unavailable as error:
            missing.append(
                Warning("score_unavailable", f"{name} is not given: {error}", _remedy(str(error)))
            )
    return found, missing


def _remedy(reason: str) -> str:
    if "rewards" in reason:
        return "use the scores that need no reward, or add rewards to the data"
    if "reference" in reason:
        return "name an environment with known references, or give --reference LOW,HIGH"
    return "choose other scores with --scores, or add what is missing to the data"


def measure(assessment: Assessment, name: str) -> Score:
    """One score with its interval: episodes are resampled and the statistic recomputed, the critic is not refitted."""
    spec = spec_of(name, assessment.settings.transport.estimator)
    members = range(len(assessment.seeds)) if _is_seeded(spec) else range(1)
    measured = []
    for member in members:
        inputs = {need: column(assessment, need, member) for need in spec.needs}
        with assessment.clock.phase("scores"):
            measured.append(evaluate(spec, inputs))
    with assessment.clock.phase("scores"):
        return _score(assessment, spec, measured)


def _score(assessment: Assessment, spec: ScoreSpec, measured: list) -> Score:
    groups = [entries(assessment, spec.per, member) for member in range(len(measured))]
    for each, group in zip(measured, groups, strict=True):
        _check(each.values, group, spec)
    per_seed = [float(each.statistic(each.values, np.ones(len(each.values)))) for each in measured]
    if not np.isfinite(per_seed).all():
        raise Unavailable("its value is not a finite number")
    resampling = stats.Resampling(assessment.settings.evaluation.replicates, assessment.seeds[0])
    samples = [(each.values, group) for each, group in zip(measured, groups, strict=True)]
    variance, count = resampling.variance(samples, measured[0].statistic)
    value = float(np.mean(per_seed))
    return Score(
        value=value,
        interval=stats.interval(per_seed, variance, count),
        per_seed=tuple(per_seed),
        direction=spec.direction,
        unit=spec.unit,
        n=len(measured[0].values),
        converged=_converged(assessment, spec),
        relative=_relative(assessment, spec, value),
    )


def _check(values: np.ndarray, group: np.ndarray, spec: ScoreSpec) -> None:
    if len(values) != len(group):
        raise Unavailable(
            f"its function returned {len(values):,} values for {len(group):,} entries (one per {spec.per})"
        )
    if not np.isfinite(values).all():
        raise Unavailable("its values are not finite numbers")


_OF_CRITIC = SEEDED - {"cloning_errors", "action_spread"}


def _is_seeded(spec: ScoreSpec) -> bool:
    return bool(set(spec.needs) & SEEDED)


def _converged(assessment: Assessment, spec: ScoreSpec) -> bool | None:
    """The critic's verdict, and the solver's where there is one; None for what is counted, not learned."""
    if not set(spec.needs) & _OF_CRITIC:
        return None
    verdicts = [assessment.fitted.critic.diagnosis["converged"]]
    for estimator, results in assessment.computed_transport.items():
        if SCORES[f"bwd.{estimator}"].needs == spec.needs:
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
