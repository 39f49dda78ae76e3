"""`score` unasked: which scores, which fits, no JAX, and cards that are found again in the run store."""

import json
import subprocess
import sys

import numpy as np
import pytest
from small import SMALL
from threadpoolctl import threadpool_info, threadpool_limits

import rlassay
from probes import walks
from rlassay import critic, runtime
from rlassay.engine.inventory import stored_runs
from rlassay.formats import load, save
from rlassay.scoring import SCORES, compare
from rlassay.scoring.assessment import Assessment
from rlassay.scoring.cloning import Recorded, clone_until_settled
from rlassay.scoring.registry import FIRST_ASKED
from rlassay.scoring.settings import BaselineSettings, plan, until_settled
from rlassay.scoring.stored import asked_of
from rlassay.scoring.verbs import asked_scores

QUICK = {key: value for key, value in SMALL.items() if not key.startswith("transport.")}
SETTINGS = [part for key, value in QUICK.items() for part in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "one.npz"
    save(walks(episodes=30, seed=0, env_id="Hopper-v5"), file)
    return file


def run(store, *words):
    import os

    environment = {**os.environ, "RLASSAY_STORE": str(store)}
    words = [sys.executable, "-m", "rlassay", "score", *map(str, words), *SETTINGS]
    return subprocess.run(words, capture_output=True, text=True, env=environment)


def card_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def but(card, *names):
    return {name: value for name, value in card.items() if name not in names}


def test_unasked_it_computes_a_few_and_says_so(path):
    card = rlassay.score(path, settings=QUICK)
    assert tuple(card.scores) == FIRST_ASKED
    assert card.settings["scores"] == list(FIRST_ASKED)
    assert card.settings["critic.settle"] and card.settings["baselines.fit_settle"]
    assert card.settings["critic.steps_used"] == card.diagnosis["critic"]["steps"] <= 600
    assert card.settings["baselines.fit_steps_used"] == 200
    assert "score_unavailable" not in {warning.code for warning in card.warnings}


def test_all_and_the_other_presets_compute_everything():
    assert asked_scores(None, "default") == list(FIRST_ASKED)
    every = [name for name, spec in SCORES.items() if not spec.retired]
    assert asked_scores("all", "default") == asked_scores(["all"], "default") == every
    assert asked_scores(None, "paper") == asked_scores(None, "fast") == every


@pytest.mark.parametrize("preset", ["paper", "fast"])
def test_the_other_presets_and_comparisons_train_to_the_end(preset):
    assert until_settled(plan(preset)) == plan(preset)


def test_a_comparison_trains_to_the_end(path):
    cards = compare([path, path], scores=["q"], settings=QUICK).cards
    assert [card.settings["critic.settle"] for card in cards] == [False, False]
    assert cards[0].diagnosis["critic"]["steps"] == 600


def test_settling_can_be_switched_off(path):
    off = {"critic.settle": False, "baselines.fit_settle": False}
    short = rlassay.score(path, scores=["q"], settings={**QUICK, **off})
    assert not short.settings["critic.settle"] and "critic.steps_used" not in short.settings
    chosen = until_settled(plan("default", {"critic.method": "sarsa"}))
    assert not chosen.settings.critic.settle


def test_settled_scores_lie_in_the_interval_of_the_long_fit(path):
    """No short cut through the same code: compiled networks, and every step that is allowed."""
    settings = {**QUICK, "critic.steps": 3_000, "baselines.fit_steps": 3_000}
    off = {"critic.settle": False, "baselines.fit_settle": False}
    names = ["q", "bwd", "bc_error"]
    new, old = (
        rlassay.score(path, scores=names, settings=each) for each in (settings, settings | off)
    )
    for name in names:
        low, high = old[name].interval
        assert low <= new[name].value <= high, name
        assert new[name].value != old[name].value


def test_a_clone_stops_once_its_error_has_settled():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(4_000, 3)).astype(np.float32)
    actions = np.tanh(states[:, :2]) + 0.3 * rng.normal(size=(4_000, 2))
    parts = [
        Recorded(states[rows], actions[rows].astype(np.float32), np.arange(0, 2_000, 100))
        for rows in (slice(0, 2_000), slice(2_000, None))
    ]
    cloned = clone_until_settled(*parts, BaselineSettings(fit_steps=50_000), [0, 1])
    assert cloned.steps < 50_000
    error = cloned.cloning_errors(1, parts[1].states, parts[1].actions).mean()
    noise = 0.09 / actions.var(axis=0).mean()
    assert noise < error < 1.4 * noise


def test_the_clone_made_beside_the_critic_is_the_one_made_alone(path, monkeypatch):
    begun = []
    ahead = Assessment.clone_ahead

    def spied(self):
        ahead(self)
        begun.append(self._ahead is not None)

    monkeypatch.setattr(Assessment, "clone_ahead", spied)
    made = []
    counted = lambda *asked: made.append(1) or clone_until_settled(*asked)  # noqa: E731
    monkeypatch.setattr("rlassay.scoring.assessment.clone_until_settled", counted)
    both = rlassay.score(path, scores=["q", "bc_error"], settings=QUICK)
    assert len(made) == 1
    alone = rlassay.score(path, scores=["bc_error"], settings=QUICK)
    assert begun == [runtime.available_cores() > 1]
    assert both["bc_error"] == alone["bc_error"]
    monkeypatch.setattr(runtime, "available_cores", lambda: 1)
    one_core = rlassay.score(path, scores=["q", "bc_error"], settings=QUICK)
    assert begun[1:] == [False] and one_core["bc_error"] == both["bc_error"]
    off = {"baselines.fit_settle": False, "critic.settle": False}
    rlassay.score(path, scores=["q", "bc_error"], settings={**QUICK, **off})
    assert begun[2:] == [False]


def threads() -> set[int]:
    """Of NumPy's own library; SciPy may load another one meanwhile."""
    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    return {each["num_threads"] for each in found if "numpy" in each["filepath"]}


def test_products_take_one_thread_whoever_calls(path, monkeypatch):
    """From Python NumPy has a thread a core: other digits than the command's, and slower."""
    seen = []
    spied = lambda *asked: seen.append(threads()) or clone_until_settled(*asked)  # noqa: E731
    monkeypatch.setattr("rlassay.scoring.assessment.clone_until_settled", spied)
    with threadpool_limits(2, user_api="blas"):
        rlassay.score(path, scores=["bc_error"], settings=QUICK)
        rlassay.episode_scores(path, scores=["bc_surprise"], settings=QUICK)
        assert threads() == {2}
    assert seen and all(each == {1} for each in seen)


def test_whoever_leaves_last_gives_the_threads_back():
    with threadpool_limits(2, user_api="blas"):
        first, second = runtime.one_thread_a_product(), runtime.one_thread_a_product()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # two threads of one process leave in any order
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


def test_what_goes_wrong_beside_the_critic_is_told(path, monkeypatch):
    def broken(*asked):
        raise ValueError("broken")

    monkeypatch.setattr("rlassay.scoring.assessment.clone_until_settled", broken)
    monkeypatch.setattr(runtime, "available_cores", lambda: 2)
    with pytest.raises(ValueError, match="broken"):
        rlassay.score(path, scores=["q", "bc_error"], settings=QUICK)


def test_cards_of_another_way_to_settle_are_made_again(monkeypatch):
    asked = [plan("default"), until_settled(plan("default"))]
    before = [asked_of(chosen, ["q"], [0], {}) for chosen in asked]
    monkeypatch.setattr(critic, "SETTLED_REVISION", 99)
    after = [asked_of(chosen, ["q"], [0], {}) for chosen in asked]
    assert before[0] == after[0] and before[1] != after[1]


def test_no_jax_is_needed(path, tmp_path):
    code = (
        "import sys, rlassay; rlassay.score(sys.argv[1], settings={'critic.steps': 200}, store=True);"
        "print('jax' in sys.modules)"
    )
    words = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_second_run_finds_the_card(path, tmp_path):
    first = card_of(run(tmp_path, path, "--json", "-"))
    (kept,) = stored_runs(tmp_path)
    assert kept.state == "done" and kept.name == "score" and str(path) in kept.label
    again = card_of(run(tmp_path, path, "--json", "-"))
    assert again["seconds"]["critic"] == 0 < first["seconds"]["critic"]
    assert list(again["scores"]) == list(first["scores"])
    assert but(again, "seconds", "command") == but(first, "seconds", "command")
    copy = tmp_path / "copy.npz"
    copy.write_bytes(path.read_bytes())
    moved = card_of(run(tmp_path, copy, "--json", "-"))
    assert moved["dataset"]["source"] == str(copy) and moved["seconds"]["critic"] == 0
    other = card_of(run(tmp_path, path, "--json", "-", "--seed", "5"))
    assert other["scores"]["q"]["value"] != first["scores"]["q"]["value"]


def test_without_the_store_nothing_is_read_or_written(path, tmp_path):
    card_of(run(tmp_path, path, "--json", "-", "--no-store"))
    assert stored_runs(tmp_path) == []
    rlassay.score(path, scores=["return"])
    assert stored_runs(tmp_path) == []


def test_a_damaged_card_is_set_aside_and_made_again(path, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path))
    first = rlassay.score(path, scores=["return"], store=True)
    (file,) = (tmp_path / "runs" / "score").glob("*/card.json")
    for damage in ("", file.read_text()[:200], '{"schema": "rlassay.scorecard/1"}'):
        file.write_text(damage)
        again = rlassay.score(path, scores=["return"], store=True)
        assert again["return"] == first["return"]
        assert json.loads(file.read_text())["schema"] == "rlassay.scorecard/1"
    assert len(list(file.parent.glob("card.json.damaged-*"))) == 3
    assert "made again" in capsys.readouterr().err


def test_a_third_partys_score_is_computed_every_time(path, tmp_path, monkeypatch):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path))
    about = {"direction": "higher", "unit": "reward", "needs": ["rewards"], "per": "transition"}
    rlassay.register_score("mine", lambda rewards: rewards, **about, description="mine")
    try:
        rlassay.score(path, scores=["mine"], store=True)
    finally:
        del SCORES["mine"]
    assert stored_runs(tmp_path) == []


def test_other_data_and_other_words_of_the_file_make_another_card(path, tmp_path, monkeypatch):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path))
    data = load(path)
    for one in (data, data, load(path, env_id="Walker2d-v5")):
        rlassay.score(one, scores=["return"], store=True)
    assert len(stored_runs(tmp_path)) == 2


def test_what_a_gate_asks_for_is_computed(path, tmp_path):
    done = run(tmp_path, path, "--json", "-", "--fail-if", "saco < 0")
    assert "saco" in card_of(done)["scores"]
