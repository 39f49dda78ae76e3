"""The study of others' files: units settled by physics, correlations equal to SciPy's, mistakes in one sentence."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError, SettingsError
from rlassay.formats import save
from rlassay.study import real, study
from rlassay.study.grid.files import write_table
from rlassay.study.grid.plan import AGENTS

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import real_pendulum as script


def swung(halved: bool) -> Dataset:
    """Random torques on the real pendulum, recorded as they are or in [-1, 1]."""
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("Pendulum-v1")
    rng, seen = np.random.default_rng(0), [env.reset(seed=0)[0]]
    torques, rewards = rng.uniform(-2, 2, size=(50, 1)), []
    for torque in torques:
        following, reward, *_ = env.step(torque.astype(np.float32))
        seen.append(following)
        rewards.append(reward)
    ends = np.arange(50) == 49
    return Dataset.from_columns(
        observations=np.array(seen[:-1]),
        next_observations=np.array(seen[1:]),
        rewards=np.array(rewards),
        actions=torques / 2 if halved else torques,
        terminals=ends,
    )


@pytest.mark.parametrize("halved", [False, True])
def test_the_equations_tell_the_unit_of_the_actions(halved):
    raw = swung(halved)
    right = script.in_units(raw, 2.0 if halved else 1.0, "made")
    assert script.torque_error(right) < script.ROUNDING
    assert not right.terminals.any() and right.timeouts.tolist() == [*[False] * 49, True]
    assert script.torque_error(script.in_units(raw, 1.0 if halved else 2.0, "made")) > 0.1


def test_actions_beyond_the_bounds_are_clipped():
    raw = swung(False)
    assert np.abs(script.in_units(raw, 3.0, "made").actions).max() == 2.0


# -- the study -------------------------------------------------------------------------------------------------------------

SETS = ("poor", "fair", "good", "best")
RETURNS = np.array([-1200.0, -500.0, -300.0, -150.0])
REACHED = np.array([-1000.0, -700.0, -200.0, -220.0])


def tables(results: Path, unfinished: tuple[str, ...] = ()) -> None:
    """Made results: every agent reaches the same but for a fixed offset."""
    runs = [
        {
            "environment": real.ENVIRONMENT,
            "dataset": name,
            "agent": agent,
            "seed": 0,
            "key": f"{name}{agent}",
            "return": None if name in unfinished and agent == "cql" else reached + place - 3,
        }
        for name, reached in zip(SETS, REACHED, strict=True)
        for place, agent in enumerate(AGENTS)
    ]
    scores = [
        {
            "environment": real.ENVIRONMENT,
            "dataset": name,
            "score_name": "return",
            "seed": 0,
            "discount": 0.99,
            "value": float(value),
            "key": name,
        }
        for name, value in zip(SETS, RETURNS, strict=True)
    ]
    sets = [{"name": name, "rows": 10} for name in SETS]
    for name, rows in (("runs", runs), ("scores", scores), ("sets", sets)):
        write_table(results / "real" / f"{name}.csv", rows, list(rows[0]), {})


def test_correlations_are_those_of_scipy(tmp_path):
    tables(tmp_path)
    text, missing = study("real", results=tmp_path)
    assert missing == []
    rows = real.read_table(tmp_path / "real" / "correlations.csv")
    rows = [row for row in rows if row["score_name"] == "return"]
    found = {(row["kind"], row["panel"]): row["value"] for row in rows}
    lowest = int(np.argmin(REACHED))
    others = np.delete(RETURNS, lowest), np.delete(REACHED, lowest)
    for panel, pair in ((real.ALL_SETS, (RETURNS, REACHED)), (real.WITHOUT_LOWEST, others)):
        assert found["pearson", panel] == pytest.approx(scipy.stats.pearsonr(*pair)[0])
        assert found["spearman", panel] == pytest.approx(scipy.stats.spearmanr(*pair)[0])
    assert "Pearson" in text and "| best |" in text


def test_a_set_that_lacks_an_agent_is_no_point(tmp_path):
    tables(tmp_path, unfinished=("best",))
    reached = real.returns_reached(real.read_table(tmp_path / "real" / "runs.csv"))
    assert {name for _, name in reached} == {"poor", "fair", "good"}
    assert reached[real.ENVIRONMENT, "fair"] == pytest.approx(-700)
    text, _ = study("real", results=tmp_path)
    assert "3 of 4 sets" in text and not (tmp_path / "real" / "correlations.csv").exists()


def test_without_files_the_study_says_how_to_make_them(tmp_path):
    with pytest.raises(SettingsError, match="real_pendulum.py"):
        study("real", run=True, results=tmp_path)
    with pytest.raises(DatasetError, match="SETS.json"):
        study("real", run=True, results=tmp_path, data=tmp_path)
    (tmp_path / "SETS.json").write_text(json.dumps([{"name": "lost"}]))
    with pytest.raises(DatasetError, match="does not exist"):
        study("real", run=True, results=tmp_path, data=tmp_path)


def test_sets_are_named_by_their_content(tmp_path):
    save(swung(False), tmp_path / "one.npz")
    (tmp_path / "SETS.json").write_text(json.dumps([{"name": "one"}]))
    rows, found = real.read_sets(tmp_path)
    assert rows == [{"name": "one"}]
    assert found[0].fingerprint.startswith(found[0].identity)
