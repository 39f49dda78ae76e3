"""Updates per second of the agents of discrete actions against d3rlpy, in one run: `python benchmarks/bench_discrete.py`.

As bench_agents.py does for continuous ones: same batch (256), networks (two layers of 256) and data (100,000 rows of CartPole's
shape, 4 observations and 2 actions), drawing batches included, compiling apart, both libraries in turns, the best of the rounds.
Ours is the double target, so d3rlpy's `dqn` is its DoubleDQN. `--ours` leaves d3rlpy out and writes nothing.
"""

from __future__ import annotations

from pathlib import Path

import turns

AGENTS = ("bc", "cql", "dqn")
OBSERVATIONS, ACTIONS, ROWS, BATCH, WIDTH, DEPTH = 4, 2, 100_000, 256, 256, 2
COUNT = 400  # timed updates a round
TARGET = Path(__file__).parents[1] / "results" / "bench" / "discrete.csv"


def make_data():
    """Random transitions in episodes of 200, equal on both sides."""
    import numpy as np

    rng = np.random.default_rng(0)
    return {
        "observations": rng.normal(size=(ROWS, OBSERVATIONS)).astype(np.float32),
        "actions": rng.integers(0, ACTIONS, (ROWS, 1)),
        "rewards": rng.normal(size=ROWS).astype(np.float32),
        "terminals": np.zeros(ROWS, np.float32),
        "timeouts": (np.arange(ROWS) % 200 == 199).astype(np.float32),
    }


def time_d3rlpy(agent: str, threads: int) -> turns.Timed:
    d3rlpy = turns.quiet_peer(threads)
    discrete = {"action_space": d3rlpy.ActionSpace.DISCRETE, "action_size": ACTIONS}
    encoder = d3rlpy.models.encoders.VectorEncoderFactory([WIDTH] * DEPTH)
    configs = {
        "bc": d3rlpy.algos.DiscreteBCConfig,
        "cql": d3rlpy.algos.DiscreteCQLConfig,
        "dqn": d3rlpy.algos.DoubleDQNConfig,
    }
    config = configs[agent](batch_size=BATCH, encoder_factory=encoder)
    return turns.time_peer(d3rlpy, config, make_data(), BATCH, COUNT, **discrete)


def time_rlassay(agent: str, threads: int) -> turns.Timed:
    if threads == 1:
        from rlassay import runtime

        runtime.use_threads(1)
    return turns.time_ours(*prepare_agent(agent), BATCH, COUNT)[0]


def prepare_agent(agent: str):
    import numpy as np

    from rlassay.agents import DISCRETE_AGENTS, Shapes
    from rlassay.agents.columns import make_columns
    from rlassay.agents.training import make_settings
    from rlassay.data.dataset import Dataset

    changes = {"batch_size": BATCH, "width": WIDTH, "depth": DEPTH}
    settings, kind = make_settings(agent, changes, discrete=True), DISCRETE_AGENTS[agent]
    data, ends = Dataset.from_columns(**make_data()), (np.array([0]), np.array([ACTIONS - 1]))
    columns, _, _ = make_columns(data, kind, settings, *ends)
    return kind.make(settings, Shapes(OBSERVATIONS, ACTIONS)), columns


def row(agent: str, threads: int, ours: list[turns.Timed], theirs: list[turns.Timed]) -> turns.Row:
    sizes = {"agent": agent, "threads": threads, "batch": BATCH, "width": WIDTH, "depth": DEPTH}
    return {**sizes, **turns.side_by_side(ours, theirs), **turns.machine()}


def main() -> None:
    sides = {"rlassay": time_rlassay, "d3rlpy": time_d3rlpy}
    turns.run(__file__, turns.options(__doc__, AGENTS, TARGET), sides, row)


if __name__ == "__main__":
    main()
