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
    (
        "agents/losses.py",
        "raw = difference / temperature",
        "raw = difference * temperature",
        f"{UPDATES}::test_xql",
    ),
    (
        "agents/losses.py",
        "jnp.maximum(z.max(), -1.0)",
        "jnp.maximum(z.max(), 1.0)",
        f"{LOSSES}::test_the_gumbel_loss_is_scaled_and_clipped_above_only",
    ),
    (
        "agents/losses.py",
        "z = jnp.minimum(raw, clip)",
        "z = jnp.clip(raw, -clip, clip)",
        f"{LOSSES}::test_the_gumbel_loss_is_scaled_and_clipped_above_only",
    ),
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
        f"{LOSSES}::test_the_expectile_loss_finds_the_expectile",
    ),
    (
        "agents/losses.py",
        "0.5 * inner**2 + delta * (error - inner)",
        "inner**2 + delta * (error - inner)",
        f"{LOSSES}::test_twin_losses_average_the_batch_and_add_the_critics",
    ),
    (
        "agents/losses.py",
        "jax.nn.softmax(advantage / temperature)",
        "jax.nn.softmax(advantage * temperature)",
        f"{LOSSES}::test_weights_of_advantages",
    ),
    (
        "agents/losses.py",
        "jnp.minimum(jnp.exp(inverse_temperature * advantage), clip)",
        "jnp.exp(jnp.minimum(inverse_temperature * advantage, clip))",
        f"{LOSSES}::test_weights_of_advantages",
    ),
    (
        "agents/losses.py",
        "(-0.5 * z**2 - log_std - 0.5 * LOG_TWO_PI).sum(axis=-1)\n\n\ndef tanh_gaussian(",
        "(-0.5 * z**2 + log_std - 0.5 * LOG_TWO_PI).sum(axis=-1)\n\n\ndef tanh_gaussian(",
        f"{LOSSES}::test_densities_against_scipy",
    ),
    (
        "agents/losses.py",
        "jnp.tanh(raw), normal - tanh_log_slope(raw)",
        "jnp.tanh(raw), normal + tanh_log_slope(raw)",
        f"{LOSSES}::test_densities_against_scipy",
    ),
    (
        "agents/losses.py",
        "(soft_maximum - data_values).mean(axis=-1).sum()",
        "(soft_maximum + data_values).mean(axis=-1).sum()",
        f"{LOSSES}::test_the_conservative_gap_is_a_soft_maximum_above_the_data",
    ),
    (
        "agents/losses.py",
        "jax.lax.stop_gradient(jnp.abs(values).mean())",
        "jnp.abs(values).mean()",
        f"{UPDATES}::test_td3bc",
    ),
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
        f"{REGULARISERS}::test_at_optimal_potentials_only_the_distance_reaches_the_actor",
    ),
    (
        "agents/regularisers.py",
        "(batch.sarsa_known * error**2).mean()",
        "(error**2).mean()",
        f"{LOSSES}::test_the_behavioural_critic_learns_from_known_rows_without_a_gradient_through_the_target",
    ),
    (
        "agents/regularisers.py",
        "    following = jax.lax.stop_gradient(following)\n",
        "",
        f"{LOSSES}::test_the_behavioural_critic_learns_from_known_rows_without_a_gradient_through_the_target",
    ),
    (
        "agents/regularisers.py",
        "own - random_values.mean(axis=0)",
        "own - random_values[0]",
        f"{REGULARISERS}::test_performance_difference_weights_compare_with_random_actions",
    ),
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
    (
        "kernel/checkpoint.py",
        "if _content(folder / name) != content",
        "if _content(folder / name) is None",
        f"{RESUMED}::test_missing_and_stale_outputs_of_a_finished_run_are_written_again",
    ),
    (
        "agents/training.py",
        "        checkpoint.restore_outputs(self.folder, saved.outputs or self._outputs_of_before())\n",
        "",
        f"{RESUMED}::test_missing_and_stale_outputs_of_a_finished_run_are_written_again",
    ),
    (
        "agents/training.py",
        "    with only_writer(Path(folder)):\n",
        "    if True:\n",
        f"{RESUMED}::test_a_second_writer_is_refused_in_one_sentence",
    ),
    (
        "agents/prolong.py",
        "if asked.kind.schedule is not None:",
        "if False:",
        f"{RESUMED}::test_where_that_would_be_another_run_it_is_refused",
    ),
    (
        "agents/prolong.py",
        "left < settings.final_evaluations",
        "left <= settings.final_evaluations",
        f"{TRAINING}::test_the_score_is_the_mean_of_the_last_evaluations",
    ),
    (
        "collect/progress.py",
        "    restore_curve(folder, saved)\n    return",
        "    return",
        f"{TD3}::test_a_stale_curve_beside_a_finished_state_is_written_again",
    ),
    (
        "collect/sources.py",
        "if wanted is not None and file_hash(path) != wanted:",
        "if wanted is None:",
        f"{TD3}::test_a_swapped_actor_is_refused",
    ),
    (
        "engine/lock.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        f"{RESUMED}::test_a_second_writer_is_refused_in_one_sentence",
    ),
]
