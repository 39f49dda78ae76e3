"""Some episodes of a d3rlpy dump: read back as they were, numbered anew, nothing else lost."""

import h5py
import numpy as np
import pytest
from io_layouts import FLAGGED, d3rlpy_v2, record

import rlassay
from rlassay.curation.command import curate_file
from rlassay.curation.request import Request
from rlassay.curation.rule import Rule
from rlassay.errors import DatasetError
from rlassay.formats.d3rlpy_subset import write_subset


@pytest.fixture
def dump(tmp_path):
    return d3rlpy_v2(record(FLAGGED), tmp_path)


def kept_by(source, out, episodes):
    curate_file(Request(str(source), Rule(only=tuple(episodes)), out=out))
    return rlassay.load(out)


def test_the_kept_episodes_come_back_as_they_were(dump, tmp_path):
    whole = rlassay.load(dump)
    assert whole.episode_count >= 3
    part = kept_by(dump, tmp_path / "part.h5", [0, 2])
    assert part.origin.format == "d3rlpy-v2" and part.episode_count == 2
    expected = whole.select(np.array([0, 2]))
    for name in ("observations", "actions", "rewards", "terminals", "timeouts"):
        np.testing.assert_array_equal(getattr(part, name), getattr(expected, name))


def test_everything_of_an_episode_is_copied_and_the_count_is_right(dump, tmp_path):
    kept_by(dump, tmp_path / "part.h5", [1])
    with h5py.File(dump) as source, h5py.File(tmp_path / "part.h5") as part:
        assert int(part["num_episodes"][()]) == 1
        own = {name for name in source if name.endswith("_1")}
        assert {name for name in part if name.endswith("_0")} == {f"{n[:-1]}0" for n in own}
        assert source["version"][()] == part["version"][()]
        assert "rlassay" in part.attrs


def test_an_empty_episode_does_not_move_the_numbers(dump, tmp_path):
    whole = rlassay.load(dump)
    with h5py.File(dump, "r+") as file:
        for column in ("observations", "actions", "rewards"):
            shape = file[f"{column}_0"].shape
            del file[f"{column}_0"]
            file[f"{column}_0"] = np.zeros((0, *shape[1:]), np.float32)
    part = kept_by(dump, tmp_path / "part.h5", [0])
    np.testing.assert_array_equal(part.observations, whole.select(np.array([1])).observations)


def test_episodes_that_were_cut_while_reading_are_refused(dump, tmp_path):
    with pytest.raises(DatasetError, match="was read as 99"):
        write_subset(dump, tmp_path / "part.h5", [0], 99, "")
    assert not (tmp_path / "part.h5").exists()
