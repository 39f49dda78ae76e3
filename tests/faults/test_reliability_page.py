"""docs/reliability.md: the tests it names exist, and its counts are those of the committed table."""

import ast
import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
KINDS = ("kill", "term", "int", "enospc", "fsize", "damage")


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_the_tests_that_the_page_names_exist(file):
    tree = ast.parse((ROOT / file).read_text())
    known = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {name for path, name in NAMED if path == file} <= known


def test_every_point_has_a_test():
    rows = re.findall(r"^\| (\d+)\. [^|]+\| (.+) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 12))
    assert all("::test_" in tests for _, tests in rows)


def test_the_counts_are_those_of_the_table():
    with open(ROOT / "results" / "faults" / "counts.csv", newline="") as file:
        counts = {(row["command"], row["kind"]): row for row in csv.DictReader(file)}
    for command in {command for command, _ in counts}:
        found = [counts.get((command, kind)) for kind in KINDS]
        cells = [f"{row['good']} of {row['faults']}" if row else "" for row in found]
        whole = [sum(int(row[name]) for row in found if row) for name in ("good", "faults")]
        assert f"| {command} | {' | '.join(cells)} | {whole[0]} of {whole[1]} |" in PAGE
