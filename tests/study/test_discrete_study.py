"""The study of discrete actions: its plan is what its rules say, and its tables are those of its rows."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from rlassay.collect.recipes import RANDOM_STEP
from rlassay.collect.sources import ZooActors
from rlassay.study import discrete, study
from rlassay.study.analysis.correlate import min_max
from rlassay.study.grid.files import write_table
from rlassay.study.grid.plan import (
    DISCRETE_AGENTS,
    DISCRETE_DATASETS,
    DISCRETE_ENVIRONMENTS,
    discrete_recipes,
)
from rlassay.study.grid.training import COLUMNS

ZOO = Path(__file__).parents[2] / "zoo"
ABOUT = {"revisions": [1]}


@pytest.mark.parametrize("environment", DISCRETE_ENVIRONMENTS)
def test_every_dataset_has_a_recipe_of_actors_that_exist(environment):
    actors = ZooActors.open(ZOO, environment)
    recipes = discrete_recipes(actors)
    assert set(DISCRETE_DATASETS) == set(recipes)
    for recipe in recipes.values():
        for part in recipe.parts:
            assert part.step == RANDOM_STEP or part.step in actors.steps(part.seed)
    strong, weaker = recipes["seed-mix"].parts
    assert strong.seed != weaker.seed and strong.step > weaker.step


def tables(folder: Path, agents=DISCRETE_AGENTS) -> tuple[np.ndarray, np.ndarray]:
    """Made-up runs and scores; what the oracle and `q` are, in the order of environments and sorted datasets."""
    rng = np.random.default_rng(0)
    runs, scores, oracle, q = [], [], [], []
    for environment in sorted(DISCRETE_ENVIRONMENTS):
        for dataset in sorted(DISCRETE_DATASETS):
            where = {"environment": environment, "dataset": dataset, "seed": 0}
            level = rng.normal()
            reached = level + 0.1 * rng.normal(size=len(agents))
            runs += [
                {**where, "agent": agent, "return": value, "revision": 1}
                for agent, value in zip(agents, reached, strict=True)
            ]
            oracle.append(reached.mean())
            q.append(level + 0.5 * rng.normal())
            values = {"q": q[-1], "return": level, "return_by_step": -level, "bwd.exact": q[-1] - 1}
            scores += [
                {**where, "score_name": name, "value": value, "discount": 0.99}
                for name, value in values.items()
            ]
    write_table(folder / "runs.csv", runs, [*COLUMNS, "key"], ABOUT)
    columns = ["environment", "dataset", "score_name", "seed", "discount", "value"]
    write_table(folder / "scores.csv", scores, columns, {})
    return np.array(oracle), np.array(q)


def test_correlations_are_those_of_scipy(tmp_path):
    oracle, q = tables(tmp_path / "discrete")
    text, missing = study("discrete", results=tmp_path)
    assert not missing
    environments = np.repeat(sorted(DISCRETE_ENVIRONMENTS), 6)
    scaled = [min_max(values, environments) for values in (oracle, q)]
    expected = scipy.stats.pearsonr(*scaled).statistic
    row = next(line for line in text.splitlines() if line.startswith("| q |"))
    assert f"{expected:.2f} [" in row
    # a score and the same shifted predict alike, a reversed one is worse
    asked = [line for line in text.splitlines() if line.startswith("| all |")]
    assert (
        "0.00 [-0.00, 0.00] | not shown" in asked[1] or "0.00 [0.00, 0.00] | not shown" in asked[1]
    )
    assert asked[3].split("|")[5].strip() == "no"
    assert (tmp_path / "discrete" / "questions.csv").exists()


def test_nothing_is_compared_before_every_agent_has_run(tmp_path):
    tables(tmp_path / "discrete", DISCRETE_AGENTS[:-1])
    text, _ = study("discrete", results=tmp_path)
    assert "0 of 12 datasets have all agents and scores" in text
    assert "### The questions" not in text and "| CartPole-v1 | random |" in text


def test_the_grid_is_every_dataset_with_every_agent(monkeypatch, tmp_path):
    from rlassay.study.grid.data import StudyData

    data = {
        environment: {
            name: StudyData(
                environment, name, tmp_path / name, "fingerprint", f"{environment} {name}"
            )
            for name in DISCRETE_DATASETS
        }
        for environment in DISCRETE_ENVIRONMENTS
    }
    cells = discrete.discrete_cells(data)
    assert len(cells) == len({cell.task.key for cell in cells}) == 2 * 6 * 6
    assert {cell.task.settings["settings"]["updates"] for cell in cells} == {12_000}
    assert [cell.columns["environment"] for cell in cells[:12]] == [
        *["CartPole-v1"] * 6,
        *["Acrobot-v1"] * 6,
    ]
