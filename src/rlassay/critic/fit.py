"""Training of the behavioural critic: Q towards returns or one-step targets, V towards Q, all through `fitting.fit`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.critic.model import Critic, Scaling, forward
from rlassay.critic.returns import constant_bootstrap, lambda_returns
from rlassay.critic.sample import Trajectories
from rlassay.critic.settings import CriticSettings
from rlassay.data.dataset import Dataset
from rlassay.kernel import fitting, nets

CHUNK = 500  # gradient steps between two points of the training curve
PROBE_ROWS = 2_000  # rows whose mean value makes the training curve
OnProgress = Callable[[int, str], None]
Batch = dict[str, jax.Array]


@dataclass(frozen=True)
class Columns:
    """Scaled training rows in the order of their episodes; NumPy, float32 inputs and float64 rewards."""

    inputs: np.ndarray
    following: np.ndarray  # scaled next observation, then the next action where it is known
    rewards: np.ndarray
    starts: np.ndarray
    last: np.ndarray  # the last row of each episode or part of one
    terminal: np.ndarray  # of every row
    known: np.ndarray  # the next observation is known
    observation_dim: int


def training_columns(data: Dataset, chosen: Trajectories, scaling: Scaling) -> Columns:
    """Gather and scale the chosen rows."""
    rows = chosen.rows
    assert data.rewards is not None
    inputs = scaling.inputs(data.observations[rows], data.actions[rows])
    following = np.concatenate([inputs[1:], inputs[-1:]])
    last = chosen.last
    after = scaling.observations(data.next_observations[rows[last]])
    following[last] = np.concatenate([after, inputs[last, data.observation_dim :]], axis=1)
    return Columns(
        inputs,
        following,
        data.rewards[rows].astype(np.float64),
        chosen.starts,
        last,
        data.terminals[rows],
        data.next_valid[rows],
        data.observation_dim,
    )


# -- one gradient step ------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=32)
def _optimiser(learning_rate: float, steps: int | None) -> optax.GradientTransformation:
    rate = learning_rate if steps is None else optax.cosine_decay_schedule(learning_rate, steps)
    return optax.flatten(optax.adam(rate))  # one vector: fewer operations, half the compile time


@functools.lru_cache(maxsize=32)
def _make_step(settings: CriticSettings, observation_dim: int) -> fitting.Step:
    optimiser = _optimiser(settings.learning_rate, settings.steps if settings.decay else None)

    def target(state: Any, batch: Batch) -> jax.Array:
        if settings.method == "lambda":
            return batch["returns"]
        following = nets.mlp(state.get("target", state["online"]["q"]), batch["following"])
        return batch["rewards"] + settings.discount * batch["continues"] * following[:, 0]

    def loss(online: Any, inputs: jax.Array, wanted: jax.Array):
        q = nets.mlp(online["q"], inputs)[:, 0]
        v = nets.mlp(online["v"], inputs[:, :observation_dim])[:, 0]
        q_loss = jnp.mean((q - wanted) ** 2)
        return q_loss + jnp.mean((v - jax.lax.stop_gradient(q)) ** 2), q_loss

    def step(state: Any, data: None, batch: Batch):
        wanted = jax.lax.stop_gradient(target(state, batch))
        gradient, q_loss = jax.grad(loss, has_aux=True)(state["online"], batch["inputs"], wanted)
        updates, optimiser_state = optimiser.update(gradient, state["optimiser"])
        online: Any = optax.apply_updates(state["online"], updates)
        moved = {**state, "online": online, "optimiser": optimiser_state}
        if "target" in state:
            moved["target"] = nets.polyak(state["target"], online["q"], settings.target_rate)
        return moved, {"loss": q_loss}

    return step


def _initial_state(settings: CriticSettings, seed: int, dims: tuple[int, int]) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 102])
    observation_dim, input_dim = dims
    online = {
        "q": nets.init_mlp(rng, (input_dim, *settings.hidden, 1)),
        "v": nets.init_mlp(rng, (observation_dim, *settings.hidden, 1)),
    }
    steps = settings.steps if settings.decay else None
    state = {
        "online": online,
        "optimiser": _optimiser(settings.learning_rate, steps).init(online),
    }
    if settings.method == "sarsa" and settings.target_rate < 1:
        state["target"] = jax.tree.map(jnp.copy, online["q"])
    return state


# -- the whole fit ----------------------------------------------------------------------------------------------------


def fit_networks(
    columns: Columns, scaling: Scaling, settings: CriticSettings, seeds: Sequence[int], on_progress: OnProgress
) -> Critic:  # fmt: skip
    """Train Q and V for every seed."""
    fitting = _Fitting(columns, scaling, settings, tuple(seeds), on_progress)
    return fitting.with_returns() if settings.method == "lambda" else fitting.with_steps()


class _Fitting:
    """The state of one fit: networks, training curve and the scale of the targets."""

    def __init__(self, columns, scaling, settings, seeds, on_progress):
        self.columns, self.scaling, self.settings, self.seeds = columns, scaling, settings, seeds
        self.on_progress = on_progress
        dims = (columns.observation_dim, columns.inputs.shape[1])
        self.state = fitting.stack([_initial_state(settings, seed, dims) for seed in seeds])
        self.curve: dict[str, list] = {"step": [], "loss": [], "value": []}
        stride = max(1, len(columns.inputs) // PROBE_ROWS)
        self.probe = columns.inputs[::stride][:PROBE_ROWS]
        self.centre, self.spread = 0.0, 1.0

    def with_steps(self) -> Critic:
        """Semi-gradient SARSA: rewards and values keep their own scale."""
        columns, last = self.columns, self.columns.last
        usable = np.ones(len(columns.inputs), bool)
        usable[last] = columns.terminal[last]  # no next action is known behind a cut
        kept = np.flatnonzero(usable)
        rows = {
            "inputs": columns.inputs[kept],
            "following": columns.following[kept],
            "rewards": columns.rewards[kept].astype(np.float32),
            "continues": (~columns.terminal[kept]).astype(np.float32),
        }
        self._run([rows] * len(self.seeds), 0, self.settings.steps)
        return self._critic()

    def with_returns(self) -> Critic:
        """Regression on lambda-returns that are computed anew, with the current values, every `refresh` steps."""
        columns, settings = self.columns, self.settings
        open_end = ~columns.terminal[columns.last]
        lengths = np.diff(np.append(columns.starts, len(columns.inputs)))
        first_returns, _ = constant_bootstrap(
            columns.rewards, columns.starts, np.repeat(open_end, lengths), settings.discount
        )
        self.centre, self.spread = float(first_returns.mean()), float(first_returns.std())
        usable = np.ones(len(columns.inputs), bool)
        usable[columns.last] = columns.terminal[columns.last] | columns.known[columns.last]
        kept = np.flatnonzero(usable)
        inputs = columns.inputs[kept]
        returns = [first_returns] * len(self.seeds)
        for first in range(0, settings.steps, settings.refresh):
            if first:
                critic = self._critic()
                returns = [_returns(critic, k, columns) for k in range(len(self.seeds))]
            rows = [
                {"inputs": inputs, "returns": self._standardised(each[kept])} for each in returns
            ]
            self._run(rows, first, min(first + settings.refresh, settings.steps))
        return self._critic()

    def _standardised(self, returns: np.ndarray) -> np.ndarray:
        return ((returns - self.centre) / (self.spread or 1.0)).astype(np.float32)

    def _run(self, rows: list[dict[str, np.ndarray]], start: int, steps: int) -> None:
        """Train on the rows of each seed from update `start` to `steps`."""
        batch_size = self.settings.batch_size
        self.state = fitting.fit(
            _make_step(self.settings, self.columns.observation_dim),
            self.state,
            None,
            rows=len(rows[0]["inputs"]),
            steps=steps,
            start=start,
            batch_size=batch_size,
            seeds=self.seeds,
            chunk=CHUNK,
            draw=functools.partial(_gather, rows, batch_size),
            on_chunk=self._record,
        )

    def _record(self, done: int, state: Any, info: dict[str, np.ndarray]) -> None:
        outputs = [
            forward(layers["q"], self.probe).mean() for layers in _layers(state, len(self.seeds))
        ]
        self.curve["step"].append(done)
        self.curve["loss"].append(float(info["loss"].mean()))
        self.curve["value"].append(float(self.centre + self.spread * np.mean(outputs)))
        self.on_progress(done, f"value {self.curve['value'][-1]:.4g}")

    def _critic(self) -> Critic:
        parameters = tuple(_layers(self.state, len(self.seeds)))
        return Critic(
            self.settings, self.seeds, self.scaling, parameters, self.centre, self.spread, self.curve
        )  # fmt: skip


def q_parameters(critic: Critic) -> dict[str, Any]:
    """What `q_apply` reads, every leaf with a leading axis over seeds."""
    half = (critic.scaling.high - critic.scaling.low) / 2
    constants = {
        "centre": critic.centre,
        "spread": critic.spread,
        "action_centre": (critic.scaling.high + critic.scaling.low) / 2,
        "action_half": np.where(half > 0, half, 1.0),
    }
    members = [
        {"layers": layers["q"], **{k: np.asarray(v, np.float32) for k, v in constants.items()}}
        for layers in critic.parameters
    ]
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *members)


def q_apply(params: Any, states: jax.Array, actions: jax.Array) -> jax.Array:
    """Q in JAX, float32, for scaled states and actions in their own units."""
    scaled = (actions - params["action_centre"]) / params["action_half"]
    return params["centre"] + params["spread"] * nets.scalar(params["layers"], states, scaled)


def _returns(critic: Critic, seed: int, columns: Columns) -> np.ndarray:
    """Lambda-returns with the critic's values: bootstrapped behind a cut, ended by a terminal."""
    values = critic.q_at(seed, columns.inputs)
    following = np.append(values[1:], 0.0)
    return lambda_returns(
        columns.rewards,
        following,
        columns.starts,
        end_values(critic, seed, columns, values),
        critic.settings.discount,
        critic.settings.trace_decay,
    )


def end_values(critic: Critic, seed: int, columns: Columns, values: np.ndarray) -> np.ndarray:
    """What the last row of each episode is worth: its reward, the reward and V behind it, or its own Q."""
    last = columns.last
    after = critic.v_at(seed, columns.following[last, : columns.observation_dim])
    continues = np.where(columns.terminal[last], 0.0, critic.settings.discount)
    ends = columns.rewards[last] + continues * after
    return np.where(columns.terminal[last] | columns.known[last], ends, values[last])


def _layers(state: Any, seeds: int) -> list[dict[str, Any]]:
    online = jax.tree.map(np.asarray, state["online"])
    return [fitting.unstack(online, k) for k in range(seeds)]


def _gather(
    rows: list[dict[str, np.ndarray]],
    batch_size: int,
    member: int,
    seed: int,
    first: int,
    count: int,
) -> Batch:
    """The batches of a chunk, gathered beside the running one: a gather inside the loop is slow on CPU, and the
    compiled program would depend on the number of rows."""
    columns = rows[member]
    chosen = fitting.draw_inputs(seed, first, count, batch_size, len(columns["inputs"]), None).rows
    chosen = np.asarray(chosen)
    return {name: jax.device_put(column.take(chosen, axis=0)) for name, column in columns.items()}
