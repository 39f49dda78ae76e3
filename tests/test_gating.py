"""Gates as a build runs them: many files, conditions, rules, reports, and the exit code of it all."""

import json
import os
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from test_inspect import good, put


def rlassay(*arguments, cwd=None):
    command = [sys.executable, "-m", "rlassay", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=dict(os.environ, COLUMNS="120")
    )


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A good file, one that warns, one that fails, one that is none, and one without rewards."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "data" / "old").mkdir(parents=True)
    np.savez(folder / "data/good.npz", **good())
    np.savez(folder / "data/old/warned.npz", **good(actions=put(4, 1.001)))
    np.savez(folder / "data/old/failing.npz", **good(rewards=put(7, np.nan)))
    np.savez(folder / "silent.npz", **{n: c for n, c in good().items() if n != "rewards"})
    (folder / "torn.npz").write_bytes(b"PK\x03\x04 and no more")
    return folder


GOOD, WARNED, FAILING = "data/good.npz", "data/old/warned.npz", "data/old/failing.npz"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([GOOD], 0),
        ([WARNED], 0),
        ([WARNED, "--strict"], 1),
        ([FAILING], 1),
        ([GOOD, WARNED], 0),
        ([GOOD, WARNED, "--strict"], 1),
        (["torn.npz"], 2),
        ([GOOD, "torn.npz"], 3),
        (["torn.npz", FAILING], 1),
        (["nowhere.npz"], 2),
        (["data/**/*.npz"], 1),
        (["nothing/**/*.npz"], 2),
        ([GOOD, "--fail-if", "episodes < 20"], 0),
        ([GOOD, "--fail-if", "episodes < 21"], 1),
        ([GOOD, "--fail-if", "return < 1", "--fail-if", "length_max > 99"], 1),
        ([GOOD, "--fail-if", "rewards != pass"], 0),
        (["silent.npz", "--fail-if", "return < 1"], 1),
        ([GOOD, "--fail-if", "retrun < 1"], 2),
        ([GOOD, "--fail-if", "return"], 2),
        ([GOOD, "torn.npz", "--fail-if", "return < 1000"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_exit_codes(desk, arguments, code):
    done = rlassay("inspect", *arguments, cwd=desk)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_why_it_failed_is_said(desk):
    done = rlassay("inspect", GOOD, "silent.npz", "--fail-if", "return < 1000", cwd=desk)
    assert f"{GOOD}: fails if return < 1000: return is 100" in done.stderr
    assert "silent.npz: fails if return < 1000: return is not given for this data" in done.stderr


def test_several_files_are_one_list_and_the_torn_one_is_named(desk):
    done = rlassay("inspect", GOOD, "torn.npz", WARNED, "--json", "-", cwd=desk)
    told = json.loads(done.stdout)
    assert told["schema"] == "rlassay.inspections/1"
    assert [one["status"] for one in told["inspections"]] == ["pass", "warn"]
    assert [error["source"] for error in told["errors"]] == ["torn.npz"]
    one = json.loads(rlassay("inspect", GOOD, "--json", "-", cwd=desk).stdout)
    assert one["schema"] == "rlassay.inspection/1"


def test_a_pattern_is_expanded_once_and_in_order(desk):
    done = rlassay("inspect", "data/**/*.npz", GOOD, "--json", "-", cwd=desk)
    names = [one["dataset"]["source"] for one in json.loads(done.stdout)["inspections"]]
    assert names == [GOOD, FAILING, WARNED]


def test_many_files_show_findings_alone(desk):
    done = rlassay("inspect", GOOD, FAILING, cwd=desk)
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"PASS {GOOD}")
    assert lines[1].startswith(f"FAIL {FAILING}") and "finite" in lines[2]


def test_reports_for_continuous_integration(desk):
    done = rlassay("inspect", GOOD, FAILING, "torn.npz", "--junit", "r.xml", "--github", cwd=desk)
    suites = ElementTree.parse(desk / "r.xml").getroot()
    counts = [(suite.get("name"), suite.get("failures"), suite.get("errors")) for suite in suites]
    assert counts == [(GOOD, "0", "0"), (FAILING, "1", "0"), ("torn.npz", "0", "1")]
    marked = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert [line.split(",")[0] for line in marked] == [
        f"::error file={FAILING}",
        "::error file=torn.npz",
    ]


def test_rules_are_learnt_and_held(desk):
    learnt = rlassay("learn", GOOD, "-o", "rules.toml", cwd=desk)
    assert learnt.returncode == 0 and "wrote rules.toml" in learnt.stderr
    assert rlassay("inspect", GOOD, "--rules", "rules.toml", cwd=desk).returncode == 0
    np.savez(desk / "loud.npz", **good(rewards=good()["rewards"] * 9))
    loud = rlassay("inspect", "loud.npz", "--rules", "rules.toml", "--json", "-", cwd=desk)
    failed = [c["name"] for c in json.loads(loud.stdout)["checks"] if c["status"] == "fail"]
    assert loud.returncode == 1 and failed == ["rules.rewards", "rules.returns"]
    gated = ["--rules", "rules.toml", "--fail-if", "rules.rewards == fail"]
    assert "rules.rewards is fail" in rlassay("inspect", "loud.npz", *gated, cwd=desk).stderr
    both = rlassay("learn", GOOD, "loud.npz", "-o", "both.toml", cwd=desk)
    assert both.returncode == 0
    assert rlassay("inspect", "loud.npz", GOOD, "--rules", "both.toml", cwd=desk).returncode == 0


def test_bad_examples_and_rules_are_refused(desk):
    bad = rlassay("learn", FAILING, "-o", "bad.toml", cwd=desk)
    assert bad.returncode == 2 and "no example" in bad.stderr and not (desk / "bad.toml").exists()
    flat = {n: good()[n][:, :2] for n in ("observations", "next_observations")}
    np.savez(desk / "other.npz", **good(**flat))
    mixed = rlassay("learn", GOOD, "other.npz", "-o", "bad.toml", cwd=desk)
    assert mixed.returncode == 2 and "3 / 2" in mixed.stderr and "2 / 2" in mixed.stderr
    assert rlassay("inspect", GOOD, "--rules", GOOD, cwd=desk).returncode == 2


FAST = ["--scores", "return,reward,bc_error", "--preset", "fast"]


def test_score_is_gated_by_its_numbers(desk):
    conditions = ["--fail-if", "return < 1000", "--fail-if", "episodes < 2"]
    done = rlassay("score", GOOD, "torn.npz", *FAST, *conditions, "--junit", "s.xml", cwd=desk)
    assert done.returncode == 1
    assert f"{GOOD}: fails if return < 1000: return is 100" in done.stderr
    suites = ElementTree.parse(desk / "s.xml").getroot()
    assert [suite.get("errors") for suite in suites] == ["0", "1"]
    assert suites[0].get("failures") == "1"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--fail-if", "return > 1000"], 0, ""),
        (["--fail-if", "retrun > 1000"], 2, "did you mean return?"),
        (["--fail-if", "tq < 0.5"], 1, "tq is not given for this data"),
        (["--fail-if", "transitions != 2000"], 0, ""),
    ],
)
def test_score_exit_codes(desk, arguments, code, said):
    done = rlassay("score", GOOD, *FAST, *arguments, cwd=desk)
    assert done.returncode == code and said in done.stderr


def test_a_withheld_verdict_fails_and_a_given_one_is_compared():
    from types import SimpleNamespace

    import typer

    from rlassay.cli.gating import Gate, judge_card
    from rlassay.gate import parse_conditions

    def leaves(verdict, text):
        told = {"scores": {}, "dataset": {"transitions": 9, "episodes": 2}, "warnings": []}
        gate = Gate(conditions=parse_conditions([text]))
        judge_card(gate, "x", SimpleNamespace(to_dict=lambda: told | {"verdict": verdict}))
        try:
            gate.finish()
        except typer.Exit as left:
            return left.exit_code
        return 0

    assert leaves({"label": "near-random"}, "verdict == near-random") == 1
    assert leaves({"label": "expert-like"}, "verdict == near-random") == 0
    assert leaves(None, "verdict == near-random") == 1
