"""Every mutation can still be made: its text stands once in its file, and its tests are there."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import mutations  # noqa: E402


@pytest.mark.parametrize("number", mutations.ALL)
def test_a_mutation_can_be_made(number):
    path, text, mistake, tests = mutations.ALL[number]
    assert (ROOT / "src" / "rlassay" / path).read_text().count(text) == 1 and text != mistake
    file, _, test = tests.partition("::")
    assert f"def {test.split('[')[0]}" in (ROOT / file).read_text() or not test


def test_mutations_are_chosen_by_number_and_by_word():
    assert list(mutations.chosen(["3", "5-6"])) == [3, 5, 6]
    assert {one[0] for one in mutations.chosen(["stats"]).values()} == {"stats.py"}
