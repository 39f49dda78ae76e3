"""Broken, hostile and mistaken sources: one sentence each, nothing executed, nothing outside the file read."""

import io as stdlib_io
import json
import os
import pickle
import zipfile

import h5py
import numpy as np
import pytest
from io_layouts import FLAGGED, LAYOUTS, d4rl, joined, lerobot, minari, npy, npz, record

from rlassay.errors import DatasetError
from rlassay.formats import load
from rlassay.formats.guards import WORKING_COPIES, Budget, available_memory


def refused(source, match, **options):
    with pytest.raises(DatasetError, match=match) as caught:
        load(source, **options)
    assert "\n" not in str(caught.value)


# -- what is no dataset at all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "the file is empty"),
        (b"time,reward\n0,1\n", "columns .* are not known; got: time, reward"),
        (b"no table at all", "no known format"),
        (pickle.dumps({"observations": [1]}), "pickle, which can run code"),
        (b"\x93NUMPY\x01\x00v\x00", "name the folder"),
        (b"PAR1 and then nothing", "cannot be read as Parquet"),
        (b"PK\x03\x04 broken", "cannot be read as an .npz archive"),
        (b"\x89HDF\r\n\x1a\n broken", "cannot be read"),
    ],
)
def test_files_of_other_kinds(tmp_path, content, match):
    path = tmp_path / "data.hdf5"
    path.write_bytes(content)
    refused(path, match)


def test_folders_of_other_kinds(tmp_path):
    refused(tmp_path, "an empty folder")
    (tmp_path / "a.hdf5").touch()
    refused(tmp_path, "is not a dataset folder.*a.hdf5")


def test_pipes_and_devices_do_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "not a regular file")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    refused(tmp_path / "zeros", "not a regular file")
    folder = npy(record(FLAGGED), tmp_path)
    (folder / "rewards.npy").unlink()
    (folder / "rewards.npy").symlink_to("/dev/zero")
    refused(folder, "not a regular file")


def test_link_to_itself(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", "does not exist|cannot be")


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_truncation_is_refused(name, tmp_path):
    write, ends, _ = LAYOUTS[name]
    path = write(record(ends), tmp_path)
    files = (
        [path]
        if path.is_file()
        else sorted(
            p for p in path.rglob("*") if p.suffix in (".npy", ".hdf5", ".arrow", ".parquet")
        )
    )
    content = files[0].read_bytes()
    for share in (0.0, 0.3, 0.7, 0.99):
        files[0].write_bytes(content[: int(share * len(content))])
        with pytest.raises(DatasetError):
            load(path)


# -- HDF5 -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("rewards", data=np.arange(18.0))
    return path


def with_rewards(tmp_path, put):
    path = d4rl(record(FLAGGED), tmp_path)
    with h5py.File(path, "a") as file:
        del file["rewards"]
        put(file)
    return path


def virtual(name, source):
    def put(file):
        layout = h5py.VirtualLayout((18,), "f8")
        layout[:] = h5py.VirtualSource(source, name, (18,))
        file.create_virtual_dataset("rewards", layout)

    return put


def test_external_link_is_not_followed(tmp_path, secret):
    def put(file):
        file["rewards"] = h5py.ExternalLink(str(secret), "rewards")

    refused(with_rewards(tmp_path, put), "external link")


def test_soft_link_through_an_external_link_is_not_followed(tmp_path, secret):
    def put(file):
        file["door"] = h5py.ExternalLink(str(secret), "/")
        file["rewards"] = h5py.SoftLink("/door/rewards")

    refused(with_rewards(tmp_path, put), "external link")


def test_soft_links_inside_the_file_are_followed(tmp_path):
    def put(file):
        file["elsewhere/rewards"] = np.arange(18.0)
        file["rewards"] = h5py.SoftLink("elsewhere/./rewards")

    assert load(with_rewards(tmp_path, put)).rewards.tolist() == list(range(18))


def test_endless_soft_links(tmp_path):
    def put(file):
        file["rewards"] = h5py.SoftLink("/other")
        file["other"] = h5py.SoftLink("/rewards")

    refused(with_rewards(tmp_path, put), "endless chain")


def test_virtual_dataset_outside_the_file_is_refused(tmp_path, secret):
    refused(with_rewards(tmp_path, virtual("rewards", str(secret))), "virtual dataset")


def test_virtual_dataset_inside_the_file_is_read(tmp_path):
    def put(file):
        file["source"] = np.arange(18.0)
        virtual("source", ".")(file)

    assert load(with_rewards(tmp_path, put)).rewards.tolist() == list(range(18))


def test_virtual_dataset_of_a_virtual_dataset_outside(tmp_path, secret):
    def put(file):
        layout = h5py.VirtualLayout((18,), "f8")
        layout[:] = h5py.VirtualSource(str(secret), "rewards", (18,))
        file.create_virtual_dataset("inner", layout)
        virtual("inner", ".")(file)

    refused(with_rewards(tmp_path, put), "virtual dataset")


def test_external_storage_is_refused(tmp_path):
    (tmp_path / "raw").write_bytes(np.arange(18.0).tobytes())

    def put(file):
        file.create_dataset("rewards", (18,), "f8", external=[(str(tmp_path / "raw"), 0, 144)])

    refused(with_rewards(tmp_path, put), "external storage")


def test_minari_file_with_links_is_refused(tmp_path, secret):
    folder = minari(record(FLAGGED), tmp_path)
    with h5py.File(folder / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0/rewards"]
        file["episode_0/rewards"] = h5py.ExternalLink(str(secret), "rewards")
    refused(folder, "is a link, which is not followed")


@pytest.mark.parametrize("shape", [(10**13,), (10**8, 10**4)])
def test_shape_beyond_the_stored_bytes(tmp_path, shape):
    refused(
        with_rewards(tmp_path, lambda f: f.create_dataset("rewards", shape, "f4", chunks=True)),
        "claims|chunks",
    )


def test_a_shape_beyond_the_stored_bytes_is_measured_by_them(tmp_path):
    """Less than the memory budget and never written: only the stored bytes tell that nothing is there."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("observations", (6_000_000, 3), "f4")
        for name in ("actions", "rewards", "terminals"):
            file[name] = np.zeros(3)
    with pytest.raises(DatasetError, match="claims 72,000,000 bytes and stores 0"):
        load(path)


def test_objects_and_text_are_refused(tmp_path):
    def vlen(file):
        file.create_dataset("rewards", (18,), h5py.vlen_dtype(np.float32))

    refused(with_rewards(tmp_path, vlen), "has the type object")
    path = d4rl(record(FLAGGED), tmp_path)
    with h5py.File(path, "a") as file:
        del file["actions"]
        file.create_dataset("actions", data=np.array([b"left"] * 18))
    refused(path, "has the type")


def test_group_inside_itself(tmp_path):
    def put(file):
        for index in range(10):  # without a guard, ten to the power of the depth
            file[f"infos/again{index}"] = file["infos"]

    refused(with_rewards(tmp_path, put), "inside itself", extras=True)

    def put_ladder(file):
        for level in range(16):
            for index in range(10):
                file[f"ladder{level}/step{index}"] = file.require_group(f"ladder{level + 1}")

    refused(with_rewards(tmp_path, put_ladder), "in two places", extras=True)
    folder = minari(record(FLAGGED), tmp_path)
    with h5py.File(folder / "data" / "main_data.hdf5", "a") as file:
        file["episode_0/infos"] = file["episode_0"]
    refused(folder, "inside itself")


def test_group_in_the_place_of_a_column(tmp_path):
    refused(with_rewards(tmp_path, lambda file: file.create_group("rewards")), "rewards is a group")


# -- NumPy ------------------------------------------------------------------------------------------------------------


class Payload:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


def test_pickled_objects_never_run(tmp_path):
    mark = tmp_path / "ran"
    payload = np.array([Payload(mark)] * 18, dtype=object)
    np.savez(tmp_path / "x.npz", **{**joined(record(FLAGGED)), "rewards": payload})
    refused(tmp_path / "x.npz", "never loaded")
    folder = npy(record(FLAGGED), tmp_path)
    np.save(folder / "rewards.npy", payload, allow_pickle=True)
    refused(folder, "never loaded")
    assert not mark.exists()


def member(shape, data=b""):
    header = stdlib_io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    return header.getvalue() + data


def archive(path, **changes):
    with zipfile.ZipFile(path, "w", changes.pop("method", zipfile.ZIP_DEFLATED)) as file:
        for name, column in joined(record(FLAGGED)).items():
            stream = stdlib_io.BytesIO()
            np.save(stream, column)
            file.writestr(f"{name}.npy", changes.get(name, stream.getvalue()))
    return path


def test_header_that_promises_more_than_there_is(tmp_path):
    refused(
        archive(tmp_path / "a.npz", rewards=member((10**15,))),
        "promises 4,000,000,000,000,000 bytes",
    )
    folder = npy(record(FLAGGED), tmp_path)
    (folder / "rewards.npy").write_bytes(member((10**15,), b"1234"))
    refused(folder, "promises")


def test_huge_header(tmp_path):
    long = b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b"{" * 1000
    refused(archive(tmp_path / "a.npz", rewards=long), "cannot be read")


@pytest.mark.parametrize("memory", [None, 1_500])  # with little of it a column goes to the disk
def test_archive_member_that_expands_without_end(tmp_path, memory):
    """A true bomb: packed by more than deflate can, which only another method does."""
    path = archive(tmp_path / "a.npz", method=zipfile.ZIP_LZMA)
    refused(path, "observations in .* is packed in an unknown way", memory=memory)


def test_archive_larger_than_memory(tmp_path, monkeypatch):
    path = npz(record(FLAGGED), tmp_path)
    monkeypatch.setattr("rlassay.formats.guards.available_memory", lambda: 200)
    refused(path, "bytes of memory")


def test_foreign_members_are_refused(tmp_path):
    path = npz(record(FLAGGED), tmp_path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("setup.py", "raise SystemExit")
    refused(path, "not an archive of arrays")


def test_memory_is_measured():
    assert 2**20 < available_memory() < 2**50
    budget = Budget("x")
    budget.take(int(budget.limit / WORKING_COPIES) - 1, "all")
    with pytest.raises(DatasetError, match="split the dataset"):
        budget.take(8, "one more")


# -- JSON -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "space",
    [
        {"type": "Box", "shape": [10**12], "dtype": "float32", "low": 0, "high": 1},
        {"type": "Box", "shape": [3], "dtype": "O", "low": 0, "high": 1},
        {"type": "Box", "shape": "3", "dtype": "float32", "low": 0, "high": 1},
        {"type": "Text", "max_length": 3, "min_length": 1, "charset": "ab"},
        {"type": "__import__"},
        [],
    ],
)
def test_minari_spaces(tmp_path, space):
    folder = minari(record(FLAGGED), tmp_path)
    file = folder / "data" / "metadata.json"
    file.write_text(
        json.dumps({**json.loads(file.read_text()), "observation_space": json.dumps(space)})
    )
    refused(folder, "observation_space|cannot be read")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "[" * 100_000, '{"codebase_version": "v3.0"}', '{"codebase_version": "v1.6"}'],
)
def test_lerobot_info(tmp_path, text):
    path = lerobot(record(FLAGGED), tmp_path)
    (path / "meta" / "info.json").write_text(text)
    with pytest.raises(DatasetError):
        load(path)
