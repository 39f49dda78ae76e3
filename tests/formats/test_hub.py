"""Datasets by name, from a hub on loopback and from the clients' caches; no test reaches the network."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from io_hub import COMMIT, serving
from io_layouts import FLAGGED, lerobot, minari, record

from rlassay.errors import DatasetError
from rlassay.formats import load

READ = """
import json, sys
import rlassay
from rlassay.scoring.card import describe
try:
    data = rlassay.load(sys.argv[1])
except rlassay.RlassayError as error:
    print(json.dumps({"error": str(error)}))
else:
    notes = [note.code for note in data.origin.notes]
    print(json.dumps({"dataset": describe(data), "notes": notes}))
"""


def read(source, cache, address):
    """In a process of its own: the client reads its address and its cache when it is imported."""
    environment = {
        **os.environ,
        "HF_ENDPOINT": address,
        "HF_HOME": str(cache / "hf"),
        "MINARI_DATASETS_PATH": str(cache / "minari"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
    }
    environment.pop("HF_HUB_OFFLINE", None)
    done = subprocess.run(
        [sys.executable, "-c", READ, source], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def pusht(tmp_path):
    folder = lerobot(record(FLAGGED), tmp_path)
    video = folder / "videos" / "observation.images.top" / "file-000.mp4"
    video.parent.mkdir(parents=True)
    video.write_bytes(b"film")
    return folder


NOWHERE = "http://127.0.0.1:9"  # nothing listens there


def test_huggingface_by_name_then_from_the_cache(pusht, tmp_path):
    with serving({"lerobot/pusht": pusht}) as hub:
        found = read("hf://lerobot/pusht", tmp_path, hub.address)
        assert not any("mp4" in request for request in hub.requests)
    dataset = found["dataset"]
    assert dataset["episodes"] == len(FLAGGED) and dataset["format"] == "lerobot"
    assert dataset["source"] == f"hf://lerobot/pusht@{COMMIT}"
    assert dataset["origin"] == {"hub": "hf", "repository": "lerobot/pusht", "revision": COMMIT}
    assert "cameras_left_out" in found["notes"]
    again = read(dataset["source"], tmp_path, NOWHERE)
    assert again["dataset"]["fingerprint"] == dataset["fingerprint"]


def test_huggingface_refusals(pusht, tmp_path):
    with serving({"lerobot/pusht": pusht}) as hub:
        missing = read("hf://lerobot/nothing", tmp_path, hub.address)["error"]
        revision = read("hf://lerobot/pusht@nowhere", tmp_path, hub.address)["error"]
    assert "is not on the hub" in missing and "has no such revision" in revision
    silent = read("hf://lerobot/other", tmp_path, NOWHERE)["error"]
    assert "not in the cache and http://127.0.0.1:9 cannot be reached" in silent
    assert not any("\n" in text for text in (missing, revision, silent))


def test_minari_by_name(tmp_path):
    """The client lays its repositories out by the first part of the id."""
    source = minari(record(FLAGGED), tmp_path / "made")
    repository = tmp_path / "repository"
    (repository / "steps").mkdir(parents=True)
    place = source.rename(repository / "steps" / "counted-v0") / "data" / "metadata.json"
    place.write_text(
        json.dumps(json.loads(place.read_text()) | {"dataset_id": "probe/steps/counted-v0"})
    )
    (repository / "namespace_metadata.json").write_text(
        '{"description": "", "datasets": ["probe/steps/counted-v0"], "namespaces": ["probe/steps"]}'
    )
    (repository / "steps" / "namespace_metadata.json").write_text('{"description": ""}')
    with serving({"farama-minari/probe": repository}) as hub:
        found = read("minari://probe/steps/counted-v0", tmp_path, hub.address)
        assert "error" not in found, (found, hub.requests)
        asked = len(hub.requests)
        read("minari://probe/steps/counted-v0", tmp_path, hub.address)
        assert len(hub.requests) == asked  # the second time it is there
    assert found["dataset"]["episodes"] == len(FLAGGED)
    assert found["dataset"]["origin"]["revision"] == COMMIT


@pytest.mark.parametrize("name", ["hf://pusht", "hf://a/b/c", "minari://nothing", "hf://../x"])
def test_names_that_are_none(name):
    with pytest.raises(DatasetError, match="names no"):
        load(name)


def test_without_the_client(monkeypatch):
    found = importlib.util.find_spec
    hidden = {"huggingface_hub": None}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: hidden.get(name, "x") and found(name, *a)
    )
    with pytest.raises(DatasetError, match=r"pip install 'rl-assay\[hub\]'"):
        load("hf://lerobot/pusht")
