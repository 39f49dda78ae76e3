"""Third parties' scores: known to every command and to workers, and their own words reach the reader."""

import json
import subprocess
import sys

import pytest

from probes import python_path, walks
from rlassay.engine.local import LocalEngine
from rlassay.engine.store import RunStore, Task
from rlassay.formats import save

PLUGIN = """
import pathlib
import rlassay

pathlib.Path(__file__).with_suffix(".loaded").open("a").write("x")

def above_zero(rewards):
    return (rewards > 0).astype(float)

rlassay.register_score("share_above_zero", above_zero, direction="higher", unit="share", needs=["rewards"],
                       per="transition", title="Lucky steps", description="Share of positive rewards.")
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A module on the path of this process's children, named as a plugin."""
    (tmp_path / "my_scores.py").write_text(PLUGIN)
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path))
    monkeypatch.setenv("RLASSAY_PLUGINS", "my_scores")
    return tmp_path


@pytest.fixture
def dataset(tmp_path):
    save(walks(episodes=12, seed=0), tmp_path / "data.npz")
    return str(tmp_path / "data.npz")


def run(*words):
    command = [sys.executable, "-m", "rlassay", *words]
    return subprocess.run(command, capture_output=True, text=True)


def loads(plugin) -> int:
    mark = plugin / "my_scores.loaded"
    return len(mark.read_text()) if mark.exists() else 0


def test_its_own_words_reach_card_terminal_and_page(plugin, dataset):
    card, page = plugin / "card.json", plugin / "page.html"
    asked = ("score", dataset, "--scores", "return,share_above_zero")
    shown = run(*asked, "--json", str(card), "--html", str(page))
    assert shown.returncode == 0, shown.stderr
    score = json.loads(card.read_text())["scores"]["share_above_zero"]
    assert (score["title"], score["meaning"]) == ("Lucky steps", "Share of positive rewards.")
    assert "Lucky steps" in shown.stdout
    assert "Lucky steps" in page.read_text() and "Share of positive rewards." in page.read_text()
    again = plugin / "again.html"
    assert run("report", str(card), "-o", str(again)).returncode == 0
    assert "Share of positive rewards." in again.read_text()  # the card carries it


@pytest.mark.parametrize("words", [("inspect",), ("convert",)])
def test_a_command_that_scores_nothing_knows_them_too(plugin, dataset, words):
    more = [str(plugin / "copy.npz")] if words == ("convert",) else []
    run(*words, dataset, *more)
    assert loads(plugin) == 1


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("score", "--help")])
def test_help_and_version_load_nothing(plugin, words):
    assert run(*words).returncode == 0
    assert loads(plugin) == 0


def test_a_worker_knows_them(plugin, tmp_path):
    (tmp_path / "probe_task.py").write_text(
        "def known(settings, data, folder):\n"
        "    from rlassay.scoring import SCORES\n"
        "    return {'known': 'share_above_zero' in SCORES}\n"
    )
    task, store = Task("test", "probe_task:known", {}), RunStore(tmp_path / "store")
    [outcome] = LocalEngine(1).run([task], store)
    assert outcome.result == {"known": True}, outcome.failure
