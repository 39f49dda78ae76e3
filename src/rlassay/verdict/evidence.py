"""Why the verdict is what it is: plain sentences that name numbers of the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlassay.verdict.features import Features
from rlassay.verdict.forecast import Forecast
from rlassay.verdict.labels import LEAST_EPISODES, LEAST_TRANSITIONS, WORTH_IT, Action
from rlassay.verdict.modes import Modes


def evidence_of(
    features: Features,
    modes: Modes | None,
    cloning: Forecast,
    offline_rl: Forecast,
    left: Sequence[str],
    like: Mapping[str, Any],
) -> list[str]:
    """Level and gain, shape of the returns, and how the file relates to what was calibrated on."""
    first = (
        f"Mean return {number(features.mean_return)}, counted by step {number(features.return_by_step)}"
        f": {_gain(cloning, offline_rl)}."
    )
    return [first, _shape(features, modes), _relation(left, like)]


def _gain(cloning: Forecast, offline_rl: Forecast) -> str:
    if cloning.unit == "normalised score":
        gain = offline_rl.value - cloning.value
        return f"offline RL is forecast {abs(gain):.1f} points {'above' if gain >= 0 else 'below'} cloning"
    worse = [f"{100 * each.own_scale:.0f} %" for each in (cloning, offline_rl)]
    return f"above {worse[0]} and {worse[1]} of its episodes"


def _shape(features: Features, modes: Modes | None) -> str:
    span = f"between {number(features.lowest)} and {number(features.highest)}"
    if modes is None or not modes.apart:
        return f"Returns of its {features.episodes:,} episodes lie {span}, in one group."
    return (
        f"Returns of its {features.episodes:,} episodes lie {span}, in two groups: {100 * modes.lower_share:.0f} % around "
        f"{number(modes.lower_mean)}, {100 - 100 * modes.lower_share:.0f} % around {number(modes.upper_mean)}."
    )


def _relation(left: Sequence[str], like: Mapping[str, Any]) -> str:
    if left:
        return f"A guess, because it has {'; '.join(left)}."
    return (
        f"On the calibrated dataset most like it, {like['environment']} {like['dataset']}, cloning reached "
        f"{like['cloning']:.0f}, offline RL {like['offline_rl']:.0f} and the best agent, {like['best_agent']}, "
        f"{like['best']:.0f} points."
    )


def learned_world(measured: Mapping[str, Any]) -> list[str]:
    """What `--refine` found, told as information; nothing where it was not asked for."""
    if "clone_return" not in measured:
        return []
    return [
        f"In a world learned from the file a clone earns {number(measured['clone_return'])} where the data earned "
        f"{number(measured['data_return'])}: it keeps {100 - 100 * measured['world_loss']:.0f} % of what lies above the lowest return."
    ]


def too_small(transitions: int, episodes: int) -> list[str]:
    """Which of the two counts is too low."""
    return [
        _counted(transitions, "transitions", LEAST_TRANSITIONS),
        _counted(episodes, "episode" if episodes == 1 else "episodes", LEAST_EPISODES),
        "Agents trained on so little differ more from run to run than any forecast could tell.",
    ]


def _counted(count: int, what: str, least: int) -> str:
    if count < least:
        return f"It has {count:,} {what}; a forecast needs {least:,}."
    return f"Its {count:,} {what} would be enough."


def not_rankable(constant: float | None, episodes: int, transitions: int) -> list[str]:
    """Why there is no return to forecast; `constant` is the one reward, None without rewards."""
    size = f"Its {episodes:,} episodes hold {transitions:,} transitions."
    if constant is None:
        return [
            "The file has no rewards, so its episodes have no returns.",
            size,
            "A clone repeats what was recorded; how good that is, the file does not say.",
        ]
    return [
        f"Every reward is {number(constant)}, so a return tells the length of an episode and nothing else.",
        size,
        "No agent can learn from such rewards which behaviour is better.",
    ]


REASONS: Mapping[str, str] = {
    "repair": "the inspection fails, and what is wrong with the file would be learned with it",
    "too-small": "there is too little to learn from or to judge by; check first that the ends of episodes were read",
    "near-random": "neither cloning nor offline RL is expected to reach 10 points on it",
    "not-rankable": "check first that the reward column was recorded",
    "unrewarded": "without rewards cloning is what can be trained",
}


def reason_of(action: Action, label: str, rewarded: bool, in_points: bool) -> str:
    """Why this is advised, in half a sentence; without points in shares of the file's own episodes."""
    if action == "repair":
        return REASONS["repair"]
    if action == "collect-more":
        return REASONS[label]
    if not rewarded:
        return REASONS["unrewarded"]
    if action == "clone-best-part":
        return f"cloning its best fifth is forecast at least {WORTH_IT:.0f} points above cloning all of it and above offline RL"
    margin = (
        f"{WORTH_IT:.0f} points above"
        if in_points
        else f"{WORTH_IT:.0f} % of the file's episodes above"
    )
    if action == "offline-rl":
        return f"it is forecast at least {margin} cloning"
    return f"offline RL is not forecast {margin} it, and cloning is simpler"


def number(value: float) -> str:
    """Four digits, grouped."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
