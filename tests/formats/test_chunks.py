"""Chunks of HDF5 that libhdf5 would trust: wrong sizes, wrong parameters, short data."""

import resource
import subprocess
import sys
import zlib

import h5py
import numpy as np
import pytest
from io_layouts import FLAGGED, assert_holds, d4rl, joined, record

from rlassay.errors import DatasetError
from rlassay.formats import chunks, load

PACKINGS = [
    {"compression": "gzip"},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
    {"fletcher32": True},
    {"shuffle": True},
    {"compression": "lzf", "shuffle": True},
    {"compression": "lzf", "fletcher32": True},
]


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", "i4", "u1", "bool"])
@pytest.mark.parametrize("packing", PACKINGS)
def test_reads_what_h5py_reads(kind, packing, tmp_path):
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for rows in (1, 7, 250):
            values = (5 * rng.normal(size=(rows, 3))).astype(kind)
            name = str(rows)
            file.create_dataset(name, data=values, chunks=(min(rows, 64), 2), **packing)
            chunks.check_chunks(file[name])
            np.testing.assert_array_equal(chunks.read(file[name]), values)


def test_unwritten_chunks_hold_the_fill_value(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = file.create_dataset(
            "x", (100,), "f4", chunks=(10,), compression="gzip", fillvalue=2.5
        )
        made[30:35] = 1.0
        np.testing.assert_array_equal(chunks.read(made), made[()])


def test_scale_offset_is_read_in_a_child(tmp_path):
    episodes = record(FLAGGED)
    path = packed(tmp_path, episodes, "rewards", scaleoffset=4)
    assert_holds(load(path), episodes, final_known=True)


@pytest.mark.parametrize(
    ("limit", "told"),
    [(0, "no temporary file can be written"), (64, "cannot be unpacked: File too large")],
)
def test_no_room_to_unpack_is_no_damage(tmp_path, limit, told):
    path = packed(tmp_path, record(FLAGGED), "rewards", scaleoffset=4)
    done = subprocess.run(
        [sys.executable, "-m", "rlassay", "inspect", path],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2 and told in done.stderr and "damaged" not in done.stderr


def packed(tmp_path, episodes, name, **packing):
    path = d4rl(episodes, tmp_path)
    with h5py.File(path, "a") as file:
        del file[name]
        column = joined(episodes)[name]
        file.create_dataset(name, data=column, chunks=column.shape, **packing)
    return path


def replace_chunk(path, name, content):
    with h5py.File(path, "a") as file:
        file[name].id.write_direct_chunk((0,) * file[name].ndim, content)


@pytest.mark.parametrize("size", [1, 3, 4, 70])
def test_checksummed_chunk_of_wrong_size(tmp_path, size):
    """Below four bytes libhdf5 crashes."""
    path = packed(tmp_path, record(FLAGGED), "rewards", fletcher32=True)
    replace_chunk(path, "rewards", b"\1" * size)
    with pytest.raises(DatasetError, match="is damaged"):
        load(path)


def test_wrong_checksum(tmp_path):
    path = packed(tmp_path, record(FLAGGED), "rewards", fletcher32=True)
    with h5py.File(path) as file:
        _, raw = file["rewards"].id.read_direct_chunk((0,))
    replace_chunk(path, "rewards", bytes([raw[0] ^ 1]) + raw[1:])
    with pytest.raises(DatasetError, match="checksum does not fit"):
        load(path)


@pytest.mark.parametrize("size", [8, 72 * 50])
def test_chunk_that_unpacks_to_another_size(tmp_path, size):
    """libhdf5 fills what is missing with whatever lies in memory."""
    path = packed(tmp_path, record(FLAGGED), "rewards", compression="gzip")
    replace_chunk(path, "rewards", zlib.compress(b"\1" * size))
    with pytest.raises(DatasetError, match="is damaged"):
        load(path)


def test_lzf_chunk_that_unpacks_to_another_size(tmp_path):
    path = packed(tmp_path, record(FLAGGED), "observations", compression="lzf")
    replace_chunk(path, "observations", b"\x03abcd")
    with pytest.raises(DatasetError, match="is damaged"):
        load(path)


def test_every_byte_of_the_filters_parameters(tmp_path):
    """Single damaged bytes in the filter message end in a Dataset of the same numbers or in a DatasetError."""
    episodes = record(FLAGGED)
    path = packed(tmp_path, episodes, "rewards", shuffle=True, fletcher32=True)
    content = path.read_bytes()
    start = content.find(b"shuffle\0", content.find(b"fletcher32") - 80)
    for place in range(start - 16, start + 64):
        for value in (0, 1, 0x7F, 0xFF):
            broken = bytearray(content)
            broken[place] = value
            path.write_bytes(broken)
            try:
                data = load(path)
            except DatasetError:
                continue
            np.testing.assert_array_equal(data.rewards, joined(episodes)["rewards"])


def test_unknown_filter_is_refused(tmp_path):
    path = packed(tmp_path, record(FLAGGED), "rewards", compression="gzip")
    content = path.read_bytes()
    with h5py.File(path) as file:
        assert chunks.filters_of(file["rewards"])[0][0] == chunks.DEFLATE
    place = content.rfind(b"deflate\0") - 8
    path.write_bytes(content[:place] + (32_001).to_bytes(2, "little") + content[place + 2 :])
    with pytest.raises(DatasetError, match="filter 32001.*h5repack"):
        load(path)


def test_fletcher32_by_hand():
    assert chunks.fletcher32(b"\x01\x02\x03\x04") == (0x0102 * 2 + 0x0304) << 16 | 0x0406
    assert chunks.fletcher32(b"\x01\x02\x03") == (0x0102 * 2 + 0x0300) << 16 | 0x0402
