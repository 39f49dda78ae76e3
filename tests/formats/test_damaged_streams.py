"""Damage that is met in the middle of a command that streams: one sentence, exit code 2, and nothing left behind."""

import sys
from pathlib import Path

import h5py
import io_layouts
import pytest
from typer.testing import CliRunner

from rlassay.cli import app
from rlassay.data import blocks
from rlassay.errors import RlassayError

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import fuzz_streams
from io_mutations import mutate

LENGTHS = (60, 80, 100) * 12
FLAGS_FIT = "100kB"
COMMANDS = {
    "convert": ("convert", "{source}", "{target}"),
    "curate": ("curate", "{source}", "--keep", "0.9", "--by", "return", "-o", "{target}"),
    "repair": ("repair", "{source}", "-o", "{target}"),
}
MUTATED = {
    "d4rl": io_layouts.d4rl,
    "npz": io_layouts.npz,
    "npy": io_layouts.npy,
    "minari": io_layouts.minari,
    "lerobot": io_layouts.lerobot,
}
SEEDS = 9  # every command with every target


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """D4RL whose last stored chunk of observations is damaged: everything before it can be read and written."""
    ends = tuple("terminal" if k % 2 else "timeout" for k in range(len(LENGTHS)))
    episodes = io_layouts.record(ends, LENGTHS)
    packing = {"compression": "gzip", "chunks": True}
    path = io_layouts.d4rl(episodes, tmp_path_factory.mktemp("cut"), **packing)
    with h5py.File(path, "a") as file:
        column = file["observations"][()]
        del file["observations"]
        stored = file.create_dataset("observations", data=column, chunks=(64, 3), compression=4)
        file.flush()
        place = stored.id.get_chunk_info(stored.id.get_num_chunks() - 1)
    content = bytearray(path.read_bytes())
    content[place.byte_offset + 10 : place.byte_offset + 40] = bytes(30)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("target", fuzz_streams.TARGETS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_chunk_in_the_middle(cut, tmp_path, monkeypatch, command, target):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2_000)
    trace = cut.with_name(f"{command} {target}")
    monkeypatch.setenv("RLASSAY_FAULT", f"trace@{trace}")
    named = {"source": str(cut), "target": str(tmp_path / target)}
    words = [word.format(**named) for word in COMMANDS[command]]
    ended = CliRunner().invoke(app, [*words, "--memory", FLAGS_FIT])
    assert isinstance(ended.exception, RlassayError) and ended.exception.exit_code == 2
    told = str(ended.exception)
    assert "observations is damaged" in told and "\n" not in told
    assert list(tmp_path.iterdir()) == []
    begun = trace.exists() and "opened" in trace.read_text()
    assert begun == (command == "convert")  # the others look at everything before they write


@pytest.mark.parametrize("name", MUTATED)
def test_streamed_and_whole_end_alike(name, tmp_path):
    """A small part of `scripts/fuzz_formats.py`."""
    refused = 0
    for seed in range(SEEDS):
        (tmp_path / str(seed)).mkdir()
        path = MUTATED[name](io_layouts.record(io_layouts.FLAGGED), tmp_path / str(seed))
        memory = fuzz_streams.memory_of(path)
        assert memory is not None
        mutate(path, seed)
        found = fuzz_streams.compared(path, seed, memory, tmp_path / str(seed) / "written")
        assert found.startswith("streamed, "), (seed, found)
        refused += found == "streamed, refused"
    assert refused
