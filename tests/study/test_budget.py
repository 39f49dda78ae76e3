"""Whether the oracle was long enough, on runs whose answer is known."""

import pytest

from rlassay.study.analysis.budget import (
    expert_rows,
    half_rows,
    is_unsettled,
    learning_agents,
    pattern_rows,
    settled_oracle,
)
from rlassay.study.fig2 import LEARNING_PANEL, PATTERN_PANEL, SETTLED_PANEL, other_oracles
from rlassay.study.grid.plan import AGENTS as ALL_AGENTS

AGENTS = ("bc", "iql", "td3bc")


def make_run(dataset, agent, half, full, diverged_at=None):
    return {
        "environment": "Hopper-v5", "dataset": dataset, "agent": agent, "seed": 0, "half_score": half,
        "score": full, "diverged_at": diverged_at,
    }  # fmt: skip


RUNS = [
    *(make_run("random", agent, 1.0, 2.0) for agent in AGENTS),
    *(make_run("level-50k", agent, 20.0, 21.0) for agent in AGENTS),
    make_run("medium-expert", "bc", 50.0, 52.0),
    make_run("medium-expert", "iql", 60.0, 100.0),
    make_run("medium-expert", "td3bc", 95.0, 99.0),
    make_run("expert", "bc", 104.0, 105.0),  # the other agents have not run there
]


def test_agreement_counts_only_complete_datasets():
    rows = {row["agents"]: row for row in half_rows(RUNS, AGENTS)}
    assert set(rows) == {"all agents", *AGENTS}
    assert rows["all agents"]["datasets"] == 3
    assert rows["all agents"]["spearman"] == pytest.approx(1)
    assert rows["all agents"]["unsettled"] == 1
    assert rows["bc"]["unsettled"] == 0
    assert rows["iql"]["mean_change"] == pytest.approx((1 + 1 + 40) / 3)


def test_a_reversed_order_is_seen():
    runs = [make_run(f"level-{k}k", "bc", -k, k) for k in (1, 2, 3)]
    assert half_rows(runs, ["bc"])[0]["spearman"] == pytest.approx(-1)


def test_unsettled_is_diverged_or_still_moving():
    assert is_unsettled(make_run("x", "bc", 10.0, 20.1))
    assert not is_unsettled(make_run("x", "bc", 10.0, 20.0))
    assert is_unsettled(make_run("x", "bc", 10.0, 10.0, diverged_at=300))
    assert is_unsettled(make_run("x", "bc", None, 10.0))


def test_settled_oracle_leaves_moving_runs_out():
    found = settled_oracle(RUNS, AGENTS)
    assert found["Hopper-v5", "medium-expert"] == pytest.approx((52 + 99) / 2)
    assert ("Hopper-v5", "expert") not in found


def test_pattern_of_d4rl():
    (row,) = pattern_rows(RUNS)
    assert row["as_in_d4rl"] == "yes"
    assert row["bc_on_expert"] == 105.0
    weaker = [r for r in RUNS if r["agent"] != "td3bc"]
    weaker.append(make_run("medium-expert", "td3bc", 5.0, 5.0))
    assert pattern_rows(weaker)[0]["as_in_d4rl"] == "no"


def expert_run(environment, agent, score):
    return {**make_run("expert", agent, score, score), "environment": environment}


def test_an_agent_learns_if_it_reaches_half_of_bc_on_expert_data_somewhere():
    runs = [
        expert_run("Hopper-v5", "bc", 100.0), expert_run("Walker2d-v5", "bc", 80.0),
        expert_run("Hopper-v5", "iql", 10.0), expert_run("Walker2d-v5", "iql", 40.0),
        expert_run("Hopper-v5", "cql", 49.0), expert_run("Walker2d-v5", "cql", 39.0),
    ]  # fmt: skip
    agents = ("bc", "iql", "cql", "xql")
    assert expert_rows(runs, agents)[1] == {
        "environment": "Walker2d-v5", "bc_score": 80.0, "bc": 1.0, "iql": 0.5, "cql": 39 / 80, "xql": None,
    }  # fmt: skip
    assert learning_agents(runs, agents) == ["bc", "iql", "xql"]  # xql has not run


def test_oracle_is_shown_again_without_agents_that_do_not_learn():
    runs = [expert_run("Hopper-v5", agent, 90.0) for agent in ALL_AGENTS if agent != "cql"]
    assert set(other_oracles([*runs, expert_run("Hopper-v5", "cql", 60.0)])) == {SETTLED_PANEL}
    found = other_oracles([*runs, expert_run("Hopper-v5", "cql", -1.0)])
    assert found[LEARNING_PANEL] == {("Hopper-v5", "expert"): pytest.approx(90.0)}


def test_a_mixture_on_which_cloning_wins_is_also_left_out():
    runs = [
        {**expert_run(environment, agent, 50.0), "dataset": dataset}
        for environment in ("Hopper-v5", "HalfCheetah-v5")
        for dataset in ("medium-expert", "expert")
        for agent in ALL_AGENTS
    ]
    for run in runs:
        if run["dataset"] == "medium-expert" and run["agent"] == "bc":
            run["score"] = 40.0 if run["environment"] == "Hopper-v5" else 60.0
    kept = other_oracles(runs)[PATTERN_PANEL]
    assert ("Hopper-v5", "medium-expert") in kept
    assert ("HalfCheetah-v5", "medium-expert") not in kept
    assert len(kept) == 3
