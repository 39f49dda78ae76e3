"""Saved results read back for a report: cards from any number of files, and a comparison if there is one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rlassay.errors import DatasetError, RlassayError, SettingsError
from rlassay.report.verdicts import EXPECTED
from rlassay.results.card import Score, Scorecard, read_cards

COMPARISON = "rlassay.comparison/1"
CURATION = "rlassay.curation/1"
SECTIONS = ("dataset", "settings", "diagnosis", "series", "inspection", "software", "seconds")
LARGEST = sys.float_info.max
LONGEST_CAUSE = 200  # characters of what Python says
BREAKS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
DRAWN = ("episodes", "calibration", "training")  # parts of `series` that are columns of numbers


def read_saved(paths: list[Path]) -> tuple[list[Scorecard], dict[str, Any] | None]:
    """Every card in order; the comparison too when its one file is all that is given."""
    cards = []
    for path in paths:
        for card in read_cards(path):
            _check(card, path)
            cards.append(card)
    if len(paths) != 1:
        return cards, None
    content = json.loads(Path(paths[0]).read_text())
    if content.get("schema") != COMPARISON:
        return cards, None
    if not _is_ranking(content.get("ranking")):
        raise _damaged(paths[0], "ranking")
    return cards, content


def read_curation(paths: list[Path]) -> dict[str, Any] | None:
    """The curation, when its one file is all that is given; None where the files hold cards."""
    found = [content for path in paths if (content := _curation(path)) is not None]
    if not found:
        return None
    if len(paths) > 1:
        raise SettingsError(
            "a curation has a page of its own",
            got=f"{len(paths)} files",
            remedy="render each curation alone",
        )
    return found[0]


def _curation(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, ValueError):
        return None  # reading it as a card says what is wrong
    if not isinstance(content, dict) or content.get("schema") != CURATION:
        return None
    for part in ("source", "rule", "kept", "dropped", "before", "after"):
        if part not in content:
            raise _damaged(path, part)
    for part in ("before", "after"):
        scores = content[part].get("scores") if isinstance(content[part], Mapping) else None
        if not isinstance(scores, Mapping) or not all(map(_has_value, scores.values())):
            raise _damaged(path, f"{part}.scores")
    return content


@contextmanager
def drawn_from(paths: list[Path]) -> Iterator[None]:
    """A file may pass the checks here and still be none that scoring wrote: what then breaks the drawing is its fault."""
    try:
        yield
    except RlassayError:
        raise
    except BREAKS as error:
        names = " ".join(map(str, paths))
        cause = f"{type(error).__name__}: {error}"[:LONGEST_CAUSE]
        raise DatasetError(
            f"{names} cannot be drawn, it is damaged or was edited ({cause})",
            remedy="score the dataset again",
        ) from error


def _has_value(score: Any) -> bool:
    return isinstance(score, Mapping) and _is_number(score.get("value"))


def _check(card: Scorecard, path: Path) -> None:
    """Refuse a file that was edited into something no card is, before anything is drawn from it."""
    for name in SECTIONS:
        if not isinstance(getattr(card, name), Mapping):
            raise _damaged(path, name)
    if card.verdict is not None and not _is_verdict(card.verdict):
        raise _damaged(path, "verdict")
    for name, score in card.items():
        if not _is_score(score):
            raise _damaged(path, f"scores.{name}")
    for name in DRAWN:
        if not _are_columns(card.series.get(name)):
            raise _damaged(path, f"series.{name}")
    histograms = card.series.get("histograms") or {}
    if not isinstance(histograms, Mapping) or not all(map(_are_columns, histograms.values())):
        raise _damaged(path, "series.histograms")
    checks = card.inspection.get("checks") or []
    if not isinstance(checks, list) or not all(isinstance(check, Mapping) for check in checks):
        raise _damaged(path, "inspection.checks")


def _is_score(score: Score) -> bool:
    numbers = [score.value, score.n, *score.per_seed, *(score.interval or ())]
    if score.relative is not None:
        numbers.append(score.relative)
    known = score.direction in ("higher", "lower") and score.converged in (True, False, None)
    return known and all(map(_is_number, numbers))


def _is_verdict(verdict: Any) -> bool:
    """A mapping whose forecasts, where there are some, have numbers."""
    if not isinstance(verdict, Mapping) or not isinstance(verdict.get("advice") or {}, Mapping):
        return False
    forecasts = [verdict[part] for part in EXPECTED if verdict.get(part)]
    return all(
        isinstance(part, Mapping)
        and all(map(_is_number, [part.get("value"), *(part.get("interval") or (0, 0))]))
        for part in forecasts
    )


def _are_columns(part: Any) -> bool:
    """Absent, or a mapping in which every list holds numbers."""
    if part is None:
        return True
    if not isinstance(part, Mapping):
        return False
    lists = [values for values in part.values() if isinstance(values, list)]
    return all(_is_number(value) for values in lists for value in values)


def _is_ranking(part: Any) -> bool:
    if not isinstance(part, Mapping):
        return False
    rows = [row for order in part.values() for row in order]
    return all(isinstance(row, Mapping) and {"source", "rank", "value"} <= set(row) for row in rows)


def _is_number(value: Any) -> bool:
    """A card holds finite numbers only, none of them beyond a float."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _damaged(path: Path, part: str) -> DatasetError:
    return DatasetError(f"{path} is damaged at `{part}`", remedy="score the dataset again")
