"""A small seeded part of `benchmarks/faults.py`: faults at writes and damaged files, and the run after them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from fault_commands import COMMANDS, STREAMED, fingerprint
from fault_judge import Ended, judge_first

from faults import Fault, disturb, faults_of, prepared, undisturbed
from rlassay.cli.options import parse_bytes
from rlassay.data.blocks import BlockColumn
from rlassay.formats import load

KNOWN = {command.name: command for command in COMMANDS}
CASES = {
    "convert": [("kill", "1:written out.hdf5"), ("fsize", "4096")],
    "convert-minari": [("kill", "1:renamed steps-v0"), ("enospc", "1:written steps-v0")],
    "curate": [("term", "1:opened curation.json"), ("enospc", "1:written better.npz")],
    "convert-streamed": [("kill", "1:written out.npz"), ("fsize", "4000000")],
    "repair": [("int", "1:written mended.npz")],
    "score-many": [("term", "2:renamed card.json")],
    # more of it without processes in tests/agents/test_resumed_runs.py
    "train": [("kill", "3:renamed state.npz")],
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("name", CASES)
def test_the_run_after_a_fault_ends_as_if_there_had_been_none(bench, name):
    command = KNOWN[name]
    expected, events, _seconds = undisturbed(bench, command)
    assert expected and events
    for kind, where in CASES[name]:
        row = disturb(bench, command, Fault(kind, where), expected)
        assert row["outcome"] == "good", row
        assert row["code"] != 0 or kind == "damage", f"the fault did not happen: {row}"


@pytest.mark.parametrize("name", ["convert-streamed", "curate-streamed", "repair-streamed"])
def test_long_data_is_streamed(bench, name):
    """Else these commands would be disturbed in nothing new."""
    memory = parse_bytes(STREAMED[1])
    [source] = (bench.root / each for each in KNOWN[name].inputs)
    observations = load(source, memory=memory).observations
    assert isinstance(observations, BlockColumn) and len(observations) > observations.block_rows


def test_a_full_disk_is_no_damage(bench, tmp_path):
    """The judge itself: a sentence that blames the file for it is not good."""
    told = "rlassay: long.npz cannot be read; the file is damaged or incomplete"
    found = judge_first(KNOWN["convert"], Fault("fsize", "1"), Ended(2, told, 1.0), tmp_path, {})
    assert found.startswith("a full disk is called damage")


def test_a_broken_promise_would_be_noticed(bench):
    """The judge itself: other outputs than expected are not good."""
    command = KNOWN["convert"]
    row = disturb(bench, command, Fault("kill", "1:opened out.hdf5"), {"out.hdf5": "another"})
    assert row["outcome"] == "rerun: other outputs: out.hdf5"


def test_the_same_seed_makes_the_same_faults():
    events = ["7 opened a", "7 written a", "7 renamed a", "7 opened a", "8 opened a"]
    first = faults_of(KNOWN["train"], events, 3.0, seed=1)
    assert first == faults_of(KNOWN["train"], events, 3.0, seed=1)
    assert first != faults_of(KNOWN["train"], events, 3.0, seed=2)
    places = {fault.where for fault in first if fault.kind == "kill" and ":" in fault.where}
    assert places == {"1:opened a", "1:written a", "1:renamed a", "2:opened a"}


def test_fingerprints_leave_out_times_and_nothing_else(tmp_path):
    (tmp_path / "card.json").write_text('{"seconds": 1, "value": 2}')
    first = fingerprint(KNOWN["score"], tmp_path)
    (tmp_path / "card.json").write_text('{"seconds": 9, "value": 2}')
    assert fingerprint(KNOWN["score"], tmp_path) == first
    (tmp_path / "card.json").write_text('{"seconds": 1, "value": 3}')
    assert fingerprint(KNOWN["score"], tmp_path) != first
