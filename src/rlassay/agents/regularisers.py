"""Regularisers of the actor: Algorithm 2 of the paper, and two variants that see the value of the policy's actions.

A regulariser hands an actor loss two things: `term`, added to the loss, and `weights`, added to the weights of its
cloning part. What each pushes the policy towards is derived in docs/regularisers.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.agents.agent import Shapes, ValueSettings
from rlassay.agents.columns import Batch, Columns
from rlassay.agents.learner import Learner, descend, new_learner
from rlassay.agents.losses import mean_absolute, td_target
from rlassay.kernel import fitting, nets

PREPARE_STREAM = 12  # of the random numbers before the first update
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


class Pull(NamedTuple):
    """A regulariser as an actor loss sees it: functions of observations and of the policy's mean actions."""

    term: Callable[[jax.Array, jax.Array], Any]  # added to the loss
    weights: Callable[[jax.Array, jax.Array], Any]  # added to the weights of cloning


class Regulariser(NamedTuple):
    """`value` is the agent's own Q; `actions` are the policy's mean actions, and carry its gradient."""

    init: Callable[[np.random.Generator], Any]
    prepare: Callable[[Any, Columns, int], Any]
    term: Callable[[Any, Value, jax.Array, jax.Array, jax.Array], Any]
    weights: Callable[[Any, Value, jax.Array, jax.Array, jax.Array], Any]
    update: Callable[
        [Any, Value, jax.Array, jax.Array, jax.Array], tuple[Any, dict[str, jax.Array]]
    ]

    def pull(self, state: Any, value: Value, key: jax.Array) -> Pull:
        """What this state of the regulariser does to an actor loss."""
        return Pull(
            lambda observations, actions: self.term(state, value, observations, actions, key),
            lambda observations, actions: self.weights(state, value, observations, actions, key),
        )


class RegulariserState(NamedTuple):
    """The frozen critic (if SARSA), the potentials, and the running size of the cost."""

    critic: Any
    potentials: Any
    centre: Any
    spread: Any


def _zero(*_: Any) -> float:
    return 0.0


def _unchanged(state: Any, *_: Any) -> tuple[Any, dict[str, jax.Array]]:
    return state, {}


NONE = Regulariser(
    init=lambda rng: (),
    prepare=lambda state, columns, seed: state,
    term=_zero,
    weights=_zero,
    update=_unchanged,
)
NO_PULL = Pull(_zero, _zero)


@functools.lru_cache
def make_regulariser(settings: RegularisedSettings, shapes: Shapes) -> Regulariser:
    """The regulariser the settings name."""
    if settings.regulariser == "none":
        return NONE
    plain = Regulariser(
        init=partial(_init, settings, shapes),
        prepare=partial(_fit_sarsa_critic, settings, partial(sarsa_step, settings, shapes)),
        term=_zero,
        weights=_zero,
        update=_unchanged,
    )
    if settings.regulariser == "bwd":
        return plain._replace(
            term=partial(bwd_term, settings), update=partial(bwd_update, settings)
        )
    if settings.regulariser == "value_gap":
        return plain._replace(term=partial(value_gap_term, settings))
    return plain._replace(weights=partial(performance_difference_weights, settings))


def prepared(
    settings: RegularisedSettings, shapes: Shapes, state: Any, columns: Columns, seed: int
):
    """An agent's state with what its regulariser learns before the first update."""
    regulariser = make_regulariser(settings, shapes)
    return state._replace(regulariser=regulariser.prepare(state.regulariser, columns, seed))


def _init(settings: RegularisedSettings, shapes: Shapes, rng: np.random.Generator) -> Any:
    sizes, potentials, size = [sum(shapes), settings.bwd_width, 1], (), ()
    if settings.regulariser == "bwd":
        fresh = {name: nets.init_mlp(rng, sizes) for name in ("g", "f")}
        potentials, size = new_learner(_adam(settings), fresh), jnp.zeros(())
    critic = nets.init_mlp(rng, sizes) if settings.bwd_critic == "sarsa" else ()
    return RegulariserState(critic, potentials, size, jax.tree.map(jnp.array, size))


def _adam(settings: RegularisedSettings) -> optax.GradientTransformation:
    return optax.adam(settings.bwd_learning_rate)


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


def bwd_loss(potentials, settings: RegularisedSettings, state, value, observations, actions, key):
    """Minus the dual's estimate, and the running size of the cost; potentials are in units of that size."""
    random = draw_random(settings, key, actions.shape)
    values = _random_values(settings, state, value, observations, random)
    cost = transport_cost(values, random, actions)
    centre, spread = _running_size(state, cost)
    g = centre / 2 + spread * nets.scalar(potentials["g"], observations, actions)
    f = centre / 2 + spread * nets.scalar_per_state(potentials["f"], observations, random)
    return -bwd_objective(g, f, cost, settings.bwd_epsilon), (centre, spread)


def bwd_term(settings: RegularisedSettings, state, value, observations, actions, key) -> jax.Array:
    """What the actor sees: the potentials stand still."""
    potentials = state.potentials.params
    loss, _ = bwd_loss(potentials, settings, state, value, observations, actions, key)
    return settings.bwd_weight * loss


def bwd_update(settings: RegularisedSettings, state, value, observations, actions, key):
    """One step of the potentials; the critic stands still."""
    seen = settings, state, value, observations, actions, key
    potentials, negative, size = descend(_adam(settings), state.potentials, bwd_loss, *seen)
    return RegulariserState(state.critic, potentials, *size), {"bwd": -negative}


def _running_size(state: RegulariserState, cost: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Running mean and deviation of the cost, so that a unit of the networks is a unit of the problem."""
    centre, spread = jax.lax.stop_gradient((cost.mean(), cost.std() + 1e-3))
    rate = jnp.where(state.spread == 0, 1.0, STATISTICS_RATE)
    centre = state.centre + rate * (centre - state.centre)
    return centre, state.spread + rate * (spread - state.spread)


# -- variants with a gradient through Q ----------------------------------------------------------------------------


def value_gap_term(settings: RegularisedSettings, state, value, observations, actions, key):
    """How much the policy's actions beat random ones, in units of their Q, and how far they are from them."""
    own, random, random_values = _compare(settings, state, value, observations, actions, key)
    gap = jax.nn.relu(own - random_values).mean() / mean_absolute(own)
    distance = ((random - actions) ** 2).sum(axis=-1).mean()
    return -settings.bwd_weight * (gap + settings.bwd_distance * distance)


def performance_difference_weights(
    settings: RegularisedSettings, state, value, observations, actions, key
) -> jax.Array:
    """By how much the policy's action beats random ones, per state, in units of Q; no gradient."""
    own, _, random_values = _compare(settings, state, value, observations, actions, key)
    difference = (own - random_values.mean(axis=0)) / mean_absolute(own)
    return jax.lax.stop_gradient(settings.bwd_weight * difference)


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


# -- the behavioural critic, Algorithm 1's without a target network ------------------------------------------------


def sarsa_loss(critic: nets.Params, batch: Batch, discount: float) -> tuple[jax.Array, None]:
    """Squared error towards the value of the data's own next action, on rows where that is known."""
    following = nets.scalar(critic, batch.next_observations, batch.next_actions)
    following = jax.lax.stop_gradient(following)
    target = td_target(batch.rewards, batch.not_terminal, discount, following)
    error = nets.scalar(critic, batch.observations, batch.actions) - target
    return (batch.sarsa_known * error**2).mean(), None


def sarsa_step(
    settings, shapes: Shapes, learner: Learner, columns: Columns, inputs: fitting.Inputs
):
    """One update of the behavioural critic."""
    batch = columns.batch(inputs.rows, shapes)
    learner, value, _ = descend(_adam(settings), learner, sarsa_loss, batch, settings.discount)
    return learner, {"loss": value}


def _fit_sarsa_critic(
    settings: RegularisedSettings, step: Any, state: RegulariserState, columns: Columns, seed: int
) -> RegulariserState:
    """Fit it before the first update; from then on it is frozen."""
    if settings.bwd_critic != "sarsa":
        return state
    fitted = fitting.fit(
        step,
        fitting.stack([new_learner(_adam(settings), state.critic)]),
        columns,
        rows=len(columns.packed),
        steps=settings.bwd_critic_updates,
        batch_size=settings.batch_size,
        seeds=[int(np.random.SeedSequence([seed, PREPARE_STREAM]).generate_state(1)[0])],
    )
    return state._replace(critic=fitting.unstack(fitted.params, 0))
