"""Whether the oracle was long enough, on runs whose answer is known."""

import pytest

from rlassay.study.analysis.budget import (
    expert_rows,
    half_rows,
    learning_agents,
    moved_after_half,
    oracle_by_first_rule,
    pattern_rows,
    settled_oracle,
)
from rlassay.study.analysis.rest import CLONING_SHARE, settled_runs
from rlassay.study.fig2 import (
    FIRST_RULE_PANEL,
    LEARNING_PANEL,
    PATTERN_PANEL,
    SETTLED_PANEL,
    other_oracles,
)
from rlassay.study.grid.plan import AGENTS as ALL_AGENTS

AGENTS = ("bc", "iql", "td3bc")


def make_run(dataset, agent, half, full, diverged_at=None):
    return {
        "environment": "Hopper-v5",
        "dataset": dataset,
        "agent": agent,
        "seed": 0,
        "half_score": half,
        "score": full,
        "diverged_at": diverged_at,
    }


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
    assert rows["all agents"]["moved_after_half"] == 1
    assert rows["bc"]["moved_after_half"] == 0
    assert rows["all agents"]["not_known"] == 9  # no curves were given
    assert rows["iql"]["mean_change"] == pytest.approx((1 + 1 + 40) / 3)


def test_a_reversed_order_is_seen():
    runs = [make_run(f"level-{k}k", "bc", -k, k) for k in (1, 2, 3)]
    assert half_rows(runs, ["bc"])[0]["spearman"] == pytest.approx(-1)


def curve(run, scores, updates=(12_000, 24_000, 36_000, 48_000)):
    return [
        {**run, "updates": float(update), "score": score}
        for update, score in zip(updates, scores, strict=True)
    ]


def test_the_first_rule_looked_at_the_second_half():
    assert moved_after_half(make_run("x", "bc", 10.0, 20.1))
    assert not moved_after_half(make_run("x", "bc", 10.0, 20.0))
    assert moved_after_half(make_run("x", "bc", 10.0, 10.0, diverged_at=300))
    assert moved_after_half(make_run("x", "bc", None, 10.0))


def test_a_run_is_settled_by_its_final_phase_alone():
    """A run that rose after half and then stood still has settled; OnestepRL has one look after its cloning."""
    still, rising = make_run("x", "iql", 10.0, 50.0), make_run("x", "awac", 48.0, 50.0)
    onestep, diverged = make_run("x", "onestep", 10.0, 80.0), make_run("x", "bc", 1.0, 1.0, 30_000)
    curves = [
        *curve(still, (5.0, 10.0, 49.0, 50.0)),
        *curve(rising, (44.0, 48.0, 40.0, 50.0)),
        *curve(onestep, (10.0, 10.0, 10.0, 80.0)),
        *curve(diverged, (1.0, 1.0, 1.0, 1.0)),
    ]
    runs = [still, rising, onestep, diverged, make_run("y", "iql", 0.0, 0.0)]
    assert settled_runs(runs, curves) == ["yes", "no", "not known", "no", "not known"]


def test_cloning_shares_are_the_agents_own():
    from rlassay.agents.onestep import OnestepSettings

    assert {"onestep": OnestepSettings().critic_share} == CLONING_SHARE


def test_oracles_of_settled_runs_leave_moving_ones_out():
    first = oracle_by_first_rule(RUNS, AGENTS)
    assert first["Hopper-v5", "medium-expert"] == pytest.approx((52 + 99) / 2)
    assert ("Hopper-v5", "expert") not in first
    final = {("medium-expert", "iql"): (99.0, 100.0), ("medium-expert", "bc"): (30.0, 52.0)}
    curves = [
        row
        for run in RUNS
        for row in curve(
            run, (0.0, 0.0, *final.get((run["dataset"], run["agent"]), (run["score"],) * 2))
        )
    ]
    found = settled_oracle(RUNS, curves, AGENTS)
    assert found["Hopper-v5", "medium-expert"] == pytest.approx((100 + 99) / 2)
    assert settled_oracle(RUNS, [], AGENTS) == {}  # nothing is known to have settled


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
        expert_run("Hopper-v5", "bc", 100.0),
        expert_run("Walker2d-v5", "bc", 80.0),
        expert_run("Hopper-v5", "iql", 10.0),
        expert_run("Walker2d-v5", "iql", 40.0),
        expert_run("Hopper-v5", "cql", 49.0),
        expert_run("Walker2d-v5", "cql", 39.0),
    ]
    agents = ("bc", "iql", "cql", "xql")
    assert expert_rows(runs, agents)[1] == {
        "environment": "Walker2d-v5",
        "bc_score": 80.0,
        "bc": 1.0,
        "iql": 0.5,
        "cql": 39 / 80,
        "xql": None,
    }
    assert learning_agents(runs, agents) == ["bc", "iql", "xql"]  # xql has not run


def test_oracle_is_shown_again_without_agents_that_do_not_learn():
    runs = [expert_run("Hopper-v5", agent, 90.0) for agent in ALL_AGENTS if agent != "cql"]
    learning = other_oracles([*runs, expert_run("Hopper-v5", "cql", 60.0)], [])
    assert set(learning) == {SETTLED_PANEL, FIRST_RULE_PANEL}
    found = other_oracles([*runs, expert_run("Hopper-v5", "cql", -1.0)], [])
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
    kept = other_oracles(runs, [])[PATTERN_PANEL]
    assert ("Hopper-v5", "medium-expert") in kept
    assert ("HalfCheetah-v5", "medium-expert") not in kept
    assert len(kept) == 3
