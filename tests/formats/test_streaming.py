"""Data that stays on the disk gives what the same data in memory gives, bit for bit, whatever the format."""

import tempfile
import weakref

import h5py
import io_layouts
import numpy as np
import pytest

from probes import walks, with_columns
from rlassay.curation import apply_rule
from rlassay.curation.rule import Rule
from rlassay.data import blocks
from rlassay.data.blocks import BlockColumn, blocks_of
from rlassay.data.dataset import COLUMNS
from rlassay.errors import DatasetError
from rlassay.formats import convert, load, save, spilled
from rlassay.inspection import inspect, survey, values
from rlassay.repair import repair

MEMORY = 120_000  # bytes: flags and rewards fit, matrices do not
LAYOUTS = {
    "d4rl": io_layouts.d4rl,
    "npz": io_layouts.npz,
    "npy": io_layouts.npy,
    "minari-hdf5": io_layouts.minari,
    "minari-parquet": lambda e, f: io_layouts.minari(e, f, "parquet"),
    "minari-arrow": lambda e, f: io_layouts.minari(e, f, "arrow"),
    "lerobot": io_layouts.lerobot,
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 3_000)  # so that every column has many


def long_recording(count: int = 40, length: int = 100) -> list[io_layouts.Recorded]:
    rng = np.random.default_rng(0)
    lengths = tuple(int(each) for each in rng.integers(length // 2, length, count))
    ends = tuple("terminal" if k % 3 == 0 else "timeout" for k in range(count))
    return io_layouts.record(ends, lengths)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Random walks as D4RL writes them: packed, without stored successors."""
    path = tmp_path_factory.mktemp("stream") / "walks.hdf5"
    data = walks(episodes=90, length=50, dims=(5, 3))
    save(with_columns(data, next_observations=None, next_valid=None), path)
    return path


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_column_is_the_same(name, tmp_path):
    path = LAYOUTS[name](long_recording(), tmp_path)
    whole, streamed = load(path), load(path, memory=MEMORY)
    assert streamed.streamed and not whole.streamed
    for column in COLUMNS:
        found, wanted = getattr(streamed, column), getattr(whole, column)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        assert np.array_equal(np.asarray(found), wanted)
    assert streamed.fingerprint == whole.fingerprint
    assert inspect(streamed, {}).to_dict() == inspect(whole, {}).to_dict()
    assert np.array_equal(streamed.in_memory().observations, whole.observations)


def test_rows_are_found_as_in_an_array():
    array = np.random.default_rng(0).normal(size=(1_000, 7)).astype(np.float32)
    column = BlockColumn(lambda start, stop: array[start:stop], array.shape, array.dtype)
    assert len(column) / column.block_rows > 5
    rng = np.random.default_rng(1)
    keys = [
        *(slice(3, 900), slice(None), slice(-50, None), slice(0, 0), slice(5, 500, 7)),
        *(0, 999, -1),
        *(rng.integers(0, 1_000, 200), np.sort(rng.integers(0, 1_000, 50)), np.array([-1, 0])),
        *(rng.random(1_000) < 0.3, (slice(10, 700), 2), np.zeros(0, int)),
    ]
    for key in keys:
        assert np.array_equal(column[key], array[key]), key
    assert np.array_equal(column.min(axis=0), array.min(axis=0))
    assert np.array_equal(column.max(axis=0), array.max(axis=0))
    with pytest.raises(ValueError):
        column[0:3][0] = 1.0  # what is kept is not for writing


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("width", [2, 3, 17, 130])
def test_statistics_add_in_the_order_of_numpy(kind, width):
    array = (3 + np.random.default_rng(0).normal(size=(5_003, width))).astype(kind)
    column = BlockColumn(lambda start, stop: array[start:stop], array.shape, array.dtype)
    mean, deviation = blocks.mean_and_deviation(column)
    assert np.array_equal(mean, array.mean(axis=0, dtype=np.float64))
    assert np.array_equal(deviation, array.std(axis=0, dtype=np.float64))


def test_a_column_of_one_number_a_row_is_an_array(tmp_path):
    save(walks(episodes=90, length=50, dims=(6, 1)), tmp_path / "one.hdf5")
    data = load(tmp_path / "one.hdf5", memory=MEMORY)
    assert isinstance(data.observations, BlockColumn) and isinstance(data.actions, np.ndarray)


@pytest.mark.parametrize("compression", [None, "gzip", "lzf"])
@pytest.mark.parametrize("chunks", [True, (64, 5), (100, 2), (4_500, 1)])
def test_chunks_of_any_shape(file, tmp_path, compression, chunks):
    path = tmp_path / "chunked.hdf5"
    with h5py.File(file) as source, h5py.File(path, "w") as target:
        for name in ("actions", "rewards", "terminals", "timeouts"):
            target[name] = source[name][()]
        observations = source["observations"][()]
        options = {"compression": compression, "shuffle": compression == "gzip"}
        target.create_dataset("observations", data=observations, chunks=chunks, **options)
    data = load(path, memory=MEMORY)
    assert isinstance(data.observations, BlockColumn)
    assert np.array_equal(np.asarray(data.observations), observations)


def test_a_damaged_chunk_is_told_when_it_is_met(file, tmp_path):
    path = tmp_path / "damaged.hdf5"
    path.write_bytes(file.read_bytes())
    with h5py.File(path) as source:
        place = source["observations"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[place.byte_offset + 20 : place.byte_offset + 60] = bytes(40)
    path.write_bytes(content)
    data = load(path, memory=MEMORY)
    with pytest.raises(DatasetError, match="damaged"):
        inspect(data)


@pytest.mark.parametrize("episode", [0, 20])
def test_an_episode_of_another_shape_is_refused(tmp_path, episode):
    """Its rows must not go to another place than those of the others, where they would be lost."""
    path = io_layouts.minari(long_recording(), tmp_path)
    with h5py.File(path / "data" / "main_data.hdf5", "a") as file:
        group = file[f"episode_{episode}"]
        column = group["observations"][()]
        del group["observations"]
        group["observations"] = column[..., None]
    for memory in (None, MEMORY):
        with pytest.raises(DatasetError):
            load(path, memory=memory)


@pytest.mark.parametrize(
    ("kind", "fired"), [("nan", {"finite", "alignment"}), ("jump", {"continuity"})]
)
def test_odd_rows_are_found_as_in_memory(file, tmp_path, kind, fired):
    data = load(file)
    observations, actions = data.observations.copy(), data.actions.copy()
    if kind == "nan":
        observations[[7, 700, 701, 4_499]], observations[2_000, 2] = np.nan, np.inf
        actions[[3, 4_000], 1] = np.nan
    else:
        observations[1_234] += 1_000
    columns = {name: getattr(data, name) for name in ("rewards", "terminals", "timeouts")}
    np.savez(tmp_path / "odd.npz", observations=observations, actions=actions, **columns)
    whole, streamed = load(tmp_path / "odd.npz"), load(tmp_path / "odd.npz", memory=MEMORY)
    checks = inspect(streamed, {}).to_dict()["checks"]
    assert streamed.streamed and checks == inspect(whole, {}).to_dict()["checks"]
    assert {c["name"] for c in checks if c["status"] != "pass"} >= fired


@pytest.mark.parametrize("target", ["out.hdf5", "out.npz", "out-v0"])
def test_convert_writes_the_same(file, tmp_path, target):
    convert(file, tmp_path / target, memory=MEMORY)
    convert(file, tmp_path / "plain" / target)
    found, wanted = load(tmp_path / target), load(tmp_path / "plain" / target)
    assert found.fingerprint == wanted.fingerprint
    if target.endswith("npz"):
        assert (tmp_path / target).read_bytes()[
            60:
        ] != b""  # numpy reads what was written in blocks
        with np.load(tmp_path / target) as one, np.load(tmp_path / "plain" / target) as other:
            assert all(np.array_equal(one[name], other[name]) for name in other.files)


def test_extras_follow(file, tmp_path):
    path = tmp_path / "extras.hdf5"
    path.write_bytes(file.read_bytes())
    with h5py.File(path, "a") as target:
        extra = np.arange(4_500 * 4, dtype=np.float32).reshape(-1, 4)
        target.create_dataset("infos/qpos", data=extra, compression="gzip")
    data = load(path, extras=True, memory=MEMORY)
    assert isinstance(data.origin.extras["infos/qpos"], BlockColumn)
    chosen = apply_rule(data, Rule(keep=0.5, by="return")).data
    wanted = apply_rule(load(path, extras=True), Rule(keep=0.5, by="return")).data
    save(chosen, tmp_path / "chosen.hdf5")
    with h5py.File(tmp_path / "chosen.hdf5") as written:
        assert np.array_equal(written["infos/qpos"][()], wanted.origin.extras["infos/qpos"])


def test_curation_by_return_stays_on_the_disk(file, tmp_path):
    chosen = apply_rule(load(file, memory=MEMORY), Rule(keep=0.3, by="return")).data
    wanted = apply_rule(load(file), Rule(keep=0.3, by="return")).data
    assert chosen.streamed and chosen.fingerprint == wanted.fingerprint
    save(chosen, tmp_path / "best.hdf5")
    assert load(tmp_path / "best.hdf5").fingerprint == wanted.fingerprint


def test_what_is_learned_for_every_row_is_refused(file):
    with pytest.raises(DatasetError, match="q cannot be computed: the data does not fit"):
        apply_rule(load(file, memory=MEMORY), Rule(keep=0.3, by="q"))


@pytest.mark.parametrize("how", ["clip", "rescale"])
def test_repair_finds_and_writes_the_same(file, tmp_path, how):
    data = load(file)
    observations, actions = data.observations.copy(), data.actions.copy()
    observations[[9, 444]], actions[1_000:1_010, 0] = np.nan, 3.0
    bounds = {"action_low": -np.ones(3, np.float32), "action_high": np.ones(3, np.float32)}
    columns = {name: getattr(data, name) for name in ("rewards", "terminals", "timeouts")}
    np.savez(
        tmp_path / "broken.npz", observations=observations, actions=actions, **columns, **bounds
    )
    streamed = repair(load(tmp_path / "broken.npz", memory=MEMORY), actions=how)
    wanted = repair(load(tmp_path / "broken.npz"), actions=how)
    assert [rule.message for rule in streamed.rules] == [rule.message for rule in wanted.rules]
    assert streamed.data.streamed and streamed.data.fingerprint == wanted.data.fingerprint
    assert streamed.after.status == wanted.after.status
    save(streamed.data, tmp_path / "whole.hdf5")
    assert load(tmp_path / "whole.hdf5").fingerprint == wanted.data.fingerprint


def test_inspection_holds_blocks_and_flags_alone(tmp_path, monkeypatch):
    import tracemalloc

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200_000)
    monkeypatch.setattr(survey, "SAMPLE", 1_000)
    monkeypatch.setattr(values, "BLOCK_NUMBERS", 20_000)
    data = walks(episodes=300, length=100, dims=(40, 8))
    for name in ("observations", "actions", "rewards", "terminals", "timeouts"):
        np.save(tmp_path / f"{name}.npy", getattr(data, name))
    size = data.observations.nbytes
    inspect(load(tmp_path))  # whatever is imported on the way
    tracemalloc.start()
    streamed = load(tmp_path, memory=size // 4)
    assert inspect(streamed).status == "pass" and streamed.fingerprint
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert streamed.streamed and peak < 0.7 * size  # in memory it is more than twice the size


def test_what_fills_the_disk_is_refused(tmp_path, monkeypatch):
    data = walks(episodes=90, length=50, dims=(5, 3))
    save(data, tmp_path / "packed.npz")
    monkeypatch.setattr(spilled, "SHARE_OF_DISK", 0.0)
    with pytest.raises(DatasetError, match="too large for memory and, unpacked, for the disk"):
        load(tmp_path / "packed.npz", memory=MEMORY)


def test_no_temporary_folder_at_all(tmp_path, monkeypatch):
    """On a full disk Python finds no folder that it can use, and calls that a missing file."""
    save(walks(episodes=90, length=50, dims=(5, 3)), tmp_path / "packed.npz")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    with pytest.raises(DatasetError, match="no temporary file can be written"):
        load(tmp_path / "packed.npz", memory=MEMORY)
    assert len(load(tmp_path / "packed.npz")) == 4_500  # what fits into memory needs none
    assert not spilled.Gathered().to_disk


def test_memory_that_holds_not_even_the_flags_is_refused(file):
    with pytest.raises(DatasetError, match="would need .* --memory"):
        load(file, memory=1_000)


def test_spans_far_apart_hold_few_blocks(monkeypatch):
    alive, most = 0, 0

    def gone():
        nonlocal alive
        alive -= 1

    def read(start, stop):
        nonlocal alive, most
        block = np.arange(2.0 * start, 2.0 * stop).reshape(-1, 2).copy()  # views keep it alive
        weakref.finalize(block, gone)
        alive += 1
        most = max(most, alive)
        return block

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 20 * 16)
    column = BlockColumn(read, (2_000, 2), np.float64)
    starts, lengths = np.arange(0, 2_000, 100), np.full(20, 3)
    found = np.array(blocks.selected_rows(column, starts, lengths))
    rows = (starts[:, None] + np.arange(3)).ravel()
    np.testing.assert_array_equal(found, np.stack([2 * rows, 2 * rows + 1], 1))
    assert most <= blocks.KEPT_BLOCKS + 1


def test_blocks_of_an_array_are_views():
    array = np.zeros((10_000, 3))
    parts = list(blocks_of(array))
    assert len(parts) > 1 and all(np.shares_memory(part, array) for _, part in parts)
    assert sum(len(part) for _, part in parts) == len(array)
