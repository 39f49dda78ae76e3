"""Which datasets paths, patterns and folders name: each once, a folder for what lies inside it, a name for every card."""

import json

import pytest

from probes import walks
from rlassay.errors import DatasetError
from rlassay.formats import save
from rlassay.formats.trees import find_datasets


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    for name in ("one.hdf5", "two.npz", "deep/one.hdf5", "deep/er/three.h5"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        save(walks(episodes=3), root / name)
    save(walks(episodes=3), root / "minari/space/walk-v0", format="minari")
    (root / "robot/meta").mkdir(parents=True)
    (root / "robot/meta/info.json").write_text("{}")
    (root / "robot/data.hdf5").write_text("part of the robot's folder")
    (root / "notes.txt").write_text("no data")
    return root


def names(paths) -> list[str]:
    return [found.name for found in find_datasets([str(path) for path in paths])]


def test_a_folder_of_datasets_names_all_of_them(tree):
    everything = ["deep/er/three.h5", "deep/one.hdf5", "minari/space/walk-v0", "one.hdf5"]
    assert sorted(names([tree])) == [*everything, "robot", "two.npz"]


def test_a_pattern_finds_files_and_the_folder_around_them(tree):
    found = names([tree / "**/*.hdf5"])
    assert sorted(found) == ["deep/one.hdf5", "minari/space/walk-v0", "one.hdf5", "robot"]
    assert names([tree / "min*/**"]) == ["minari/space/walk-v0"]


def test_a_dataset_is_named_once_and_a_name_stands_for_one(tree):
    twice = [tree / "one.hdf5", tree / "one.hdf5", tree / "deep/one.hdf5"]
    found = find_datasets([str(path) for path in twice])
    assert len(found) == 2 and len({each.name for each in found}) == 2
    assert all(each.name.startswith("one-") and each.name.endswith(".hdf5") for each in found)


def test_an_id_is_left_to_the_reader_and_an_empty_pattern_is_refused(tree):
    [found] = find_datasets(["minari://D4RL/door/human-v2"])
    assert found.source == "minari://D4RL/door/human-v2" and "/" not in found.name
    with pytest.raises(DatasetError, match="no file matches"):
        find_datasets([str(tree / "*.parquet")])


def test_the_identity_follows_the_file(tree, tmp_path):
    path = tmp_path / "data.npz"
    save(walks(episodes=3), path)
    [found] = find_datasets([str(path)])
    before = found.identity()
    assert json.loads(json.dumps(before)) == before == find_datasets([str(path)])[0].identity()
    save(walks(episodes=4), path)
    assert found.identity() != before
    [folder] = find_datasets([str(tree / "minari/space/walk-v0")])
    known = folder.identity()
    (tree / "minari/space/walk-v0/data/more.txt").write_text("x")
    assert folder.identity() != known and folder.size() > 0
