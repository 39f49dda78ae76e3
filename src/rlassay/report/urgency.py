"""Which warnings matter most: what makes numbers wrong, then what makes them doubtful, then what to bear in mind."""

from __future__ import annotations

from collections.abc import Iterable

from rlassay.results.card import Caution, Scorecard

SHOWN = 5  # of the short card; the others are counted
# Most important first. A code that is not named here stands between doubts and remarks.
WRONG = (
    "rewards_differ", "actions_in_other_units", "same_data", "no_rewards", "rewards_missing", "constant_reward", "dones_as_terminals", "dones_inside", "both_flags",
    "ends_unknown", "timeouts_missing", "unflagged_ends", "one_step_episodes", "actions_beyond_convention",
)  # fmt: skip
DOUBTFUL = (
    "tiny_dataset", "one_episode", "no_verdict", "critic_not_converged", "transport_not_converged",
    "horizon_beyond_discount", "critic_not_checked", "discrete_actions", "unknown_successors",
)  # fmt: skip
REMARKS = (
    "score_unavailable", "action_bounds_from_data", "reference_note", "env_from_name", "left_out",
    "cameras_left_out", "empty_episodes", "joined", "extras", "next_observations", "terminals",
)  # fmt: skip
_LAST_DOUBT = len(WRONG) + len(DOUBTFUL)
_PLACES = {code: place for place, code in enumerate((*WRONG, *DOUBTFUL))} | {
    code: place for place, code in enumerate(REMARKS, start=_LAST_DOUBT + 1)
}


def by_importance(warnings: Iterable[Caution]) -> list[Caution]:
    """The same warnings, the most important first; equals keep their order."""
    return sorted(warnings, key=lambda warning: _PLACES.get(warning.code, _LAST_DOUBT))


def shared_warnings(cards: list[Scorecard], names: list[str]) -> dict[Caution, list[str]]:
    """Each warning once, with the datasets it is about, the most important first."""
    owners: dict[Caution, list[str]] = {}
    for card, name in zip(cards, names, strict=True):
        for warning in dict.fromkeys(card.warnings):
            owners.setdefault(warning, []).append(name)
    return {warning: owners[warning] for warning in by_importance(owners)}
