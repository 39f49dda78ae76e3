"""Putting a card together: scores, diagnosis, series, inspection, software, warnings, seconds."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

import rlassay
from rlassay import settings as change_settings
from rlassay.assay.assessment import Assessment
from rlassay.assay.measure import measure_all
from rlassay.assay.series import row_scores, series
from rlassay.assay.warn import assessment_warnings, data_warnings
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.results.card import Scorecard, Warning
from rlassay.runtime import available_cores
from rlassay.transport.settings import RELATIVE_EPSILON


def make_card(assessment: Assessment, names: Sequence[str], command: str) -> Scorecard:
    """Measure the named scores and describe how they came about."""
    from rlassay.inspection import inspect

    data = assessment.data
    scores, missing = measure_all(assessment, names)
    if not scores:
        raise DatasetError(
            f"none of the scores asked for can be computed from {data.origin.source}: {missing[0].message}",
            remedy=missing[0].remedy,
        )
    inspection = inspect(data).to_dict()
    warnings = [*data_warnings(data), *assessment_warnings(assessment), *_merged(missing)]
    figures = series(assessment)
    return Scorecard(
        dataset=describe(data),
        settings=used_settings(assessment),
        scores=scores,
        diagnosis=diagnosis(assessment),
        series=figures,
        inspection=inspection,
        command=command,
        software=software(),
        warnings=tuple(warnings),
        seconds=assessment.clock.seconds(),
    )


def describe(data: Dataset) -> dict[str, Any]:
    """The card's block on the dataset."""
    return {
        "source": data.origin.source,
        "format": data.origin.format,
        "fingerprint": data.fingerprint,
        "transitions": len(data),
        "episodes": data.episode_count,
        "observation_dim": data.observation_dim,
        "action_dim": data.action_dim,
        "env_id": data.env_id,
        **({"origin": dict(data.origin.pinned)} if data.origin.pinned else {}),
    }


def used_settings(assessment: Assessment) -> dict[str, Any]:
    """Every setting that was used, by its key, and what is not a setting: preset, seeds, reference."""
    reference = assessment.reference
    return {
        **change_settings.flatten(assessment.settings),
        "preset": assessment.plan.preset,
        "seeds": list(assessment.seeds),
        "reference": None if reference is None else [reference.low, reference.high],
        "pooled": bool(assessment.shared.epsilons),
    }


def diagnosis(assessment: Assessment) -> dict[str, Any]:
    """What critic and transport know about their own quality; empty parts where nothing was computed."""
    found: dict[str, Any] = {"critic": {}, "transport": {}}
    if "fitted" in assessment.__dict__:
        found["critic"] = dict(assessment.fitted.critic.diagnosis)
        found["critic"]["discount"] = assessment.settings.critic.discount
        advantage = row_scores(assessment)["advantage"]
        found["critic"]["advantage_deviation"] = float(advantage.std())
    if assessment.computed_transport:
        found["transport"] = _transport_diagnosis(assessment)
    return found


def _transport_diagnosis(assessment: Assessment) -> dict[str, Any]:
    settings = assessment.settings.transport
    found: dict[str, Any] = {
        "estimator": settings.estimator,
        "cost": assessment.transport_settings(settings.estimator).cost,
        "random_policy": settings.random_policy,
        "epsilon_rule": epsilon_rule(assessment, settings.estimator),
    }
    for estimator, results in assessment.computed_transport.items():
        shared = {name for result in results for name in result.diagnosis}
        found[estimator] = {
            "cost": results[0].cost,
            "epsilon": float(np.mean([result.epsilon for result in results])),
            "epsilon_rule": epsilon_rule(assessment, estimator),
            "converged": _all_converged([result.converged for result in results]),
            **{
                name: _mean([result.diagnosis[name] for result in results])
                for name in sorted(shared)
            },
        }
    return found


def epsilon_rule(assessment: Assessment, estimator: str) -> str:
    """How epsilon came about: two cards compare only when the rules agree."""
    if assessment.settings.transport.epsilon is not None:
        return f"absolute {assessment.settings.transport.epsilon:g}"
    pooled = ", pooled" if assessment.shared.epsilons else ""
    return f"{RELATIVE_EPSILON[estimator]:g} sd of the cost{pooled}"


def _all_converged(verdicts: list[bool | None]) -> bool | None:
    return None if None in verdicts else all(verdicts)


def _mean(values: list[Any]) -> Any:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return float(np.mean(values))
    return values[0]


def _merged(missing: list[Warning]) -> list[Warning]:
    """Scores that are missing for one reason become one warning."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for warning in missing:
        name, _, reason = warning.message.partition(" is not given: ")
        reasons.setdefault((reason, warning.remedy), []).append(name)
    return [
        Warning("score_unavailable", f"{', '.join(names)} not given: {reason}", remedy)
        for (reason, remedy), names in reasons.items()
    ]


def software() -> dict[str, Any]:
    """Versions and compute threads."""
    single = "xla_cpu_multi_thread_eigen=false" in os.environ.get("XLA_FLAGS", "")
    return {
        "rlassay": rlassay.__version__,
        "python": platform.python_version(),
        "jax": version("jax"),
        "numpy": np.__version__,
        "threads": 1 if single else available_cores(),
    }
