"""The defect benchmark as cells: what detection sees, which half an arm keeps, and the gains by hand."""

from pathlib import Path

import numpy as np
import pytest

from rlassay.curation.rule import WITHOUT_REWARDS
from rlassay.data.dataset import Dataset
from rlassay.formats import load, save
from rlassay.study import study
from rlassay.study.demonstrations import detection, policy
from rlassay.study.grid.cells import _committed
from rlassay.study.grid.data import StudyData
from rlassay.study.grid.files import read_table, write_table

ENVIRONMENT = "Hopper-v5"


def reaches(seed: int, speed: float = 1.0, count: int = 12, length: int = 50) -> Dataset:
    """Slow waves that the actions lead by one step."""
    rng = np.random.default_rng(seed)
    moment = speed * np.arange(length + 1)[:, None] / 25 + rng.uniform(size=(count, 1, 3))
    waves = np.sin(moment) + 0.01 * rng.normal(size=moment.shape)
    return Dataset.from_columns(
        observations=waves[:, :-1].reshape(-1, 3).astype(np.float32),
        actions=waves[:, 1:].reshape(-1, 3).astype(np.float32),
        rewards=np.zeros(count * length, np.float32),
        terminals=np.zeros(count * length, bool),
        timeouts=np.arange(count * length) % length == length - 1,
    )


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("rolled"), {}
    for place, name in enumerate((detection.EXPERT, *detection.OTHERS)):
        path = folder / f"{name}.npz"
        save(reaches(place, speed=1 + place), path)
        found[name] = StudyData(ENVIRONMENT, name, path, load(path).fingerprint, f"id{place}")
    return found


def asked(**changes):
    return {
        "defect": "noise_on_actions",
        "level": "strong",
        "seed": 0,
        "scores": ["tremor", "idle"],
        **changes,
    }


def test_noise_on_actions_is_found_by_tremor_and_not_by_idleness(datasets, tmp_path):
    result = detection.detection_task(asked(), detection.reference_of(datasets), tmp_path)
    assert result["areas"]["tremor"] == [1.0, 1.0]
    assert result["areas"]["idle"][0] < 0.9
    assert result["episodes"] == 12


def test_wrong_episodes_are_those_of_the_strangers(datasets, tmp_path):
    made = detection.defective(asked(defect="wrong_episodes"), detection.reference_of(datasets))
    stranger = load(datasets["level-50k"].path)
    wrong = made.data.observations[made.data.episode_starts[np.flatnonzero(made.mask)]]
    starts = stranger.observations[stranger.episode_starts]
    assert all((starts == row).all(axis=1).any() for row in wrong)


def test_every_cell_has_a_key_of_its_own_that_knows_all_data(datasets):
    cells = detection.detection_cells(ENVIRONMENT, datasets)
    assert len(cells) == 24 and len({cell.task.key for cell in cells}) == 24
    moved = StudyData(ENVIRONMENT, "level-50k", datasets["level-50k"].path, "x", "other")
    other = detection.detection_cells(ENVIRONMENT, {**datasets, "level-50k": moved})
    assert not {cell.task.key for cell in cells} & {cell.task.key for cell in other}
    policies = policy.policy_cells(ENVIRONMENT, datasets, ["tremor"])
    assert len({cell.task.key for cell in policies}) == 8 * 3 * 3
    assert policies[0].task.settings["settings"]["updates"] == 24_000


def test_arms_keep_the_half_that_they_name(datasets):
    made = detection.defective(asked(), detection.reference_of(datasets))
    half = {
        arm: policy.kept_half(arm, made.data, made.mask, 0) for arm in ("tremor", "clean", "random")
    }
    assert all(len(kept) == 6 for kept in half.values())
    assert not made.mask[half["tremor"]].any() and not made.mask[half["clean"]].any()
    assert set(half["random"]) != set(policy.kept_half("random", made.data, made.mask, 1))


def test_a_clean_half_is_filled_up_where_sound_episodes_are_few(datasets):
    data = load(datasets["expert"].path)
    faulty = np.arange(12) > 2
    assert set(policy.kept_half("clean", data, faulty, 0)) > {0, 1, 2}


def made_tables(folder):
    """Two scores in one environment and defect: tremor finds it, idle does not; the policy agrees."""
    rows = [
        {
            "environment": ENVIRONMENT,
            "defect": "lag",
            "level": level,
            "score_name": name,
            "value": area,
            "stratified": area,
            "episodes": 12,
            "key": f"{level}",
        }
        for level in ("weak", "middle", "strong")
        for name, area in (
            ("idle", 0.5),
            ("tremor", 0.9),
            ("mutual_information", 0.6),
            ("bc_surprise", 0.7),
        )
    ]
    write_table(folder / "detection.csv", rows, list(rows[0]), {})
    runs = [
        {
            "environment": ENVIRONMENT,
            "defect": "lag",
            "arm": arm,
            "seed": seed,
            "score": score + seed,
            "key": f"{arm}{seed}",
        }
        for arm, score in (("tremor", 60.0), ("idle", 45.0), ("random", 50.0))
        for seed in range(3)
    ]
    write_table(folder / "runs.csv", runs, list(runs[0]), {})
    seconds = [{"score_name": name, "seconds": 1.0} for name in ("tremor", "idle")]
    write_table(folder / "seconds.csv", seconds, list(seconds[0]), {})


def test_the_table_names_the_scores_of_the_rule_and_the_gains(tmp_path):
    made_tables(tmp_path / "demonstrations")
    text, missing = study("demonstrations", results=tmp_path)
    assert missing == []
    assert "bc_surprise, mutual_information, tremor, idle" in text
    gains = {row["arm"]: row for row in read_table(tmp_path / "demonstrations" / "gains.csv")}
    assert gains["tremor"]["mean"] == 10 and gains["idle"]["mean"] == -5
    by_kind = read_table(tmp_path / "demonstrations" / "gains_by_defect.csv")
    assert {row["arm"]: row["lag"] for row in by_kind} == {"tremor": 10, "idle": -5}
    assert gains["tremor"]["qualifies"] == "True" and gains["idle"]["qualifies"] == "False"
    assert "Help the policy: tremor. Detect, do not help: none. " in text
    assert "Default of `curate --by` without rewards: tremor." in text
    best = read_table(tmp_path / "demonstrations" / "detection_summary.csv")[0]
    assert best["score_name"] == "tremor" and best["middle"] == 0.9
    by_defect = read_table(tmp_path / "demonstrations" / "detection_by_defect.csv")
    assert by_defect[0]["score_name"] == "tremor" and by_defect[0]["lag"] == 0.9
    assert by_defect[0]["duplicates"] is None


def test_nothing_is_judged_before_all_runs_are_there(tmp_path):
    folder = tmp_path / "demonstrations"
    made_tables(folder)
    runs = read_table(folder / "runs.csv")
    runs.append({**runs[0], "score": None, "key": "later"})
    write_table(folder / "runs.csv", runs, list(runs[0]), {"missing": ["tremor seed 9"]})
    text, missing = study("demonstrations", results=tmp_path)
    assert "not complete, 9 of 10 runs" in text and missing == ["tremor seed 9"]
    assert "qualifies" not in text and not (folder / "gains.csv").exists()
    found = read_table(folder / "detection.csv")
    write_table(folder / "detection.csv", found, list(found[0]), {"missing": ["lag weak"]})
    text, _ = study("demonstrations", results=tmp_path)
    assert text == "Detection is not complete, 3 of 4 cells; nothing is judged before.\n"


def test_a_score_that_detects_and_does_not_help_is_listed(tmp_path):
    folder = tmp_path / "demonstrations"
    made_tables(folder)
    runs = read_table(folder / "runs.csv")
    worse = [{**row, "score": 40.0} if row["arm"] == "tremor" else row for row in runs]
    write_table(folder / "runs.csv", worse, list(runs[0]), {})
    text, _ = study("demonstrations", results=tmp_path)
    assert "Help the policy: none was shown to. Detect, do not help: tremor. " in text
    assert "without rewards: bc_surprise." in text


def test_curate_ranks_by_the_winner_of_the_committed_runs():
    told = (Path(__file__).parents[2] / "results" / "demonstrations" / "table.md").read_text()
    assert f"without rewards: {WITHOUT_REWARDS}." in told


def test_cells_run_seed_by_seed_and_defect_by_defect(datasets):
    grids = [policy.policy_cells(name, datasets, ["tremor"]) for name in ("A", "B")]
    order = [cell.columns for cell in policy.in_order(grids)]
    assert [one["seed"] for one in order] == sorted(one["seed"] for one in order)
    first = order[:6]  # both environments, all three arms, of the first defect
    assert {one["defect"] for one in first} == {"noise_on_actions"}
    assert [one["environment"] for one in first] == ["A"] * 3 + ["B"] * 3


def test_rows_of_detection_count_as_done_when_one_area_is_known(tmp_path):
    made_tables(tmp_path)
    assert set(_committed(tmp_path / "detection.csv")) == {"weak", "middle", "strong"}
