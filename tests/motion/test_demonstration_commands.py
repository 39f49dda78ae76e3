"""Demonstrations in the commands: what `inspect` says, `curate --by` a movement, and the sidecar beside the data."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from motion_data import dataset_of, made_motion
from typer.testing import CliRunner

import rlassay
from rlassay.cli import app
from rlassay.curation.command import curate_file
from rlassay.curation.request import Request
from rlassay.curation.rule import Rule
from rlassay.curation.sidecar import FRAMES, read_sidecar
from rlassay.errors import DatasetError, SettingsError
from rlassay.motion.frames import FRAME_SCORES
from rlassay.motion.length import adjust_for_length
from rlassay.motion.scores import known_names, measure
from rlassay.motion.trajectories import Motion, motion_of

SHAKEN = 3  # the episode whose actions are noise


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A LeRobot v3 dataset of ten reaches; one has shaken actions, and episodes are numbered from 5."""
    motion = made_motion(count=10, length=60)
    shaken = slice(SHAKEN * 60, SHAKEN * 60 + 60)
    motion.actions[shaken] += np.random.default_rng(1).normal(size=(60, 4))
    place = tmp_path_factory.mktemp("robot") / "reaches"
    (place / "meta").mkdir(parents=True)
    (place / "data" / "chunk-000").mkdir(parents=True)
    rows = np.arange(600)
    columns = {
        "observation.state": pa.array(motion.states.astype("f4").tolist()),
        "action": pa.array(motion.actions.astype("f4").tolist()),
        "index": rows + 700,
        "episode_index": rows // 60 + 5,
        "frame_index": rows % 60,
        "timestamp": (rows % 60) / 30,
        "task_index": rows // 300,
    }
    pq.write_table(pa.table(columns), place / "data" / "chunk-000" / "file-000.parquet")
    features = {name: {"dtype": "float32"} for name in ("observation.state", "action")}
    episodes = {
        "episode_index": np.arange(10) + 5,
        "length": np.full(10, 60),
        "stats/action/min": np.zeros(10),
    }
    (place / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    for part, rows in enumerate((slice(0, 6), slice(6, 10))):
        table = pa.table({name: column[rows] for name, column in episodes.items()})
        pq.write_table(
            table, place / "meta" / "episodes" / "chunk-000" / f"file-{part:03d}.parquet"
        )
    info = {"codebase_version": "v3.0", "fps": 30, "total_frames": 600, "features": features}
    (place / "meta" / "info.json").write_text(json.dumps(info))
    return place


def inspected(*words):
    done = CliRunner().invoke(app, ["inspect", *map(str, words)])
    assert done.exit_code in (0, 1), done.output
    return done.stdout


# -- inspect -----------------------------------------------------------------------------------------------------------


def test_inspection_of_data_without_rewards_names_the_episode_to_watch(folder):
    told = json.loads(inspected(folder, "--json", "-"))
    movement = told["demonstrations"]
    assert movement["schema"] == "rlassay.demonstrations/1"
    assert movement["watch"][0]["episode"] == SHAKEN and movement["watch"][0]["reasons"]
    assert set(movement["tasks"]) == {"0", "1"}
    words = shlex.split(movement["open"]["lerobot"])
    assert words[words.index("--episode-index") + 1] == str(SHAKEN + 5)  # the dataset's own number
    assert words[words.index("--root") + 1] == str(folder)
    assert movement["open"]["rerun"].endswith(f"rerun reaches_episode_{SHAKEN + 5}.rrd")


def test_the_terminal_and_markdown_say_it_in_words(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = inspected(folder)
    assert f"episode {SHAKEN}: " in shown and "lerobot-dataset-viz" in shown
    assert "not run here" in shown
    page = inspected(folder, "--markdown", "-")
    assert f"- episode {SHAKEN}: " in page and "not run here" in page


def test_reasons_wrap_and_commands_stay_whole(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    movement = json.loads(inspected(folder, "--json", "-"))["demonstrations"]
    shown = inspected(folder).splitlines()
    commands = movement["open"].values()
    assert all(f"  {command}" in shown for command in commands)
    others = [line for line in shown if line.strip() not in commands]
    assert max(map(len, others)) <= 80
    reasons = "; ".join(movement["watch"][0]["reasons"])
    assert len(reasons) > 80 and reasons in " ".join(" ".join(shown).split())


def test_movement_can_be_left_out(folder):
    assert "demonstrations" not in json.loads(inspected(folder, "--no-movement", "--json", "-"))


def test_data_with_rewards_is_not_asked_about_movement(tmp_path):
    rng = np.random.default_rng(0)
    ends = np.arange(40) % 10 == 9
    np.savez(
        tmp_path / "x.npz",
        observations=rng.normal(size=(40, 2)),
        rewards=np.ones(40),
        actions=rng.normal(size=(40, 1)),
        terminals=ends,
    )
    assert "demonstrations" not in json.loads(inspected(tmp_path / "x.npz", "--json", "-"))


# -- episode scores and curation -----------------------------------------------------------------------------------------


def test_every_score_of_movement_is_an_episode_score(folder):
    data = rlassay.load(folder)
    names = ["smoothness", "tremor.adjusted", "disagreement", "coverage"]
    table = rlassay.episode_scores(data, scores=names)
    expected = measure(motion_of(data), names[:3])
    for name in names[:3]:
        np.testing.assert_array_equal(table[name], expected[name])
    assert table.direction("smoothness") == "higher"
    assert table.direction("tremor.adjusted") == "lower"
    assert table.goodness("disagreement").argmin() == SHAKEN


def test_surprise_and_coverage_come_without_what_they_owe_to_length(tmp_path):
    """Episodes of two lengths: a longer one covers more, and the adjusted share no longer follows that."""
    parts = [made_motion(count=6, length=length, seed=length) for length in (30, 120)]
    lengths = np.repeat([30, 120], 6)
    joined = dataset_of(
        Motion(
            np.concatenate([part.states for part in parts]),
            np.concatenate([part.actions for part in parts]),
            np.concatenate([[0], np.cumsum(lengths)[:-1]]),
        )
    )
    names = ["coverage", "coverage.adjusted", "bc_surprise.adjusted"]
    table = rlassay.episode_scores(joined, scores=names, preset="fast")
    np.testing.assert_array_equal(
        table["coverage.adjusted"], adjust_for_length(table["coverage"], lengths)
    )
    assert not np.allclose(table["coverage.adjusted"], table["coverage"])
    assert table.direction("coverage.adjusted") == "higher"
    assert table.direction("bc_surprise.adjusted") == "lower"
    with pytest.raises(SettingsError, match="belongs to episodes"):
        rlassay.transition_scores(joined, scores=["bc_surprise.adjusted"])


def test_a_transition_has_no_smoothness(folder):
    with pytest.raises(SettingsError, match="belongs to episodes"):
        rlassay.transition_scores(folder, scores=["smoothness"])


def test_a_score_that_the_data_cannot_have_is_one_sentence(folder):
    with pytest.raises(DatasetError, match="success cannot be computed"):
        rlassay.episode_scores(folder, scores=["success"])


def test_curation_by_movement_drops_what_is_shaken(folder):
    told = curate_file(
        Request(str(folder), Rule(keep=0.9, by="tremor"), dry_run=True, scores=("saco",))
    )
    assert told["dropped"] == [SHAKEN]


def test_sums_may_mix_movement_and_coverage(folder):
    kept = rlassay.curate(folder, keep=0.5, by="0.9*tremor.adjusted+0.1*coverage")
    assert kept.episode_count == 5
    shaken = rlassay.load(folder).actions[SHAKEN * 60]
    assert not (kept.actions == shaken).all(axis=1).any()


# -- sidecar -------------------------------------------------------------------------------------------------------------


def test_a_sidecar_comes_back_as_it_was_written(folder, tmp_path):
    target = tmp_path / "scores"
    told = curate_file(Request(str(folder), Rule(), sidecar=target))
    assert told["sidecar"] == str(target) and told["dropped"] == []
    back, data = read_sidecar(target), rlassay.load(folder)
    assert back.about["schema"] == "rlassay.sidecar/1" and back.about["rule"] is None
    assert back.about["fingerprint"] == data.fingerprint
    expected = measure(motion_of(data))
    for name in back.about["episode_scores"]:
        np.testing.assert_array_equal(back.episodes[name], expected[name])
    known = {name for name in known_names() if np.isfinite(expected[name]).any()}
    assert set(back.about["episode_scores"]) == known
    assert back.episodes["episode_index"].tolist() == list(range(5, 15))
    assert back.episodes["kept"].all()
    assert back.frames["index"].tolist() == list(range(700, 1300))
    np.testing.assert_array_equal(back.frames["frame_index"], np.arange(600) % 60)


def test_frames_average_to_their_episode(folder, tmp_path):
    curate_file(Request(str(folder), Rule(), sidecar=tmp_path / "scores"))
    back = read_sidecar(tmp_path / "scores")
    for name in FRAME_SCORES:
        per_frame = back.frames[name].reshape(10, 60)
        np.testing.assert_allclose(np.nanmean(per_frame, axis=1), back.episodes[name])


def test_a_sidecar_ranks_without_scoring_again_and_says_what_a_rule_kept(folder, tmp_path):
    rule = Rule(keep=0.9, by="tremor")
    curate_file(Request(str(folder), rule, sidecar=tmp_path / "s"))
    back = read_sidecar(tmp_path / "s")
    assert np.flatnonzero(~back.episodes["kept"]).tolist() == [SHAKEN]
    assert back.about["rule"]["rule"] == {"by": "tremor", "keep": 0.9}
    kept = rlassay.curate(folder, keep=0.9, by="tremor", table=back.table)
    assert kept.episode_count == 9


def test_frames_follow_the_layout_of_frame_signals(folder, tmp_path):
    """Format, version, a description of every column, one group of rows an episode; no null, NaN is announced."""
    curate_file(Request(str(folder), Rule(), sidecar=tmp_path / "s"))
    file = pq.ParquetFile(tmp_path / "s" / FRAMES)
    told = {key.decode(): value.decode() for key, value in file.schema_arrow.metadata.items()}
    assert told["lerobot.scores.format"] == "lerobot.frame_signals"
    assert told["lerobot.scores.schema_version"] == "1"
    columns = json.loads(told["lerobot.scores.descriptors"])
    assert set(columns) == set(file.schema_arrow.names) - {"index", "episode_index", "frame_index"}
    for one in columns.values():
        assert set(one) == {"description", "direction", "bounds", "unit", "allow_nan"}
        assert one["direction"] in ("higher", "lower") and one["allow_nan"] is True
    assert json.loads(told["lerobot.scores.provenance"])["scoring"]["by"] == "rlassay"
    assert file.num_row_groups == 10
    third = file.read_row_group(2)
    assert set(third["episode_index"].to_pylist()) == {7} and len(third) == 60
    assert all(file.read()[name].null_count == 0 for name in columns)


def test_a_filter_of_episodes_finds_scores_by_the_datasets_own_number(folder, tmp_path):
    curate_file(Request(str(folder), Rule(keep=0.9, by="tremor"), sidecar=tmp_path / "s"))
    scores = read_sidecar(tmp_path / "s").by_episode_index()
    rows = pq.read_table(folder / "meta" / "episodes").to_pylist()  # what a loader's filter sees
    kept = [row["episode_index"] for row in rows if scores[row["episode_index"]]["kept"]]
    assert kept == [number for number in range(5, 15) if number != SHAKEN + 5]
    assert isinstance(scores[5]["tremor"], float)


def test_the_metadata_of_episodes_is_written_with_scores_behind_its_own_columns(folder, tmp_path):
    curate_file(Request(str(folder), Rule(keep=0.9, by="tremor"), sidecar=tmp_path / "s"))
    before = sorted((folder / "meta" / "episodes").glob("*/*.parquet"))
    after = sorted((tmp_path / "s" / "meta" / "episodes").glob("*/*.parquet"))
    assert [file.name for file in after] == [file.name for file in before]
    back, table = read_sidecar(tmp_path / "s"), pq.read_table(tmp_path / "s" / "meta" / "episodes")
    own = pq.read_table(folder / "meta" / "episodes")
    assert table.select(own.column_names).equals(own)
    np.testing.assert_array_equal(table["rlassay/tremor"].to_numpy(), back.episodes["tremor"])
    chosen = [row["episode_index"] for row in table.to_pylist() if row["rlassay/kept"]]
    assert len(chosen) == 9 and SHAKEN + 5 not in chosen


def test_episodes_that_share_a_number_are_refused_in_one_sentence():
    from rlassay.curation.lerobot_scores import by_episode_index

    columns = {"episode_index": np.array([4, 4]), "kept": np.array([True, False])}
    with pytest.raises(DatasetError, match="done inside"):
        by_episode_index(columns, ("kept",))


def test_other_formats_are_numbered_by_their_rows(tmp_path):
    source = tmp_path / "plain.npz"
    rlassay.save(dataset_of(made_motion(count=4, length=20)), source)
    curate_file(Request(str(source), Rule(), sidecar=tmp_path / "s"))
    back = read_sidecar(tmp_path / "s")
    assert back.frames["episode_index"].tolist() == np.repeat(np.arange(4), 20).tolist()
    assert back.frames["frame_index"][:21].tolist() == [*range(20), 0]


def test_nothing_else_is_replaced_and_other_versions_are_refused(folder, tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(DatasetError, match="is no sidecar"):
        curate_file(Request(str(folder), Rule(), sidecar=tmp_path / "mine"))
    target = tmp_path / "s"
    curate_file(Request(str(folder), Rule(), sidecar=target))
    with pytest.raises(DatasetError, match="--force"):
        curate_file(Request(str(folder), Rule(), sidecar=target))
    curate_file(Request(str(folder), Rule(), sidecar=target, force=True))
    about = json.loads((target / "sidecar.json").read_text())
    (target / "sidecar.json").write_text(json.dumps(about | {"schema": "rlassay.sidecar/2"}))
    with pytest.raises(DatasetError, match="another version"):
        read_sidecar(target)
    (target / "sidecar.json").write_text(json.dumps(about))
    (target / FRAMES).write_bytes(b"PAR1")
    with pytest.raises(DatasetError):
        read_sidecar(target)
