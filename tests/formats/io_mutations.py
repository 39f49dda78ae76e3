"""Damage a valid dataset in one seeded way: bytes, lengths, names, shapes or types."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS = (0, -1, 1, 2, 2**31, 2**63 - 1, 1e300, 0.5, True, None, "text", [], {})
TYPES = ("f2", ">f8", "i8", "u1", "bool", "S4", "f4")


def mutate(path: Path, seed: int) -> str:
    """Change the dataset at `path` in place; the name of the damage."""
    rng = random.Random(seed)
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    file = rng.choice(files)
    kinds = [flip, flip_head, truncate, overwrite, splice]
    structural = {
        ".json": change_json,
        ".parquet": change_table,
        ".npy": change_npy,
        ".npz": change_npz,
    }
    by_content = structural.get(file.suffix, change_hdf5 if h5py.is_hdf5(file) else None)
    kinds += (
        [by_content] * len(kinds) if by_content else []
    )  # half the damage keeps the container whole
    chosen = rng.choice(kinds)
    try:
        chosen(file, rng)
    except (
        ValueError,
        AttributeError,
        TypeError,
    ):  # lines of JSON, object arrays: no such structure
        chosen = flip
        chosen(file, rng)
    return f"{chosen.__name__} {file.name}"


# -- bytes ------------------------------------------------------------------------------------------------------------


def flip(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(rng.randint(1, 20)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    file.write_bytes(content)


def flip_head(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(rng.randint(1, 6)):
        content[rng.randrange(min(2_048, len(content)))] = rng.choice(
            (0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))
        )
    file.write_bytes(content)


def truncate(file: Path, rng: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: rng.randrange(len(content))])


def overwrite(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    start, length = rng.randrange(len(content)), rng.randint(1, 64)
    content[start : start + length] = bytes([rng.choice((0, 0xFF))]) * length
    file.write_bytes(content)


def splice(file: Path, rng: random.Random) -> None:
    content = file.read_bytes()
    start = rng.randrange(len(content))
    file.write_bytes(content[:start] + rng.randbytes(rng.randint(1, 64)) + content[start:])


# -- structure --------------------------------------------------------------------------------------------------------


def other_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Another shape, length or type."""
    choice = rng.randrange(6)
    if choice == 0:
        return array[:-1]
    if choice == 1:
        return np.concatenate([array, array])
    if choice == 2:
        return array.reshape(array.shape + (1,) * rng.randint(1, 3))
    if choice == 3:
        return array.ravel()
    if choice == 4:
        return array[:0]
    with np.errstate(all="ignore"):
        return array.astype(rng.choice(TYPES))


def change_hdf5(file: Path, rng: random.Random) -> None:
    with h5py.File(file, "a") as root:
        paths: list[str] = []
        root.visititems(
            lambda name, item: paths.append(name) if isinstance(item, h5py.Dataset) else None
        )
        one, two = rng.choice(paths), rng.choice(paths)
        choice = rng.randrange(5)
        if choice == 0 and one != two:
            root.move(one, "held")
            root.move(two, one)
            root.move("held", two)
        elif choice == 1:
            del root[one]
        elif choice == 2:
            del root[one]
            root.create_group(one)
        elif choice == 3:
            root.move(one, f"{one}_renamed")
        elif root[one].dtype.kind in "fiub":
            array = np.atleast_1d(root[one][()])
            del root[one]
            root[one] = other_array(array, rng)


def change_arrays(arrays: dict[str, np.ndarray], rng: random.Random) -> dict[str, np.ndarray]:
    one, two = rng.choice(list(arrays)), rng.choice(list(arrays))
    choice = rng.randrange(3)
    if choice == 0:
        arrays[one], arrays[two] = arrays[two], arrays[one]
    elif choice == 1:
        del arrays[one]
    else:
        arrays[one] = other_array(arrays[one], rng)
    return arrays


def change_npz(file: Path, rng: random.Random) -> None:
    with np.load(file) as archive:
        arrays = dict(archive)
    np.savez(file, **change_arrays(arrays, rng))


def change_npy(file: Path, rng: random.Random) -> None:
    folder = file.parent
    arrays = {p.stem: np.load(p) for p in sorted(folder.glob("*.npy"))}
    shutil.rmtree(folder)
    folder.mkdir()
    for name, array in change_arrays(arrays, rng).items():
        np.save(folder / f"{name}.npy", array)


def change_table(file: Path, rng: random.Random) -> None:
    table = pq.read_table(file)
    names = list(table.column_names)
    choice = rng.randrange(5)
    one, two = rng.randrange(len(names)), rng.randrange(len(names))
    if choice == 0:
        names[one], names[two] = names[two], names[one]
        table = table.rename_columns(names)
    elif choice == 1:
        table = table.drop_columns([names[one]])
    elif choice == 2:
        table = table.slice(0, rng.randrange(table.num_rows))
    elif choice == 3:
        table = table.set_column(one, names[one], pa.array(["text"] * table.num_rows))
    else:
        table = table.set_column(one, names[one], pa.array([None] * table.num_rows, pa.float32()))
    pq.write_table(table, file)


def change_json(file: Path, rng: random.Random) -> None:
    value = json.loads(file.read_text())
    key = rng.choice(sorted(value))
    if rng.random() < 0.3:
        del value[key]
    elif isinstance(value[key], str) and value[key].startswith("{"):  # a space inside the metadata
        inner = json.loads(value[key])
        inner[rng.choice(sorted(inner))] = rng.choice(NUMBERS)
        value[key] = json.dumps(inner)
    else:
        value[key] = rng.choice(NUMBERS)
    file.write_text(json.dumps(value))
