"""The oracle: its statistics, its tasks, published tables, and both commands end to end."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from probes import walks
from rlassay.agents.registry import SEVEN
from rlassay.engine.local import LocalEngine
from rlassay.engine.store import RunStore
from rlassay.errors import SettingsError, SolverError
from rlassay.formats import save
from rlassay.oracle import (
    make_task,
    oracle,
    oracle_of_runs,
    published_oracle,
    settings_of,
)
from rlassay.oracle.statistics import interquartile_mean, seed_interval, summarise

ENV = "Pendulum-v1"
DATA = walks(episodes=6, length=30, dims=(3, 1), bounds=2.0, env_id=ENV)
QUICK = {"updates": 6, "eval_every": 3, "eval_episodes": 2, "width": 4, "batch_size": 8}


def run_json(value: float, diverged_at: int | None = None) -> dict:
    return {"score": {"value": value}, "return": {"value": 10 * value}, "diverged_at": diverged_at}


def test_interquartile_mean_is_rliables():
    from rliable import metrics

    rng = np.random.default_rng(0)
    for shape in ((3, 7), (5, 7), (1, 7), (2, 2), (4, 1)):
        scores = rng.normal(50, 30, shape)
        assert interquartile_mean(scores) == pytest.approx(metrics.aggregate_iqm(scores), rel=1e-12)


def test_the_score_is_the_mean_over_agents_of_the_mean_over_seeds():
    values = {"a": np.array([10.0, 20.0, 30.0]), "b": np.array([100.0]), "c": np.array([40.0])}
    summary = summarise(values)
    assert summary["value"] == pytest.approx((20 + 100 + 40) / 3)
    assert summary["median"] == 40 and summary["best"] == {"agent": "b", "value": 100.0}
    assert summary["spread"] == pytest.approx(np.std([20, 100, 40], ddof=1))
    assert summary["interval"] is None  # a single seed has no spread


def test_interval_resamples_seeds_within_agents():
    values = {"a": np.array([0.0, 10.0]), "b": np.array([50.0, 50.0])}
    low, high = seed_interval(values)
    assert (low, high) == (25.0, 30.0)  # a's mean is 0, 5 or 10; b's is always 50


def test_diverged_runs_count_and_are_counted():
    runs = {"iql": [run_json(80.0), run_json(0.0, diverged_at=5)], "cql": [run_json(1.0, 7)]}
    result = oracle_of_runs("Hopper-v5", {}, runs, "lite").to_json()
    assert result["diverged"] == 2
    assert result["score"]["value"] == pytest.approx((40 + 1) / 2)
    assert result["score_without_diverged"] == 80.0


def test_returns_where_there_is_no_reference():
    result = oracle_of_runs(ENV, {}, {"bc": [run_json(-3.0)]}, "lite").to_json()
    assert result["unit"] == "return" and result["score"]["value"] == -30.0


def test_published_oracle_is_the_tables_mean():
    result = published_oracle("hopper-medium-v2").to_json()
    assert result["score"]["value"] == pytest.approx(62.2, abs=0.05)
    assert result["score"]["spread"] == pytest.approx(5.0, abs=0.5)
    assert set(result["table"]) == set(SEVEN) == set(result["sources"])
    assert len(published_oracle("walker2d-random").table) == 6
    assert published_oracle("d4rl/halfcheetah_expert-v2.hdf5").score["value"] == pytest.approx(
        95.9, abs=0.1
    )
    with pytest.raises(SettingsError, match="no published scores.*hopper-medium-v2"):
        published_oracle("ant-medium-v2")


def test_settings_reach_all_agents_or_one():
    chosen = settings_of(SEVEN, "lite", {"updates": 7, "iql.expectile": 0.9, "discount": 0.5})
    assert {s.updates for s in chosen.values()} == {7}
    assert chosen["iql"].expectile == 0.9 and chosen["cql"].discount == 0.5
    assert {s.width for s in settings_of(SEVEN, "lite", {}).values()} == {128}
    assert {s.updates for s in settings_of(SEVEN, "paper", {}).values()} == {1_000_000}
    with pytest.raises(SettingsError, match="none of the agents.*tau"):
        settings_of(SEVEN, "lite", {"tau": 1})
    with pytest.raises(SettingsError, match="profile"):
        settings_of(SEVEN, "medium", {})


def test_oracle_trains_every_agent_and_seed_once(tmp_path):
    store, heard = RunStore(tmp_path), []
    options = {"agents": ("bc", "td3bc"), "seeds": 2, "changes": QUICK, "store": store}
    first = oracle(DATA, engine=LocalEngine(2), report=lambda *n: heard.append(n), **options)
    assert [n[:2] for n in heard] == [(k, 4) for k in range(1, 5)]
    assert {agent: [r["seed"] for r in runs] for agent, runs in first.runs.items()} == {
        "bc": [0, 1],
        "td3bc": [0, 1],
    }
    evaluations = first.runs["td3bc"][0]["curve"]
    assert [len(e["returns"]) for e in evaluations] == [2, 2]
    again = oracle(DATA, **options)
    assert again.to_json()["agents"] == first.to_json()["agents"]


def test_a_failing_agent_is_reported_and_the_others_count(tmp_path):
    no_rewards = walks(episodes=6, length=30, dims=(3, 1), bounds=2.0, env_id=ENV)
    no_rewards._columns["rewards"] = None
    result = oracle(
        no_rewards, agents=("bc", "iql"), seeds=1, changes=QUICK, store=RunStore(tmp_path)
    ).to_json()
    assert list(result["table"]) == ["bc"]
    assert (
        result["failures"][0]["run"] == "iql seed 0"
        and "no rewards" in result["failures"][0]["cause"]
    )


def test_the_key_of_a_run_changes_with_its_revision(monkeypatch):
    from rlassay.agents import AGENTS

    settings = settings_of(["bc"], "lite", {})["bc"]
    before = make_task("bc", settings, ENV, 0, {"fingerprint": "f"})
    monkeypatch.setitem(AGENTS, "bc", AGENTS["bc"]._replace(revision=99))
    assert make_task("bc", settings, ENV, 0, {"fingerprint": "f"}).key != before.key


def command(*arguments: str | Path) -> subprocess.CompletedProcess:
    code = "from rlassay.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True
    )


def pairs() -> list[str]:
    return [word for key, value in QUICK.items() for word in ("--set", f"{key}={value}")]


def test_train_command(tmp_path):
    data, weights = tmp_path / "walks.npz", tmp_path / "w.npz"
    save(DATA, data)
    np.savez(weights, weights=np.ones(len(DATA)))
    done = command(
        "train",
        "td3bc",
        data,
        "--env",
        ENV,
        "-o",
        tmp_path / "run",
        "--weights",
        weights,
        "--json",
        "-",
        *pairs(),
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["schema"] == "rlassay.run/1" and result["updates"] == 6
    assert result["command"].startswith("rlassay train td3bc")
    assert "Warning" not in done.stderr and "settotalmass" not in done.stderr
    assert {p.name for p in (tmp_path / "run").iterdir()} == {
        "run.json",
        "log.csv",
        "policy.safetensors",
        "state.npz",
    }
    wrong = command("train", "td3bc", data, "--env", "Hopper-v5", "-o", tmp_path / "other")
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1
    assert "Traceback" not in wrong.stderr and "is not from Hopper-v5" in wrong.stderr


def test_weights_of_another_dataset_are_refused(tmp_path):
    data, weights = tmp_path / "walks.npz", tmp_path / "w.npz"
    save(DATA, data)
    np.savez(weights, weights=np.ones(len(DATA)), fingerprint="of something else")
    done = command(
        "train", "bc", data, "--env", ENV, "-o", tmp_path / "run", "--weights", weights, *pairs()
    )
    assert done.returncode == 2 and "written for another dataset" in done.stderr
    assert not (tmp_path / "run").exists()


def test_train_command_says_when_a_loss_diverges(tmp_path):
    data = tmp_path / "walks.npz"
    save(DATA, data)
    done = command(
        "train", "td3bc", data, "-o", tmp_path / "run", *pairs(), "--set", "learning_rate=1e38"
    )
    assert done.returncode == 2 and "diverged" in done.stderr and "learning_rate" in done.stderr


def test_oracle_command(tmp_path):
    data = tmp_path / "walks.npz"
    save(DATA, data)
    done = command(
        "oracle",
        data,
        "--agents",
        "bc",
        "--seeds",
        "2",
        "--store",
        tmp_path / "store",
        "--json",
        "-",
        *pairs(),
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["schema"] == "rlassay.oracle/1" and len(result["agents"]["bc"]) == 2
    table = command("oracle", "--published", "hopper-expert-v2")
    assert "iql" in table.stdout and "110.1" in table.stdout


def test_workers_get_the_data_as_it_was_read(tmp_path):
    """A file read with options is another dataset than the file alone; the workers train on what was read."""
    path = tmp_path / "walks.npz"
    save(DATA, path)
    part = DATA.select(np.arange(3))
    options = {"agents": ("bc",), "seeds": 1, "changes": QUICK, "store": RunStore(tmp_path / "s")}
    with pytest.raises(SolverError, match="changed while the oracle was running"):
        oracle(part, path=path, **options)
    found = oracle(part, path=path, as_read=True, **options)
    assert found.runs["bc"][0]["dataset"]["transitions"] == len(part)
