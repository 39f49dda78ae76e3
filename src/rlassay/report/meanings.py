"""What each score means, in one sentence a newcomer understands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """The name a person would use, and one sentence on what the number says."""

    title: str
    sentence: str


MEANINGS: dict[str, Meaning] = {
    "return": Meaning("Mean return", "Sum of rewards of an episode, averaged over episodes."),
    "return_by_step": Meaning(
        "Mean return by step", "Mean return with every episode counted by its length, as an agent that samples transitions meets it."
    ),
    "return_top10": Meaning(
        "Best tenth", "Mean return of the best tenth of the episodes: what the data can show."
    ),
    "reward": Meaning("Mean reward", "Reward of a transition, averaged over all transitions."),
    "q": Meaning(
        "Behaviour value",
        "Discounted value of the recorded actions, as learned by a critic of the behaviour.",
    ),
    "advantage": Meaning(
        "Advantage",
        "Value of the recorded action minus the value of its state; near zero by construction.",
    ),
    "pd": Meaning(
        "Performance difference",
        "Value of random actions minus the value of the state: negative where the behaviour beats random.",
    ),
    "bwd": Meaning(
        "Bellman-Wasserstein distance",
        "Transport cost between the recorded and random actions in which the critic's value counts.",
    ),
    "bwd.dual": Meaning(
        "BWD, dual", "The distance from trained potentials: the paper's Algorithm 1."
    ),
    "bwd.exact": Meaning(
        "BWD, exact", "The distance at its optimum for one recorded action per state, in closed form."
    ),
    "bwd.tail": Meaning(
        "BWD, upper tail", "A soft maximum of the cost over states: rewards data that contain good regions."
    ),
    "bwd.sinkhorn": Meaning(
        "BWD, Sinkhorn", "The distance between the actions at neighbouring states and random ones."
    ),
    "tq": Meaning(
        "Trajectory quality", "Mean return placed between the low and the high reference return."
    ),
    "saco": Meaning(
        "State-action coverage", "Distinct cells of states and actions, as a share of the distinct transitions."
    ),
    "eri": Meaning(
        "Relative improvement", "How far the best return lies above the mean, relative to how far the mean lies above the worst."
    ),
    "eas": Meaning("Action stochasticity", "Mean spread, before tanh, of a policy fitted to the recorded actions."),
    "rpsv": Meaning(
        "Positive-sided variance", "Variance of the returns above their mean: the room for improvement."
    ),
    "bc_error": Meaning(
        "Cloning error", "Squared error of a cloned policy on held-out episodes, as a share of the actions' variance."
    ),
    "extractable": Meaning(
        "Extractable return", "Mean return, raised towards the better episodes where actions agree, lowered where they conflict."
    ),
    "knn_entropy": Meaning(
        "State entropy", "Nearest-neighbour entropy of the states: how widely the data spread."
    ),
}  # fmt: skip

_ORDER = {name: place for place, name in enumerate(MEANINGS)}


def meaning_of(name: str) -> Meaning:
    """The known meaning, or a plain one for a score that a plug-in registered."""
    return MEANINGS.get(name, Meaning(name, "A registered score; its author documents it."))


def in_reading_order(names: object) -> list[str]:
    """Names as a reader meets them: returns, values, distances, baselines, then others."""
    return sorted(names, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))  # type: ignore[call-overload]
