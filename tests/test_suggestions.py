"""Near misses are answered with what was meant: settings, scores, checks, rules, names in a gate, and paths."""

import numpy as np
import pytest

from rlassay.errors import RlassayError
from rlassay.formats import load
from rlassay.inspection import inspect
from rlassay.words import suggest, suggest_path
from test_inspect import good


def test_a_near_miss_is_named_and_a_far_one_is_not():
    assert suggest("retrun", ["reward", "return", "q"]) == ", did you mean return?"
    assert suggest("Return_Top10", ["return_top10"]) == ", did you mean return_top10?"
    assert suggest("zzz", ["reward", "return"]) == ""
    assert suggest("x", []) == ""


def test_a_similar_file_is_named(tmp_path):
    (tmp_path / "Hopper-medium-v2.hdf5").touch()
    (tmp_path / "notes.txt").touch()
    meant = f", did you mean {tmp_path / 'Hopper-medium-v2.hdf5'}?"
    assert suggest_path(tmp_path / "hopper-medum-v2.hdf5") == meant
    assert suggest_path(tmp_path / "walker.npz") == ""
    assert suggest_path(tmp_path / "no" / "such" / "folder.npz") == ""
    assert suggest_path(tmp_path / "nul\0") == ""


def unknown_setting(folder):
    from rlassay.critic.settings import CriticSettings
    from rlassay.settings import change

    change(CriticSettings(), {"stesp": 3})


def unknown_score(folder):
    from rlassay.scoring import registry

    registry.resolve(["retrun"])


def unknown_path(folder):
    (folder / "good.npz").touch()
    load(folder / "godo.npz")


def unknown_preset(folder):
    from rlassay.scoring import plan

    plan("papr")


def unknown_cost(folder):
    from rlassay.scoring import plan

    plan("default", {"transport.cost": "papre"})


def unknown_episode_score(folder):
    from rlassay.scoring.episodes import refuse_unknown

    refuse_unknown(["retrun"])


def unknown_movement(folder):
    from rlassay.motion.scores import episode_score

    episode_score("smothness")


def unknown_column_of_a_table(folder):
    from rlassay.results.episodes import EpisodeTable

    EpisodeTable(np.zeros(1, int), np.ones(1, int), {"coverage": np.zeros(1)})["covrage"]


def unknown_agent(folder):
    from rlassay.agents.registry import agent_kind

    agent_kind("td3cb")


def unknown_study(folder):
    from rlassay.study import study

    study("tabel1")


def unknown_format(folder):
    load(folder, format="d4lr")


def unknown_role(folder):
    load(folder, map={"observatoins": "x"})


def unknown_key(folder):
    from rlassay.formats.assemble import chosen_keys
    from rlassay.formats.options import ReadOptions

    chosen_keys({"state": 0}, ReadOptions(observation_keys=("staet",)), "observations")


@pytest.mark.parametrize(
    ("mistake", "meant"),
    [
        (unknown_setting, "steps"),
        (unknown_score, "return"),
        (unknown_path, "good.npz"),
        (unknown_preset, "paper"),
        (unknown_cost, "paper"),
        (unknown_episode_score, "return"),
        (unknown_movement, "smoothness"),
        (unknown_column_of_a_table, "coverage"),
        (unknown_agent, "td3bc"),
        (unknown_study, "table1"),
        (unknown_format, "d4rl"),
        (unknown_role, "observations"),
        (unknown_key, "state"),
    ],
)
def test_errors_say_what_was_meant(mistake, meant, tmp_path):
    with pytest.raises(RlassayError, match=rf"did you mean .*{meant}\?"):
        mistake(tmp_path)


def test_a_check_too():
    with pytest.raises(KeyError, match="did you mean alignment"):
        inspect(load(good()))["aligment"]


def test_the_list_of_commands_is_not_cut(monkeypatch):
    from typer.testing import CliRunner

    from rlassay.cli import app

    monkeypatch.setenv("COLUMNS", "80")
    for words in (["--help"], ["runs", "--help"]):
        listed = CliRunner().invoke(app, words).stdout.split("Commands:")[1]
        assert "..." not in listed and len(listed.split("\n")) > 3
