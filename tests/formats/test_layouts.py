"""Every layout, written here and read back: transitions, flags, borders and next actions."""

import numpy as np
import pytest
from io_layouts import FLAGGED, LAYOUTS, assert_holds, joined, record, starts

from rlassay.formats import READ_FORMATS, load

WITHOUT_REWARDS = {"ogbench"}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_transition_flag_and_border(name, tmp_path):
    write, ends, final_known = LAYOUTS[name]
    episodes = record(ends)
    data = load(write(episodes, tmp_path))
    if name in WITHOUT_REWARDS:
        assert data.rewards is None
        data = load({**_columns(data), "rewards": joined(episodes)["rewards"]})
    assert_holds(data, episodes, final_known=final_known)


def _columns(data):
    names = ("observations", "actions", "next_observations", "terminals", "timeouts")
    return {name: getattr(data, name) for name in names} | {"episode_starts": data.episode_starts}


@pytest.mark.parametrize("name", LAYOUTS)
def test_format_is_told_by_content(name, tmp_path):
    write, ends, _ = LAYOUTS[name]
    path = write(record(ends), tmp_path)
    if path.is_file():  # the name must not matter
        path = path.rename(tmp_path / "something.dat")
    format_name = load(path).origin.format
    assert format_name in READ_FORMATS
    assert name.startswith(format_name)


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - WITHOUT_REWARDS - {"robomimic"}))
def test_same_data_same_fingerprint(name, tmp_path):
    write, _, final_known = LAYOUTS[name]
    episodes = record(FLAGGED)
    columns = joined(episodes)
    if not final_known:
        del columns["next_observations"]
    assert load(write(episodes, tmp_path)).fingerprint == load(columns).fingerprint


def test_fingerprint_sees_every_column():
    columns = joined(record(FLAGGED))
    prints = {load(columns).fingerprint}
    for name, column in columns.items():
        changed = column.copy()
        changed[0] = ~changed[0] if column.dtype == bool else changed[0] + 1
        prints.add(load({**columns, name: changed}).fingerprint)
    prints.add(load({**columns, "episode_starts": [0, 2]}).fingerprint)
    assert len(prints) == len(columns) + 2


def test_float64_is_kept(tmp_path):
    for name in ("d4rl", "minari-hdf5", "minari-arrow", "npz", "npy"):
        write, ends, _ = LAYOUTS[name]
        (tmp_path / name).mkdir()
        data = load(write(record(ends, dtype="f8"), tmp_path / name))
        assert data.observations.dtype == data.rewards.dtype == np.float64, name


def test_misaligned_episodes_of_other_readers(tmp_path):
    """Three episodes of four steps: d3rlpy 2.8.1 gives the second one the observations 4, 100, 101, 102."""
    episodes = record(("timeout",) * 3, lengths=(4,))
    for data_format in ("hdf5", "arrow", "parquet"):
        data = load(LAYOUTS[f"minari-{data_format}"][0](episodes, tmp_path))
        second = data.episode(1)
        assert second.observations[:, 0].tolist() == [100, 101, 102, 103]
        assert (second.actions[:, 0] * 1000).round().tolist() == [100, 101, 102, 103]
        assert second.next_observations[:, 0].tolist() == [101, 102, 103, 104]
        assert data.episode_starts.tolist() == starts(episodes)
