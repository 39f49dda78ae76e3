"""Updates per second of the agents against d3rlpy, in one run on this machine: `python benchmarks/bench_agents.py`.

Same batch (256), networks (two layers of 256) and data (100,000 rows of HalfCheetah's shape). Both sides are timed as they
train: drawing batches included, compiling apart. The two libraries take turns, and the best of the rounds counts, because a
shared machine only ever adds time. d3rlpy lives in its own virtual environment outside the checkout, made on first use.
The floor is the time the matrix products of one update need at the speed this machine reaches on such products alone.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import turns

AGENTS = ("bc", "awac", "td3bc", "iql", "cql")
OBSERVATIONS, ACTIONS, ROWS, BATCH, WIDTH, DEPTH = 17, 6, 100_000, 256, 256, 2
COUNTS = {"cql": 60}  # timed updates a round; 400 for the others
TARGET = Path(__file__).parents[1] / "results" / "bench" / "agents.csv"


def make_data():
    """Random transitions in episodes of 1000, equal on both sides."""
    import numpy as np

    rng = np.random.default_rng(0)
    timeouts = np.arange(ROWS) % 1000 == 999
    return {
        "observations": rng.normal(size=(ROWS, OBSERVATIONS)).astype(np.float32),
        "actions": np.tanh(rng.normal(size=(ROWS, ACTIONS))).astype(np.float32),
        "rewards": rng.normal(size=ROWS).astype(np.float32),
        "terminals": np.zeros(ROWS, np.float32),
        "timeouts": timeouts.astype(np.float32),
    }


# -- d3rlpy's side, run by its own interpreter -----------------------------------------------------------------------


def time_d3rlpy(agent: str, threads: int) -> turns.Timed:
    d3rlpy = turns.quiet_peer(threads)
    config, count = d3rlpy_config(d3rlpy, agent), COUNTS.get(agent, 400)
    return turns.time_peer(d3rlpy, config, make_data(), BATCH, count)


def d3rlpy_config(d3rlpy, agent: str):
    encoder = d3rlpy.models.encoders.VectorEncoderFactory([WIDTH] * DEPTH)
    actor_critic = {"actor_encoder_factory": encoder, "critic_encoder_factory": encoder}
    algos = d3rlpy.algos
    configs = {
        "bc": lambda: algos.BCConfig(batch_size=BATCH, encoder_factory=encoder),
        "awac": lambda: algos.AWACConfig(batch_size=BATCH, **actor_critic),
        "td3bc": lambda: algos.TD3PlusBCConfig(batch_size=BATCH, **actor_critic),
        "iql": lambda: algos.IQLConfig(
            batch_size=BATCH, value_encoder_factory=encoder, **actor_critic
        ),
        "cql": lambda: algos.CQLConfig(batch_size=BATCH, alpha_learning_rate=0.0, **actor_critic),
    }
    return configs[agent]()


# -- our side --------------------------------------------------------------------------------------------------------


def time_rlassay(agent: str, threads: int) -> turns.Timed:
    """The time of an update, and the operations of its matrix products."""
    if threads == 1:
        from rlassay import runtime

        runtime.use_threads(1)
    import jax
    import numpy as np

    from rlassay.kernel import fitting

    made, settings, columns = prepare_agent(agent)
    timed, state = turns.time_ours(made, columns, settings.batch_size, COUNTS.get(agent, 400))
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
        raise SystemExit(f"{agent} is not finite")
    batch = settings.batch_size * made.updates_per_step
    flops = product_flops(made.step, fitting.unstack(state, 0), columns, batch)
    return {
        **timed,
        "gflop": flops / made.updates_per_step / 1e9,
        "gflop_per_s": product_speed(),
    }


def prepare_agent(agent: str):
    import numpy as np

    from rlassay.agents import AGENTS, Shapes
    from rlassay.agents.columns import make_columns
    from rlassay.agents.training import make_settings
    from rlassay.data.dataset import Dataset

    changes = {"batch_size": BATCH, "width": WIDTH, "depth": DEPTH}
    settings = make_settings(agent, changes | ({"actor_depth": DEPTH} if agent == "awac" else {}))
    edge = np.ones(ACTIONS, np.float32)
    columns, _, _ = make_columns(
        Dataset.from_columns(**make_data()), AGENTS[agent], settings, -edge, edge
    )
    return AGENTS[agent].make(settings, Shapes(OBSERVATIONS, ACTIONS)), settings, columns


def product_flops(step, state, columns, batch: int) -> float:
    """Floating-point operations of all matrix products of one step, read from its jaxpr."""
    import jax
    import numpy as np

    from rlassay.kernel import fitting

    inputs = jax.tree.map(
        lambda leaf: leaf[0], fitting.draw_inputs(0, 0, 1, batch, ROWS // 2, None)
    )

    def count(jaxpr) -> float:
        total = 0.0
        for equation in jaxpr.eqns:
            if equation.primitive.name == "dot_general":
                (contract, _), _ = equation.params["dimension_numbers"]
                inner = np.prod([equation.invars[0].aval.shape[k] for k in contract])
                total += 2 * inner * np.prod(equation.outvars[0].aval.shape)
            rounds = equation.params["length"] if equation.primitive.name == "scan" else 1
            for value in equation.params.values():
                for part in value if isinstance(value, tuple | list) else [value]:
                    inner_jaxpr = getattr(part, "jaxpr", part)
                    total += rounds * count(inner_jaxpr) if hasattr(inner_jaxpr, "eqns") else 0.0
        return total

    return count(jax.make_jaxpr(step)(state, columns, inputs).jaxpr)


def product_speed() -> float:
    """GFLOP/s of products of the size that dominates: (256, 256) times (256, 256), many in one program."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones((BATCH, WIDTH)) / WIDTH

    @jax.jit
    def many(x, w):
        return jax.lax.fori_loop(0, 200, lambda _, y: y @ w, x)

    jax.block_until_ready(many(x, x))
    best = math.inf
    for _ in range(5):
        started = time.perf_counter()
        jax.block_until_ready(many(x, x))
        best = min(best, time.perf_counter() - started)
    return 200 * 2 * BATCH * WIDTH * WIDTH / best / 1e9


# -- the run ---------------------------------------------------------------------------------------------------------


def row(agent: str, threads: int, ours: list[turns.Timed], theirs: list[turns.Timed]) -> turns.Row:
    """Both sides, and the floor beside ours."""
    sizes = {"agent": agent, "threads": threads, "batch": BATCH, "width": WIDTH, "depth": DEPTH}
    floor = 1000 * ours[0]["gflop"] / max(o["gflop_per_s"] for o in ours)
    best = min(o["ms"] for o in ours)
    floors = {"floor_ms": round(floor, 3), "floor_share": round(floor / best, 2)}
    return {**sizes, **turns.side_by_side(ours, theirs), **floors, **turns.machine()}


def main() -> None:
    sides = {"rlassay": time_rlassay, "d3rlpy": time_d3rlpy}
    asked = turns.options(__doc__, AGENTS, TARGET)
    rows = turns.run(__file__, asked, sides, row)
    for count in asked.threads if rows else ():
        speedups = [float(str(r["speedup"])) for r in rows if r["threads"] == count]
        mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
        print(f"{count} threads: geometric mean of the speedups {mean:.2f}")


if __name__ == "__main__":
    main()
