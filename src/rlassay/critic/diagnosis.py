"""Is the critic right? Its values against Monte-Carlo returns of episodes it has never seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlassay.critic.model import Critic
from rlassay.critic.targets import (
    FEWEST_HELD_OUT,
    Columns,
    end_values,
    lambda_returns,
    rows_left,
    sums_along,
)
from rlassay.results.card import Caution

NEARLY_COMPLETE = 0.01  # weight of what lies behind an episode's cut
SHARE_OF_DEVIATION = 0.05  # tolerated bias, as a share of the returns' standard deviation
STANDARD_ERRORS = 2.0
SOLVER_ROWS = 10_000  # rows for the two linear solutions of the mixture gap
RIDGE = 1e-6  # of these solutions, relative to the mean square of the features


@dataclass(frozen=True)
class Calibration:
    """Predicted value and Monte-Carlo return of held-out rows, with the episode of each."""

    predicted: np.ndarray
    monte_carlo: np.ndarray
    episode: np.ndarray


def calibrate(critic: Critic, member: int, held: Columns) -> Calibration:
    """Held-out rows whose return is nearly complete: terminal end, or discount^remaining <= .01.

    The missing hundredth behind a cut is filled with V there, so that cutting is not mistaken for bias.
    """
    discount, rows = critic.settings.discount, len(held.inputs)
    predicted = critic.q_at(member, held.inputs)
    lengths = np.diff(np.append(held.starts, rows))
    ended = np.repeat(held.terminal[held.last], lengths)
    counted = ended | (discount ** (rows_left(held.starts, rows) - 1) <= NEARLY_COMPLETE)
    rewards = held.rewards.copy()
    rewards[held.last] = end_values(critic, member, held, predicted)
    returns = sums_along(rewards, held.starts, discount)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    return Calibration(predicted[counted], returns[counted], episode[counted])


def bias_and_error(calibration: Calibration) -> tuple[float, float, int]:
    """Mean of predicted - actual, its standard error over episodes, and the number of episodes."""
    difference = calibration.predicted - calibration.monte_carlo
    _, episode = np.unique(calibration.episode, return_inverse=True)
    counts = np.bincount(episode)
    bias = float(difference.mean())
    if len(counts) < 2:
        return bias, 0.0, len(counts)
    sums = np.bincount(episode, difference) - bias * counts
    error = np.sqrt((sums**2).sum() * len(counts) / (len(counts) - 1)) / counts.sum()
    return bias, float(error), len(counts)


def diagnose(
    critic: Critic, training: Columns, held: Columns
) -> tuple[dict[str, Any], Calibration]:
    """All that is known of the critic's quality; numbers are means over seeds, the verdict holds for every seed."""
    seeds = range(len(critic.seeds))
    per_seed = [_held_out(critic, k, held) for k in seeds] if len(held.inputs) else []
    report: dict[str, Any] = {
        "method": critic.settings.method,
        "steps": critic.curve["step"][-1],
        "trained_on": len(training.inputs),
        "mean_value": float(np.mean([critic.q_at(k, training.inputs).mean() for k in seeds])),
        "change_last_tenth": change_of_last_tenth(critic.curve),
        "held_out_episodes": per_seed[0]["held_out_episodes"] if per_seed else 0,
        "held_out_rows": per_seed[0]["held_out_rows"] if per_seed else 0,
        "held_out_in_all": len(held.starts),  # also those whose return is cut before it is complete
    }
    report |= _means(per_seed)
    report |= _means([mixture_gap(critic, k, training) for k in seeds])
    report |= _means([critic.behaviour_report(k, training, held) for k in seeds])
    report |= _verdict(report, per_seed)
    calibration = (
        calibrate(critic, 0, held) if len(held.inputs) else Calibration(*[np.zeros(0)] * 3)
    )
    return report, calibration


def held_out_verdict(critic: Critic, held: Columns) -> bool | None:
    """Whether the bias of every seed lies within its tolerance; None where too few held-out episodes can tell."""
    if not len(held.inputs):
        return None
    found = [_held_out(critic, k, held) for k in range(len(critic.seeds))]
    if found[0]["held_out_episodes"] < FEWEST_HELD_OUT:
        return None
    return all(abs(each["bias"]) <= each["tolerance"] for each in found)


def _held_out(critic: Critic, member: int, held: Columns) -> dict[str, Any]:
    calibration = calibrate(critic, member, held)
    residual = bellman_residual(critic, member, held)
    found: dict[str, Any] = {"held_out_episodes": 0, "held_out_rows": len(calibration.predicted)}
    if len(residual):
        found["bellman_residual"] = float(residual.mean())
        found["bellman_residual_rms"] = float(np.sqrt((residual**2).mean()))
    if len(calibration.predicted) == 0:
        return found
    bias, error, episodes = bias_and_error(calibration)
    deviation = float(calibration.monte_carlo.std())
    rounding = 1e-6 * float(np.abs(calibration.monte_carlo).mean())
    found |= {
        "held_out_episodes": episodes,
        "bias": bias,
        "bias_standard_error": error,
        "returns_mean": float(calibration.monte_carlo.mean()),
        "returns_deviation": deviation,
        "tolerance": max(SHARE_OF_DEVIATION * deviation, STANDARD_ERRORS * error, rounding),
    }
    if deviation > 0 and calibration.predicted.std() > 0:
        found["correlation"] = float(
            np.corrcoef(calibration.predicted, calibration.monte_carlo)[0, 1]
        )
    return found


def bellman_residual(critic: Critic, member: int, columns: Columns) -> np.ndarray:
    """r + discount * Q(s', a') - Q(s, a) on the rows whose next action is known, or that end by a terminal."""
    values = critic.q_at(member, columns.inputs)
    following = np.append(values[1:], 0.0)
    following[columns.last] = 0.0
    usable = np.ones(len(values), bool)
    usable[columns.last] = columns.terminal[columns.last]
    return (columns.rewards + critic.settings.discount * following - values)[usable]


def change_of_last_tenth(curve: Mapping[str, list]) -> float:
    """How far the mean value moved over the last tenth of training."""
    steps, values = np.asarray(curve["step"]), np.asarray(curve["value"])
    before = np.searchsorted(steps, 0.9 * steps[-1], side="right") - 1
    return float(values[-1] - values[max(before, 0)])


def mixture_gap(critic: Critic, member: int, columns: Columns) -> dict[str, float]:
    """Value of the mixture of episodes minus that of the Markov mixture, both linear in the critic's last layer.

    On data of several policies the two differ: returns along episodes remember which policy acts, one-step targets
    forget it at each step. Least squares on returns and least-squares temporal differences give both in one span.
    """
    rows = np.ones(len(columns.inputs), bool)
    rows[columns.last] = columns.terminal[columns.last]
    chosen = np.flatnonzero(rows)[:SOLVER_ROWS]  # whole episodes: their noise cancels
    if len(chosen) < 2:
        return {}
    spread = critic.spread or 1.0
    now = _with_one(critic.features(member, columns.inputs[chosen]))
    after = _with_one(critic.features(member, columns.following[chosen]))
    after[columns.terminal[chosen]] = 0.0
    values = critic.q_at(member, columns.inputs)
    ends = end_values(critic, member, columns, values)
    discount = critic.settings.discount
    returns = lambda_returns(columns.rewards, values, columns.starts, ends, discount, 1.0)[chosen]
    ridge = RIDGE * (now**2).mean() * np.eye(now.shape[1])
    scaled_rewards = columns.rewards[chosen] / spread
    of_episodes = np.linalg.solve(
        now.T @ now / len(now) + ridge, now.T @ (returns / spread) / len(now)
    )
    markov = np.linalg.solve(
        now.T @ (now - discount * after) / len(now) + ridge, now.T @ scaled_rewards / len(now)
    )
    gap = spread * (now @ (of_episodes - markov))
    return {"mixture_gap": float(gap.mean()), "mixture_gap_rms": float(np.sqrt((gap**2).mean()))}


def _with_one(features: np.ndarray) -> np.ndarray:
    return np.concatenate([features, np.ones((len(features), 1))], axis=1)


def _means(reports: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in (reports[0] if reports else {}) if not name.startswith("held_out")]
    return {name: float(np.mean([each[name] for each in reports])) for name in names}


def _verdict(report: dict[str, Any], per_seed: list[dict[str, Any]]) -> dict[str, Any]:
    if report["held_out_episodes"] < FEWEST_HELD_OUT:
        reason = (
            f"only {report['held_out_episodes']} held-out episodes have nearly complete returns"
        )
        return {"converged": None, "reason": reason}
    if any(abs(each["bias"]) > each["tolerance"] for each in per_seed):
        return {"converged": False, "reason": "the bias exceeds its tolerance"}
    if abs(report["change_last_tenth"]) > report["tolerance"]:
        return {"converged": False, "reason": "the mean value still moves"}
    return {"converged": True, "reason": "bias and change of the mean lie within the tolerance"}


def _what_helps(report: Mapping[str, Any], longest: int, discount: float) -> str:
    """More episodes where they are few; a lower discount where they are cut before their returns are complete."""
    few = report.get("held_out_in_all", 0) < FEWEST_HELD_OUT
    more = f"score {2 * FEWEST_HELD_OUT} episodes or more"
    if discount ** (longest - 1) <= NEARLY_COMPLETE:
        return more if few else "score more episodes of that length"
    lower = f"--set critic.discount={complete_by_half(longest):g}"
    cut = f"lower the discount with {lower}: at {discount:g} a return is not complete within {longest:,} steps"
    return f"{more}, and {cut}" if few else cut


def complete_by_half(longest: int) -> float:
    """A discount at which the return is nearly complete after half of the longest episode, two digits, rounded down."""
    exact = NEARLY_COMPLETE ** (2 / max(longest, 2))
    return max(float(np.floor(100 * exact)) / 100, 0.01)


def warnings_of(report: Mapping[str, Any], longest: int, discount: float) -> list[Caution]:
    """What the diagnosis asks the reader to know."""
    found = []
    if report["converged"] is False:
        found.append(
            Caution(
                "critic_not_converged",
                f"the critic is off by {report['bias']:.4g} on held-out episodes (tolerance {report['tolerance']:.4g}): {report['reason']}",
                "use --preset default, or more steps with --set critic.steps=50000",
            )
        )
    if report["converged"] is None:
        found.append(
            Caution(
                "critic_not_checked",
                f"the critic could not be checked: {report['reason']}, {FEWEST_HELD_OUT} are needed; "
                "do not rely on q, advantage, pd and bwd, not even on their sign",
                _what_helps(report, longest, discount),
            )
        )
    if longest > 5 / (1 - discount):
        found.append(
            Caution(
                "horizon_beyond_discount",
                f"episodes last up to {longest:,} steps, far beyond the horizon {1 / (1 - discount):,.0f} of discount {discount}; values can order data differently than returns do",
                "look at `return` beside the value scores, or raise critic.discount",
            )
        )
    return found
