"""How much memory is free, from made-up files of /proc and /sys; and what is said where it does not suffice."""

import errno

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlassay.data import memory
from rlassay.data.memory import available_memory
from rlassay.errors import DatasetError
from rlassay.formats import guards, load

GIB = 2**30


def machine(root, groups, place="0::/", free=64 * GIB):
    """A root with the given files below sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {free // 1024} kB\n")
    (root / "proc/self/cgroup").write_text(place + "\n")
    (root / "proc/self/statm").write_text("0 0 0")
    for name, text in groups.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_without_groups_it_is_the_machines(tmp_path):
    assert available_memory(machine(tmp_path, {})) == 64 * GIB


def test_version_two(tmp_path):
    files = {"memory.max": str(4 * GIB), "memory.current": str(GIB)}
    assert available_memory(machine(tmp_path, files)) == 3 * GIB


def test_cache_is_given_up_on_demand(tmp_path):
    files = {
        "memory.max": str(4 * GIB),
        "memory.current": str(3 * GIB),
        "memory.stat": f"anon 5\ninactive_file {2 * GIB}\n",
    }
    assert available_memory(machine(tmp_path, files)) == 3 * GIB


def test_no_limit(tmp_path):
    files = {"memory.max": "max\n", "memory.current": str(GIB)}
    assert available_memory(machine(tmp_path, files)) == 64 * GIB


def test_nested_groups_the_tightest_counts(tmp_path):
    files = {
        "a/b/memory.max": "max",
        "a/b/memory.current": "0",
        "a/memory.max": str(2 * GIB),
        "a/memory.current": str(GIB),
        "memory.max": str(8 * GIB),
        "memory.current": "0",
    }
    assert available_memory(machine(tmp_path, files, "0::/a/b")) == GIB


def test_version_one(tmp_path):
    files = {
        "memory/job/memory.limit_in_bytes": str(2 * GIB),
        "memory/job/memory.usage_in_bytes": str(GIB // 2),
        "memory/memory.limit_in_bytes": str(2**63 - 4096),
        "memory/memory.usage_in_bytes": str(GIB),
    }
    place = "3:cpu,cpuacct:/job\n2:memory:/job\n0::/"
    assert available_memory(machine(tmp_path, files, place)) == 3 * GIB // 2


def test_place_of_the_host_is_not_visible(tmp_path):
    """In a container the path is often the host's; its mount is the group itself."""
    files = {"memory.max": str(GIB), "memory.current": "0"}
    root = machine(tmp_path, files, "0::/system.slice/docker-1.scope")
    assert available_memory(root) == GIB


@given(st.text(max_size=40))
def test_any_text_is_survived(text):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x"
        file.write_text(text, encoding="utf-8", errors="replace")
        found = memory._number(file)
        assert found is None or found >= 0


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    """A small archive that unpacks to far more than there is."""
    rows = 200_000
    np.savez_compressed(
        tmp_path / "x.npz",
        observations=np.zeros((rows, 100), "f4"),
        actions=np.zeros((rows, 1), "f4"),
        rewards=np.zeros(rows),
        terminals=np.zeros(rows),
    )
    monkeypatch.setattr(
        guards, "available_memory", lambda: 2**20
    )  # too little for a column of one number a row
    with pytest.raises(DatasetError, match="actions would need 1,600,000 bytes of memory"):
        load(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (MemoryError(), "does not fit into memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "does not fit into memory"),
        (OSError("unable to open (Cannot allocate memory)"), "does not fit into memory"),
        (PermissionError(errno.EACCES, "Permission denied"), "permission denied"),
        (OSError(errno.ENAMETOOLONG, "File name too long"), "too long"),
        (OSError(errno.ENOSPC, "No space left"), "cannot be unpacked: No space left"),
        (OSError(errno.EDQUOT, "Quota exceeded"), "cannot be unpacked: .*quota exceeded"),
        (OSError(errno.EFBIG, "File too large"), "cannot be unpacked: File too large"),
        (ValueError("bad"), "damaged"),
    ],
)
def test_only_damage_is_called_damage(error, match):
    with pytest.raises(DatasetError, match=match) as caught, guards.refusing("x.h5", "HDF5"):
        raise error
    assert ("damaged" in str(caught.value)) == (match == "damaged")


@pytest.mark.parametrize(("rows", "width"), [(120_000, 24), (3_000, 1_000)])
def test_inspecting_compares_in_blocks(rows, width):
    """So that memory stays small, of wide rows as well."""
    import tracemalloc

    from rlassay.formats import load
    from rlassay.inspection import values

    numbers = np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32)
    columns = {"observations": numbers, "actions": np.zeros((rows, 1)), "rewards": np.zeros(rows)}
    data = load(columns | {"terminals": np.arange(rows) % 100 == 99})
    assert data.next_observations.nbytes >= numbers.nbytes  # made once, on demand
    tracemalloc.start()
    for check in (values.finite, values.alignment, values.jump_rows):
        check(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * numbers.nbytes  # four times with all rows at once
