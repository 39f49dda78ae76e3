"""A fact has one home: these fail when a second one appears."""

import ast
from pathlib import Path

import rlassay
from rlassay.critic import CriticSettings
from rlassay.scoring import SCORES
from rlassay.study.scoring import FIRST_SETTINGS

ROOT = Path(rlassay.__file__).parent
TREES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in ROOT.rglob("*.py")
}


def dicts(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield {
                key.value: value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
            }


def test_scores_are_described_in_one_table():
    """No other dict goes by names of many scores; a list of names (an order, a choice) describes nothing."""
    tables = {
        name: keys
        for name, tree in TREES.items()
        for keys in ([key for key in found if key in SCORES] for found in dicts(tree))
        if len(keys) >= 6
    }
    assert set(tables) == {"scoring/scores.py"}


def test_which_way_is_better_is_asked_of_the_score():
    """A factor of -1 for a score that is better when lower stands nowhere but behind `signs`."""
    lower = {name for name, spec in SCORES.items() if spec.direction == "lower"}
    turned = [
        (name, key)
        for name, tree in TREES.items()
        for found in dicts(tree)
        for key, value in found.items()
        if key in lower
        and name != "scoring/scores.py"
        and isinstance(value, ast.UnaryOp | ast.Constant)
    ]
    assert turned == []


def test_third_parties_are_loaded_at_the_two_doors():
    callers = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "load_plugins"
    }
    assert callers == {"cli/__init__.py", "engine/worker.py"}


def test_no_score_is_recognised_by_its_spelling_nor_a_result_by_a_dictionary():
    for name in (name for name in TREES if name.startswith(("scoring/", "transport/", "critic/"))):
        text = (ROOT / name).read_text()
        assert "__dict__" not in text, name
        assert 'startswith("bwd' not in text and "name[4:]" not in text, name


def test_the_default_discount_is_the_critics():
    """The studies mean the discount of the committed scores; until it changes both are one."""
    assert FIRST_SETTINGS["critic.discount"] == CriticSettings().discount
    users = [
        name for name in TREES if name.startswith("study/") and "0.99," in (ROOT / name).read_text()
    ]
    assert sorted(users) == ["study/scoring.py", "study/table1.py"]  # frozen settings; DISCOUNTS
