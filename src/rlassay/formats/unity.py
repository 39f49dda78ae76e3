"""Demonstrations of Unity ML-Agents (`.demo`): protocol buffers one after another, read without protobuf.

A record holds the observation, the action taken there, and the reward of the action before it. `done` marks the state
behind an episode's last action, `max_step_reached` that the episode was cut there. Pictures are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.formats.assemble import assemble, join_vectors, refuse_image
from rlassay.formats.guards import Budget, plain_file, refusing
from rlassay.formats.options import ReadOptions

FORMAT = "unity"
BRAIN_OFFSET = 33  # the description of the recording is padded to here
FOLD = 12  # bytes in memory for one byte of the file, at most
MASK = 2**64 - 1

Message = dict[int, list[Any]]  # field number -> its values in order


def recognises(path: Path, head: bytes) -> bool:
    return path.suffix == ".demo" and head[1:3] == b"\x08\x01"


def read(path: Path, options: ReadOptions) -> Dataset:
    """Every transition; the records behind an episode's last action become next observations."""
    Budget(path).take(FOLD * plain_file(path).stat().st_size, "the demonstration")
    with refusing(path, "a Unity demonstration"):
        meta, brain, pairs = _records(path.read_bytes())
        infos = [_message(_one(pair, 1, b"")) for pair in pairs]
        states = [_observations(info) for info in infos]
        actions = [_action(_message(_one(pair, 2, b"")), brain) for pair in pairs]
    done = np.array([bool(_one(info, 8, 0)) for info in infos], bool)
    cut = np.array([bool(_one(info, 9, 0)) for info in infos], bool)
    reward = np.array([_float(_one(info, 7, b"\0\0\0\0")) for info in infos])
    kept = np.flatnonzero(~done[:-1])
    if len(kept) == 0:
        raise DatasetError("the dataset is empty", remedy="it needs at least one transition")
    parts = {key: np.stack([state[key] for state in states]) for key in states[0]}
    observations, notes = join_vectors(parts, options)
    return assemble(
        {
            "observations": observations[kept],
            "actions": np.stack([actions[row] for row in kept]),
            "rewards": reward[kept + 1],
            "next_observations": observations[kept + 1],
            "terminals": (done & ~cut)[kept + 1],
            "timeouts": (done & cut)[kept + 1],
        },
        options,
        source=path,
        format_name=FORMAT,
        notes=notes,
        metadata=_described(meta, brain),
    )


def _described(meta: Message, brain: Message) -> dict[str, Any]:
    return {
        "demonstration_name": bytes(_one(meta, 2, b"")).decode("utf-8", "replace"),
        "brain_name": bytes(_one(brain, 7, b"")).decode("utf-8", "replace"),
        "number_steps": _one(meta, 3, 0),
        "number_episodes": _one(meta, 4, 0),
        "mean_reward": _float(_one(meta, 5, b"\0\0\0\0")),
    }


def _records(content: bytes) -> tuple[Message, Message, list[Message]]:
    meta = _message(next(_delimited(content, 0)))
    messages = _delimited(content, BRAIN_OFFSET)
    brain = _message(next(messages))
    stated = _one(meta, 3, 0) or None  # recordings may be followed by what is left of longer ones
    return meta, brain, [_message(part) for part in islice(messages, stated)]


def _observations(info: Message) -> dict[str, np.ndarray]:
    found = {}
    for index, raw in enumerate(info.get(13, [])):
        observation = _message(raw)
        shape = [n for part in observation.get(1, []) for n in _integers(part)]
        if 3 in observation or len(shape) != 1:
            raise refuse_image(f"observation {index}", shape)
        data = _message(_one(observation, 4, b"")).get(1, [])
        values = np.frombuffer(b"".join(data), "<f4")
        if len(values) != shape[0]:
            raise DatasetError(f"observation {index} promises {shape[0]} numbers", got=len(values))
        found[f"{index:03d}"] = values
    if not found:
        raise DatasetError("a record holds no observation")
    return found


def _action(action: Message, brain: Message) -> np.ndarray:
    """Continuous numbers, or the branches that were chosen; a mixture of both is refused."""
    continuous = np.frombuffer(b"".join(action.get(6, [])), "<f4")
    discrete = np.array([n for part in action.get(7, []) for n in _integers(part)], np.int64)
    if len(continuous) and len(discrete):
        raise DatasetError("the agent has continuous and discrete actions", allowed="one kind")
    if len(continuous) or len(discrete):
        return continuous if len(continuous) else discrete
    older = np.frombuffer(b"".join(action.get(1, [])), "<f4")
    return older if _one(brain, 6, 0) == 1 else older.astype(np.int64)


# -- the wire format of protocol buffers ------------------------------------------------------------------------------


def _delimited(content: bytes, position: int) -> Iterator[bytes]:
    while position < len(content):
        size, position = _varint(content, position)
        if size > len(content) - position:
            raise DatasetError("the demonstration ends inside a record")
        yield content[position : position + size]
        position += size


def _message(content: bytes) -> Message:
    found: Message = {}
    position = 0
    while position < len(content):
        key, position = _varint(content, position)
        value, position = _value(content, position, key & 7)
        found.setdefault(key >> 3, []).append(value)
    return found


def _value(content: bytes, position: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return _varint(content, position)
    size = {1: 8, 5: 4}.get(kind)
    if kind == 2:
        size, position = _varint(content, position)
    if size is None or position + size > len(content):
        raise DatasetError("a record of the demonstration is damaged")
    return content[position : position + size], position + size


def _varint(content: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(content):
            break
        byte = content[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & MASK, position
    raise DatasetError("a number in the demonstration is damaged")


def _integers(part: Any) -> list[int]:
    """A repeated number, packed or one by one."""
    if isinstance(part, int):
        return [part]
    found, position = [], 0
    while position < len(part):
        value, position = _varint(part, position)
        found.append(value)
    return found


def _one(message: Message, field: int, default: Any) -> Any:
    """The last value of a field, as protocol buffers count."""
    value = message.get(field, [default])[-1]
    if isinstance(value, int) != isinstance(default, int):
        raise DatasetError("a record of the demonstration has a field of another type")
    return value


def _float(raw: bytes) -> float:
    return struct.unpack("<f", raw)[0] if len(raw) == 4 else float("nan")
