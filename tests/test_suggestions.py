"""Near misses are answered with what was meant: settings, scores, checks, rules, names in a gate, and paths."""

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


@pytest.mark.parametrize(
    ("mistake", "meant"),
    [(unknown_setting, "steps"), (unknown_score, "return"), (unknown_path, "good.npz")],
)
def test_errors_say_what_was_meant(mistake, meant, tmp_path):
    with pytest.raises(RlassayError, match=rf"did you mean .*{meant}\?"):
        mistake(tmp_path)


def test_a_check_too():
    with pytest.raises(KeyError, match="did you mean alignment"):
        inspect(load(good()))["aligment"]
