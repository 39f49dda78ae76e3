"""TD3 learns, and a killed run ends in the same bits as one that was never stopped."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import jax
import numpy as np
import pytest

from rlassay.collect.progress import settled_step
from rlassay.collect.replay import Replay, read_rows
from rlassay.collect.td3 import TD3Settings, Trainer
from rlassay.errors import DatasetError
from rlassay.rollout import evaluate

SMALL = TD3Settings(
    steps=1_500,
    random_steps=300,
    batch_size=16,
    hidden=16,
    eval_every=500,
    eval_episodes=2,
    checkpoint_every=400,
)
RUN = """
import sys
from rlassay import runtime
runtime.use_threads(1)
from pathlib import Path
from rlassay.collect.td3 import TD3Settings, Trainer
trainer = Trainer("Pendulum-v1", 3, Path(sys.argv[1]), TD3Settings(**eval(sys.argv[2])))
trainer.run(lambda point: print(point.step, flush=True))
"""


def run_in_child(folder: Path, settings: TD3Settings) -> subprocess.Popen:
    arguments = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), repr(arguments)], stdout=subprocess.PIPE, text=True
    )


def final_files(folder: Path) -> dict[str, bytes]:
    with np.load(folder / "state.npz") as archive:
        files = {name: archive[name].tobytes() for name in archive.files}
    files["replay"] = (folder / "replay.bin").read_bytes()
    files["curve"] = (folder / "curve.csv").read_bytes()
    for actor in sorted((folder / "actors").iterdir()):
        files[actor.name] = actor.read_bytes()
    return files


@pytest.mark.parametrize("seed", [0, 1])
def test_learns_pendulum(tmp_path, seed):
    settings = TD3Settings(
        steps=15_000,
        random_steps=1_000,
        batch_size=64,
        hidden=64,
        eval_every=5_000,
        eval_episodes=2,
        checkpoint_every=20_000,
    )
    trainer = Trainer("Pendulum-v1", seed, tmp_path, settings)
    before = evaluate(trainer.policy(), "Pendulum-v1", episodes=10, seed=99).mean
    trainer.run()
    after = evaluate(trainer.policy(), "Pendulum-v1", episodes=10, seed=99).mean
    assert before < -1000
    assert after > -300


def test_killed_run_ends_in_the_same_bits(tmp_path):
    whole = run_in_child(tmp_path / "whole", SMALL)
    killed = run_in_child(tmp_path / "killed", SMALL)
    assert killed.stdout is not None
    killed.stdout.readline()  # the first evaluation: some checkpoints are behind it, the end is not
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert settled_step(tmp_path / "killed") < SMALL.steps
    assert run_in_child(tmp_path / "killed", SMALL).wait() == 0
    assert whole.wait() == 0
    assert final_files(tmp_path / "killed") == final_files(tmp_path / "whole")


def test_kill_at_random_moments(tmp_path):
    """Whatever the moment, the next run continues; several kills in a row change nothing."""
    whole = run_in_child(tmp_path / "whole", SMALL)
    for delay in (2.0, 3.1):
        child = run_in_child(tmp_path / "killed", SMALL)
        time.sleep(delay)
        child.kill()
        child.wait()
    assert run_in_child(tmp_path / "killed", SMALL).wait() == 0
    assert whole.wait() == 0
    assert final_files(tmp_path / "killed") == final_files(tmp_path / "whole")


def test_rows_behind_the_saved_count_belong_to_nobody(tmp_path):
    replay = Replay(tmp_path / "replay.bin", 2, 1, capacity=10)
    for value in range(4):
        replay.add([value, value], [0], value, [value, value], False, value == 3)
    replay.flush()
    with open(replay.path, "ab") as file:
        file.write(b"half a row of a killed run")
    resumed = Replay(replay.path, 2, 1, capacity=10)
    resumed.restore(3)
    resumed.add([9, 9], [0], 9, [9, 9], True, False)
    resumed.flush()
    rows = read_rows(replay.path, 2, 1, 4)
    assert rows["reward"].tolist() == [0, 1, 2, 9]
    assert rows["terminal"].tolist() == [False, False, False, True]
    with pytest.raises(DatasetError, match=r"holds .* of 9 rows"):
        read_rows(replay.path, 2, 1, 9)


# Each setting with a value that must change the outcome of a short run.
CHANGES = {
    "steps": 1_000,
    "random_steps": 400,
    "batch_size": 17,
    "hidden": 17,
    "learning_rate": 2e-3,
    "discount": 0.9,
    "target_rate": 0.05,
    "policy_delay": 3,
    "exploration_noise": 0.2,
    "target_noise": 0.4,
    "target_noise_clip": 0.1,
    "burst": 25,
}
OBSERVED_ONLY = {"eval_every", "eval_episodes", "checkpoint_every"}


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    trainer = Trainer("Pendulum-v1", 0, tmp_path_factory.mktemp("base"), SMALL)
    trainer.run()
    return trainer


def test_every_setting_is_covered():
    assert {field.name for field in fields(TD3Settings)} == set(CHANGES) | OBSERVED_ONLY


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_setting_changes_the_result(tmp_path, baseline, name):
    trainer = Trainer("Pendulum-v1", 0, tmp_path, replace(SMALL, **{name: CHANGES[name]}))
    trainer.run()
    ours, theirs = jax.tree.leaves(trainer.state.actor), jax.tree.leaves(baseline.state.actor)
    assert any(
        a.shape != b.shape or not np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True)
    )


def test_timeouts_are_not_terminals(baseline):
    rows = baseline.replay.rows[: baseline.replay.count]
    assert not rows["terminal"].any()  # Pendulum never ends by itself
    assert np.flatnonzero(rows["timeout"]).tolist() == [
        *range(199, SMALL.steps, 200),
        SMALL.steps - 1,
    ]
