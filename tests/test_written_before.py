"""What version 0.1 wrote is still read: cards, comparisons, finished runs, and the run store."""

import json
import shutil
from pathlib import Path

import pytest

from rlassay.agents import train_agent
from rlassay.engine.local import LocalEngine
from rlassay.engine.store import RunStore
from rlassay.formats import load
from rlassay.oracle import oracle
from rlassay.results.card import Scorecard

OLD = Path(__file__).parent / "fixtures" / "written-by-0.1"
SETTINGS = {"updates": 20, "eval_every": 10, "eval_episodes": 2, "width": 4, "batch_size": 8}


def read(name: str) -> dict:
    return json.loads((OLD / name).read_text())


def test_a_card_is_read_as_it_was_written():
    old = read("scorecard.json")
    card = Scorecard.from_dict(old)
    assert card["bwd"].value == old["scores"]["bwd"]["value"]
    assert card.dataset["transitions"] == 300


@pytest.mark.parametrize("name", ["scorecard.json", "comparison.json"])
def test_a_page_is_made_of_it(name, tmp_path):
    from typer.testing import CliRunner

    from rlassay.cli import app

    page = tmp_path / "page.html"
    ended = CliRunner().invoke(app, ["report", str(OLD / name), "-o", str(page)])
    assert ended.exit_code == 0, ended.output
    assert "pendulum.npz" in page.read_text()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("lost", [None, "policy.safetensors"])
def test_a_finished_run_is_not_done_again(lost, tmp_path):
    shutil.copytree(OLD / "run", tmp_path / "run")
    if lost is not None:
        (tmp_path / "run" / lost).unlink()
    heard: list = []
    again = train_agent(
        "bc",
        load(OLD / "pendulum.npz"),
        "Pendulum-v1",
        folder=tmp_path / "run",
        settings=SETTINGS,
        report=lambda *news: heard.append(news),
    )
    assert heard == [] and again.to_json()["curve"] == read("run/run.json")["curve"]
    found, old = contents(tmp_path / "run"), contents(OLD / "run")
    assert found["policy.safetensors"] == old["policy.safetensors"]
    if lost is None:
        assert found == old and again.to_json()["software"] == read("run/run.json")["software"]


def test_the_store_is_found_under_the_same_keys(tmp_path, monkeypatch):
    def nothing_to_do(engine, tasks, store):
        assert tasks == []
        return iter(())

    monkeypatch.setattr(LocalEngine, "_run_missing", nothing_to_do)
    shutil.copytree(OLD / "store", tmp_path / "store")
    found = oracle(
        load(OLD / "pendulum.npz"),
        "Pendulum-v1",
        agents=("bc", "iql"),
        seeds=1,
        changes=SETTINGS,
        store=RunStore(tmp_path / "store"),
    )
    assert found.to_json()["score"] == read("oracle.json")["score"]
