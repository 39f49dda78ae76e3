"""Our side of bench_scoring.py: python scoring_ours.py critic|dual|closed STEPS; prints seconds as JSON."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

import numpy as np

from rlassay import runtime

ROWS, STATE_DIM, ACTION_DIM, BATCH, HIDDEN = 100_000, 17, 6, 256, 256
INPUTS = STATE_DIM + ACTION_DIM

# Matrix products of one step as (rows, inner, columns): forward, gradient of the weights; twice for two networks.
FORWARD, BACKWARD = (BATCH, INPUTS, HIDDEN), (INPUTS, BATCH, HIDDEN)
PRODUCTS = {
    "critic": [FORWARD, FORWARD, BACKWARD, (BATCH, STATE_DIM, HIDDEN), (STATE_DIM, BATCH, HIDDEN)],
    "dual": [FORWARD, FORWARD, FORWARD, BACKWARD, BACKWARD],
}


def seconds(function) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def arithmetic(work: str, steps: int) -> float:
    """Seconds of the matrix products alone, by BLAS on one thread, the best of several rounds."""
    operands = [
        (np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.empty((m, n), np.float32))
        for m, k, n in PRODUCTS[work]
    ]

    def rounds():
        for _ in range(500):
            for a, b, out in operands:
                np.matmul(a, b, out=out)

    return min(seconds(rounds) for _ in range(5)) / 500 * steps


def dataset():
    from rlassay.data.dataset import Dataset, Origin

    rng = np.random.default_rng(0)
    ends = np.arange(1, ROWS + 1) % 1_000 == 0
    return Dataset.from_columns(
        observations=rng.normal(size=(ROWS, STATE_DIM)).astype(np.float32),
        actions=rng.uniform(-1, 1, (ROWS, ACTION_DIM)).astype(np.float32),
        rewards=rng.normal(size=ROWS).astype(np.float32),
        terminals=np.zeros(ROWS, bool),
        timeouts=ends,
        origin=Origin(action_low=-np.ones(ACTION_DIM), action_high=np.ones(ACTION_DIM)),
    )


def critic_work(steps: int):
    from rlassay.critic import PAPER, Scaling
    from rlassay.critic.compiled import fit_networks
    from rlassay.critic.targets import split_episodes, training_columns

    data = dataset()
    scaling = Scaling.of(data)
    training, _ = split_episodes(data, ROWS, 0.2, 0)
    columns = training_columns(data, training, scaling)
    settings = replace(PAPER, steps=steps)

    def run(seeds, settings=settings):
        fit_networks(columns, scaling, settings, seeds, lambda done, news: None)

    return run


def frozen_critic(seeds: int):
    from rlassay.kernel import nets

    rng = np.random.default_rng(1)
    return nets.init_mlp(rng, (INPUTS, HIDDEN, 1), ensemble=seeds)


def q_apply(params, states, actions):
    from rlassay.kernel import nets

    return nets.scalar(params, states, actions)


def problem():
    from rlassay.transport import Problem

    data = dataset()
    return Problem(
        states=data.observations,
        actions=data.actions,
        episodes=data.episode_index,
        low=-np.ones(ACTION_DIM),
        high=np.ones(ACTION_DIM),
        q_apply=q_apply,
        q_params=frozen_critic(3),
        training_rows=np.arange(80_000),
        evaluation_rows=np.arange(80_000, ROWS),
    )


def dual_work(steps: int):
    from rlassay.transport import TransportSettings, estimate

    posed = problem()
    settings = TransportSettings(estimator="dual", steps=steps, batch_size=BATCH, hidden=HIDDEN)
    return lambda seeds: estimate(posed, settings, seeds)


def closed_form() -> dict[str, float]:
    """Seconds of `exact` and `tail` on 20,000 held-out transitions, with compilation and without."""
    from rlassay.transport import TransportSettings, estimate

    posed = problem()
    found = {}
    for name in ("exact", "tail"):
        settings = TransportSettings(estimator=name)
        found[f"{name}_first"] = seconds(lambda chosen=settings: estimate(posed, chosen, [0]))
        found[f"{name}_again"] = seconds(lambda chosen=settings: estimate(posed, chosen, [0]))
    return found


def main(work: str, steps: int) -> dict[str, float]:
    runtime.compute_where_called()  # as the command line does
    import jax

    jax.numpy.zeros(1).block_until_ready()  # starting JAX is not part of either side's work
    if work == "closed":
        return closed_form()
    run = {"critic": critic_work, "dual": dual_work}[work](steps)
    found = {"cold": seconds(lambda: run((0,)))}
    before = time.process_time()
    found["warm"] = seconds(lambda: run((1,)))
    found["warm_cpu"] = time.process_time() - before
    found["three_seeds_cold"] = seconds(lambda: run((2, 3, 4)))  # the further cores compile
    found["three_seeds"] = seconds(lambda: run((5, 6, 7)))
    found["arithmetic"] = arithmetic(work, steps)
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
