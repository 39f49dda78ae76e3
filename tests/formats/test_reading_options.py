"""Options of reading are remembered: the card's command and the remedies repeat them; mistakes are told once."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_layouts import lerobot, record

import rlassay
from rlassay.errors import SettingsError
from rlassay.formats import load

MAP = "observations=where,actions=push,rewards=gain,episode=run"


@pytest.fixture
def odd_names(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "odd names.npz"
    rewards = rng.normal(size=60)
    rewards[7] = rewards[23] = (
        40.0  # for the inspection to find nothing, but for the scores to differ
    )
    columns = {"where": rng.normal(size=(60, 3)), "push": rng.uniform(-1, 1, size=(60, 2))}
    np.savez(path, **columns, gain=rewards, run=np.repeat(np.arange(6), 10))
    return path


def run(*words):
    done = subprocess.run([sys.executable, "-m", "rlassay", *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_printed_command_reads_with_the_same_options(odd_names):
    words = ["score", str(odd_names), "--map", MAP, "--env", "Made-v0", "--max-episode-steps", "5"]
    code, out, err = run(*words, "--scores", "return", "--json", "-")
    assert code == 0, err
    card = json.loads(out)
    assert card["dataset"]["episodes"] == 12
    code, out, err = run(*shlex.split(card["command"])[1:], "--json", "-")
    assert code == 0, err
    again = json.loads(out)
    assert again["scores"] == card["scores"] and again["dataset"] == card["dataset"]


def test_a_comparison_repeats_the_options_its_datasets_share(odd_names):
    both = [load(odd_names, map=MAP), load(odd_names, map=MAP)]
    command = rlassay.compare(both, scores=["return"], force=True).cards[0].command
    assert f"--map {MAP}" in command
    other = load(odd_names, map=MAP, max_episode_steps=5)
    mixed = rlassay.compare([both[0], other], scores=["return"], force=True).cards[0].command
    assert "--map" not in mixed  # one command cannot read two files in two ways


def test_a_map_given_as_a_mapping_is_told_as_one_would_type_it(odd_names):
    given = {"observations": ["where"], "actions": "push", "rewards": "gain", "episode": "run"}
    assert load(odd_names, map=given).origin.reading == {"map": MAP}


def test_the_remedies_on_a_card_repeat_the_options(odd_names, tmp_path):
    with np.load(odd_names) as archive:
        columns = dict(archive)
    columns["where"][30:40] = columns["where"][20:30]  # an episode twice
    columns["push"][30:40], columns["gain"][30:40] = columns["push"][20:30], columns["gain"][20:30]
    path = tmp_path / "twice.npz"
    np.savez(path, **columns)
    card = rlassay.score(path, scores=["return"], read={"map": MAP})
    check = next(c for c in card.inspection["checks"] if c["name"] == "duplicate_episodes")
    assert check["status"] != "pass"
    assert f"--map {MAP}" in check["remedy"]


def test_data_read_without_options_remembers_none(odd_names):
    assert (
        load(
            {
                "observations": np.zeros((3, 1)),
                "actions": np.zeros((3, 1)),
                "rewards": np.zeros(3),
                "terminals": [0, 0, 1],
            }
        ).origin.reading
        == {}
    )


def test_an_unknown_format_is_one_mistake_however_many_files(odd_names):
    with pytest.raises(SettingsError, match="unknown format"):
        load(odd_names, format="cvs")
    code, out, err = run("inspect", str(odd_names), str(odd_names), "--format", "cvs")
    assert code == 2 and out == ""
    assert len(err.strip().splitlines()) == 1


# -- what LeRobot keeps beside its columns ------------------------------------------------------------------------------


def with_columns(folder, **added):
    """The same frames with further or other columns."""
    for file in sorted(folder.glob("data/*/*.parquet")):
        table = pq.read_table(file)
        columns = {name: table[name] for name in table.schema.names}
        columns |= {name: pa.array(make(table)) for name, make in added.items()}
        pq.write_table(pa.table(columns), file)
    return folder


def test_timestamps_tasks_and_successes_reach_the_scores_of_movement(tmp_path):
    episodes = [*record(("open",) * 4)]
    folder = with_columns(
        lerobot(episodes, tmp_path),
        **{
            "timestamp": lambda t: t["frame_index"].to_numpy() / 10,
            "task_index": lambda t: t["episode_index"].to_numpy() % 2,
            "next.success": lambda t: t["episode_index"].to_numpy() == 1,
        },
    )
    data = load(folder)
    assert set(data.origin.extras) == {"timestamp", "task_index", "next.success"}
    assert data.origin.metadata["fps"] == 10
    report = rlassay.demonstrations(data)
    assert report.tasks["0"]["episodes"] == [0, 2] and report.tasks["1"]["episodes"] == [1, 3]
    assert report.table["success"].tolist() == [0, 1, 0, 0]
    assert not any("timestamps" in caution for caution in report.cautions)


def test_a_column_of_words_beside_the_frames_is_no_reason_to_refuse(tmp_path):
    folder = lerobot([*record(("open",) * 4)], tmp_path)
    with_columns(folder, task_index=lambda t: ["pick up"] * len(t))
    assert "task_index" not in load(folder).origin.extras
