"""What a shell offers for names that only we know; modules are imported when somebody presses the key."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Completing = Callable[[str], list[str]]


def among(known: Callable[[], Iterable[str]]) -> Completing:
    """Names that begin like the last part of what was typed; parts of lists end with commas, of sums with + and *."""

    def complete(incomplete: str) -> list[str]:
        begins = 1 + max(incomplete.rfind(sign) for sign in ",+*")
        before, begun = incomplete[:begins], incomplete[begins:]
        return [f"{before}{name}" for name in known() if name.startswith(begun)]

    return complete


def presets() -> Iterable[str]:
    from rlassay.scoring.settings import PRESETS

    return PRESETS


def scores() -> Iterable[str]:
    from rlassay.scoring.registry import SCORES

    return [name for name, spec in SCORES.items() if not spec.retired]


def episode_scores() -> Iterable[str]:
    from rlassay.scoring.episodes import known_scores

    return known_scores()


def studies() -> Iterable[str]:
    from rlassay.study import STUDIES

    return STUDIES


def agents() -> Iterable[str]:
    from rlassay.agents.registry import agents_for

    return {**agents_for(False), **agents_for(True)}


OFFERED = {"by": among(episode_scores)}  # for options that are made from fields, by field
