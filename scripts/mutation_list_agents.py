"""Mutations of agents, checkpoints, rollouts and collection: each is caught by one of the tests named beside it.

A mutation is (file under src/rlassay, old text, new text, tests); the old text stands in the file exactly once.
"""

from __future__ import annotations

UPDATES = "tests/agents/test_agent_updates.py"
REGULARISERS = "tests/agents/test_regularisers.py"
RESUMED = "tests/agents/test_resumed_runs.py"
TRAINING = "tests/agents/test_training.py"
LOSSES = "tests/agents/test_losses.py"
ROLLOUT = "tests/agents/test_rollout.py"
TD3 = "tests/collect/test_resumed_td3.py"
KERNEL = "tests/agents/test_kernel.py"
FROZEN = f"{REGULARISERS}::test_the_sarsa_critic_is_trained_before_and_frozen_after"

MUTATIONS_AGENTS: list[tuple[str, str, str, str]] = [
    # losses
    (
        "agents/losses.py",
        "raw = difference / temperature",
        "raw = difference * temperature",
        f"{UPDATES}::test_xql",
    ),
    ("agents/losses.py", "jnp.maximum(z.max(), -1.0)", "jnp.maximum(z.max(), 1.0)", LOSSES),
    ("agents/losses.py", "z = jnp.minimum(raw, clip)", "z = jnp.clip(raw, -clip, clip)", LOSSES),
    (
        "agents/losses.py",
        "rewards + discount * not_terminal * next_value",
        "rewards + discount * next_value",
        f"{UPDATES}::test_iql",
    ),
    (
        "agents/losses.py",
        "difference < 0, 1 - expectile, expectile",
        "difference < 0, expectile, 1 - expectile",
        LOSSES,
    ),
    (
        "agents/losses.py",
        "0.5 * inner**2 + delta * (error - inner)",
        "inner**2 + delta * (error - inner)",
        LOSSES,
    ),
    (
        "agents/losses.py",
        "jax.nn.softmax(advantage / temperature)",
        "jax.nn.softmax(advantage * temperature)",
        LOSSES,
    ),
    (
        "agents/losses.py",
        "jnp.minimum(jnp.exp(inverse_temperature * advantage), clip)",
        "jnp.exp(jnp.minimum(inverse_temperature * advantage, clip))",
        LOSSES,
    ),
    (
        "agents/losses.py",
        "(-0.5 * z**2 - log_std - 0.5 * LOG_TWO_PI).sum(axis=-1)\n\n\ndef tanh_gaussian(",
        "(-0.5 * z**2 + log_std - 0.5 * LOG_TWO_PI).sum(axis=-1)\n\n\ndef tanh_gaussian(",
        LOSSES,
    ),
    (
        "agents/losses.py",
        "jnp.tanh(raw), normal - tanh_log_slope(raw)",
        "jnp.tanh(raw), normal + tanh_log_slope(raw)",
        LOSSES,
    ),
    (
        "agents/losses.py",
        "(soft_maximum - data_values).mean(axis=-1).sum()",
        "(soft_maximum + data_values).mean(axis=-1).sum()",
        LOSSES,
    ),
    (
        "agents/losses.py",
        "jax.lax.stop_gradient(jnp.abs(values).mean())",
        "jnp.abs(values).mean()",
        f"{UPDATES}::test_td3bc",
    ),
    # agents
    ("agents/bc.py", "(error**2).mean()", "jnp.abs(error).mean()", f"{UPDATES}::test_bc"),
    (
        "agents/onestep.py",
        "values[0] - values[1:].mean(axis=0)",
        "values[0] - values.mean(axis=0)",
        f"{UPDATES}::test_onestep_improves_and_the_rest_is_frozen",
    ),
    (
        "agents/onestep.py",
        "OnestepState(state.updates + 1, actor, actor.params, critic, moved)",
        "OnestepState(state.updates + 1, actor, state.behaviour, critic, moved)",
        f"{UPDATES}::test_onestep_learns_the_behaviour",
    ),
    (
        "agents/onestep.py",
        "batch.next_observations, batch.next_actions)",
        "batch.next_observations, batch.actions)",
        f"{UPDATES}::test_onestep_learns_the_behaviour",
    ),
    (
        "agents/implicit.py",
        "descend(adam, state.critic, critic_loss, batch, target, settings)",
        "descend(adam, state.critic, critic_loss, batch, target + 0.01, settings)",
        f"{UPDATES}::test_xql",
    ),
    (
        "agents/implicit.py",
        "nets.scalar(critic_target, observations, actions).min(axis=0)",
        "nets.scalar(critic_target, observations, actions).max(axis=0)",
        f"{UPDATES}::test_iql",
    ),
    (
        "agents/awac.py",
        "target_value(\n        state.actor.params, state.critic_target,",
        "target_value(\n        state.actor.params, state.critic.params,",
        f"{UPDATES}::test_awac",
    ),
    (
        "agents/td3bc.py",
        "jnp.clip(smoothing, -settings.target_noise_clip, settings.target_noise_clip)",
        "jnp.clip(smoothing, -1, 1)",
        f"{UPDATES}::test_td3bc",
    ),
    ("agents/cql.py", "values[:, 1:] - log_density.T", "values[:, 1:]", f"{UPDATES}::test_cql"),
    # regularisers
    (
        "agents/regularisers.py",
        "RegulariserState(state.critic, potentials, *size)",
        "RegulariserState(jax.tree.map(lambda leaf: 1.01 * leaf, state.critic), potentials, *size)",
        FROZEN,
    ),
    (
        "agents/regularisers.py",
        "    return state, {}\n",
        "    return jax.tree.map(lambda leaf: 1.01 * leaf, state), {}\n",
        FROZEN,
    ),
    (
        "agents/regularisers.py",
        "random_values - ((random_actions - actions) ** 2)",
        "random_values + ((random_actions - actions) ** 2)",
        REGULARISERS,
    ),
    (
        "agents/regularisers.py",
        "(batch.sarsa_known * error**2).mean()",
        "(error**2).mean()",
        LOSSES,
    ),
    ("agents/regularisers.py", "following = jax.lax.stop_gradient(following)\n", "", LOSSES),
    (
        "agents/regularisers.py",
        "own - random_values.mean(axis=0)",
        "own - random_values[0]",
        f"{REGULARISERS}::test_performance_difference_weights_compare_with_random_actions",
    ),
    # data, policies and rollouts
    (
        "agents/columns.py",
        "~data.terminals[rows]",
        "~(data.terminals | data.timeouts)[rows]",
        f"{UPDATES}::test_timeouts_bootstrap_and_terminals_do_not",
    ),
    (
        "kernel/units.py",
        "(low + high) / 2 + (high - low) / 2 * units",
        "(high - low) / 2 * units",
        KERNEL,
    ),
    (
        "kernel/units.py",
        "(actions - (low + high) / 2) / ((high - low) / 2)",
        "(actions - low) / ((high - low) / 2)",
        KERNEL,
    ),
    ("kernel/forward.py", "        np.maximum(x, 0, out=x)\n", "", KERNEL),
    (
        "policy.py",
        "(observations - self.mean) / self.scale",
        "(observations - self.mean) * self.scale",
        f"{TRAINING}::test_the_saved_policy_acts_as_the_agent",
    ),
    ("rollout.py", "if not (terminated or truncated):", "if not terminated:", ROLLOUT),
    ("rollout.py", "cut = (truncated and not terminated) or", "cut = truncated or", ROLLOUT),
    (
        "results/run.py",
        "self.evaluations[-self.final_evaluations :]",
        "self.evaluations[-1:]",
        f"{TRAINING}::test_the_score_is_the_mean_of_the_last_evaluations",
    ),
    # checkpoints and what is written
    (
        "kernel/checkpoint.py",
        "if _content(folder / name) != content",
        "if _content(folder / name) is None",
        RESUMED,
    ),
    (
        "agents/training.py",
        "        checkpoint.restore_outputs(self.folder, saved.outputs or self._outputs_of_before())\n",
        "",
        RESUMED,
    ),
    ("agents/training.py", "    with only_writer(Path(folder)):\n", "    if True:\n", RESUMED),
    ("agents/prolong.py", "if asked.kind.schedule is not None:", "if False:", RESUMED),
    (
        "agents/prolong.py",
        "left < settings.final_evaluations",
        "left <= settings.final_evaluations",
        f"{TRAINING}::test_the_score_is_the_mean_of_the_last_evaluations",
    ),
    ("collect/progress.py", "    restore_curve(folder, saved)\n    return", "    return", TD3),
    (
        "collect/sources.py",
        "if wanted is not None and file_hash(path) != wanted:",
        "if wanted is None:",
        TD3,
    ),
    ("engine/lock.py", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", RESUMED),
]
