"""The page of a curation: what was kept, and the scores before and after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rlassay import __version__
from rlassay.engine.files import write_atomically
from rlassay.report import words
from rlassay.report.curation import rule_in_words, shown
from rlassay.report.page import asset, policy, template

MOST_MARKS = 400  # marks in the strip of episodes; more are joined into bins


def write_curation_page(result: Mapping[str, Any], path: str | Path) -> None:
    """Write the page of a `rlassay.curation/1`."""
    write_atomically(Path(path), curation_page(result))


def curation_page(result: Mapping[str, Any]) -> str:
    """The page as text: one file without network, as the page of cards is."""
    early = asset("theme.js")
    return template("curation.html").render(
        name=words.short_name(result),
        lead=_lead(result),
        rows=_rows(result),
        marks=_marks(result),
        notes=[words.plain(note) for note in (*result.get("notes", ()), *result.get("lost", ()))],
        facts=_facts(result),
        style=asset("page.css"),
        early=early,
        policy=policy([early]),
        version=__version__,
    )


def _lead(result: Mapping[str, Any]) -> list[str]:
    kept, total = len(result["kept"]), len(result["kept"]) + len(result["dropped"])
    sentences = [f"{kept:,} of {total:,} episodes stay, by the rule {rule_in_words(result)}."]
    means = [result[part]["scores"].get("return") for part in ("before", "after")]
    if all(means):
        before, after = (words.number(mean["value"]) for mean in means)
        sentences.append(f"The mean return goes from {before} to {after}.")
    if result.get("dry_run"):
        sentences.append("It was a dry run: nothing was written.")
    return sentences


def _rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    before, after = result["before"], result["after"]
    sizes = [
        {
            "name": name,
            "title": "",
            "before": (f"{before[name]:,}", ""),
            "after": (f"{after[name]:,}", ""),
            "change": words.percent(after[name] / before[name]) + " of them",
            "tone": "",
        }
        for name in ("episodes", "transitions")
    ]
    return sizes + [
        _score_row(name, before["scores"][name], after["scores"][name])
        for name in words.in_reading_order(before["scores"])
        if name in after["scores"]
    ]


def _score_row(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    change = after["value"] - before["value"]
    direction = before.get("direction") or "higher"
    better = (change > 0) == (direction == "higher")
    return {
        "name": f"{words.plain(name)} {words.ARROWS[direction]}",
        "title": f"{words.title_of(name)}. {words.meaning_of(name)}",
        "before": shown(before),
        "after": shown(after),
        "change": f"{'+' if change > 0 else ''}{words.number(change)}",
        "tone": "" if change == 0 or _overlap(before, after) else "good" if better else "bad",
    }


def _overlap(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the intervals meet, so that the change is not coloured as one; without them it is."""
    one, other = before.get("interval"), after.get("interval")
    return bool(one and other and one[0] <= other[1] and other[0] <= one[1])


def _marks(result: Mapping[str, Any]) -> list[float]:
    """The share that stays of each stretch of episodes, in the order of the file."""
    kept = np.asarray(result["kept"], int)
    total = len(kept) + len(result["dropped"])
    stays = np.zeros(max(total, int(kept.max(initial=-1)) + 1))
    stays[kept] = 1
    return [float(part.mean()) for part in np.array_split(stays, min(len(stays), MOST_MARKS))]


def _facts(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    known = {
        "Source": result["source"],
        "Fingerprint": result.get("fingerprint"),
        "Written to": result.get("out"),
        "Version": result.get("version"),
    }
    return [(label, words.plain(value)) for label, value in known.items() if value]
