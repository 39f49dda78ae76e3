"""What a shell offers for names that only we know; modules are imported when somebody presses the key."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Completing = Callable[[str], list[str]]


def among(known: Callable[[], Iterable[str]]) -> Completing:
    """Names that begin like the last part of what was typed; parts are separated by commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(begun)]

    return complete


def presets() -> Iterable[str]:
    from rlassay.scoring.settings import PRESETS

    return PRESETS


def scores() -> Iterable[str]:
    from rlassay.scoring.registry import SCORES

    return [name for name, spec in SCORES.items() if not spec.retired]


def studies() -> Iterable[str]:
    from rlassay.study import STUDIES

    return STUDIES


def agents() -> Iterable[str]:
    from rlassay.agents.registry import agents_for

    return {**agents_for(False), **agents_for(True)}
