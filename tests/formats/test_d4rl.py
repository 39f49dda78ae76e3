"""D4RL files: the variants in the wild, names, missing timeouts, what the writer keeps."""

import h5py
import numpy as np
import pytest
from io_layouts import FLAGGED, TAIL_OPEN, assert_holds, d4rl, joined, record

from rlassay.errors import DatasetError
from rlassay.formats import load
from rlassay.formats.d4rl import environment_of_name


def write(path, columns):
    with h5py.File(path, "w") as file:
        for name, column in columns.items():
            file.create_dataset(name, data=column)
    return path


def test_columns_of_shape_n_by_one_and_number_flags(tmp_path):
    episodes = record(TAIL_OPEN)
    columns = joined(episodes)
    columns["rewards"] = columns["rewards"][:, None]
    columns["terminals"] = columns["terminals"].astype("u1")[:, None]
    columns["timeouts"] = columns["timeouts"].astype("f4")
    assert_holds(load(write(tmp_path / "x.hdf5", columns)), episodes, final_known=True)


def test_big_endian_columns(tmp_path):
    episodes = record(TAIL_OPEN)
    columns = {n: c if c.dtype == bool else c.astype(">f8") for n, c in joined(episodes).items()}
    data = load(write(tmp_path / "x.hdf5", columns))
    assert_holds(data, episodes, final_known=True)
    assert data.observations.dtype.isnative


def test_numbered_chunks_are_joined_in_numeric_order(tmp_path):
    episodes = record(("terminal",) * 12)
    path = tmp_path / "carla.hdf5"
    with h5py.File(path, "w") as file:
        for number, episode in enumerate(episodes):  # as text, 10 and 11 stand before 2
            for name in ("observations", "actions", "rewards", "terminals"):
                file.create_dataset(f"virtual/{number}/{name}", data=joined([episode])[name])
    assert_holds(load(path), episodes, final_known=False)


def test_metadata_and_extras(tmp_path):
    path = d4rl(record(FLAGGED), tmp_path)
    plain, full = load(path), load(path, extras=True)
    assert plain.origin.metadata["algorithm"] == "SAC"
    assert plain.origin.metadata["iteration"] == "7"
    assert plain.origin.metadata["policy/nonlinearity"] == "relu"
    assert plain.origin.extras == {}
    assert set(full.origin.extras) == {
        "infos/qpos",
        "infos/action_log_probs",
        "metadata/policy/fc0/weight",
    }


@pytest.mark.parametrize(
    ("name", "env_id"),
    [
        ("hopper-medium-v2.hdf5", "Hopper-v2"),
        ("hopper_medium-v2.hdf5", "Hopper-v2"),
        ("halfcheetah_medium_expert-v0.hdf5", "HalfCheetah-v0"),
        ("maze2d-umaze-v1.hdf5", "maze2d-umaze-v1"),
        ("antmaze-umaze-diverse-v2.h5", "antmaze-umaze-diverse-v2"),
        ("my-robot-v2.hdf5", None),
        ("hopper.hdf5", None),
    ],
)
def test_environment_of_a_file_name(name, env_id):
    assert environment_of_name(name) == env_id


def test_environment_from_the_name_is_said(tmp_path):
    path = d4rl(record(FLAGGED), tmp_path)
    data = load(path)
    assert data.env_id == "Hopper-v2"
    assert [note.code for note in data.origin.notes] == ["env_from_name"]
    assert load(path, env_id="Hopper-v5").env_id == "Hopper-v5"


def long_run(rows=2500, terminal=1200):
    terminals = np.zeros(rows, bool)
    terminals[terminal] = True
    return {
        "observations": np.zeros((rows, 2)),
        "actions": np.zeros((rows, 1)),
        "terminals": terminals,
    }


def test_without_timeouts_episodes_are_cut_at_the_task_limit(tmp_path):
    data = load(write(tmp_path / "hopper-random-v0.hdf5", long_run()))
    assert data.episode_starts.tolist() == [0, 1000, 1201, 2201]
    assert np.flatnonzero(data.timeouts).tolist() == [999, 2200]
    assert np.flatnonzero(data.terminals).tolist() == [1200]
    assert "cut after 1,000 steps" in next(
        n.message for n in data.origin.notes if n.code == "timeouts_missing"
    )


def test_without_timeouts_and_limit_nothing_is_guessed(tmp_path):
    path = write(tmp_path / "unknown.hdf5", long_run())
    data = load(path)
    assert data.episode_starts.tolist() == [0, 1201]
    assert "terminals alone" in next(
        n.message for n in data.origin.notes if n.code == "timeouts_missing"
    )
    assert load(path, max_episode_steps=500).episode_starts.tolist() == [
        0,
        500,
        1000,
        1201,
        1701,
        2201,
    ]


def test_both_flags_terminal_wins(tmp_path):
    columns = joined(record(FLAGGED))
    columns["timeouts"] = columns["timeouts"] | columns["terminals"]
    data = load(write(tmp_path / "x.hdf5", columns))
    assert not (data.terminals & data.timeouts).any()
    assert data.terminals.sum() == 2
    note = next(note for note in data.origin.notes if note.code == "both_flags")
    assert note.rows == tuple(np.flatnonzero(data.terminals))


def test_missing_column_is_named(tmp_path):
    columns = joined(record(FLAGGED))
    del columns["terminals"]
    with pytest.raises(DatasetError, match=r"lacks columns.*terminals"):
        load(write(tmp_path / "x.hdf5", columns))


def test_columns_of_different_length(tmp_path):
    columns = joined(record(FLAGGED))
    columns["rewards"] = columns["rewards"][:-1]
    with pytest.raises(DatasetError, match="rewards have 17 rows and observations 18"):
        load(write(tmp_path / "x.hdf5", columns))


def test_image_observations_are_refused(tmp_path):
    columns = joined(record(FLAGGED))
    columns["observations"] = np.zeros((18, 8, 8, 3), "u1")
    del columns["next_observations"]
    with pytest.raises(DatasetError, match="encode them as vectors"):
        load(write(tmp_path / "x.hdf5", columns))
