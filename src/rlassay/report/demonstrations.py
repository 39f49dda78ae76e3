"""Demonstrations on the terminal, in Markdown and on the page: the episodes worth watching, why, and how to open one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlassay.report import charts, words
from rlassay.words import printable

if TYPE_CHECKING:
    from rich.console import Console

View = dict[str, Any]
STYLES = {"good": "green", "look": "yellow", "unknown": "dim"}
BADGES = {"good": ("pass", "Good"), "look": ("warn", "Look"), "unknown": ("neutral", "Unknown")}
OPENED = "to open the first of them (commands of the lerobot package, not run here):"
ADJUSTED = ".adjusted"
TIMELINE_BYTES = 240_000  # of a page, for all its datasets
LISTED = 120  # episodes in the page's table
TASKS = 50  # in the page's table
JOINTS = 60  # columns of each kind in the page's table


# -- in words --------------------------------------------------------------------------------------------------------


def watched(told: Mapping[str, Any]) -> list[str]:
    """The episodes worth watching and why, one a line behind their heading."""
    watch = told["watch"]
    found = ["worth watching:" if watch else "no episode stands out in any score of movement"]
    return found + [f"episode {one['episode']}: {'; '.join(one['reasons'])}" for one in watch]


def opened(told: Mapping[str, Any]) -> list[str]:
    """How to open the first of them, one command a line behind their heading; nothing where nobody knows."""
    commands = (told.get("open") or {}).values()
    return [OPENED, *commands] if commands else []


def show_demonstrations(told: Mapping[str, Any], console: Console) -> None:
    """Print the episodes worth watching, then what is said about all of them, then what to do next."""
    from rich.padding import Padding
    from rich.text import Text

    heading, *episodes = watched(told)
    console.print(Text(heading))
    for line in episodes:
        console.print(Padding(Text(printable(line)), (0, 0, 0, 2), expand=False))
    for depth, line in enumerate(opened(told)):  # commands whole, so that they can be copied
        console.print(Text(f"  {printable(line)}" if depth else line), soft_wrap=depth > 0)
    for finding in told["findings"]:
        label = (finding["status"].upper(), STYLES[finding["status"]])
        console.print(Text.assemble(label, f" {printable(finding['message'])}"))
    for caution in told["cautions"]:
        console.print(Text(printable(f"note: {caution}")))
    for step in told.get("next") or ():
        console.print(Text(printable(f"next: {step['why']}")))
        console.print(Text(printable(f"  $ {step['command']}"), style="bold"), soft_wrap=True)


def markdown(told: Mapping[str, Any]) -> str:
    """The same as Markdown, behind the table of checks."""
    said = [*watched(told), *opened(told)]
    said += [f"{one['status']}: {one['message']}" for one in told["findings"]]
    return "".join(f"\n- {printable(line)}" for line in said) + "\n"


# -- on the page -----------------------------------------------------------------------------------------------------


def demonstrations_view(told: Mapping[str, Any], key: str, share: float = 1.0) -> View | None:
    """The page's part on demonstrations; `share` of the room for timelines is this dataset's. None without any."""
    if not told:
        return None
    drawn = {
        f"{key}-timeline": _timeline_spec(told, int(share * TIMELINE_BYTES)),
        f"{key}-learning": _learning_spec(told.get("learning_curve")),
    }
    return {
        "watch": [_watched(one) for one in told["watch"]],
        "findings": [_finding(one) for one in told["findings"]],
        "cautions": [words.plain(caution) for caution in told["cautions"]],
        "open": [words.plain(command) for command in (told.get("open") or {}).values()],
        "next": [
            {"why": words.plain(step["why"]), "command": words.plain(step["command"])}
            for step in told.get("next") or ()
        ],
        "charts": {chart: spec for chart, spec in drawn.items() if spec},
        "episodes": _episode_table(told),
        "joints": {kind: _joint_rows(joints) for kind, joints in told["joints"].items()},
        "tasks": _task_rows(told),
        "timeline": f"{key}-timeline",
        "learning": f"{key}-learning",
    }


def _watched(one: Mapping[str, Any]) -> View:
    return {"episode": int(one["episode"]), "reasons": [words.plain(why) for why in one["reasons"]]}


def _finding(one: Mapping[str, Any]) -> View:
    tone, label = BADGES.get(one["status"], BADGES["unknown"])
    return {"tone": tone, "label": label, "message": words.plain(one["message"])}


def _timeline_spec(told: Mapping[str, Any], room: int) -> charts.Spec | None:
    """Episodes until the room is used up, the watched ones first; the box to choose from is in the order of the file."""
    stored = told.get("timelines") or {}
    taken: list[Any] = []
    used = 0
    for one in stored.get("episodes") or ():
        used += _bytes(one)
        if taken and used > room:
            break
        taken.append(one)
    if not taken:
        return None
    first = taken[0]["episode"]
    taken.sort(key=lambda one: one["episode"])
    names = {
        kind: [f"column {number}" for number in columns]
        for kind, columns in stored["columns"].items()
    }
    seconds = "" if stored.get("rate") is None else f" at {words.number(stored['rate'])} a second"
    return {
        "kind": "timeline",
        "title": "An episode over time",
        "x_label": f"frame{seconds}",
        "first": first,
        "names": names,
        "episodes": taken,
        "caption": _timeline_caption(len(taken), stored["total"]),
    }


def _bytes(one: Mapping[str, Any]) -> int:
    lines = [one["frames"], one["disagreement"], *one["states"], *one["actions"]]
    return sum(len(text) + 12 for line in lines for text in line.values())


def _timeline_caption(shown: int, total: int) -> str:
    some = "All" if shown == total else f"{shown:,} of {total:,}"
    return (
        f"{some} episodes can be chosen, the ones worth watching with most detail. States and actions: the columns that vary most, in deviations "
        "from their median. Bands: idle, stalled and saturated stretches. Disagreement: distance of the action from those "
        "of other episodes at like states; 0 is full agreement, 1 the spread of all actions."
    )


def _learning_spec(curve: Mapping[str, Any] | None) -> charts.Spec | None:
    if not curve:
        return None
    sizes = [*curve["episodes"], 2 * curve["episodes"][-1]]
    spread = list(zip(*curve["errors"], strict=True))
    low = [*(min(column) for column in spread), curve["interval"][0]]
    high = [*(max(column) for column in spread), curve["interval"][1]]
    now, doubled = words.number(curve["error"][-1]), words.number(curve["doubled"])
    return {
        "kind": "learning",
        "title": "Would more episodes help?",
        "x_label": "training episodes",
        "y_label": "held-out action error",
        "x": charts.rounded(sizes),
        "y": charts.rounded([*curve["error"], curve["doubled"]]),
        "low": charts.rounded(low),
        "high": charts.rounded(high),
        "caption": f"Held-out squared error of the actions, of their variance ({curve['regressor']} regressor): {now} with "
        f"{curve['episodes'][-1]} episodes. The last point is a forecast for twice as many: {doubled}, with its 90 % interval; "
        "the other bars span five ways of holding out.",
    }


def _episode_table(told: Mapping[str, Any]) -> View:
    """Every episode with its raw scores, those worth watching first."""
    columns = told["episodes"]
    names = [name for name in columns if name in told["scores"] and not name.endswith(ADJUSTED)]
    watched = [one["episode"] for one in told["watch"]]
    count = len(columns["length"])
    order = [*watched, *(episode for episode in range(count) if episode not in set(watched))]
    return {
        "headings": [("episode", ""), ("length", ""), *(_heading(name, told) for name in names)],
        "rows": [
            {
                "episode": episode,
                "watched": episode in watched,
                "length": columns["length"][episode],
                "cells": [_cell(columns[name][episode]) for name in names],
            }
            for episode in order[:LISTED]
        ],
        "left_out": max(0, count - LISTED),
    }


def _heading(name: str, told: Mapping[str, Any]) -> tuple[str, str]:
    score = told["scores"][name]
    return f"{words.plain(name)} {words.ARROWS[score['direction']]}", words.plain(score["meaning"])


def _cell(value: float | None) -> str:
    return "–" if value is None else words.number(value, 3)


def _joint_rows(joints: Mapping[str, Any]) -> list[View]:
    dead = set(joints["dead"])
    numbers = zip(joints["low"], joints["median"], joints["high"], joints["moving"], strict=True)
    return [
        {
            "column": column,
            "range": [words.number(value, 3) for value in (low, median, high)],
            "moving": words.percent(moving),
            "dead": column in dead,
        }
        for column, (low, median, high, moving) in enumerate(numbers)
    ][:JOINTS]


def _task_rows(told: Mapping[str, Any]) -> list[View]:
    """One row a task: episodes, frames, and the medians of three scores that hardly depend on length."""
    return [
        {
            "task": words.plain(task),
            "episodes": f"{len(one['episodes']):,}",
            "frames": f"{one['frames']:,}",
            "disagreement": _cell(one["scores"].get("disagreement")),
            "idle": _cell(one["scores"].get("idle")),
        }
        for task, one in list((told.get("tasks") or {}).items())[:TASKS]
    ]
