"""The files a training leaves: the policy, the log, and the run's JSON with their hashes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlassay.engine.files import json_text
from rlassay.results.run import POLICY, Evaluation, HeldOut, Run

LOG, RUN = "log.csv", "run.json"


def render(policy: bytes, log: Sequence[Mapping[str, Any]], run: Run) -> dict[str, bytes]:
    """Every output by its name; the run names the hashes of the others."""
    files = {POLICY: policy, LOG: log_text(log).encode()}
    run.outputs = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return {**files, RUN: json_text(run.to_json()).encode()}


def log_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The log as CSV, one row a chunk of updates."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the log for JSON, which has no NaN: such numbers become their names, and give the same CSV."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def curve_entry(evaluation: Evaluation) -> list[Any]:
    """An evaluation as a checkpoint keeps it."""
    entry = [evaluation.update, evaluation.returns, evaluation.lengths]
    error = evaluation.held_out
    return entry if error is None else [*entry, [error.value, error.interval]]


def evaluation_of(entry: Sequence[Any]) -> Evaluation:
    """The evaluation that `curve_entry` kept."""
    update, returns, lengths, *error = entry
    held_out = None
    if error:
        value, interval = error[0]
        held_out = HeldOut(value, interval and (interval[0], interval[1]))
    return Evaluation(update, tuple(returns), tuple(lengths), held_out)


def belong(folder: Path, run: Run, policy: bytes) -> bool:
    """Whether a folder written by version 0.1, whose checkpoints hold no outputs, has those of this run."""
    try:
        found = json.loads((folder / RUN).read_text())
        logged = (folder / LOG).read_text().splitlines()[-1].split(",")[0]
        saved = (folder / POLICY).read_bytes()
    except (OSError, ValueError, IndexError):
        return False
    counts = found.get("updates"), len(found.get("curve", ()))
    return (
        counts == (run.updates, len(run.evaluations))
        and logged == str(run.updates)
        and saved == policy
    )
