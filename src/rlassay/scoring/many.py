"""One card a file, of as many files as there are: each is a task of an engine, kept by what it was made of.

A card that was made before is not made again as long as its file, the settings and this package are the same; whether
the file is the same is told by names, sizes and times, so that nothing is read for it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlassay.data.memory import MEMORY_SHARE, WORKING_COPIES, available_memory
from rlassay.engine.files import read_or_set_aside, write_atomically
from rlassay.engine.local import Engine, Outcome
from rlassay.engine.standing import StandingEngine
from rlassay.engine.store import RunStore, Task
from rlassay.formats import require_format
from rlassay.formats.trees import Found
from rlassay.runtime import available_cores, use_lanes
from rlassay.scoring.settings import plan, until_settled
from rlassay.scoring.stored import CARD, REVISION, all_ours, asked_of
from rlassay.scoring.verbs import asked_scores, score, seed_numbers

OWN_BYTES = 300 * 2**20  # a worker with NumPy and h5py, before it has read anything


@dataclass(frozen=True)
class Scored:
    """What became of one file: its card in the folder, or why there is none."""

    found: Found
    card: Path | None
    failure: str | None = None
    cached: bool = False  # made by an earlier run


OnScored = Callable[[Scored], None]


def score_files(
    files: Sequence[Found],
    out: Path,
    options: Mapping[str, Any],
    *,
    engine: Engine | None = None,
    store: RunStore | None = None,
    on_scored: OnScored = lambda scored: None,
) -> list[Scored]:
    """Write a card of every file into `out`; a file that cannot be scored does not stop the others.

    `options` are those of `rlassay.score`, as JSON values.
    """
    store = store or RunStore()
    tasks = {task.key: (task, found) for task, found in _tasks(files, options)}
    results: dict[str, Scored] = {}

    def on_outcome(outcome: Outcome) -> None:
        found = tasks[outcome.task.key][1]
        result = results[outcome.task.key] = _placed(outcome, found, out, store)
        on_scored(result)

    _forget_damaged([task for task, _ in tasks.values()], store)
    engine = engine or StandingEngine(workers_that_fit(files))
    engine.run([task for task, _ in tasks.values()], store, on_outcome)
    return [results[key] for key in tasks]


def _tasks(files: Sequence[Found], options: Mapping[str, Any]) -> list[tuple[Task, Found]]:
    preset, read = options.get("preset", "default"), dict(options.get("read") or {})
    chosen = until_settled(plan(preset, options.get("settings")))
    require_format(read.get("format"))
    names = asked_scores(options.get("scores"), preset)
    seeds = seed_numbers(options.get("seed", 0), options.get("seeds", 1))
    asked = asked_of(chosen, names, seeds, read) | {"options": dict(options)}
    if not all_ours(chosen, names):
        asked["run"] = uuid.uuid4().hex  # a third party's function may change without our knowing
    return [
        (
            Task(
                "score",
                "rlassay.scoring.many:score_task",
                asked,
                {"path": found.source, "identity": found.identity()},
                REVISION,
                f"{found.source}, {len(names)} scores, preset {preset}",
            ),
            found,
        )
        for found in files
    ]


def score_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: score one file, keep the card beside the result, give its numbers."""
    use_lanes(1)  # a worker has one core
    card = score(data["path"], **settings["options"])
    write_atomically(folder / CARD, card.to_json())
    return {name: each.value for name, each in card.scores.items()}


def _forget_damaged(tasks: Sequence[Task], store: RunStore) -> None:
    """A card that cannot be read is set aside, and its result forgotten: it is made again."""
    for task in tasks:
        if store.result(task) is not None and _kept_card(task, store) is None:
            store.forget(task)


def _kept_card(task: Task, store: RunStore) -> str | None:
    """The text of the card, which is JSON."""

    def read(path: Path) -> str:
        text = path.read_text()
        json.loads(text)
        return text

    return read_or_set_aside(store.folder(task) / CARD, read)


def _placed(outcome: Outcome, found: Found, out: Path, store: RunStore) -> Scored:
    """The card under its own name in the folder of cards."""
    place = out / f"{found.name}.json"
    if outcome.result is None:
        place.unlink(missing_ok=True)  # it was of another state of the file
        return Scored(found, None, outcome.failure)
    text = _kept_card(outcome.task, store)
    if text is None:
        return Scored(found, None, f"the card in {store.folder(outcome.task)} cannot be read")
    if not (place.is_file() and place.read_text(errors="replace") == text):
        write_atomically(place, text)
    return Scored(found, place, cached=outcome.cached)


def workers_that_fit(files: Sequence[Found]) -> int:
    """As many as there are cores, as long as the largest files fit into memory side by side."""
    sizes = sorted((found.size() for found in files), reverse=True)
    free = available_memory() * MEMORY_SHARE
    count = 0
    for size in sizes[: available_cores()]:
        free -= OWN_BYTES + WORKING_COPIES * size
        if free < 0:
            break
        count += 1
    return max(1, count)
