"""Cards that were made before: found again in the run store by the data and by everything a card depends on."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import rlassay
from rlassay import critic, transport
from rlassay import settings as change_settings
from rlassay.data.dataset import Dataset
from rlassay.data.references import Reference
from rlassay.engine.files import read_or_set_aside, write_atomically
from rlassay.engine.store import RunStore, Task
from rlassay.errors import RlassayError
from rlassay.progress import notice
from rlassay.results.card import Scorecard
from rlassay.results.provenance import card_software
from rlassay.scoring.registry import SCORES
from rlassay.scoring.settings import Plan
from rlassay.transport import resolve_cost

REVISION = 1  # raised whenever a card of unchanged scores says something else
CARD = "card.json"


def card_task(
    data: Dataset,
    chosen: Plan,
    names: Sequence[str],
    seeds: Sequence[int],
    reference: Reference | None,
    read: Mapping[str, Any],
    refine: bool = False,
) -> Task | None:
    """What names the card; None where something takes part that may change without our knowing."""
    if not all_ours(chosen, names):
        return None
    asked = asked_of(chosen, names, seeds, read) | {
        "reference": None if reference is None else asdict(reference),
        "told": _told(data),
        **({"refine": True} if refine else {}),
    }
    about = {"fingerprint": data.fingerprint, "source": data.origin.source}
    label = f"{data.origin.source}, {len(names)} scores, preset {chosen.preset}"
    return Task("score", "rlassay.scoring:score", asked, about, REVISION, label)


def all_ours(chosen: Plan, names: Sequence[str]) -> bool:
    """No third party's function and no file of distances takes part, which may change without our knowing."""
    functions = [SCORES[name].function for name in names]
    functions.append(resolve_cost(chosen.settings.transport).function)
    ours = all(_is_ours(function) for function in functions)
    return ours and chosen.settings.transport.ground is None


def asked_of(
    chosen: Plan, names: Sequence[str], seeds: Sequence[int], read: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything beside the data that a card depends on."""
    rooms = {"critic": critic.REVISION, "transport": transport.REVISION}
    if chosen.settings.critic.settle:
        rooms["critic"] = critic.SETTLED_REVISION
    return {
        "settings": change_settings.flatten(chosen.settings),
        "changed": sorted(chosen.changed),  # a cost that was named holds for every estimator
        "preset": chosen.preset,
        "scores": list(names),
        "seeds": list(seeds),
        "read": {name: str(value) for name, value in read.items() if value is not None},
        "revisions": {name: SCORES[name].revision for name in names} | rooms,
        "software": card_software(),
        "source": source_digest(),
    }


def _is_ours(function: Any) -> bool:
    inner = getattr(function, "func", function)  # of a functools.partial
    return str(getattr(inner, "__module__", "")).startswith("rlassay.")


def _told(data: Dataset) -> dict[str, Any]:
    """What the file says beside its columns, and cards repeat."""
    origin = data.origin
    return {
        "format": origin.format,
        "env_id": data.env_id,
        "notes": [[note.code, note.message, note.remedy] for note in origin.notes],
        "bounds": [bound.tolist() for bound in data.action_bounds()[:2]],
        "origin": dict(origin.pinned or {}),
        "beside": None if data.rewards is not None else _digest(origin.extras),
    }


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Of what stands beside the columns: demonstrations are told apart by it, and no fingerprint knows it."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(repr((name, arrays[name].dtype, arrays[name].shape)).encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()[:16]


@functools.cache
def source_digest() -> str:
    """Which state of this package: name, size and time of every file, so that no edit meets an older card."""
    folder, digest = Path(rlassay.__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            status = path.stat()
            known = (str(path.relative_to(folder)), status.st_size, status.st_mtime_ns)
            digest.update(repr(known).encode())
    return digest.hexdigest()[:16]


def find_card(task: Task) -> Scorecard | None:
    """The card as it was made; a damaged one is set aside, and None."""
    store = RunStore()
    if store.result(task) is None:
        return None
    return read_or_set_aside(store.folder(task) / CARD, _read_card)


def _read_card(path: Path) -> Scorecard:
    try:
        return Scorecard.from_dict(json.loads(path.read_text()))
    except RlassayError as error:
        raise ValueError(error.what) from None


def keep_card(task: Task, card: Scorecard) -> None:
    """Write the card, its result last; a store that cannot be written costs the next run its shortcut, and nothing else."""
    store = RunStore()
    try:
        folder = store.begin(task)
        write_atomically(folder / CARD, card.to_json())
        store.finish(task, {name: score.value for name, score in card.scores.items()})
    except RlassayError as error:
        notice(f"the card was not kept: {error.what}")


def told_again(
    card: Scorecard, dataset: Mapping[str, Any], command: str, seconds: Mapping[str, float]
) -> Scorecard:
    """A card from the store as the card of this run: its source, command and seconds are today's."""
    kept = {name: card.dataset[name] for name in ("learned_from",) if name in card.dataset}
    return replace(card, dataset={**dataset, **kept}, command=command, seconds=seconds)
