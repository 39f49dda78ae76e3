"""Do the agents learn? All seven on the study's random, mixed and expert data: `python benchmarks/learns.py`.

The data are those of the studies (100,000 transitions rolled out from the zoo) and so are the runs: what `rlassay study
table1` has trained is not trained again. What the claims compare runs with three seeds, the rest with one. Writes
results/agents/learns.csv (a row a run) and learns.json: whether BC reaches 90 % of the behaviour's return on expert data,
whether IQL and TD3+BC beat BC on the two kinds of mixed data, and whether every run stayed finite.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

import numpy as np

from rlassay.data.references import reference_for
from rlassay.formats import load
from rlassay.study.analysis.correlate import mean_over_agents, runs_by_dataset
from rlassay.study.grid.cells import Cell, export_cells, run_cells
from rlassay.study.grid.data import StudyData, study_data
from rlassay.study.grid.files import Row, write_table
from rlassay.study.grid.plan import AGENTS, ENVIRONMENTS, LITE
from rlassay.study.grid.training import COLUMNS, training_cells, training_rows

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "results" / "agents" / "learns.csv"
MIXED = ("medium-expert", "medium-replay")
DATASETS = ("random", "medium-expert", "expert", "medium-replay")
COMPARED = ("bc", "iql", "td3bc")  # agents of the claims, three seeds each on mixed data
SUMMARY = ("environment", "dataset", "data", *AGENTS)
REACHED = 0.9  # of the behaviour's return, for BC on expert data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", nargs="+", default=list(ENVIRONMENTS))
    parser.add_argument("--zoo", type=Path, default=ROOT / "zoo")
    arguments = parser.parse_args()
    data = {
        (environment, name): found
        for environment in arguments.environments
        for name, found in study_data(environment, DATASETS, LITE, arguments.zoo).items()
    }
    cells = grid(list(data.values()))
    failures = run_cells(
        cells, table=TARGET, report=lambda news: print(news, file=sys.stderr, flush=True)
    )
    behaviour = {key: float(load(found.path).episode_returns.mean()) for key, found in data.items()}
    command = shlex.join(["python", "benchmarks/learns.py", *sys.argv[1:]])
    about = {"command": command, "profile": LITE.name, "failures": failures}
    rows = export_cells(TARGET, cells, COLUMNS, training_rows, about)
    beside = TARGET.with_suffix(".json")
    claims = {env: judge(env, rows, behaviour) for env in arguments.environments}
    beside.write_text(
        json.dumps(json.loads(beside.read_text()) | {"claims": claims}, indent=1) + "\n"
    )
    write_table(
        TARGET.with_name("summary.csv"), summarise(rows, behaviour), SUMMARY, {"command": command}
    )
    print(json.dumps(claims, indent=1))


def summarise(rows: list[Row], behaviour: dict[tuple[str, str], float]) -> list[Row]:
    """One row a dataset: the data's own normalised score, and every agent's mean over seeds."""
    runs, found = runs_by_dataset(rows), []
    for key, own in behaviour.items():
        reference = reference_for(key[0])
        assert reference is not None
        means = {agent: mean_over_agents(runs.get(key, []), [agent]) for agent in AGENTS}
        known = {agent: mean for agent, mean in means.items() if np.isfinite(mean)}
        data = float(reference.normalise(own))
        found.append({"environment": key[0], "dataset": key[1], "data": data, **known})
    return found


def grid(datasets: list[StudyData]) -> list[Cell]:
    """Three seeds of what the claims compare first, then one of everything else; a run is never named twice."""
    claimed = [data for data in datasets if data.name in MIXED]
    experts = [data for data in datasets if data.name == "expert"]
    cells = [
        *training_cells(experts, ["bc"], range(3), LITE.name),
        *training_cells(claimed, COMPARED, range(3), LITE.name),
        *training_cells(datasets, AGENTS, range(1), LITE.name),
    ]
    return list({cell.task.key: cell for cell in cells}.values())


def judge(environment: str, rows: list[Row], behaviour: dict[tuple[str, str], float]) -> Row:
    """The claims of one environment, each with its numbers."""
    runs = runs_by_dataset(rows)

    def returns(dataset: str, agent: str) -> np.ndarray:
        found = runs.get((environment, dataset), [])
        return np.array([row["return"] for row in found if row["agent"] == agent], float)

    expert = behaviour[environment, "expert"]
    share = float(returns("expert", "bc").mean()) / expert
    claims: Row = {
        "behaviour_return": {name: behaviour[environment, name] for name in DATASETS},
        "bc_on_expert": {"share_of_behaviour": share, "reached": share >= REACHED},
    }
    for dataset in MIXED:
        cloned = returns(dataset, "bc")
        for agent in ("iql", "td3bc"):
            own = returns(dataset, agent)
            claims[f"{agent}_against_bc_on_{dataset}"] = {
                agent: own.tolist(),
                "bc": cloned.tolist(),
                "mean_beats": bool(own.mean() > cloned.mean()),
                "every_seed_beats_every_seed": bool(own.min() > cloned.max()),
            }
    own_rows = [row for row in rows if row["environment"] == environment]
    claims["diverged"] = [
        f"{row['agent']} on {row['dataset']} seed {row['seed']}"
        for row in own_rows
        if row.get("diverged_at") is not None
    ]
    claims["finite"] = all(np.isfinite(row.get("return", np.nan)) for row in own_rows)
    return claims


if __name__ == "__main__":
    main()
