"""Results in a real Jupyter kernel, the tutorial notebook, and tables of pandas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rlassay
from rlassay import samples
from rlassay.errors import SettingsError
from rlassay.results import frames

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "score_a_dataset.ipynb"


def run(cells, folder):
    """Execute cells in a fresh kernel of this interpreter; the outputs of each, by kind."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells]
    )
    manager = _manager()
    client = nbclient.NotebookClient(
        notebook, km=manager, timeout=None, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def _manager():
    """A kernel of the very interpreter that runs the tests, whatever kernels the machine has."""
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec

    manager = AsyncKernelManager()
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=command, display_name="tests", language="python")
    return manager


def html(outputs):
    return next(o["data"]["text/html"] for o in outputs if "text/html" in o.get("data", {}))


def test_the_tutorial_runs_in_a_kernel(tmp_path):
    stored = json.loads(NOTEBOOK.read_text())
    code = ["".join(cell["source"]) for cell in stored["cells"] if cell["cell_type"] == "code"]
    outputs = run(code, tmp_path)
    shown = dict(zip(code, outputs, strict=True))
    assert "18,638" in html(outputs[0])
    card = next(out for source, out in shown.items() if source.startswith("card = "))
    assert "Mean return" in html(card)
    assert "1,306" in html(card)
    last = next(out for source, out in shown.items() if source.startswith("comparison = "))
    assert "By the score to expect, hopper-expert-v5.hdf5 ranks first of 3" in html(last)
    errors = [o for out in outputs for o in out if o.output_type == "error"]
    assert errors == []


def test_the_tutorial_is_kept_without_outputs():
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_progress_changes_one_line_in_a_kernel(tmp_path):
    source = """
import rlassay.progress as module
module.CHANGE_EVERY = 0
with module.progress("working", 3) as advance:
    for done in (1, 2, 3):
        advance(done, "news")
"""
    (outputs,) = run([source], tmp_path)
    text = "".join(output.text for output in outputs)
    assert {output.name for output in outputs} == {"stderr"}
    assert "\rworking: 2 of 3 news" in text
    assert text.endswith("\r")
    assert "\n" not in text


def test_html_of_results_is_escaped():
    data = rlassay.load(samples.paths()[1])
    from dataclasses import replace

    from rlassay.data.dataset import Dataset

    hostile = Dataset(
        data._columns, data.episode_starts, replace(data.origin, source="<img src=x>.npz")
    )
    card = rlassay.score(hostile, scores=["return"])
    for shown in (hostile._repr_html_(), card._repr_html_()):
        assert "<img" not in shown
        assert "&lt;img" in shown


def test_representations_are_one_short_line():
    data = rlassay.load(samples.paths()[1])
    card = rlassay.score(data, scores=["return"])
    comparison = rlassay.compare(samples.paths()[:2], scores=["return"])
    for result in (data, card, comparison, card["return"]):
        assert len(repr(result)) < 200
        assert "\n" not in repr(result)
    assert "1 scores, 42 episodes, 18,638 transitions" in repr(card)
    assert repr(card["return"]).startswith("<Score 1306 [")


def test_a_curation_shows_what_stayed():
    from rlassay.curation import Rule, apply_rule

    data = rlassay.load(samples.paths()[1])
    curation = apply_rule(data, Rule(keep=0.5, by="return"))
    assert "21 of 42 episodes kept, by return" in repr(curation)
    assert "21 of 42 episodes" in curation._repr_html_()
    frame = curation.to_frame()
    assert list(frame[frame.kept].episode) == sorted(curation.kept)


def test_frames_hold_the_numbers():
    data = rlassay.load(samples.paths()[1])
    episodes = data.to_frame()
    np.testing.assert_array_equal(episodes["return"], data.episode_returns)
    card = rlassay.score(data, scores=["return", "saco"])
    table = card.to_frame().set_index("score")
    assert table.loc["return", "value"] == card["return"].value
    assert table.loc["return", "low"] == card["return"].interval[0]
    assert len(card.episodes_to_frame()) == data.episode_count
    ranking = rlassay.compare(samples.paths(), scores=["return"]).to_frame()
    assert list(ranking["rank"]) == [1, 2, 3] * 2  # by the verdict, then by the return


def test_without_pandas_and_polars_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(frames, "LIBRARIES", ("no_such_library",))
    with pytest.raises(SettingsError, match="neither is installed; pip install pandas"):
        frames.frame({"a": [1]})


def test_dir_shows_the_public_names_only():
    program = "import rlassay, rlassay.cli, rlassay.samples; print(*dir(rlassay))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == sorted(["__version__", *rlassay._PUBLIC])
    assert set(rlassay.__all__) == {"__version__", *rlassay._PUBLIC}


def test_the_package_says_that_it_is_typed():
    assert (Path(rlassay.__file__).parent / "py.typed").is_file()
