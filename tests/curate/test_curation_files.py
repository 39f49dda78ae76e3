"""Curated files: every format reloads equal to the selection, the source never changes, nothing partial is left."""

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from curate_data import assert_same_data, made_dataset

from rlassay.curation.command import Request, curate_file
from rlassay.curation.result import PROVENANCE
from rlassay.curation.rule import Rule
from rlassay.errors import DatasetError, SettingsError
from rlassay.formats import load, save
from rlassay.formats.episode_lists import read_episode_list

BEST_TWO = Rule(top_k=2, by="return")  # of made_dataset: episodes 2 and 3


def bytes_of(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return {str(p.relative_to(path.parent)): p.read_bytes() for p in files}


@pytest.mark.parametrize(
    ("name", "out", "format"),
    [
        ("data.hdf5", "best.hdf5", None),
        ("data.npz", "best.npz", None),
        ("made-v0", "best-v0", "minari"),
        ("made-v0", "best-v0", "minari-arrow"),
        ("made-v0", "best-v0", "minari-parquet"),
    ],
)
def test_the_copy_reloads_equal_to_the_selection(tmp_path, name, out, format):
    source, target = tmp_path / name, tmp_path / out
    save(made_dataset(), source, format=format)
    before = bytes_of(source)
    result = curate_file(Request(str(source), BEST_TWO, out=target))
    original, copy = load(source), load(target)
    assert_same_data(copy, original.select([2, 3]))
    assert copy.origin.format == original.origin.format
    assert copy.env_id == "Hopper-v5" and np.array_equal(copy.origin.action_low, [-1, -1])
    assert bytes_of(source) == before
    assert (result["kept"], result["dropped"]) == ([2, 3], [0, 1])
    assert copy.origin.metadata.get("data_format") == original.origin.metadata.get("data_format")


def test_a_curated_minari_dataset_opens_with_the_real_library(tmp_path, monkeypatch):
    import minari

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    save(made_dataset(), tmp_path / "made-v0")
    curate_file(Request("made-v0", BEST_TWO, out=tmp_path / "best-v0"))
    dataset = minari.load_dataset("best-v0")
    expected = made_dataset().select([2, 3])
    assert dataset.total_episodes == 2 and dataset.total_steps == len(expected)
    for episode, wanted in zip(dataset.iterate_episodes(), expected.episodes(), strict=True):
        assert np.array_equal(episode.observations[:-1], wanted.observations)
        assert np.array_equal(episode.observations[1:], wanted.next_observations)
        assert np.array_equal(episode.actions, wanted.actions)
        assert np.array_equal(episode.rewards, wanted.rewards)
        assert np.array_equal(episode.terminations, wanted.terminals)
        assert np.array_equal(episode.truncations, wanted.timeouts)


def test_provenance_names_source_rule_and_version(tmp_path):
    from rlassay import __version__

    save(made_dataset(), tmp_path / "a.hdf5")
    curate_file(Request(str(tmp_path / "a.hdf5"), BEST_TWO, out=tmp_path / "b.hdf5"))
    record = load(tmp_path / "b.hdf5").origin.metadata[PROVENANCE]
    assert record["fingerprint"] == made_dataset().fingerprint
    assert record["rule"] == {"top_k": 2, "by": "return"}
    assert record["version"] == __version__ and record["episodes"] == [2, 4]
    again = Rule(top_k=1, by="return")
    curate_file(Request(str(tmp_path / "b.hdf5"), again, out=tmp_path / "c.hdf5"))
    assert load(tmp_path / "c.hdf5").origin.metadata[PROVENANCE]["earlier"] == record


def test_arrays_beside_the_columns_are_cut_to_the_same_rows(tmp_path):
    save(made_dataset(), tmp_path / "a.hdf5")
    with h5py.File(tmp_path / "a.hdf5", "r+") as file:
        file["infos/qpos"] = np.arange(18 * 2).reshape(18, 2)
        file["metadata/policy/weight"] = np.eye(3)
    curate_file(Request(str(tmp_path / "a.hdf5"), BEST_TWO, out=tmp_path / "b.hdf5"))
    with h5py.File(tmp_path / "b.hdf5") as file:
        assert np.array_equal(file["infos/qpos"][:, 0], np.arange(9, 18) * 2)
        assert np.array_equal(file["metadata/policy/weight"], np.eye(3))


# -- robomimic ---------------------------------------------------------------------------------------------------


def write_robomimic(path: Path) -> None:
    """Four demos in robomimic's documented layout; demo_10 follows demo_2 in number, not in the file's order."""
    data = made_dataset()
    with h5py.File(path, "w") as file:
        group = file.create_group("data")
        group.attrs["total"] = len(data)
        group.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_type": 1, "env_kwargs": {}})
        for name, episode in zip(
            ("demo_0", "demo_2", "demo_10", "demo_11"), data.episodes(), strict=True
        ):
            demo = group.create_group(name)
            demo.attrs["num_samples"] = len(episode)
            demo["actions"], demo["rewards"] = episode.actions, episode.rewards
            demo["dones"] = np.append(np.zeros(len(episode) - 1), 1)
            demo["obs/state"], demo["next_obs/state"] = (
                episode.observations,
                episode.next_observations,
            )
        file["mask/train"] = np.array([b"demo_0", b"demo_10", b"demo_11"])


def test_a_robomimic_copy_holds_the_mask_and_everything_else(tmp_path):
    source, out = tmp_path / "demos.hdf5", tmp_path / "masked.hdf5"
    write_robomimic(source)
    before = bytes_of(source)
    result = curate_file(Request(str(source), BEST_TWO, out=out, mask="best"))
    assert bytes_of(source) == before and result["out"] == str(out)
    with h5py.File(out) as file:
        assert file["mask/best"][()].tolist() == [b"demo_10", b"demo_11"]
        assert file["mask/best"].dtype.kind == "S"
        assert file["mask/train"][()].tolist() == [b"demo_0", b"demo_10", b"demo_11"]
        assert json.loads(file["mask/best"].attrs["rlassay"])["rule"] == {
            "top_k": 2,
            "by": "return",
        }
        assert sorted(file["data"]) == ["demo_0", "demo_10", "demo_11", "demo_2"]
    assert_same_data(load(out, mask="best"), load(source).select([2, 3]))


def test_a_mask_of_a_mask_names_the_right_demos(tmp_path):
    source, out = tmp_path / "demos.hdf5", tmp_path / "masked.hdf5"
    write_robomimic(source)
    rule = Rule(only=(0, 2))
    curate_file(Request(str(source), rule, out=out, mask="two", read={"mask": "train"}))
    with h5py.File(out) as file:
        assert file["mask/two"][()].tolist() == [b"demo_0", b"demo_11"]


def test_groups_beside_the_demos_are_no_demos(tmp_path):
    """The reader leaves out `demo_extra`; the writer of masks must count as it does."""
    source, out = tmp_path / "demos.hdf5", tmp_path / "masked.hdf5"
    write_robomimic(source)
    with h5py.File(source, "r+") as file:
        file.create_group("data/demo_extra")["note"] = 1
        file.create_group("data/demo_")
    curate_file(Request(str(source), Rule(only=(1, 3)), out=out, mask="two"))
    with h5py.File(out) as file:
        assert file["mask/two"][()].tolist() == [b"demo_2", b"demo_11"]


def test_in_place_leaves_a_backup_equal_to_the_old_file(tmp_path):
    source = tmp_path / "demos.hdf5"
    write_robomimic(source)
    before = source.read_bytes()
    curate_file(Request(str(source), BEST_TWO, mask_in_place=True))
    assert (tmp_path / "demos.hdf5.bak").read_bytes() == before
    assert_same_data(load(source, mask="curated"), load(source).select([2, 3]))
    with pytest.raises(DatasetError, match="backup .* exists"):
        curate_file(Request(str(source), BEST_TWO, mask="other", mask_in_place=True))


def test_a_taken_mask_is_refused_and_nothing_is_written(tmp_path):
    write_robomimic(tmp_path / "demos.hdf5")
    with pytest.raises(DatasetError, match="has a mask train already"):
        curate_file(
            Request(str(tmp_path / "demos.hdf5"), BEST_TWO, out=tmp_path / "o.hdf5", mask="train")
        )
    assert [p.name for p in tmp_path.iterdir()] == ["demos.hdf5"]


def test_masks_are_robomimics_alone(tmp_path):
    save(made_dataset(), tmp_path / "a.npz")
    with pytest.raises(SettingsError, match="has no masks"):
        curate_file(Request(str(tmp_path / "a.npz"), BEST_TWO, out=tmp_path / "b.npz", mask="x"))


# -- formats that are not written --------------------------------------------------------------------------------


def write_lerobot(folder: Path) -> None:
    """A v3 dataset in two files, its episodes numbered from 0."""
    data = made_dataset()
    frames = {
        "observation.state": data.observations.tolist(),
        "action": data.actions.tolist(),
        "next.reward": data.rewards,
        "index": np.arange(len(data)),
        "episode_index": data.episode_index,
        "frame_index": np.arange(len(data)) - data.episode_starts[data.episode_index],
    }
    kinds = {"dtype": "float32", "shape": [3], "names": None}
    info = {"codebase_version": "v3.0", "fps": 10, "total_frames": len(data), "total_episodes": 4}
    info["features"] = {"observation.state": kinds, "action": {**kinds, "shape": [2]}}
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    (folder / "data" / "chunk-000").mkdir(parents=True)
    table = pa.table({name: pa.array(column) for name, column in frames.items()})
    for number, part in enumerate((table.slice(9), table.slice(0, 9))):
        pyarrow.parquet.write_table(
            part, folder / "data" / "chunk-000" / f"file-{number:03d}.parquet"
        )


def test_lerobot_gets_a_ready_delete_command(tmp_path):
    write_lerobot(tmp_path / "robot")
    before = bytes_of(tmp_path / "robot")
    result = curate_file(Request(str(tmp_path / "robot"), BEST_TWO, out=tmp_path / "robot_best"))
    command = result["delete_command"]
    assert command.startswith("lerobot-edit-dataset --repo_id=robot ")
    assert "'--operation.episode_indices=[0, 1]'" in command
    assert f"--new_root={tmp_path / 'robot_best'}" in command
    assert result["out"] is None and not (tmp_path / "robot_best").exists()
    assert bytes_of(tmp_path / "robot") == before


def test_lerobot_can_be_written_in_another_format(tmp_path):
    write_lerobot(tmp_path / "robot")
    curate_file(Request(str(tmp_path / "robot"), BEST_TWO, out=tmp_path / "b.npz", to="npz"))
    assert_same_data(load(tmp_path / "b.npz"), load(tmp_path / "robot").select([2, 3]))


def test_a_list_names_the_kept_episodes_and_can_be_applied_again(tmp_path):
    save(made_dataset(), tmp_path / "a.npz")
    curate_file(Request(str(tmp_path / "a.npz"), BEST_TWO, out=tmp_path / "list.csv"))
    assert (tmp_path / "list.csv").read_text() == "episode\n2\n3\n"
    named = Rule(only=read_episode_list(tmp_path / "list.csv"))
    curate_file(Request(str(tmp_path / "a.npz"), named, out=tmp_path / "b.npz"))
    assert_same_data(load(tmp_path / "b.npz"), made_dataset().select([2, 3]))


def test_a_list_from_the_report_page_is_read(tmp_path):
    (tmp_path / "page.csv").write_text("episode,start,length,return\n3,15,3,9.1\n1,4,5,5\n")
    assert read_episode_list(tmp_path / "page.csv") == (3, 1)
    (tmp_path / "plain.txt").write_text("7\n\n8\n")
    assert read_episode_list(tmp_path / "plain.txt") == (7, 8)
    (tmp_path / "bad.txt").write_text("inf\n")
    with pytest.raises(DatasetError, match="not a list of episodes"):
        read_episode_list(tmp_path / "bad.txt")
    (tmp_path / "bad.txt").write_text("seven\n")
    with pytest.raises(DatasetError, match="not a list of episodes"):
        read_episode_list(tmp_path / "bad.txt")


def test_a_format_we_only_read_needs_a_word(tmp_path):
    data = made_dataset()
    with h5py.File(tmp_path / "old.h5", "w") as file:
        for name in ("observations", "actions", "rewards", "terminals"):
            file[name] = getattr(data, name)
        file["episode_terminals"] = data.terminals | data.timeouts
        file["discrete_action"] = False
    with pytest.raises(SettingsError, match="read but not written.*--to d4rl"):
        curate_file(Request(str(tmp_path / "old.h5"), BEST_TWO, out=tmp_path / "new.h5"))
    curate_file(Request(str(tmp_path / "old.h5"), BEST_TWO, out=tmp_path / "new.h5", to="d4rl"))
    assert load(tmp_path / "new.h5").episode_count == 2


def test_trimming_needs_a_dataset(tmp_path):
    write_robomimic(tmp_path / "demos.hdf5")
    with pytest.raises(SettingsError, match="trimmed episodes need a dataset"):
        curate_file(
            Request(str(tmp_path / "demos.hdf5"), Rule(trim_idle=True), out=tmp_path / "o.hdf5")
        )
