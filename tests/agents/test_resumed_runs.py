"""A run that was stopped at any write ends with the files of one that was not, and says what it did."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys

import jax
import numpy as np
import pytest

from probes import walks
from rlassay.agents import AGENTS, register_agent, train_agent
from rlassay.engine.lock import LOCK, only_writer
from rlassay.errors import DatasetError, SettingsError
from rlassay.kernel import checkpoint
from rlassay.policy import Policy

ENV = "Pendulum-v1"
DATA = walks(episodes=6, length=30, dims=(3, 1), bounds=2.0, env_id=ENV)
PLAN = {"width": 8, "batch_size": 8, "updates": 24, "eval_every": 8, "eval_episodes": 1}
WRITES = 12  # three evaluations, each with policy, log, run and checkpoint
OUTPUTS = ("policy.safetensors", "log.csv")


class Killed(BaseException):
    pass


def outputs(folder) -> list[bytes]:
    return [(folder / name).read_bytes() for name in OUTPUTS]


def assert_whole(folder, wanted) -> None:
    """Every output is that of the undisturbed run, the run names their hashes, and nothing else is left."""
    assert outputs(folder) == wanted
    run = json.loads((folder / "run.json").read_text())
    assert run["updates"] == 24 and len(run["curve"]) == 3
    hashes = [hashlib.sha256(content).hexdigest() for content in wanted]
    assert [run["outputs"][name] for name in OUTPUTS] == hashes
    assert {path.name for path in folder.iterdir()} == {*OUTPUTS, "run.json", "state.npz"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train_agent("bc", DATA, folder=folder, settings=PLAN)
    return outputs(folder)


def fail_at(monkeypatch, number: int, error: BaseException) -> None:
    """The write of this number never happens."""
    write, done = checkpoint.write_atomically, []

    def counted(path, content):
        if len(done) == number:
            raise error
        done.append(path)
        write(path, content)

    monkeypatch.setattr(checkpoint, "write_atomically", counted)


@pytest.mark.parametrize("number", range(WRITES))
def test_killed_at_any_write(number, whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        fail_at(patch, number, Killed())
        with pytest.raises(Killed):
            train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    assert_whole(tmp_path, whole)


def test_a_full_disk_at_the_last_evaluation(whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        fail_at(patch, WRITES - 4, DatasetError("cannot write policy.safetensors (No space)"))
        with pytest.raises(DatasetError, match="cannot write"):
            train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    assert_whole(tmp_path, whole)


def train_again(folder) -> list:
    """What a second call reports: nothing, where nothing was left to train."""
    heard: list = []
    train_agent("bc", DATA, folder=folder, settings=PLAN, report=lambda *news: heard.append(news))
    return heard


def test_missing_and_stale_outputs_of_a_finished_run_are_written_again(whole, tmp_path):
    train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    run = (tmp_path / "run.json").read_bytes()
    (tmp_path / "policy.safetensors").unlink()
    (tmp_path / "log.csv").write_text("update\n16\n")
    (tmp_path / "run.json").write_text("{}")
    assert train_again(tmp_path) == []
    assert_whole(tmp_path, whole)
    assert (tmp_path / "run.json").read_bytes() == run


def test_a_checkpoint_without_outputs_writes_them_too(whole, tmp_path, monkeypatch):
    """As version 0.1 left it when killed just after its last checkpoint: outputs of 16 updates beside a state of 24."""
    train_agent("bc", DATA, folder=tmp_path / "24", settings=PLAN)
    with monkeypatch.context() as patch:
        fail_at(patch, 8, Killed())
        with pytest.raises(Killed):
            train_agent("bc", DATA, folder=tmp_path / "16", settings=PLAN)
    with np.load(tmp_path / "24" / "state.npz") as archive:
        kept = {name: archive[name] for name in archive.files if not name.startswith("output/")}
    buffer = io.BytesIO()
    np.savez(buffer, **kept)
    (tmp_path / "16" / "state.npz").write_bytes(buffer.getvalue())
    assert train_again(tmp_path / "16") == []
    assert_whole(tmp_path / "16", whole)


def test_a_damaged_checkpoint_is_set_aside_and_the_run_done_again(whole, tmp_path, caplog):
    train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    state = tmp_path / "state.npz"
    state.write_bytes(state.read_bytes()[:-100])
    assert train_again(tmp_path) != []
    assert "state.npz is damaged" in caplog.text
    (tmp_path / "state.npz.damaged").unlink()
    assert_whole(tmp_path, whole)


def test_diverging_at_once_after_a_resume_keeps_the_policy_of_before(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        fail_at(patch, 4, Killed())
        with pytest.raises(Killed):
            train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    kind = AGENTS["bc"]

    def poisoned(leaf):
        return leaf * np.nan if leaf.dtype == np.float32 else leaf

    def make_poisoned(settings, shapes):
        agent = kind.make(settings, shapes)
        return agent._replace(
            step=lambda state, columns, inputs: (
                jax.tree.map(poisoned, state),
                agent.step(state, columns, inputs)[1],
            )
        )

    monkeypatch.setitem(AGENTS, "bc", kind._replace(make=make_poisoned))
    run = train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    assert run.diverged_at == 16 and run.updates == 16
    policy = Policy.load(tmp_path / "policy.safetensors")
    assert policy.metadata["updates"] == "8"
    assert np.isfinite(policy(DATA.observations)).all()
    (tmp_path / "policy.safetensors").unlink()  # it cannot be derived from a state of NaN
    assert train_agent("bc", DATA, folder=tmp_path, settings=PLAN).diverged_at == 16
    assert Policy.load(tmp_path / "policy.safetensors").metadata["updates"] == "8"


# -- longer runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["bc", "td3bc"])
def test_a_finished_run_goes_on_as_if_asked_for_at_once(agent, tmp_path):
    train_agent(agent, DATA, folder=tmp_path / "parts", settings=PLAN | {"updates": 16})
    longer = train_agent(agent, DATA, folder=tmp_path / "parts", settings=PLAN)
    train_agent(agent, DATA, folder=tmp_path / "whole", settings=PLAN)
    assert longer.settings["updates"] == 24 and len(longer.evaluations) == 3
    assert outputs(tmp_path / "parts") == outputs(tmp_path / "whole")


@pytest.mark.parametrize(
    ("agent", "before", "reason"),
    [
        ("iql", {"updates": 16}, "the actor's rate depends on the number of updates"),
        ("onestep", {"updates": 16}, "`critic_share` depends"),
        ("cql", {"updates": 16}, "`cloning_share` depends"),
        ("bc", {"updates": 12}, "ended between two evaluations"),
        ("bc", {"updates": 32}, "asked for more"),
    ],
)
def test_where_that_would_be_another_run_it_is_refused(agent, before, reason, tmp_path, idle):
    idle(agent)
    train_agent(agent, DATA, folder=tmp_path, settings=PLAN | before)
    with pytest.raises(SettingsError, match=f"cannot go on to 24: .*{reason}.*another folder"):
        train_agent(agent, DATA, folder=tmp_path, settings=PLAN)


def test_evaluations_that_counted_keep_their_number_of_episodes(tmp_path, idle):
    idle("bc")
    plan = PLAN | {"final_eval_episodes": 2}
    train_agent("bc", DATA, folder=tmp_path, settings=plan | {"updates": 16})
    with pytest.raises(SettingsError, match="other numbers of episodes"):
        train_agent("bc", DATA, folder=tmp_path, settings=plan)


@pytest.fixture
def idle(monkeypatch):
    """Make an agent's updates do nothing: what is tested here is not its learning, and compiles nothing."""

    def apply(agent: str) -> None:
        kind = AGENTS[agent]

        def make(settings, shapes):
            made = kind.make(settings, shapes)
            return made._replace(step=lambda state, columns, inputs: (state, {}))

        monkeypatch.setitem(AGENTS, agent, kind._replace(make=make))

    return apply


def test_a_third_partys_agent_is_prolonged_only_where_it_says_so(tmp_path, idle):
    kind = AGENTS["bc"]
    register_agent("mine", kind.make, kind.settings, revision=1, rows="all", needs_rewards=False)
    try:
        idle("mine")
        train_agent("mine", DATA, folder=tmp_path, settings=PLAN | {"updates": 16})
        with pytest.raises(SettingsError, match="its schedule depends"):
            train_agent("mine", DATA, folder=tmp_path, settings=PLAN)
    finally:
        AGENTS.pop("mine")


# -- one writer ----------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_in_one_sentence(tmp_path):
    sentence = rf"another rlassay process \(pid {os.getpid()}\) is writing .*{tmp_path.name}"
    with only_writer(tmp_path), pytest.raises(SettingsError, match=sentence):
        train_agent("bc", DATA, folder=tmp_path, settings=PLAN)
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_killed_process_vanishes_with_it(tmp_path):
    hold = (
        "import sys, time; from pathlib import Path; from rlassay.engine.lock import only_writer\n"
        "with only_writer(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", hold, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        with pytest.raises(SettingsError, match=f"pid {child.pid}"), only_writer(tmp_path):
            pass
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert (tmp_path / LOCK).exists()
    with only_writer(tmp_path):
        assert (tmp_path / LOCK).read_text() == str(os.getpid())
    assert not (tmp_path / LOCK).exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="cannot write .*file"):
        train_agent("bc", DATA, folder=tmp_path / "file", settings=PLAN)
