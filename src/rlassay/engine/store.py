"""The run store: one folder a task, named by everything its result depends on.

`<store>/runs/<name>/<key>/` holds `task.json` (what was asked), `result.json` (written last, atomically) or
`failure.json`, and whatever the task keeps beside them, such as checkpoints. The key is a hash of name, settings, data
fingerprint and revision, so another setting, other data or newer numbers never meet an old result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rlassay.engine.files import read_or_set_aside, write_json
from rlassay.runtime import state_folder


@dataclass(frozen=True)
class Task:
    """Work that can be done anywhere: an importable function of (settings, data reference, folder) -> JSON.

    `data` tells where the data is; only its `fingerprint` is part of the key, or its `identity` where it has one (of
    data that can be made again). `label` is for people.
    """

    name: str  # what kind of work, such as "train"
    function: str  # "package.module:function"
    settings: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 1
    label: str = ""

    @property
    def key(self) -> str:
        data = self.data.get("identity") or self.data.get("fingerprint")
        known = [self.name, self.settings, data, self.revision]
        text = json.dumps(known, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "key": self.key}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Task:
        return cls(**{name: value[name] for name in cls.__dataclass_fields__})


class RunStore:
    """Results and working folders of tasks, under one root outside the checkout."""

    def __init__(self, root: str | Path | None = None):
        self.root = Path(root) if root is not None else state_folder()

    def folder(self, task: Task) -> Path:
        """The task's own folder, for its checkpoints and results."""
        return self.root / "runs" / task.name / task.key

    def result(self, task: Task) -> Any | None:
        """The stored result; None while there is none."""
        return _read(self.folder(task) / "result.json")

    def failure(self, task: Task) -> str | None:
        """The cause of the last failure; None after a success."""
        return _read(self.folder(task) / "failure.json")

    def begin(self, task: Task) -> Path:
        """Write down what is asked, and forget an earlier failure."""
        folder = self.folder(task)
        write_json(folder / "task.json", task.to_json())
        (folder / "failure.json").unlink(missing_ok=True)
        return folder

    def finish(self, task: Task, result: Any) -> None:
        write_json(self.folder(task) / "result.json", result)

    def forget(self, task: Task) -> None:
        """What stood beside the result is lost, so that the task has to be done again."""
        (self.folder(task) / "result.json").unlink(missing_ok=True)

    def fail(self, task: Task, cause: str) -> None:
        write_json(self.folder(task) / "failure.json", cause)

    @contextmanager
    def claim(self, task: Task) -> Iterator[None]:
        """Only one process works on a task; a second one waits here and then finds the result."""
        import fcntl

        folder = self.folder(task)
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _read(path: Path) -> Any | None:
    """The JSON of a file; a damaged one counts as absent, and is set aside."""
    return read_or_set_aside(path, lambda path: json.loads(path.read_text()))
