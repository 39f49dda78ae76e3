"""Writers and convert: nothing is lost silently, and a target is whole or unchanged."""

import h5py
import minari
import numpy as np
import pytest
from io_layouts import FLAGGED, LAYOUTS, assert_holds, d4rl, joined, npz, record

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.formats import convert, load, save

TARGETS = {
    "d4rl": ("out.hdf5", None),
    "npz": ("out.npz", None),
    "minari": ("out-v0", None),
    "minari-arrow": ("out-v1", "minari-arrow"),
    "minari-parquet": ("out-v2", "minari-parquet"),
}
OPEN_INSIDE = ("open", "terminal", "timeout", "open")


def round_trip(data, tmp_path, target):
    name, form = TARGETS[target]
    notes = save(data, tmp_path / name, format=form)
    return load(tmp_path / name), [note.code for note in notes]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - {"ogbench"}))
def test_every_layout_through_every_writer(layout, target, tmp_path):
    write, ends, final_known = LAYOUTS[layout]
    episodes = record(ends)
    (tmp_path / "in").mkdir()
    name, form = TARGETS[target]
    data, _ = convert(write(episodes, tmp_path / "in"), tmp_path / name, to=form)
    again = load(tmp_path / name)
    assert_holds(again, episodes, final_known=final_known)
    assert again.fingerprint == data.fingerprint
    assert again.env_id == data.env_id
    assert again.action_bounds()[2] == data.action_bounds()[2]


@pytest.mark.parametrize("target", TARGETS)
def test_origin_and_precision_survive(target, tmp_path):
    columns = joined(record(FLAGGED, dtype="f8"))
    metadata = {"algorithm_name": "TD3", "author": ["A", "B"], "noise": 0.1, "levels": [1, 2]}
    bounds = {"action_low": [-1.0, -2.0], "action_high": [1.0, 2.0]}
    data = load({**columns, **bounds, "env_id": "Hopper-v5", "metadata": metadata})
    again, notes = round_trip(data, tmp_path, target)
    assert notes == []
    assert again.env_id == "Hopper-v5"
    assert again.origin.action_low.tolist() == [-1, -2]
    kept = {key: again.origin.metadata[key] for key in metadata}
    assert {**kept, "author": sorted(kept["author"])} == metadata
    assert again.observations.dtype == again.actions.dtype == again.rewards.dtype == np.float64
    np.testing.assert_array_equal(again.observations, data.observations)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("width", [1, 2])
def test_integer_actions_survive(target, width, tmp_path):
    actions = (np.arange(18 * width) % 5 - 1).reshape(18, width)
    data = load({**joined(record(FLAGGED)), "actions": actions})
    again, _ = round_trip(data, tmp_path, target)
    assert again.discrete_actions
    np.testing.assert_array_equal(again.actions, actions)
    assert again.fingerprint == data.fingerprint
    assert not again.action_bounds()[2]  # the bounds of the space were only the data's


@pytest.mark.parametrize("target", TARGETS)
def test_mixed_unknown_successors_survive(target, tmp_path):
    columns = joined(record(OPEN_INSIDE))
    known = np.ones(18, bool)
    known[3] = False  # the first episode's end alone
    data = load({**columns, "next_valid": known, "episode_starts": [0, 4, 9, 12]})
    again, notes = round_trip(data, tmp_path, target)
    assert again.fingerprint == data.fingerprint
    expected = {"d4rl": ["unknown_successors", "unflagged_ends"], "npz": []}
    assert notes == expected.get(target, ["unknown_successors"])


def test_what_minari_cannot_hold_is_said(tmp_path):
    columns = joined(record(FLAGGED))
    columns["next_observations"] = columns["next_observations"] + 0.5
    again, notes = round_trip(load(columns), tmp_path, "minari")
    assert notes == ["next_observations"]
    np.testing.assert_array_equal(again.observations, columns["observations"])
    del columns["rewards"]
    with pytest.raises(DatasetError, match="Minari needs rewards"):
        save(load(columns), tmp_path / "other-v0")
    assert not (tmp_path / "other-v0").exists()


@pytest.mark.parametrize("target", ["d4rl", "npz"])
def test_data_without_rewards(target, tmp_path):
    columns = joined(record(FLAGGED))
    del columns["rewards"]
    again, notes = round_trip(load(columns), tmp_path, target)
    assert again.rewards is None
    assert notes == (["no_rewards"] if target == "d4rl" else [])


def test_infos_and_policy_travel(tmp_path):
    source = d4rl(record(FLAGGED), tmp_path)
    convert(source, tmp_path / "a.npz")
    convert(tmp_path / "a.npz", tmp_path / "b.hdf5")
    with h5py.File(source) as one, h5py.File(tmp_path / "b.hdf5") as two:
        for name in ("infos/qpos", "infos/action_log_probs", "metadata/policy/fc0/weight"):
            np.testing.assert_array_equal(one[name], two[name])
    assert load(tmp_path / "b.hdf5").origin.metadata["policy/nonlinearity"] == "relu"
    _, notes = convert(source, tmp_path / "c-v0")
    assert "infos/qpos" in next(note.message for note in notes if note.code == "extras")


def test_what_is_not_carried_along_is_said(tmp_path):
    from io_layouts import lerobot, robomimic

    data, _ = convert(robomimic(record(("terminal",) * 2), tmp_path), tmp_path / "a.npz")
    assert [n.message for n in data.origin.notes if n.code == "left_out"] == [
        "not carried along: states"
    ]
    data, _ = convert(lerobot(record(FLAGGED), tmp_path), tmp_path / "b.npz")
    assert "observation.images.top" in next(
        n.message for n in data.origin.notes if n.code == "left_out"
    )
    data, _ = convert(tmp_path / "a.npz", tmp_path / "c.hdf5")
    assert "left_out" not in [note.code for note in data.origin.notes]


def test_minari_infos_are_said_to_stay_behind(tmp_path, monkeypatch):
    from gymnasium.spaces import Box
    from minari.data_collector import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    steps = {"rewards": [0.0, 1.0], "terminations": [False, True], "truncations": [False, False]}
    infos = {"speed": np.arange(3.0)}
    buffer = EpisodeBuffer(
        observations=np.zeros((3, 2), "f4"), actions=np.zeros((2, 1), "f4"), infos=infos, **steps
    )
    minari.create_dataset_from_buffers(
        "told-v0", [buffer], observation_space=Box(-1, 1, (2,)), action_space=Box(-1, 1, (1,))
    )
    data, _ = convert("told-v0", tmp_path / "x.npz")
    assert "infos/speed" in next(n.message for n in data.origin.notes if n.code == "left_out")


def test_others_can_read_what_we_write(tmp_path, monkeypatch):
    episodes = record(FLAGGED)
    data = load(npz(episodes, tmp_path))
    columns = joined(episodes)
    save(data, tmp_path / "x.hdf5")
    with h5py.File(tmp_path / "x.hdf5") as file:
        for name, column in columns.items():
            np.testing.assert_array_equal(file[name], column)
    with np.load(tmp_path / "data.npz") as archive:
        np.testing.assert_array_equal(archive["rewards"], columns["rewards"])
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "root"))
    save(data, tmp_path / "root" / "hop" / "medium-v3")
    theirs = minari.load_dataset("hop/medium-v3")
    assert theirs.total_steps == 18
    for mine, other in zip(episodes, theirs, strict=True):
        np.testing.assert_array_equal(mine.observations, other.observations)
        np.testing.assert_array_equal(mine.flag("timeout"), other.truncations)


def test_target_format(tmp_path):
    data = load(joined(record(FLAGGED)))
    for name in ("out", "out.csv", "folder.v1"):
        with pytest.raises(DatasetError, match="tells no format"):
            save(data, tmp_path / name)
    with pytest.raises(DatasetError, match="unknown format to write"):
        save(data, tmp_path / "out.npz", format="lerobot")
    with pytest.raises(DatasetError, match="not a Minari dataset id"):
        save(data, tmp_path / "some folder", format="minari")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", TARGETS)
def test_existing_targets(target, tmp_path):
    name, form = TARGETS[target]
    data = load(joined(record(FLAGGED)))
    save(data, tmp_path / name, format=form)
    with pytest.raises(DatasetError, match="exists"):
        convert(data, tmp_path / name, to=form)
    smaller = data.select([0])
    save(smaller, tmp_path / name, format=form)
    assert load(tmp_path / name).fingerprint == smaller.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("target", TARGETS)
def test_relative_paths(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, form = TARGETS[target]
    data = load(joined(record(FLAGGED)))
    save(data, name, format=form)
    save(data, name, format=form)
    assert load(name).fingerprint == data.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_foreign_folder_is_never_replaced(tmp_path):
    data = load(joined(record(FLAGGED)))
    (tmp_path / "thesis-v1").mkdir()
    (tmp_path / "thesis-v1" / "chapter.tex").write_text("years of work")
    with pytest.raises(DatasetError, match="no Minari dataset"):
        save(data, tmp_path / "thesis-v1")
    (tmp_path / "link-v1").symlink_to(tmp_path / "thesis-v1")
    with pytest.raises(DatasetError, match="no Minari dataset"):
        save(data, tmp_path / "link-v1")
    (tmp_path / "x.npz").mkdir()
    with pytest.raises(DatasetError, match="is a folder"):
        save(data, tmp_path / "x.npz")
    assert (tmp_path / "thesis-v1" / "chapter.tex").read_text() == "years of work"


@pytest.mark.parametrize("target", TARGETS)
def test_failure_leaves_the_old_file(target, tmp_path, monkeypatch):
    name, form = TARGETS[target]
    data = load(joined(record(FLAGGED)))
    save(data, tmp_path / name, format=form)

    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Dataset, "timeouts", property(full))
    with pytest.raises(DatasetError, match="No space left"):
        save(data, tmp_path / name, format=form)
    monkeypatch.undo()
    assert load(tmp_path / name).fingerprint == data.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == [name]
