"""What was once read wrongly without a word, and what once ended in a traceback."""

import json
import os

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_layouts import FLAGGED, assert_holds, joined, lerobot, minari, npz, record, robomimic

from rlassay.data.references import reference_for, reference_of
from rlassay.errors import DatasetError
from rlassay.formats import convert, load, save
from rlassay.inspection import inspect


def note(data, code):
    return next((note for note in data.origin.notes if note.code == code), None)


# -- LeRobot ----------------------------------------------------------------------------------------------------------


def without_frame(folder, episode, frame):
    """Drop one frame; the index stays, the total is mended so that only the hole tells."""
    for file in folder.glob("data/*/*.parquet"):
        table = pq.read_table(file)
        keep = [
            not (e == episode and f == frame)
            for e, f in zip(
                table["episode_index"].to_pylist(), table["frame_index"].to_pylist(), strict=True
            )
        ]
        pq.write_table(table.filter(pa.array(keep)), file)
    info = json.loads((folder / "meta" / "info.json").read_text())
    info["total_frames"] -= 1
    (folder / "meta" / "info.json").write_text(json.dumps(info))


def test_frames_missing_inside_an_episode(tmp_path):
    folder = lerobot(record(FLAGGED), tmp_path)
    without_frame(folder, 1, 2)
    data = load(folder)
    assert note(data, "steps_missing").rows == (6,)
    assert not data.next_valid[5] and not data.next_action_valid[5]
    assert inspect(data).status != "pass"


def test_keys_without_their_prefix(tmp_path):
    episodes = record(FLAGGED)
    folder = lerobot(episodes, tmp_path)
    names = {"observation.state": "state", "action": "actions", "observation.images.top": "image"}
    info = json.loads((folder / "meta" / "info.json").read_text())
    info["features"] = {names[key]: value for key, value in info["features"].items()}
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    for file in folder.glob("data/*/*.parquet"):
        table = pq.read_table(file)
        pq.write_table(table.rename_columns([names.get(n, n) for n in table.column_names]), file)
    data = load(folder)
    assert_holds(data, episodes, final_known=False)
    assert "image" in note(data, "cameras_left_out").message


def test_map_of_a_lerobot_folder(tmp_path):
    folder = lerobot(record(FLAGGED), tmp_path)
    data = load(folder, map="observations=observation.state,actions=observation.state")
    assert data.action_dim == 3
    with pytest.raises(DatasetError, match="names too much"):
        load(folder, map="observations=observation.state,actions=action,rewards=next.reward")


# -- Minari -----------------------------------------------------------------------------------------------------------


def change_metadata(folder, **changes):
    file = folder / "data" / "metadata.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize("form", ["hdf5", "arrow"])
def test_fewer_episodes_promised_than_stored(tmp_path, form):
    folder = minari(record(FLAGGED), tmp_path, form)
    change_metadata(folder, total_episodes=2)
    data = load(folder)
    assert "4 episodes and the metadata counts 2" in note(data, "episodes_differ").message
    assert "18 steps and the episodes hold 9" in note(data, "steps_differ").message


def test_reference_returns_of_the_file(tmp_path):
    folder = minari(record(FLAGGED), tmp_path)
    assert load(folder).origin.reference is None
    change_metadata(folder, ref_min_score=-45.5, ref_max_score=2940.5)
    data = load(folder)
    assert data.origin.reference == (-45.5, 2940.5)
    found = reference_of(data)
    assert found.normalise(-45.5) == 0 and found.normalise(2940.5) == 100
    named = load(folder, env_id="Hopper-v5")
    assert reference_of(named).low == -45.5 and reference_of(named).horizon == 1000
    for nonsense in ({"ref_max_score": -50.0}, {"ref_max_score": "much"}, {"ref_min_score": None}):
        change_metadata(folder, **nonsense)
        assert load(folder).origin.reference is None
    assert reference_of(load(folder, env_id="Hopper-v5")) == reference_for("Hopper-v5")


def test_action_range_is_what_was_seen(tmp_path):
    data = load(minari(record(FLAGGED), tmp_path))
    low, high = data.action_range
    np.testing.assert_array_equal(low, data.actions.min(axis=0))
    np.testing.assert_array_equal(high, data.actions.max(axis=0))
    assert data.action_bounds()[2] and data.action_bounds()[1][0] == 1.0


# -- robomimic --------------------------------------------------------------------------------------------------------


def test_next_obs_with_other_keys(tmp_path):
    path = robomimic(record(FLAGGED), tmp_path)
    with h5py.File(path, "a") as file:
        for demo in file["data"].values():
            demo.move("next_obs/b", "next_obs/c")
    with pytest.raises(DatasetError, match="holds other keys than obs"):
        load(path)
    assert load(path, observation_keys=["a"]).observation_dim == 1


# -- one sentence instead of a traceback ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["~nosuchuser/x", "x" * 300, "a/" * 3000 + "x", "nul\0name"])
def test_names_that_cannot_be(name):
    with pytest.raises(DatasetError) as caught:
        load(name)
    assert "\n" not in str(caught.value) and "damaged" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_folder(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0)
    try:
        with pytest.raises(DatasetError, match="permission denied"):
            load(folder)
    finally:
        folder.chmod(0o700)


def with_arrays(path, **arrays):
    with np.load(path) as archive:
        columns = dict(archive)
    np.savez(path, **columns, **arrays)
    return path


def test_convert_with_text_and_objects_beside_the_columns(tmp_path):
    path = npz(record(FLAGGED), tmp_path)
    with_arrays(path, label=np.array(["a", "b"]), odd=np.array([{}], object), speed=np.arange(3.0))
    data, _ = convert(path, tmp_path / "out.hdf5")
    assert "label, odd" in note(data, "left_out").message
    with h5py.File(tmp_path / "out.hdf5") as file:
        assert "speed" in file and "label" not in file


def test_convert_with_extras_of_impossible_names(tmp_path):
    names = ("rlassay", ".", "observations/x", "fine", "fine/below", "a//b", "rewards ")
    path = with_arrays(npz(record(FLAGGED), tmp_path), **{name: np.arange(3.0) for name in names})
    data, notes = convert(path, tmp_path / "out.hdf5")
    lost = next(note for note in notes if note.code == "extras").message
    assert all(repr(name) in lost for name in ("rlassay", ".", "observations/x"))
    again = load(tmp_path / "out.hdf5", extras=True)
    assert again.fingerprint == data.fingerprint and "fine" in again.origin.extras


@pytest.mark.parametrize("suffix", ["out.hdf5", "out.npz", "out-v0"])
@pytest.mark.parametrize("name", ["Hop\0per", "Hop\udc80per"])
def test_environments_that_no_format_can_hold(tmp_path, suffix, name):
    data = load(npz(record(FLAGGED), tmp_path), env_id=name)
    save(data, tmp_path / suffix)
    assert load(tmp_path / suffix).env_id == "Hop?per"


def test_columns_keep_their_numbers(tmp_path):
    episodes = record(FLAGGED)
    data = load(npz(episodes, tmp_path), env_id="x")
    np.testing.assert_array_equal(data.rewards, joined(episodes)["rewards"])
