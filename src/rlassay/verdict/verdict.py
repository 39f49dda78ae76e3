"""The verdict of one file: label, forecasts, advice and evidence, from counted features alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference
from rlassay.data.rewards import tells_nothing
from rlassay.results.card import Caution
from rlassay.verdict import evidence
from rlassay.verdict.calibration import Calibration, nearest, outside, packaged
from rlassay.verdict.commands import command_for
from rlassay.verdict.features import features_of, return_modes
from rlassay.verdict.forecast import Forecast, forecast
from rlassay.verdict.labels import Label, Reached, action_of, label_of, own_label, size_label
from rlassay.verdict.parts import best_fifth, size_of_best

Verdict = dict[str, Any]
# Rewards that are not finite are refused before; what is left are finite ones whose sum is not.
RETURNS_OVERFLOW = Caution(
    "no_verdict",
    "there is no verdict: the returns of its episodes are too large for a number",
    "divide the rewards by a constant",
)
OUTCOMES = ("cloning", "offline_rl", "best", "best_agent")  # of a calibrated dataset


def verdict_of(
    data: Dataset,
    reference: Reference | None,
    inspection: Mapping[str, Any],
    command: str = "",
    calibration: Calibration | None = None,
    measured: Mapping[str, float] | None = None,
) -> tuple[Verdict | None, list[Caution]]:
    """The block `verdict` of a card, and the warning where there is none; `command` is the one that made the card.

    `measured` is what `--refine` found; the forecast goes by it where the calibration chose so.
    """
    calibration = calibration or packaged()
    if data.rewards is not None and not np.isfinite(data.episode_returns).all():
        return None, [RETURNS_OVERFLOW]
    label = _unforecast(data)
    if label is not None:
        told: Verdict = {"label": label, "cloning": None, "offline_rl": None}
        told["evidence"], like, reached = _why_not(data, label), None, None
    else:
        told, like, reached = _forecast(data, reference, calibration, measured or {})
    told["advice"] = _advice(
        told["label"], reached, data, inspection, command, calibration, reference is not None
    )
    told["calibration"] = {
        "version": calibration.version,
        "oracle": calibration.oracle,
        "environments": list(calibration.environments),
        "nearest": None if like is None else f"{like['environment']} {like['dataset']}",
        "nearest_reached": None if like is None else {name: like[name] for name in OUTCOMES},
    }
    return told, []


def _unforecast(data: Dataset) -> Label | None:
    """The label of a file that nothing can be forecast for."""
    small = size_label(len(data), data.episode_count)
    if small is not None:
        return small
    return "not-rankable" if data.rewards is None or tells_nothing(data) else None


def _why_not(data: Dataset, label: Label) -> list[str]:
    if label == "too-small":
        return evidence.too_small(len(data), data.episode_count)
    constant = None if data.rewards is None else float(data.rewards[0])
    return evidence.not_rankable(constant, data.episode_count, len(data))


def _forecast(
    data: Dataset,
    reference: Reference | None,
    calibration: Calibration,
    measured: Mapping[str, float],
) -> tuple[Verdict, Mapping[str, Any], Reached]:
    """Label, forecasts and the evidence; the calibrated dataset most like it; what the advice goes by."""
    features, modes = features_of(data), return_modes(data)
    chosen = calibration.chosen(measured)
    found = {
        what: forecast(what, data, features, reference, chosen, measured)
        for what in chosen.forecasts
        if what != "best_part" or _part_is_enough(data)
    }
    cloning, offline_rl = found["cloning"], found["offline_rl"]
    points = None if reference is None else (cloning.value, offline_rl.value)
    left = outside(calibration, features, data.discrete_actions)
    like = nearest(calibration, features, points, data.env_id)
    reached = _reached(found, reference)
    told = own_label if reference is None else label_of
    several = modes is not None and modes.several
    sentences = evidence.evidence_of(features, modes, cloning, offline_rl, left, like)
    verdict: Verdict = {
        "label": "outside-calibration" if left else told(reached, several),
        **{what: each.to_dict() for what, each in found.items()},
        "evidence": [*sentences, *evidence.learned_world(measured)],
    }
    return verdict, like, reached


def _part_is_enough(data: Dataset) -> bool:
    """A part that would be `too-small` as a file of its own is not forecast: the calibrated ones have 20 episodes or more."""
    return size_label(*size_of_best(data, best_fifth)) is None


def _reached(found: Mapping[str, Forecast], reference: Reference | None) -> Reached:
    """What labels and advice read: points, or the percentage of the file's own episodes that are worse.

    Without points nothing is said of the best part: it is above most of the file's episodes by its choice alone.
    """
    values = {k: each.value if reference else 100 * each.own_scale for k, each in found.items()}
    both = values["cloning"], values["offline_rl"]
    return Reached(*both, max(both), values.get("best_part") if reference else None)


def _advice(
    label: Label,
    reached: Reached | None,
    data: Dataset,
    inspection: Mapping[str, Any],
    command: str,
    calibration: Calibration,
    in_points: bool,
) -> dict[str, str]:
    failing = [check for check in inspection.get("checks", ()) if check["status"] == "fail"]
    rewarded = data.rewards is not None
    action = "repair" if failing else action_of(label, reached, rewarded)
    mendable = any("rlassay repair" in check["remedy"] for check in failing)
    return {
        "action": action,
        "command": command_for(action, data, calibration.agent, command, mendable),
        "reason": evidence.reason_of(action, label, rewarded, in_points),
    }
