"""Minari, npz, npy, OGBench, d3rlpy, robomimic, LeRobot and arrays: what is special about each."""

import json
import warnings

import h5py
import minari
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from io_layouts import (
    FLAGGED,
    TAIL_OPEN,
    assert_holds,
    d3rlpy_v1,
    d3rlpy_v2,
    joined,
    lerobot,
    npz,
    ogbench,
    record,
    robomimic,
)
from io_layouts import minari as write_minari
from minari.data_collector import EpisodeBuffer

from rlassay.errors import DatasetError, SettingsError
from rlassay.formats import load


def codes(data):
    return [note.code for note in data.origin.notes]


# -- Minari -----------------------------------------------------------------------------------------------------------


def create(name, observations, actions, observation_space, action_space, rows=3, **more):
    buffer = EpisodeBuffer(
        observations=observations,
        actions=actions,
        rewards=[1.0] * rows,
        terminations=[False] * rows,
        truncations=[False] * (rows - 1) + [True],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return minari.create_dataset_from_buffers(
            name, [buffer], observation_space=observation_space, action_space=action_space, **more
        )


@pytest.fixture
def minari_root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def test_minari_by_id_folder_data_folder_and_object(minari_root):
    episodes = record(FLAGGED)
    folder = write_minari(episodes, minari_root)
    name = "probe/steps-hdf5-v0"
    sources = [name, folder, str(folder), folder / "data", minari.load_dataset(name)]
    for source in sources:
        assert_holds(load(source), episodes, final_known=True)
    assert load(name).origin.metadata["algorithm_name"] == "counting"
    assert load(name).origin.action_low.tolist() == [-1, -1]


def test_minari_filtered_view_keeps_its_episodes(minari_root):
    episodes = record(FLAGGED)
    write_minari(episodes, minari_root)
    view = minari.load_dataset("probe/steps-hdf5-v0").filter_episodes(lambda e: e.terminations[-1])
    assert_holds(load(view), [episodes[0], episodes[2]], final_known=True)


def test_minari_dict_of_vectors_in_sorted_order(minari_root):
    space = Dict({"z": Box(-9, 9, (2,), np.float32), "a": Box(-9, 9, (1,), np.float32)})
    z, a = np.arange(8, dtype="f4").reshape(4, 2), -np.arange(4, dtype="f4")[:, None]
    for form in ("hdf5", "arrow"):
        create(
            f"dict-{form}-v0",
            {"z": z, "a": a},
            np.zeros((3, 1), "f4"),
            space,
            Box(-1, 1, (1,)),
            data_format=form,
        )
        data = load(f"dict-{form}-v0")
        np.testing.assert_array_equal(data.observations, np.hstack([a, z])[:-1])
        assert "a, z" in data.origin.notes[0].message
        chosen = load(f"dict-{form}-v0", observation_keys=["z"])
        np.testing.assert_array_equal(chosen.next_observations, z[1:])


def test_minari_discrete_actions_stay_whole(minari_root):
    create("grid-v0", np.zeros((4, 2), "f4"), np.array([0, 2, 1]), Box(-1, 1, (2,)), Discrete(3))
    data = load("grid-v0")
    assert data.discrete_actions
    assert data.actions.tolist() == [[0], [2], [1]]
    assert data.action_bounds()[1].tolist() == [2]


def test_minari_images_are_refused_before_they_are_read(minari_root):
    space = Box(0, 255, (64, 64, 3), np.uint8)
    create(
        "pixels-v0", np.zeros((4, 64, 64, 3), "u1"), np.zeros((3, 1), "f4"), space, Box(-1, 1, (1,))
    )
    with pytest.raises(DatasetError, match="encode images as vectors"):
        load("pixels-v0")


def test_minari_states_the_environment_without_making_it(minari_root):
    folder = write_minari(record(FLAGGED), minari_root)
    file = folder / "data" / "metadata.json"
    metadata = json.loads(file.read_text())
    spec = {"id": "NoSuchEnv-v9", "entry_point": "os:abort"}
    file.write_text(json.dumps({**metadata, "env_spec": json.dumps(spec)}))
    assert load(folder).env_id == "NoSuchEnv-v9"
    del metadata["action_space"]  # here the library would make the environment, and abort
    file.write_text(json.dumps({**metadata, "env_spec": json.dumps(spec)}))
    with pytest.raises(DatasetError, match="states no action_space"):
        load(folder)


def test_minari_episode_in_two_batches_is_refused(minari_root):
    """The library would take the first batch for the episode and the second for the next one."""
    folder = write_minari(record(FLAGGED), minari_root, "arrow")
    part = next((folder / "data" / "1").glob("*.arrow"))
    table = pa.ipc.open_file(part.read_bytes()).read_all()
    with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    with pytest.raises(DatasetError, match="stored in 2 batches"):
        load(folder)


# -- npz, npy, arrays -------------------------------------------------------------------------------------------------


def test_aliases_and_merged_dones():
    columns = joined(record(FLAGGED))
    ends = columns["terminals"] | columns["timeouts"]
    source = {
        "states": columns["observations"],
        "actions": columns["actions"],
        "rewards": columns["rewards"],
        "dones": ends,
    }
    data = load(source)
    assert data.terminals.sum() == 4
    assert codes(data) == ["dones_as_terminals"]
    limited = load(source, max_episode_steps=5)
    assert np.flatnonzero(limited.timeouts).tolist() == [
        8,
        16,
    ]  # the second episode's end, and a cut in the fourth
    assert limited.terminals.sum() == 3


def test_npz_knows_origin(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(
        path,
        **joined(record(FLAGGED)),
        env_id="Hopper-v5",
        action_low=[-1.0, -1.0],
        action_high=[1.0, 2.0],
    )
    data = load(path)
    assert data.env_id == "Hopper-v5"
    low, high, stated = data.action_bounds()
    assert stated and low.tolist() == [-1, -1] and high.tolist() == [1, 2]


def test_column_order_arrays(tmp_path):
    episodes = record(FLAGGED)
    path = tmp_path / "x.npz"
    np.savez(path, **{n: np.asfortranarray(c) for n, c in joined(episodes).items()})
    assert_holds(load(path), episodes, final_known=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"obs": np.zeros((18, 3))}, "one column under two names"),
        ({"dones": np.zeros(18, bool)}, "holds both terminals and dones"),
        ({"observations": None}, "lacks columns"),
        ({"terminals": np.full(18, 2)}, "terminals are not flags"),
        ({"observations": [[1, 2], [3]]}, "ragged"),
        ({"observations": np.zeros((0, 3))}, "empty"),
        ({"episode_starts": [0, 5, 5]}, "episode starts"),
        ({"next_observations": np.zeros((18, 4))}, "differ in shape"),
        ({"rewards": np.array(["a"] * 18)}, "type"),
    ],
)
def test_bad_columns_are_named(change, message):
    source = {k: v for k, v in {**joined(record(FLAGGED)), **change}.items() if v is not None}
    with pytest.raises(DatasetError, match=message):
        load(source)


def test_dict_of_vectors_and_chosen_keys():
    columns = joined(record(FLAGGED))
    parts = {"b": columns["observations"][:, 1:], "a": columns["observations"][:, 0]}
    source = {**columns, "observations": parts, "next_observations": columns["next_observations"]}
    np.testing.assert_array_equal(load(source).observations, columns["observations"])
    del source["next_observations"]
    np.testing.assert_array_equal(load(source, observation_keys=["b"]).observations, parts["b"])
    with pytest.raises(DatasetError, match="unknown key"):
        load(source, observation_keys=["c"])


def test_odd_sources_are_refused(tmp_path):
    for source in (42, None, [1, 2]):
        with pytest.raises(DatasetError, match="unknown type"):
            load(source)
    with pytest.raises(DatasetError, match="does not exist"):
        load(tmp_path / "nothing")
    with pytest.raises(SettingsError, match="unknown format"):
        load(npz(record(FLAGGED), tmp_path), format="csv")
    with pytest.raises(DatasetError, match="no masks"):
        load(tmp_path / "data.npz", mask="best")


# -- OGBench ----------------------------------------------------------------------------------------------------------


def test_ogbench_cut_short_is_refused(tmp_path):
    path = ogbench(record(("timeout",) * 2), tmp_path)
    arrays = dict(np.load(path))
    np.savez(path, **{name: array[:-1] for name, array in arrays.items()})
    with pytest.raises(DatasetError, match="does not end with a trajectory"):
        load(path)


def test_archive_that_may_be_either_is_not_guessed(tmp_path):
    path = ogbench(record(("timeout",) * 2), tmp_path)
    arrays = dict(np.load(path))
    np.savez(path, **{name: arrays[name] for name in ("observations", "actions", "terminals")})
    with pytest.raises(DatasetError, match="--format npz or --format ogbench"):
        load(path)
    assert len(load(path, format="ogbench")) == 9
    assert len(load(path, format="npz")) == 11


# -- d3rlpy -----------------------------------------------------------------------------------------------------------


def test_d3rlpy_old_dump_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="version 2.0"):
        load(d3rlpy_v2(record(FLAGGED), tmp_path, version="2.0"))


def test_d3rlpy_empty_episode_is_said(tmp_path):
    path = d3rlpy_v2(record(FLAGGED), tmp_path)
    with h5py.File(path, "a") as file:
        for name, shape in (("observations", (0, 3)), ("actions", (0, 2)), ("rewards", (0, 1))):
            file.create_dataset(f"{name}_4", data=np.zeros(shape, "f4"))
        file.create_dataset("terminated_4", data=True)
        del file["num_episodes"]
        file.create_dataset("num_episodes", data=5)
    data = load(path)
    assert data.episode_count == 4
    assert codes(data) == ["empty_episodes"]


def test_d3rlpy_discrete_actions(tmp_path):
    path = d3rlpy_v1(record(FLAGGED), tmp_path)
    with h5py.File(path, "a") as file:
        del file["actions"], file["discrete_action"]
        file.create_dataset("actions", data=np.arange(18) % 3 * 1.0)
        file.create_dataset("discrete_action", data=True)
    data = load(path)
    assert data.discrete_actions and data.actions[:4, 0].tolist() == [0, 1, 2, 0]


# -- robomimic --------------------------------------------------------------------------------------------------------


def test_robomimic_mask_and_order(tmp_path):
    episodes = record(("open", "terminal", "open", "terminal"))
    path = robomimic(episodes, tmp_path)
    data = load(path)
    assert data.env_id == "Lift" and data.origin.metadata["env_args"]["env_type"] == 1
    assert "a, b" in data.origin.notes[0].message
    assert_holds(load(path, mask="best"), episodes[1:3], final_known=True)
    with pytest.raises(DatasetError, match=r"unknown mask.*best.*worst"):
        load(path, mask="worst")


def test_robomimic_done_inside_a_demo_is_no_end(tmp_path):
    episodes = record(("terminal",) * 2)
    path = robomimic(episodes, tmp_path)
    with h5py.File(path, "a") as file:
        file["data/demo_8/dones"][1] = 1
    data = load(path)
    assert_holds(data, episodes, final_known=True)
    note = next(note for note in data.origin.notes if note.code == "dones_inside")
    assert note.rows == (1,)


def test_robomimic_images_need_a_choice(tmp_path):
    path = robomimic(record(("terminal",) * 2), tmp_path)
    with h5py.File(path, "a") as file:
        for demo, rows in (("demo_8", 4), ("demo_9", 5)):
            file.create_dataset(f"data/{demo}/obs/camera", data=np.zeros((rows, 8, 8, 3), "u1"))
    with pytest.raises(DatasetError, match="--observation-keys"):
        load(path)
    assert load(path, observation_keys=["b"]).observation_dim == 2


def test_robomimic_actions_beyond_the_convention(tmp_path):
    path = robomimic(record(("terminal",) * 2), tmp_path)
    assert load(path).origin.action_high.tolist() == [1, 1]
    with h5py.File(path, "a") as file:
        file["data/demo_8/actions"][0] = 3
    data = load(path)
    assert data.origin.action_high is None
    assert "actions_beyond_convention" in codes(data)


# -- LeRobot ----------------------------------------------------------------------------------------------------------


def test_lerobot_cameras_are_said(tmp_path):
    data = load(lerobot(record(FLAGGED), tmp_path))
    assert codes(data) == ["cameras_left_out"]
    assert data.origin.metadata["codebase_version"] == "v3.0"


def test_lerobot_without_outcomes(tmp_path):
    data = load(lerobot(record(FLAGGED), tmp_path, outcomes=False))
    assert data.rewards is None
    assert not data.terminals.any() and not data.timeouts.any()
    assert data.episode_count == 4
    assert {"ends_unknown", "rewards_missing"} <= set(codes(data))


def test_lerobot_rows_are_ordered_by_index(tmp_path):
    episodes = record(FLAGGED)
    path = lerobot(episodes, tmp_path)
    files = sorted((path / "data" / "chunk-000").glob("*"))
    files[0].rename(path / "data" / "chunk-000" / "file-009.parquet")
    assert_holds(load(path), episodes, final_known=False)


def test_lerobot_missing_and_doubled_files(tmp_path):
    path = lerobot(record(FLAGGED), tmp_path)
    second = path / "data" / "chunk-000" / "file-001.parquet"
    kept = second.read_bytes()
    second.unlink()
    with pytest.raises(DatasetError, match="promises 18 frames and holds 9"):
        load(path)
    second.write_bytes((path / "data" / "chunk-000" / "file-000.parquet").read_bytes())
    with pytest.raises(DatasetError, match="frames twice"):
        load(path)
    second.write_bytes(kept)
    assert len(load(path)) == 18


def test_lerobot_ragged_state_is_refused(tmp_path):
    path = lerobot(record(("terminal",)), tmp_path, "v2.1")
    file = path / "data" / "chunk-000" / "episode_000000.parquet"
    table = pq.read_table(file)
    ragged = pa.array([[1.0], [1.0, 2.0], [3.0], [4.0]])
    pq.write_table(table.set_column(0, "observation.state", ragged), file)
    with pytest.raises(DatasetError, match="differ in length"):
        load(path)


def test_open_tail_is_unfinished():
    data = load(joined(record(TAIL_OPEN)))
    assert not data.terminals[-1] and not data.timeouts[-1]
    assert data.sarsa_rows[-1] == len(data) - 2
