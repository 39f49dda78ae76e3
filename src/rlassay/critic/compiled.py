"""Training of the behavioural critic in JAX: Q towards returns or one-step targets, and beside it V towards Q, or the law of
discrete actions; all through `fitting.fit`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rlassay.critic.discrete import critic_kind, recorded_outputs
from rlassay.critic.model import Critic, Scaling, forward
from rlassay.critic.settings import CriticSettings
from rlassay.critic.targets import Columns, bootstrapped_returns, first_returns, usable_rows
from rlassay.kernel import fitting, nets

CHUNK = 500  # gradient steps between two points of the training curve
GATHERED_BYTES = 32 * 2**20  # most that the batches of one seed take at a time
PROBE_ROWS = 2_000  # rows whose mean value makes the training curve
OnProgress = Callable[[int, str], None]
Rows = dict[str, jax.Array]  # the columns of one batch


# -- one gradient step ------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=32)
def _optimiser(learning_rate: float, steps: int | None) -> optax.GradientTransformation:
    rate = learning_rate if steps is None else optax.cosine_decay_schedule(learning_rate, steps)
    return optax.flatten(optax.adam(rate))  # one vector: fewer operations, half the compile time


class _Continuous(NamedTuple):
    """Q reads a state with its action; V follows Q."""

    observation_dim: int
    input_dim: int

    def networks(self, hidden: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        return {"q": (self.input_dim, *hidden, 1), "v": (self.observation_dim, *hidden, 1)}

    def q(self, layers: nets.Params, inputs: jax.Array) -> jax.Array:
        return nets.mlp(layers, inputs)[:, 0]

    def loss_beside(self, online: Any, inputs: jax.Array, q: jax.Array) -> jax.Array:
        v = nets.mlp(online["v"], inputs[:, : self.observation_dim])[:, 0]
        return jnp.mean((v - jax.lax.stop_gradient(q)) ** 2)


class _Discrete(NamedTuple):
    """Q has an output for every action, and so has the law, which is learned from the actions alone."""

    observation_dim: int
    count: int

    def networks(self, hidden: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("q", "law"), (self.observation_dim, *hidden, self.count))

    def q(self, layers: nets.Params, inputs: jax.Array) -> jax.Array:
        return _of_chosen(nets.mlp(layers, inputs[:, :-1]), inputs)

    def loss_beside(self, online: Any, inputs: jax.Array, q: jax.Array) -> jax.Array:
        log_law = jax.nn.log_softmax(nets.mlp(online["law"], inputs[:, :-1]))
        return -jnp.mean(_of_chosen(log_law, inputs))


def _of_chosen(outputs: jax.Array, inputs: jax.Array) -> jax.Array:
    return jnp.take_along_axis(outputs, inputs[:, -1:].astype(jnp.int32), axis=1)[:, 0]


Kind = _Continuous | _Discrete


@functools.lru_cache(maxsize=32)
def _make_step(settings: CriticSettings, kind: Kind) -> fitting.Step:
    optimiser = _optimiser(settings.learning_rate, settings.steps if settings.decay else None)

    def target(state: Any, batch: Rows) -> jax.Array:
        if settings.method == "lambda":
            return batch["returns"]
        following = kind.q(state.get("target", state["online"]["q"]), batch["following"])
        return batch["rewards"] + settings.discount * batch["continues"] * following

    def loss(online: Any, inputs: jax.Array, wanted: jax.Array):
        q = kind.q(online["q"], inputs)
        q_loss = jnp.mean((q - wanted) ** 2)
        return q_loss + kind.loss_beside(online, inputs, q), q_loss

    def step(state: Any, data: None, batch: Rows):
        wanted = jax.lax.stop_gradient(target(state, batch))
        gradient, q_loss = jax.grad(loss, has_aux=True)(state["online"], batch["inputs"], wanted)
        updates, optimiser_state = optimiser.update(gradient, state["optimiser"])
        online: Any = optax.apply_updates(state["online"], updates)
        moved = {**state, "online": online, "optimiser": optimiser_state}
        if "target" in state:
            moved["target"] = nets.polyak(state["target"], online["q"], settings.target_rate)
        return moved, {"loss": q_loss}

    return step


def _initial_state(settings: CriticSettings, seed: int, kind: Kind) -> dict[str, Any]:
    rng = np.random.default_rng([seed, 102])
    sizes = kind.networks(settings.hidden)
    online = {name: nets.init_mlp(rng, layers) for name, layers in sizes.items()}
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
    columns: Columns,
    scaling: Scaling,
    settings: CriticSettings,
    seeds: Sequence[int],
    on_progress: OnProgress,
) -> Critic:
    """Train Q and V for every seed."""
    training = _Training(columns, scaling, settings, tuple(seeds), on_progress)
    return training.with_returns() if settings.method == "lambda" else training.with_steps()


class _Training:
    """The state of one fit: networks, training curve and the scale of the targets."""

    def __init__(self, columns, scaling, settings, seeds, on_progress):
        self.columns, self.scaling, self.settings, self.seeds = columns, scaling, settings, seeds
        self.on_progress = on_progress
        self.kind = _kind_of(columns, scaling)
        self.state = fitting.stack([_initial_state(settings, seed, self.kind) for seed in seeds])
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
        at_first = first_returns(columns, settings.discount)
        self.centre, self.spread = float(at_first.mean()), float(at_first.std())
        kept = usable_rows(columns)
        inputs = columns.inputs[kept]
        returns = [at_first] * len(self.seeds)
        for first in range(0, settings.steps, settings.refresh):
            if first:
                critic = self._critic()
                returns = [bootstrapped_returns(critic, k, columns) for k in range(len(self.seeds))]
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
            _make_step(self.settings, self.kind),
            self.state,
            None,
            rows=len(rows[0]["inputs"]),
            steps=steps,
            start=start,
            batch_size=batch_size,
            seeds=self.seeds,
            chunk=CHUNK,
            gather=functools.partial(_gather, rows),
            at_once=_steps_at_once(rows[0], batch_size),
            on_chunk=self._record,
        )

    def _record(self, done: int, state: Any, info: dict[str, np.ndarray]) -> None:
        apply = forward if self.scaling.numbers is None else recorded_outputs
        outputs = [
            apply(layers["q"], self.probe).mean() for layers in _layers(state, len(self.seeds))
        ]
        self.curve["step"].append(done)
        self.curve["loss"].append(float(info["loss"].mean()))
        self.curve["value"].append(float(self.centre + self.spread * np.mean(outputs)))
        self.on_progress(done, f"value {self.curve['value'][-1]:.4g}")

    def _critic(self) -> Critic:
        parameters = tuple(_layers(self.state, len(self.seeds)))
        scale = (self.centre, self.spread)
        made_of = self.settings, self.seeds, self.scaling, parameters, *scale, self.curve
        return critic_kind(self.scaling)(*made_of)


def _kind_of(columns: Columns, scaling: Scaling) -> Kind:
    if scaling.numbers is None:
        return _Continuous(columns.observation_dim, columns.inputs.shape[1])
    return _Discrete(columns.observation_dim, scaling.numbers.count)


def _layers(state: Any, seeds: int) -> list[dict[str, Any]]:
    online = jax.tree.map(np.asarray, state["online"])
    return [fitting.unstack(online, k) for k in range(seeds)]


def _gather(rows: list[dict[str, np.ndarray]], member: int, chosen: np.ndarray) -> Rows:
    """The batches of some steps, gathered beside the running ones: a gather inside the loop is slow on CPU, and the
    compiled program would depend on the number of rows."""
    return {
        name: jax.device_put(column.take(chosen, axis=0)) for name, column in rows[member].items()
    }


def _steps_at_once(columns: dict[str, np.ndarray], batch_size: int) -> int:
    """The longest even part of a chunk whose batches stay below the limit: wide rows are gathered for fewer steps."""
    row = sum(column[:1].nbytes for column in columns.values())
    even = [steps for steps in range(1, CHUNK + 1) if CHUNK % steps == 0]
    fitting_ones = [steps for steps in even if steps * batch_size * row <= GATHERED_BYTES]
    return max(fitting_ones, default=1)
