"""A TD3 run killed at any write gives the same curve, hence the same medium sets; a zoo gives only its own actors."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rlassay.collect import progress, runs
from rlassay.collect.recipes import medium_step
from rlassay.collect.settings import TD3Settings
from rlassay.collect.sources import ZooActors, load_manifest
from rlassay.collect.zoo import read_manifest
from rlassay.engine.lock import only_writer
from rlassay.errors import DatasetError, SettingsError
from rlassay.kernel import checkpoint

ENV = "Pendulum-v1"
SMALL = TD3Settings(
    steps=800,
    random_steps=200,
    batch_size=8,
    hidden=8,
    eval_every=200,
    eval_episodes=1,
    checkpoint_every=400,
)
WRITES = 4  # two checkpoints, each after its curve
ZOO = Path(__file__).parents[2] / "zoo"


class Killed(BaseException):
    pass


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path / "store"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RLASSAY_STORE", str(tmp_path_factory.mktemp("store")))
        runs.train_run(ENV, 0, SMALL)
        return runs.run_folder(ENV, 0, SMALL)


def medium(folder: Path) -> tuple[int, str]:
    actors = runs.RunActors(ENV, {0: folder})
    return medium_step(actors, 0), (folder / "curve.csv").read_text()


@pytest.mark.parametrize("number", range(WRITES))
def test_killed_at_any_write(number, whole, store, monkeypatch):
    write, done = checkpoint.write_atomically, []

    def counted(path, content):
        if len(done) == number:
            raise Killed
        done.append(path.name)
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_atomically", counted)
        with pytest.raises(Killed):
            runs.train_run(ENV, 0, SMALL)
    assert done == ["curve.csv", "state.npz", "curve.csv"][:number]
    runs.train_run(ENV, 0, SMALL)
    assert medium(runs.run_folder(ENV, 0, SMALL)) == medium(whole)


def test_a_stale_curve_beside_a_finished_state_is_written_again(whole, store):
    """As version 0.1 left it when killed between its last state and its curve."""
    folder = runs.run_folder(ENV, 0, SMALL)
    shutil.copytree(whole, folder)
    curve = (folder / "curve.csv").read_text().splitlines(keepends=True)
    (folder / "curve.csv").write_text("".join(curve[:3]))
    runs.train_run(ENV, 0, SMALL)
    assert medium(folder) == medium(whole)


def test_a_state_of_version_0_1_is_continued(whole, store, tmp_path):
    folder = runs.run_folder(ENV, 0, SMALL)
    shutil.copytree(whole, folder)
    saved = checkpoint.load(folder)
    assert saved is not None
    counters = np.frombuffer(json.dumps(saved.record).encode(), np.uint8)
    leaves = {f"leaf{k}": leaf for k, leaf in enumerate(saved.leaves)}
    buffer = io.BytesIO()
    np.savez(buffer, counters=counters, **leaves)
    (folder / "state.npz").write_bytes(buffer.getvalue())
    (folder / "curve.csv").unlink()
    assert progress.settled_step(folder) == SMALL.steps
    assert medium(folder) == medium(whole)


def test_a_run_that_another_process_writes_is_refused(store):
    with only_writer(runs.run_folder(ENV, 0, SMALL)):
        with pytest.raises(SettingsError, match="another rlassay process"):
            runs.train_run(ENV, 0, SMALL)


# -- the zoo -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "3",
        '{"environments": 3}',
        '{"environments": {"Hopper-v5": {}}}',
        '{"environments": {"Hopper-v5": {"runs": {"0": {"actors": {}}}}}}',
        '{"environments": {"Hopper-v5": {"runs": {"x": {"actors": {}, "curve": []}}}}}',
    ],
)
def test_a_manifest_that_describes_nothing_is_one_sentence(text, tmp_path):
    (tmp_path / "manifest.json").write_text(text)
    for read in (load_manifest, read_manifest, lambda zoo: ZooActors.open(zoo, "Hopper-v5")):
        with pytest.raises(DatasetError, match="holds no zoo.*--zoo DIR"):
            read(tmp_path)


def test_a_swapped_actor_is_refused(tmp_path):
    shutil.copytree(ZOO / "Hopper-v5", tmp_path / "Hopper-v5")
    shutil.copy(ZOO / "manifest.json", tmp_path)
    actors = ZooActors.open(tmp_path, "Hopper-v5")
    assert actors.actor(0, 200_000).metadata["step"] == "200000"
    other = tmp_path / "Hopper-v5" / "seed1-step200000.safetensors"
    shutil.copy(other, tmp_path / "Hopper-v5" / "seed0-step200000.safetensors")
    with pytest.raises(DatasetError, match="is not the actor that manifest.json describes"):
        actors.actor(0, 200_000)


def test_a_replay_that_is_gone_or_cannot_be_written_is_one_sentence(tmp_path):
    from rlassay.collect.replay import Replay, read_rows

    with pytest.raises(DatasetError, match="holds 0 of 3 rows.*damaged"):
        read_rows(tmp_path / "replay.bin", 2, 1, 3)
    (tmp_path / "file").write_text("")
    replay = Replay(tmp_path / "file" / "replay.bin", 2, 1, capacity=3)
    replay.add([0, 0], [0], 0, [0, 0], False, False)
    with pytest.raises(DatasetError, match="cannot write .*replay.bin.*run the same command"):
        replay.flush()
