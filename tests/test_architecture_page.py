"""docs/architecture.md names what exists, and every score is in its table."""

import importlib
import re
from pathlib import Path

import pytest

from rlassay.scoring import SCORES
from rlassay.scoring.episodes import OWN
from rlassay.transport import ESTIMATORS

PAGE = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text()
ENTRIES = sorted(set(re.findall(r"`([a-z_0-9.]+:[A-Za-z_.0-9]+)`", PAGE)))


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_resolves(entry):
    module, _, name = entry.partition(":")
    found = importlib.import_module(f"rlassay.{module}")
    for part in name.split("."):
        found = getattr(found, part)


def test_there_are_entries():
    assert len(ENTRIES) > 60


@pytest.mark.parametrize("name", [*SCORES, *OWN])
def test_every_score_is_in_the_table(name):
    table = PAGE.partition("## Where is X made?")[2]
    assert f"`{name}`" in table


def test_every_estimator_is_in_the_table():
    assert [name for name in ESTIMATORS if f"`bwd.{name}`" not in PAGE] == []
