"""Scores of data that stays on the disk: counted ones of all rows, learned ones of a sample of whole episodes."""

import json
import subprocess
import sys

import numpy as np
import pytest
from small import SMALL

import rlassay
from probes import walks, with_columns
from rlassay.data import blocks, sample
from rlassay.formats import load, save

COUNTED = ("return", "return_top10", "return_by_step", "reward", "eri", "rpsv")
LEARNED = ("q", "bwd", "bc_error")
MEMORY = 200_000


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("streamed") / "walks.hdf5"
    data = walks(episodes=120, length=50, dims=(5, 3), env_id="Hopper-v5")
    save(with_columns(data, next_observations=None, next_valid=None), path)
    return path


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 20_000)


def scored(source, **more):
    return rlassay.score(source, settings=SMALL, scores=[*COUNTED, *LEARNED], **more)


def test_counted_scores_see_every_row_and_learned_ones_the_sample(file):
    whole, streamed = scored(file), scored(file, read={"memory": MEMORY})
    for name in COUNTED:
        assert streamed[name] == whole[name], name
    data = load(file, memory=MEMORY)
    episodes = sample.sampled_episodes(data)
    chosen = scored(load(file).select(episodes))
    for name in LEARNED:
        assert streamed[name] == chosen[name] != whole[name], name
    size = {"episodes": len(episodes), "transitions": 50 * len(episodes)}
    assert streamed.dataset["learned_from"] == size and "learned_from" not in whole.dataset
    assert "sampled" in {warning.code for warning in streamed.warnings}
    assert streamed.to_dict()["verdict"]["label"] == whole.to_dict()["verdict"]["label"]
    assert {c["message"] for c in streamed.inspection["checks"]} == {
        c["message"] for c in whole.inspection["checks"]
    }
    assert set(streamed.series["episodes"]["index"]) <= set(episodes)
    assert np.array_equal(
        streamed.series["episodes"]["return"],
        load(file).episode_returns[streamed.series["episodes"]["index"]],
    )


def test_data_that_fits_is_scored_as_in_memory(file, monkeypatch):
    monkeypatch.setattr(sample, "_rows_that_fit", lambda data: 10**9)
    whole, streamed = scored(file), scored(file, read={"memory": MEMORY})
    assert streamed.scores == whole.scores and streamed.verdict == whole.verdict
    assert "learned_from" not in streamed.dataset


def test_the_sample_is_of_whole_episodes_by_the_seed(file):
    data = load(file, memory=MEMORY)
    first, again, other = (sample.sampled_episodes(data, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert (np.diff(first) > 0).all() and 1 <= len(first) < data.episode_count


def test_a_long_episode_is_a_sample_of_its_own(tmp_path):
    data = walks(episodes=1, length=6_000, dims=(5, 3))
    save(with_columns(data, next_observations=None, next_valid=None), tmp_path / "one.hdf5")
    assert sample.sampled_episodes(load(tmp_path / "one.hdf5", memory=MEMORY)).tolist() == [0]


def test_the_commands_take_memory(file, tmp_path):
    words = [sys.executable, "-m", "rlassay"]
    done = subprocess.run(
        [*words, "inspect", str(file), "--memory", "200kB", "--json", "-"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and json.loads(done.stdout)["status"] in ("pass", "warn")
    out = str(tmp_path / "best.hdf5")
    rule = ["--keep", "0.5", "--by", "return", "-o", out, "--memory", "200kB"]
    done = subprocess.run([*words, "curate", str(file), *rule], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    best = np.argsort(-load(file).episode_returns)[:60]
    assert load(out).episode_returns.sum() == pytest.approx(load(file).episode_returns[best].sum())
    done = subprocess.run(
        [*words, "inspect", str(file), "--memory", "much"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "--memory cannot be read" in done.stderr
