"""Regularisers of the actor: Algorithm 2 of the paper, and two variants that see the value of the policy's actions.

A regulariser hands an actor loss two things: `term`, added to the loss, and `weights`, added to the weights of its
cloning part. What each pushes the policy towards is derived in docs/regularisers.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents.agent import PREPARE_STREAM, Shapes, ValueSettings
from rlassay.agents.columns import Columns
from rlassay.agents.learner import Learner, descend, new_learner
from rlassay.agents.losses import mean_absolute, td_target
from rlassay.kernel import fitting, nets

LARGEST_EXPONENT = 20.0  # beyond it the exponential goes on as its tangent
STATISTICS_RATE = 0.01  # of the running mean and deviation of the cost
Value = Callable[[jax.Array, jax.Array], jax.Array]  # Q of (observations, actions)


@dataclass(frozen=True)
class RegularisedSettings(ValueSettings):
    """Settings of the actor's regulariser; `bwd_weight` is the paper's lambda."""

    regulariser: Literal["none", "bwd", "value_gap", "performance_difference"] = "none"
    bwd_weight: float = 1.0
    bwd_critic: str = "sarsa"  # pre-trained and frozen; or the agent's own, by the agent's name
    bwd_critic_updates: int = 10_000  # of the SARSA critic, before the first update
    bwd_epsilon: float = 1.0  # of the entropic dual
    bwd_negatives: int = 1  # random actions per state
    bwd_random: Literal["normal", "uniform"] = "normal"  # normal: standard, clipped to the bounds
    bwd_width: int = 256  # units of the one hidden layer of potentials and SARSA critic
    bwd_learning_rate: float = 3e-4
    bwd_distance: float = 0.1  # weight of the squared distance in `value_gap`


class Regulariser(NamedTuple):
    """`value` is the agent's own Q; `actions` are the policy's mean actions, and carry its gradient."""

    init: Callable[[np.random.Generator], Any]
    prepare: Callable[[Any, Columns, int], Any]
    term: Callable[[Any, Value, jax.Array, jax.Array, jax.Array], Any]
    weights: Callable[[Any, Value, jax.Array, jax.Array, jax.Array], Any]
    update: Callable[
        [Any, Value, jax.Array, jax.Array, jax.Array], tuple[Any, dict[str, jax.Array]]
    ]


class RegulariserState(NamedTuple):
    """The frozen critic (if SARSA), the potentials, and the running size of the cost."""

    critic: Any
    potentials: Any
    centre: Any
    spread: Any


NONE = Regulariser(
    init=lambda rng: (),
    prepare=lambda state, columns, seed: state,
    term=lambda *_: 0.0,
    weights=lambda *_: 0.0,
    update=lambda state, *_: (state, {}),
)


def make_regulariser(settings: RegularisedSettings, shapes: Shapes) -> Regulariser:
    """The regulariser the settings name."""
    if settings.regulariser == "none":
        return NONE
    kind = {"bwd": _bwd, "value_gap": _value_gap, "performance_difference": _performance_difference}
    return kind[settings.regulariser](settings, shapes)


# -- Algorithm 2 ---------------------------------------------------------------------------------------------------


def transport_cost(random_values, random_actions, actions) -> jax.Array:
    """The paper's cost Q(s, a') - |a' - a|^2 for K random actions a' per state: (K, batch)."""
    return random_values - ((random_actions - actions) ** 2).sum(axis=-1)


def bwd_objective(g: jax.Array, f: jax.Array, cost: jax.Array, epsilon: float) -> jax.Array:
    """The entropic dual E g + E f - epsilon E exp((g + f - cost) / epsilon); g (batch,), f and cost (K, batch)."""
    return g.mean() + f.mean() - epsilon * _bounded_exp((g + f - cost) / epsilon).mean()


def _bounded_exp(x: jax.Array) -> jax.Array:
    inner = jnp.minimum(x, LARGEST_EXPONENT)
    return jnp.exp(inner) * (1 + x - inner)


def _bwd(settings: RegularisedSettings, shapes: Shapes) -> Regulariser:
    adam = optax.adam(settings.bwd_learning_rate)

    def init(rng: np.random.Generator) -> RegulariserState:
        sizes = [sum(shapes), settings.bwd_width, 1]
        potentials = {name: nets.init_mlp(rng, sizes) for name in ("g", "f")}
        critic = _init_critic(settings, shapes, rng)
        return RegulariserState(critic, new_learner(adam, potentials), jnp.zeros(()), jnp.zeros(()))

    def objective(potentials, state, value, observations, actions, key):
        random = draw_random(settings, key, actions.shape)
        values = _random_values(settings, state, value, observations, random)
        cost = transport_cost(values, random, actions)
        centre, spread = _running_size(state, cost)
        g = centre / 2 + spread * nets.scalar(potentials["g"], observations, actions)
        f = centre / 2 + spread * nets.scalar_per_state(potentials["f"], observations, random)
        return bwd_objective(g, f, cost, settings.bwd_epsilon), (centre, spread)

    def term(state, value, observations, actions, key):
        estimate, _ = objective(state.potentials.params, state, value, observations, actions, key)
        return -settings.bwd_weight * estimate

    def update(state, value, observations, actions, key):
        def loss(potentials):
            estimate, size = objective(potentials, state, value, observations, actions, key)
            return -estimate, size

        potentials, negative, (centre, spread) = descend(adam, state.potentials, loss)
        state = RegulariserState(state.critic, potentials, centre, spread)
        return state, {"bwd": -negative}

    return Regulariser(init, _sarsa_prepare(settings, shapes), term, lambda *_: 0.0, update)


def _running_size(state: RegulariserState, cost: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Running mean and deviation of the cost, so that a unit of the networks is a unit of the problem."""
    centre, spread = jax.lax.stop_gradient((cost.mean(), cost.std() + 1e-3))
    rate = jnp.where(state.spread == 0, 1.0, STATISTICS_RATE)
    return state.centre + rate * (centre - state.centre), state.spread + rate * (
        spread - state.spread
    )


# -- variants with a gradient through Q ----------------------------------------------------------------------------


def _value_gap(settings: RegularisedSettings, shapes: Shapes) -> Regulariser:
    def term(state, value, observations, actions, key):
        own, random, random_values = _compare(settings, state, value, observations, actions, key)
        gap = jax.nn.relu(own - random_values).mean() / mean_absolute(own)
        distance = ((random - actions) ** 2).sum(axis=-1).mean()
        return -settings.bwd_weight * (gap + settings.bwd_distance * distance)

    return _without_potentials(settings, shapes, term=term)


def _performance_difference(settings: RegularisedSettings, shapes: Shapes) -> Regulariser:
    def weights(state, value, observations, actions, key):
        own, _, random_values = _compare(settings, state, value, observations, actions, key)
        difference = (own - random_values.mean(axis=0)) / mean_absolute(own)
        return jax.lax.stop_gradient(settings.bwd_weight * difference)

    return _without_potentials(settings, shapes, weights=weights)


def _without_potentials(
    settings, shapes, term=lambda *_: 0.0, weights=lambda *_: 0.0
) -> Regulariser:
    def init(rng: np.random.Generator) -> RegulariserState:
        return RegulariserState(_init_critic(settings, shapes, rng), (), (), ())

    def update(state, *_):
        return state, {}

    return Regulariser(init, _sarsa_prepare(settings, shapes), term, weights, update)


# -- shared pieces -------------------------------------------------------------------------------------------------


def draw_random(settings: RegularisedSettings, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """K random actions per state in unit coordinates: (K, batch, action)."""
    shape = (settings.bwd_negatives, *shape)
    if settings.bwd_random == "uniform":
        return jax.random.uniform(key, shape, minval=-1, maxval=1)
    return jnp.clip(jax.random.normal(key, shape), -1, 1)


def _compare(settings, state, value, observations, actions, key):
    """Q of the policy's actions, random actions, and their Q."""
    random = draw_random(settings, key, actions.shape)
    own = _critic(settings, state, value)(observations, actions)
    return own, random, _random_values(settings, state, value, observations, random)


def _random_values(settings, state, value, observations, random) -> jax.Array:
    critic = _critic(settings, state, value)
    return jax.lax.stop_gradient(jax.vmap(critic, (None, 0))(observations, random))


def _critic(settings, state, value) -> Value:
    if settings.bwd_critic != "sarsa":
        return value
    return lambda observations, actions: nets.scalar(state.critic, observations, actions)


def _init_critic(settings, shapes, rng) -> Any:
    if settings.bwd_critic != "sarsa":
        return ()
    return nets.init_mlp(rng, [sum(shapes), settings.bwd_width, 1])


def _sarsa_prepare(settings: RegularisedSettings, shapes: Shapes):
    """Fit the behavioural critic before the first update: Algorithm 1's, without a target network."""
    adam = optax.adam(settings.bwd_learning_rate)

    def loss(critic, batch):
        following = nets.scalar(critic, batch.next_observations, batch.next_actions)
        following = jax.lax.stop_gradient(following)
        target = td_target(batch.rewards, batch.not_terminal, settings.discount, following)
        error = nets.scalar(critic, batch.observations, batch.actions) - target
        return (batch.sarsa_known * error**2).mean(), None

    def step(learner: Learner, columns: Columns, inputs: fitting.Inputs):
        learner, value, _ = descend(adam, learner, loss, columns.batch(inputs.rows, shapes))
        return learner, {"loss": value}

    def prepare(state: RegulariserState, columns: Columns, seed: int) -> RegulariserState:
        if settings.bwd_critic != "sarsa":
            return state
        start = fitting.stack([new_learner(adam, state.critic)])
        fitted = fitting.fit(
            step,
            start,
            columns,
            rows=len(columns.packed),
            steps=settings.bwd_critic_updates,
            batch_size=settings.batch_size,
            seeds=[int(np.random.SeedSequence([seed, PREPARE_STREAM]).generate_state(1)[0])],
        )
        return state._replace(critic=fitting.unstack(fitted.params, 0))

    return prepare
