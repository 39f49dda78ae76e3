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
    users = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if name.startswith("study/") and isinstance(node, ast.Constant) and node.value == 0.99
    }
    assert users == {"study/scoring.py"}  # the frozen settings


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def called(node):
    """Names of the functions that a node calls."""
    calls = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return {getattr(func, "id", getattr(func, "attr", None)) for func in calls}


def test_a_network_is_applied_in_numpy_in_one_place():
    """A loop over layers that multiplies by their weights."""
    homes = {
        name
        for name, tree in TREES.items()
        for loop in ast.walk(tree)
        if isinstance(loop, ast.For) and "layers" in ast.unparse(loop.iter)
        if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult) for n in ast.walk(loop))
    }
    # A network that learns keeps the activations that its backward pass needs.
    assert homes == {"kernel/forward.py", "kernel/regression.py"}


def test_versions_are_looked_up_in_one_place():
    users = {
        name
        for name, tree in TREES.items()
        if called(tree) & {"python_version", "version", "PackageNotFoundError"}
    }
    assert users == {"results/provenance.py"}


def test_a_dataset_is_described_in_one_place():
    """Source, fingerprint and sizes in one dict literal."""
    described = {"source", "fingerprint", "transitions", "episodes"}
    homes = {
        name for name, tree in TREES.items() for found in dicts(tree) if described <= set(found)
    }
    assert homes == {"results/provenance.py", "report/content.py"}  # the latter labels of the page


def test_ranks_are_scipys():
    """`argsort` of an `argsort` gives ranks in which equal values differ."""
    twice = [
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "argsort"
        if any("argsort" in called(argument) for argument in node.args)
        if name != "formats/rows.py"  # places of episodes that are met once each
    ]
    areas = [
        name
        for name, tree in TREES.items()
        for one in functions(tree)
        if "area" in one.name or one.name == "auc"
    ]
    assert twice == [] and areas == ["motion/detection.py"]


def test_software_of_a_result_says_what_was_there_before():
    """Keys that readers of version 0.1 know."""
    from rlassay.results.run import run_software
    from rlassay.scoring.card import card_software

    known = {"rlassay", "python", "jax", "numpy", "threads"}
    assert set(card_software()) == known and set(run_software()) == known | {"commit"}
