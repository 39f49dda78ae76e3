"""The options of `curate` are spelled once: command, verb and rule are made from the same fields."""

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import pytest
from curate_data import assert_same_data, made_dataset
from typer.testing import CliRunner

import rlassay
from rlassay.cli import app
from rlassay.curation import apply_rule
from rlassay.curation.options import options_of
from rlassay.curation.request import Request
from rlassay.curation.rule import BY_RETURN, WITHOUT_REWARDS, Rule
from rlassay.errors import SettingsError
from rlassay.formats import save

ROOT = Path(rlassay.__file__).parent


def test_every_option_is_a_flag_of_the_command():
    shown = CliRunner().invoke(app, ["curate", "--help"], env={"COLUMNS": "200"}).stdout
    for name, option in {**options_of(Rule), **options_of(Request)}.items():
        flag = option.flags[-1] if option.flags else f"--{name.replace('_', '-')}"
        assert f"{flag} " in shown and option.help in " ".join(shown.split()), name


def test_every_field_of_the_rule_is_an_option_and_an_argument_of_the_verb():
    names = [field.name for field in fields(Rule)]
    assert names == list(options_of(Rule))
    assert set(names) <= set(inspect.signature(rlassay.curate).parameters)


def test_the_options_are_spelled_nowhere_else():
    """`trim_idle` stands for all: named where it is declared and where it is used, not on the way."""
    text = (ROOT / "cli" / "curate.py").read_text() + (ROOT / "curation" / "facade.py").read_text()
    for name in ("keep_rows", "trim_idle", "idle_tolerance", "mask_in_place", "weight_by"):
        assert f"{name}:" not in text and f"{name}=" not in text


def test_an_unknown_option_of_the_verb_is_one_sentence():
    with pytest.raises(SettingsError, match="unknown option of curate.*keep_rows.*got: kep"):
        rlassay.curate(made_dataset(), kep=0.5)


def test_options_reach_the_rule_from_the_command_line(tmp_path):
    save(made_dataset(), tmp_path / "a.npz")
    (tmp_path / "list.txt").write_text("1\n3\n")
    words = [
        "curate",
        tmp_path / "a.npz",
        "--only",
        tmp_path / "list.txt",
        "-o",
        tmp_path / "b.npz",
    ]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert_same_data(rlassay.load(tmp_path / "b.npz"), made_dataset().select([1, 3]))


def test_returns_rank_where_there_are_rewards():
    curation = apply_rule(made_dataset(), Rule(top_k=2))
    assert curation.kept.tolist() == [2, 3]  # the highest returns of the made data
    assert curation.rule.by == BY_RETURN and curation.notes() == []
    assert curation.provenance()["rule"] == {"top_k": 2, "by": "return"}


def test_without_rewards_a_score_that_needs_none_ranks_and_is_named():
    data = made_dataset(rewards=False)
    quick = {"settings": {"baselines.fit_steps": "20"}}
    curation = apply_rule(data, Rule(top_k=2), scoring=quick)
    named = apply_rule(data, Rule(top_k=2, by=WITHOUT_REWARDS), scoring=quick)
    assert curation.kept.tolist() == named.kept.tolist()
    assert len(curation.notes()) == 1 and WITHOUT_REWARDS in curation.notes()[0]
    assert named.notes() == []


@pytest.mark.parametrize("room", ["episodes", "scoring"])
def test_scores_of_episodes_never_import_curation(room):
    """Lazy imports included: curation stands above scoring."""
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            assert not (module or "").startswith("rlassay.curation"), path
