"""docs/reliability.md: the tests it names exist, and its counts are those of the committed table."""

import ast
import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_the_tests_that_the_page_names_exist(file):
    tree = ast.parse((ROOT / file).read_text())
    known = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {name for path, name in NAMED if path == file} <= known


def test_every_point_has_a_test():
    rows = re.findall(r"^\| (\d+)\. [^|]+\| (.+) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 12))
    assert all("::test_" in tests for _, tests in rows)


def test_every_command_has_a_row_and_all_of_it_was_survived():
    """The table itself is kept current by tests/test_docs.py."""
    with open(ROOT / "results" / "faults" / "counts.csv", newline="") as file:
        rows = {row["command"]: row for row in csv.DictReader(file)}
    files = {path.stem for path in (ROOT / "results" / "faults").glob("*.csv")}
    assert set(rows) == files - {"counts", "leaving"} | {"all"}
    for row in rows.values():
        survived, happened = row["all"].split(" of ")
        assert survived == happened, row["command"]
    assert int(rows["all"]["all"].split(" of ")[0]) >= 300


def test_what_was_fuzzed_is_enough_and_none_of_it_was_bad():
    for name, least in (("formats", 20_000), ("cards", 1_000)):
        with open(ROOT / "results" / "fuzzing" / f"{name}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        whole = [row for row in rows if row.get("reading", "at once") == "at once"]
        assert sum(int(row["cases"]) for row in whole) >= least
        assert not [row for row in rows if row["outcome"].startswith("BAD")]
