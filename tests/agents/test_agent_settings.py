"""Every setting of every agent reaches the numbers; what is no setting is refused."""

import dataclasses
import functools
import tempfile
from contextlib import contextmanager

import jax
import numpy as np
import pytest
from agent_problems import assemble

from probes import walks
from rlassay.agents import AGENTS, SEVEN, train_agent
from rlassay.agents.training import make_settings
from rlassay.errors import SettingsError
from rlassay.kernel.fitting import draw_inputs

DATA = walks(episodes=6, length=8, dims=(3, 1))
BASE = {"width": 4, "batch_size": 4, "updates": 2, "bwd_critic_updates": 1, "bwd_width": 4}
BWD, GAP = {"regulariser": "bwd"}, {"regulariser": "value_gap"}
CLIPPED = {"weighting": "clipped_exponential"}

# field: (another value, what else must be set for it to matter)
CASES = {
    "updates": (4, {}),
    "batch_size": (5, {}),
    "learning_rate": (1e-2, {}),
    "width": (5, {}),
    "depth": (1, {}),
    "normalise_observations": (None, {}),  # the opposite of the default
    "eval_every": (2, {}),
    "eval_episodes": (2, {}),
    "final_eval_episodes": (2, {}),
    "final_evaluations": (2, {"eval_every": 2}),
    "discount": (0.5, {}),
    "target_rate": (0.5, {}),
    "reward_scaling": ("mean", {}),
    "regulariser": ("performance_difference", {}),
    "bwd_weight": (3.0, BWD),
    "bwd_critic": (None, BWD),  # the agent's own
    "bwd_critic_updates": (2, BWD),
    "bwd_epsilon": (2.0, BWD),
    "bwd_negatives": (2, BWD),
    "bwd_random": ("uniform", BWD),
    "bwd_width": (5, BWD),
    "bwd_learning_rate": (0.05, BWD),
    "bwd_distance": (0.5, GAP),
    "inverse_temperature": (0.5, {}),
    "weight_clip": (0.9, CLIPPED),
    "expectile": (0.9, {}),
    "gumbel_temperature": (1.0, {}),
    "gumbel_clip": (1e-3, {}),
    "huber_delta": (1e-3, {}),
    "value_weight": (1.0, {}),
    "policy_delay": (3, {}),
    "target_noise": (0.7, {}),
    "target_noise_clip": (1e-3, {}),
    "actor_depth": (2, {}),
    "weighting": ("clipped_exponential", {}),
    "temperature": (0.5, {}),
    "actor_weight_decay": (0.5, {}),
    "critic_share": (0.1, {}),
    "action_samples": (3, {}),
    "actor_learning_rate": (1e-2, {}),
    "conservative_weight": (1.0, {}),
    "conservative_temperature": (2.0, {}),
    "cloning_share": (0.9, {}),
    "likelihood_margin": (0.99, {"cloning_share": 0.9}),
    "conservative_scaling": ("values", {}),
}
EVALUATION = {"eval_every", "eval_episodes", "final_eval_episodes", "final_evaluations"}
IMPROVEMENT = {"inverse_temperature", "weight_clip", "action_samples"}  # of OnestepRL's second part
SIZES = {"width", "depth", "actor_depth", "bwd_width"}  # already the new networks have other shapes
WITHOUT_SIMULATOR = {
    "held_out_share",
    "patience",
}  # read where no simulator judges: test_held_out.py
FIELDS = [
    (agent, field.name)
    for agent in SEVEN
    for field in dataclasses.fields(AGENTS[agent].settings)
    if field.name not in WITHOUT_SIMULATOR
]


def known(agent: str, changes: dict) -> dict:
    names = {field.name for field in dataclasses.fields(AGENTS[agent].settings)}
    return {name: value for name, value in changes.items() if name in names}


@functools.lru_cache
def numbers(agent: str, changes: tuple, evaluation: bool) -> list[np.ndarray]:
    """The trained state; of a setting of the evaluation, the curve. Op by op: nothing here is worth compiling."""
    if not evaluation:
        state, policy = learn_uncompiled(agent, dict(changes))
        return [*map(np.asarray, jax.tree.leaves(state)), policy(DATA.observations)]
    plan = {"eval_every": 6, "eval_episodes": 1, **dict(changes), "updates": 6}
    with idle(agent), tempfile.TemporaryDirectory() as folder:
        run = train_agent(agent, DATA, "Pendulum-v1", folder=folder, settings=plan)
    curve = [np.array([e.update, *e.returns]) for e in run.evaluations]
    return [*curve, np.array(run.mean_return)]


@contextmanager
def idle(agent: str):
    """The agent with updates that do nothing: evaluation is the trainer's business, and compiles nothing then."""
    kind = AGENTS[agent]

    def make(settings, shapes):
        return kind.make(settings, shapes)._replace(step=lambda state, columns, inputs: (state, {}))

    AGENTS[agent] = kind._replace(make=make)
    try:
        yield
    finally:
        AGENTS[agent] = kind


def learn_uncompiled(agent: str, changes: dict):
    made, settings, columns, frame = assemble(agent, DATA, changes)
    with jax.disable_jit():
        state = made.prepare(made.init(0), columns, 0)
    each, update = made.updates_per_step, made.step
    if (
        settings.batch_size != BASE["batch_size"]
    ):  # every operation has a new shape: compile all at once
        update = jax.jit(update)
    for step in range(-(-settings.updates // each)):
        drawn = draw_inputs(0, step, 1, settings.batch_size * each, len(columns.packed), None)
        state, _ = update(state, columns, jax.tree.map(lambda leaf: leaf[0], drawn))
    return state, frame.policy(made.layers(state), {})


def sizes(agent: str, changes: dict) -> list[tuple[int, ...]]:
    made, *_ = assemble(agent, DATA, changes)
    return [leaf.shape for leaf in jax.tree.leaves(made.init(0))]


def differ(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    if len(first) != len(second):
        return True
    return any(a.shape != b.shape or (a != b).any() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("agent", "field"), FIELDS)
def test_every_setting_changes_the_result(agent, field):
    value, context = CASES[field]
    if agent == "onestep" and field in IMPROVEMENT:
        context = {"critic_share": 0.0}
    base = known(agent, BASE | context)
    default = getattr(make_settings(agent, base), field)
    if field == "normalise_observations":
        value = not default
    if field == "bwd_critic":
        value = agent
    assert value != default
    if field in SIZES:
        assert sizes(agent, base) != sizes(agent, base | {field: value})
        return
    evaluation = field in EVALUATION
    before = numbers(agent, tuple(base.items()), evaluation)
    after = numbers(agent, tuple((base | {field: value}).items()), evaluation)
    assert differ(before, after)


@pytest.mark.parametrize("agent", SEVEN)
def test_unknown_and_impossible_settings_are_refused(agent):
    for changes in ({"wdith": 3}, {"updates": 0}, {"learning_rate": -1.0}, {"batch_size": "many"}):
        with pytest.raises(SettingsError):
            make_settings(agent, changes)


def test_names_that_stay_stable():
    for agent in SEVEN:
        names = {field.name for field in dataclasses.fields(AGENTS[agent].settings)}
        stable = {
            "updates",
            "batch_size",
            "discount",
            "learning_rate",
            "eval_every",
            "eval_episodes",
        }
        assert stable - names == ({"discount"} if agent == "bc" else set())
