"""`rlassay score` and `rlassay compare` as a person calls them."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small import SMALL

import rlassay
from probes import python_path, walks
from rlassay import samples
from rlassay.formats import save

SETTINGS = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, seed in (("one", 0), ("two", 1)):
        save(walks(episodes=30, seed=seed, env_id="Hopper-v5"), folder / f"{name}.npz")
    return [str(folder / "one.npz"), str(folder / "two.npz")]


def run(*words, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-m", "rlassay", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_json_on_stdout_and_nothing_else(paths):
    done = run("score", paths[0], "--scores", "return,q", "--json", "-", *SETTINGS)
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    assert card["schema"] == "rlassay.scorecard/1"
    assert set(card["scores"]) == {"return", "q"}
    assert card["settings"]["critic.steps"] == 600
    assert "--set critic.steps=600" in card["command"]


def test_the_command_in_the_card_makes_the_same_card(paths):
    first = json.loads(
        run("score", paths[0], "--scores", "return", "--seed", "4", "--json", "-").stdout
    )
    words = first["command"].split()[1:]
    again = json.loads(run(*words, "--json", "-").stdout)
    assert again["scores"] == first["scores"] and again["settings"] == first["settings"]


def test_several_paths_make_several_cards_and_a_table(paths, tmp_path):
    target = tmp_path / "cards.json"
    done = run("score", *paths, "--scores", "return,saco", "--json", str(target))
    assert done.returncode == 0, done.stderr
    assert "one.npz" in done.stdout and "two.npz" in done.stdout
    found = json.loads(target.read_text())
    assert found["schema"] == "rlassay.scorecards/1"
    assert len(found["cards"]) == 2


def test_compare_ranks(paths):
    done = run("compare", *paths, "--scores", "return", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "rlassay.comparison/1"
    assert [entry["rank"] for entry in found["ranking"]["return"]] == [1, 2]


def test_compare_tells_datasets_in_json_from_cards(paths, tmp_path):
    data = rlassay.load(paths[1])
    columns = {
        "type": "SampleBatch",
        "obs": data.observations,
        "new_obs": data.next_observations,
        "actions": data.actions,
        "rewards": data.rewards,
        "terminateds": data.terminals,
        "truncateds": data.timeouts,
        "eps_id": np.cumsum(data.terminals | data.timeouts) - (data.terminals | data.timeouts),
    }
    batch = {name: np.asarray(column).tolist() for name, column in columns.items()}
    (tmp_path / "two.json").write_text(json.dumps(batch) + "\n")
    words = ["compare", paths[0], str(tmp_path / "two.json"), "--env", "Hopper-v5"]
    done = run(*words, "--scores", "return", "--json", str(tmp_path / "both.json"))
    assert done.returncode == 0, done.stderr
    again = run("compare", str(tmp_path / "both.json"), "--json", "-")
    assert again.returncode == 0, again.stderr
    assert len(json.loads(again.stdout)["ranking"]["return"]) == 2
    odd = tmp_path / "odd.json"
    odd.write_text("{}")
    refused = run("compare", paths[0], str(odd))
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1


def test_without_a_path_the_samples_are_scored_and_ranked_rightly():
    names = [path.stem for path in samples.paths()]
    assert [name.split("-")[1] for name in names] == ["random", "medium", "expert"]
    done = run("score", "--scores", "return,bwd", "--preset", "fast", "--json", "-")
    assert done.returncode == 0, done.stderr
    values = [card["scores"]["bwd"]["value"] for card in json.loads(done.stdout)["cards"]]
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--scores", "beauty"], "knn_entropy"),
        (["--preset", "best"], "default, paper, fast"),
        (["--set", "critic.speed=1"], "critic.steps"),
        (["--set", "transport.cost=love"], "gap"),
        (["--set", "critic.steps"], "key=value"),
        (["--set", "critic.steps=many"], "critic.steps"),
        (["--reference", "5"], "LOW,HIGH"),
        (["--seeds", "0"], "seeds"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(paths, words, named):
    done = run("score", paths[0], *words)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_missing_file_is_one_sentence():
    done = run("score", "nowhere.hdf5")
    assert done.returncode == 2 and "nowhere.hdf5" in done.stderr and "Traceback" not in done.stderr


def wait_until_training(process):
    """The critic's compiled loop runs once JAX's library is mapped and some time has passed."""
    maps = Path(f"/proc/{process.pid}/maps")
    while "jaxlib" not in maps.read_text():
        assert process.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.2)
    time.sleep(5)


def test_ctrl_c_ends_without_a_traceback(paths):
    endless = ("--set", "critic.steps=100000000", "--set", "critic.settle=false")
    process = subprocess.Popen(
        [sys.executable, "-m", "rlassay", "score", paths[0], *endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_training(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err and out == ""


def test_the_table_of_episodes_is_of_the_critics_that_made_the_card(paths, tmp_path):
    """One fit serves both, and every seed counts: the table's mean over scored rows cannot agree with other critics."""
    table = tmp_path / "episodes.csv"
    every_row = ("--set", "evaluation.share=1.0", "--set", "transport.states=100000")
    words = ["score", paths[0], "--scores", "q", "--seeds", "2"]
    done = run(*words, *SETTINGS, *every_row, "--episodes", str(table), "--json", "-")
    assert done.returncode == 0, done.stderr
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    q, length = (np.array([float(row[name]) for row in rows]) for name in ("q", "length"))
    wanted = json.loads(done.stdout)["scores"]["q"]
    assert len(wanted["per_seed"]) == 2
    assert (q * length).sum() / length.sum() == pytest.approx(wanted["value"], rel=1e-6)


def test_episodes_and_card_share_one_fit(monkeypatch, paths):
    from rlassay.critic import fit
    from rlassay.scoring import score_with_episodes

    fits, original = [], fit.fit_critic
    monkeypatch.setattr(fit, "fit_critic", lambda *a, **k: fits.append(a) or original(*a, **k))
    card, table = score_with_episodes(paths[0], scores=["q"], seeds=2, settings=SMALL)
    assert len(fits) == 1 and "q" in table.scores and len(card["q"].per_seed) == 2


PLUGIN = """
import rlassay

def above_zero(rewards):
    return (rewards > 0).astype(float)

rlassay.register_score("share_above_zero", above_zero, direction="higher", unit="share",
                       needs=["rewards"], per="transition", description="share of positive rewards")
"""


def test_a_third_partys_score_runs_through_the_command_line(paths, tmp_path):
    (tmp_path / "my_scores.py").write_text(PLUGIN)
    environment = {"RLASSAY_PLUGINS": "my_scores", "PYTHONPATH": python_path(tmp_path)}
    done = run(
        "score", paths[0], "--scores", "return,share_above_zero", "--json", "-", **environment
    )
    assert done.returncode == 0, done.stderr
    score = json.loads(done.stdout)["scores"]["share_above_zero"]
    assert score["value"] == pytest.approx(float(np.mean(rlassay.load(paths[0]).rewards > 0)))
    assert score["interval"][0] < score["value"] < score["interval"][1]
    table = run("score", paths[0], "--scores", "share_above_zero", **environment)
    assert table.returncode == 0 and "share_above_zero" in table.stdout


def test_a_plugin_that_cannot_be_imported_is_named(paths):
    done = run("score", paths[0], RLASSAY_PLUGINS="not_there")
    assert done.returncode == 2 and "not_there" in done.stderr


def test_a_users_cost_function_is_imported(paths, tmp_path):
    (tmp_path / "my_costs.py").write_text(
        "def zero(q_data, q_random, actions, random_actions):\n    return 0 * q_random\n"
    )
    done = run(
        "score",
        paths[0],
        "--scores",
        "bwd",
        "--json",
        "-",
        *SETTINGS,
        "--set",
        "transport.cost=my_costs:zero",
        PYTHONPATH=python_path(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"]["bwd"]["value"] == 0.0
