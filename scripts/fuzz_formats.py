"""Damage files of every format and read them: no crash, no hang, no traceback, no misread.

    python scripts/fuzz_formats.py --count 20000 --log fuzz.jsonl

Each case is a seed: a layout, a damage, a place. Children with limits on memory read the damaged file; what they read is
compared with an independent reading (h5py, json, pyarrow, numpy) in a child of its own. Every second file of a
layout that is read in blocks is then converted, curated or repaired with little memory, which has to end as it does when
all is held at once, and leave nothing behind where it is refused. Cases in the log are not done again, so that a stopped run goes on. Exit code 1
when any case is bad.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "formats"), str(ROOT / "src"), str(ROOT / "scripts")]

MEMORY = 2 * 2**30  # bytes a child may take beyond its imports
SECONDS = 60  # of computing without an answer: a hang
LONGEST = 30 * SECONDS  # of waiting, on whatever machine
PACKINGS = {
    "d4rl-checksums": {"compression": "gzip", "shuffle": True, "fletcher32": True, "chunks": (5,)},
    "d4rl-lzf": {"compression": "lzf", "shuffle": True},
    "d4rl-scale-offset": {"scaleoffset": 4},
    "d4rl-sums-alone": {"fletcher32": True},
}
AT_ONCE = ("d4rl-scale-offset",)  # libhdf5 reads it, in a child, and never in blocks
MARKS = (b"deflate", b"shuffle", b"fletcher32", b"scaleoffset", b"lzf", b"TREE", b"SNOD")
NEAR = (-24, 160)  # bytes around a mark that belong to the same record
EQUAL = "read, equal"
COLUMNS = ("observations", "actions", "rewards")
CSV_MAP = "observations=obs_0+obs_1+obs_2,actions=act_*,rewards=r,terminals=end,timeouts=cut,episode=id,step=k"


def write_originals(folder: Path) -> None:
    """One valid dataset a layout."""
    import io_more_layouts as more
    from io_layouts import LAYOUTS, TAIL_OPEN, d4rl, record

    layouts = {
        **LAYOUTS,
        **more.MORE_LAYOUTS,
        **more.TEXT_LAYOUTS,
        "csv": (more.csv, TAIL_OPEN, False),
    }
    for name, (write, ends, _) in layouts.items():
        (folder / name).mkdir()
        inner = write(record(ends), folder / name)
        if inner.parent != folder / name:  # Minari lies below its namespace
            inner.rename(folder / name / "dataset")
            shutil.rmtree(inner.parent)
    for name, packing in PACKINGS.items():
        (folder / name).mkdir()
        columns = COLUMNS[:1] if "scaleoffset" in packing else COLUMNS  # each is read in a child
        write_packed(d4rl(record(TAIL_OPEN), folder / name), packing, columns)


def write_packed(path: Path, packing: dict, columns: tuple[str, ...]) -> None:
    import h5py

    with h5py.File(path, "a") as file:
        for name in columns:
            column = file[name][()]
            del file[name]
            given = {"chunks": (5, *column.shape[1:]), **packing}
            given["chunks"] = (5, *column.shape[1:])
            file.create_dataset(name, data=column, **given)


# -- a child ----------------------------------------------------------------------------------------------------------


def damage(path: Path, name: str, seed: int) -> str:
    """One byte near a filter or a chunk index for packed HDF5, half the time; else what the tests' mutations do."""
    from io_mutations import mutate

    rng = random.Random(seed)
    if path.is_file() and name.startswith("d4rl") and rng.random() < 0.7:
        content = bytearray(path.read_bytes())
        places = [at for mark in MARKS for at in _all(content, mark)]
        if places:
            at = rng.choice(places) + rng.randrange(*NEAR)
            at = min(max(at, 0), len(content) - 1)
            content[at] = rng.choice((0, 1, 0x7F, 0xFF, content[at] ^ 1 << rng.randrange(8)))
            path.write_bytes(content)
            return "one-byte"
    return mutate(path, seed).split()[0]


def _all(content: bytearray, mark: bytes) -> list[int]:
    found, at = [], content.find(mark)
    while at >= 0:
        found.append(at)
        at = content.find(mark, at + 1)
    return found


def case(originals: Path, seed: int, memory: dict[str, int]) -> dict:
    """What became of one damaged file: read at once, and, every second of the layouts in `memory`, by a command that
    streams.
    """
    from fuzz_streams import compared as streamed

    layouts = sorted(p.name for p in originals.iterdir())
    name = layouts[seed % len(layouts)]
    with tempfile.TemporaryDirectory() as folder:
        source = next((originals / name).iterdir())
        path = Path(folder) / source.name
        shutil.copytree(source, path) if source.is_dir() else shutil.copy(source, path)
        found = {"seed": seed, "layout": name, "damage": damage(path, name, seed)}
        found["outcome"] = read_at_once(name, path, source)
        turn, other = divmod(seed // len(layouts), 2)
        if name in memory and not other:
            found["streamed"] = streamed(path, turn, memory[name], Path(folder) / "written")
        return found


def read_at_once(name: str, path: Path, source: Path) -> str:
    from rlassay.errors import RlassayError
    from rlassay.formats import load

    try:
        data = load(path, map=CSV_MAP if name == "csv" else None)
    except RlassayError as error:
        return "refused" if "\n" not in str(error) else "BAD message"
    except BaseException as error:
        return f"BAD {type(error).__name__}"
    return compared(data, name, path, source)


def compared(data, name: str, path: Path, source: Path) -> str:
    """The reading against the independent one; where that one gives up, against the file before it was damaged."""
    from fuzz_readers import reader_of

    read = reader_of(name)
    if read is None:
        return "read, no other reader"
    found = in_fork(read, data, path)
    if found is None and in_fork(read, data, source) == EQUAL:
        return "read, equal to the undamaged file; the other reader fails"
    return found or "read, the other reader fails"


def in_fork(read, data, path: Path) -> str | None:
    """The other reader may crash: it runs in a fork."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        os._exit(_fork(read, data, path, send))
    os.close(send)
    with os.fdopen(receive) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    return text if status == 0 and text else None


def _fork(read, data, path: Path, send: int) -> int:
    import numpy as np

    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    try:
        theirs = read(path)
        ours = (data.observations, data.actions, data.rewards)
        same = all(
            (one is None) == (two is None)
            and (
                one is None
                or np.array_equal(np.asarray(one, "f8"), np.asarray(two, "f8"), equal_nan=True)
            )
            for one, two in zip(ours, theirs, strict=True)
        )
        os.write(send, (EQUAL if same else "BAD misread").encode())
        return 0
    except BaseException:
        return 1


def worker(originals: Path) -> None:
    import pyarrow.parquet  # noqa: F401
    from fuzz_streams import memory_of

    import rlassay.formats.hdf5
    import rlassay.formats.minari_format  # noqa: F401

    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    layouts = [path for path in originals.iterdir() if path.name not in AT_ONCE]
    known = {layout.name: memory_of(next(layout.iterdir())) for layout in layouts}
    memory = {name: size for name, size in known.items() if size is not None}
    for seed in map(int, sys.stdin):
        sys.stdout.write(json.dumps(case(originals, seed, memory)) + "\n")
        sys.stdout.flush()


# -- the parent -------------------------------------------------------------------------------------------------------


def _computed(process: int) -> float:
    """Processor seconds of a child so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Child:
    """A worker that is fed seeds, and started anew after a crash or a hang."""

    def __init__(self, originals: Path):
        self.originals = originals
        self.start()

    def start(self) -> None:
        pipe, words = subprocess.PIPE, [sys.executable, __file__, "--worker", str(self.originals)]
        self.process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def run(self, seed: int) -> dict:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()
        answered = self._wait()
        line = self.process.stdout.readline() if answered else ""
        if line.strip():
            return json.loads(line)
        self.process.kill()
        code = self.process.wait()
        self.start()
        names = sorted(p.name for p in self.originals.iterdir())
        outcome = f"BAD crash {code}" if answered else "BAD hang"
        return {"seed": seed, "layout": names[seed % len(names)], "damage": "", "outcome": outcome}

    def _wait(self) -> bool:
        """False for a hang: time is what the child computes, because a busy machine may not let it."""
        assert self.process.stdout
        started, used = time.monotonic(), _computed(self.process.pid)
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not selector.select(SECONDS / 4):
                if _computed(self.process.pid) - used > SECONDS:
                    return False
                if time.monotonic() - started > LONGEST:
                    return False
        return True

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def run(originals: Path, seeds: list[int], log) -> None:
    child = Child(originals)
    for seed in seeds:
        log.write(json.dumps(child.run(seed)) + "\n")
        log.flush()
    child.close()


def summary(records: list[dict]) -> str:
    lines = [f"{len(records):,} cases"]
    for part in ("outcome", "streamed"):
        kinds = Counter(record[part] for record in records if part in record)
        lines += [f"{count:8,}  {kind}" for kind, count in kinds.most_common()]
    lines += [json.dumps(record) for record in records if is_bad(record)][:50]
    return "\n".join(lines)


def write_table(path: Path, records: list[dict]) -> None:
    """How many cases ended in which way, read at once and in blocks."""
    lines = ["reading,outcome,cases"]
    for part, name in (("outcome", "at once"), ("streamed", "in blocks")):
        kinds = Counter(record[part] for record in records if part in record)
        lines += [f'{name},"{kind}",{count}' for kind, count in kinds.most_common()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def is_bad(record: dict) -> bool:
    return any(str(record.get(part)).startswith("BAD") for part in ("outcome", "streamed"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--log", type=Path, default=Path("fuzz.jsonl"))
    parser.add_argument("--table", type=Path, help="write the counts here, as CSV")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(given.worker)
        return
    lines = given.log.read_text().splitlines() if given.log.exists() else []
    wanted = range(given.first, given.first + given.count)
    done = {record["seed"] for record in map(json.loads, lines)}
    left = [seed for seed in wanted if seed not in done]
    with tempfile.TemporaryDirectory() as folder, open(given.log, "a") as log:
        write_originals(Path(folder))
        parts = [left[index :: given.workers] for index in range(given.workers)]
        with ThreadPoolExecutor(given.workers) as pool:
            list(pool.map(lambda part: run(Path(folder), part, log), parts))
    records = [json.loads(line) for line in given.log.read_text().splitlines()]
    records = [record for record in records if record["seed"] in wanted]
    print(summary(records))
    if given.table:
        write_table(given.table, records)
    sys.exit(any(is_bad(record) for record in records))


if __name__ == "__main__":
    main()
