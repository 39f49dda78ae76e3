"""The verdict of a card in words, for terminal, page and notebook alike; it adds nothing to what the card says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlassay.report import words
from rlassay.results.card import Scorecard

LABELS = {
    "near-random": "it earns next to nothing; agents learn more from such data only on easy tasks",
    "weak": "agents are expected to stay well below good behaviour",
    "mixed": "good and bad behaviour side by side",
    "consistent": "agents are expected to agree, at about the level of the data",
    "expert-like": "cloning alone is expected to reach expert level",
    "too-small": "too few transitions or episodes for a forecast",
    "not-rankable": "there is no return to forecast",
    "outside-calibration": "unlike the data that the forecast was calibrated on: a guess",
}
TONES = {"near-random": "bad", "weak": "warn", "expert-like": "good", "consistent": "good"}
EXPECTED = {
    "cloning": "cloning",
    "offline_rl": "offline RL",
    "best_part": "cloning its best fifth",
    "best": "the best agent",
}


@dataclass(frozen=True)
class Told:
    """A verdict taken apart; `label` is None where nothing can be said, and `why` says why."""

    label: str | None
    why: str
    expected: tuple[tuple[str, str], ...] = ()  # (what, forecast)
    action: str = ""
    reason: str = ""
    command: str = ""
    evidence: tuple[str, ...] = ()
    basis: str = ""

    @property
    def tone(self) -> str:
        return TONES.get(self.label or "", "neutral")


def verdict_of(card: Scorecard) -> Told | None:
    """The card's verdict in words; None where none was asked for."""
    verdict = card.verdict
    if verdict is None:
        return Told(None, _why_not(card))
    if not verdict:
        return None
    label = words.plain(verdict.get("label") or "unnamed")
    advice: Mapping[str, Any] = verdict.get("advice") or {}
    return Told(
        label,
        LABELS.get(label, ""),
        tuple(
            (called, _forecast(verdict[part]))
            for part, called in EXPECTED.items()
            if verdict.get(part)
        ),
        words.plain(advice.get("action") or ""),
        words.plain(advice.get("reason") or ""),
        words.plain(advice.get("command") or ""),
        tuple(words.plain(sentence) for sentence in verdict.get("evidence") or ()),
        _basis(verdict.get("calibration") or {}) if verdict.get("cloning") else "",
    )


def _why_not(card: Scorecard) -> str:
    found = [warning.message for warning in card.warnings if "verdict" in warning.code]
    return words.plain(found[0]) if found else "the card does not say why"


def _forecast(part: Mapping[str, Any]) -> str:
    """`101.2 (80 % interval 95.1 to 104.0, normalised score), above 64 % of its own episodes`."""
    bounds = part.get("interval")
    value, span = words.together(part["value"], (bounds[0], bounds[1]) if bounds else None)
    unit = words.plain(part.get("unit") or "")
    text = f"{value} (80 % interval {span}, {unit})" if bounds else f"{value} {unit}".rstrip()
    share = part.get("own_scale")
    return text if share is None else f"{text}, above {words.percent(share)} of its own episodes"


def _basis(calibration: Mapping[str, Any]) -> str:
    environments: list[Any] = calibration.get("environments") or []
    if not environments:
        return ""
    nearest = calibration.get("nearest")
    nearest = f"; nearest: {words.plain(nearest)}" if nearest else ""
    oracle = calibration.get("oracle")
    oracle = f" by the oracle {words.plain(oracle)}" if oracle else ""
    names = ", ".join(words.plain(name) for name in environments)
    return f"Calibrated on {names}{oracle}{nearest}"
