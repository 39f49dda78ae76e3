"""One update of the seven agents, written again in NumPy float64 from the papers: losses by hand, gradients by differences."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import numpy as np

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
STEP = 1e-6  # of the central differences


def as_double(tree):
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), tree)


def gradient(loss, params):
    """Central differences of `loss(params)` in every entry of a tree."""
    params = as_double(params)
    leaves, structure = jax.tree.flatten(params)
    found = []
    for leaf in leaves:
        slope = np.zeros_like(leaf)
        for index in np.ndindex(leaf.shape):
            kept = leaf[index]
            values = []
            for sign in (1, -1):
                leaf[index] = kept + sign * STEP
                values.append(loss(params))
            leaf[index] = kept
            slope[index] = (values[0] - values[1]) / (2 * STEP)
        found.append(slope)
    return jax.tree.unflatten(structure, found)


class Adam:
    """Adam on a tree; `mu` and `nu` are its moments. `decay` shrinks the weights themselves (AdamW)."""

    def __init__(self, params, rate, decay=0.0):
        self.params, self.rate, self.decay, self.count = as_double(params), rate, decay, 0
        self.mu = jax.tree.map(np.zeros_like, self.params)
        self.nu = jax.tree.map(np.zeros_like, self.params)

    def step(self, loss):
        slope = gradient(loss, self.params)
        self.count += 1
        self.mu = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, self.mu, slope)
        self.nu = jax.tree.map(lambda n, g: BETA2 * n + (1 - BETA2) * g**2, self.nu, slope)
        m_size, n_size = 1 - BETA1**self.count, 1 - BETA2**self.count

        def move(p, m, n):
            change = (m / m_size) / (np.sqrt(n / n_size) + EPSILON) + self.decay * p
            return p - self.rate * change

        self.params = jax.tree.map(move, self.params, self.mu, self.nu)


def mlp(layers, x):
    for layer in layers[:-1]:
        x = x @ layer["w"] + layer["b"]
        if "scale" in layer:  # layer normalisation
            x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
            x = x * layer["scale"] + layer["shift"]
        x = np.maximum(x, 0)
    return x @ layers[-1]["w"] + layers[-1]["b"]


def single(critic, states, actions):
    """Q of one critic: (batch,)."""
    return mlp(critic, np.concatenate([states, actions], axis=-1))[..., 0]


def twin(critic, states, actions):
    """Q of both critics: (2, batch)."""
    x = np.concatenate([states, actions], axis=-1)
    members = [[{k: v[i] for k, v in layer.items()} for layer in critic] for i in range(2)]
    return np.stack([mlp(member, x)[..., 0] for member in members])


def squared(values, target):
    return sum(np.mean((value - target) ** 2) for value in values)


def normal_log_prob(mean, log_std, actions):
    density = -0.5 * ((actions - mean) / np.exp(log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)
    return density.sum(axis=-1)


def polyak(target, online, rate):
    return jax.tree.map(lambda t, o: (1 - rate) * t + rate * o, as_double(target), online)


def bootstrap(batch, discount, values):
    return batch.rewards + discount * batch.not_terminal * values


def bc(settings, state, batch):
    """The squared error of a tanh policy."""
    actor = Adam(state.actor.params, settings.learning_rate)
    actor.step(lambda p: np.mean((np.tanh(mlp(p, batch.observations)) - batch.actions) ** 2))
    return SimpleNamespace(actor=actor)


def iql(settings, state, batch):
    """Expectile regression of the value, squared error of the critics."""

    def value_loss(u, largest):
        return np.mean(np.where(u > 0, settings.expectile, 1 - settings.expectile) * u**2)

    return implicit(settings, state, batch, value_loss, squared)


def xql(settings, state, batch):
    """Gumbel regression of the value (scaled by e^-m, m the largest exponent), Huber loss of the critics."""

    def exponent(u):
        return np.minimum(u / settings.gumbel_temperature, settings.gumbel_clip)

    def value_loss(u, start):
        z, largest = exponent(u), max(exponent(start).max(), -1)
        return np.mean((np.exp(z) - z - 1) / np.exp(largest))

    def huber(values, target):
        delta, error = settings.huber_delta, np.abs(values - target)
        linear = delta * (error - delta / 2)
        return np.where(error <= delta, error**2 / 2, linear).mean(axis=-1).sum()

    return implicit(settings, state, batch, value_loss, huber)


def implicit(settings, state, batch, value_loss, critic_loss):
    """Value, actor with the new value, critic with the new value, target."""
    critic_target = as_double(state.critic_target)
    q = twin(critic_target, batch.observations, batch.actions).min(axis=0)
    value = Adam(state.value.params, settings.learning_rate)
    start = q - mlp(value.params, batch.observations)[:, 0]
    value.step(lambda p: value_loss(q - mlp(p, batch.observations)[:, 0], start))
    advantage = q - mlp(value.params, batch.observations)[:, 0]
    weights = np.minimum(np.exp(settings.inverse_temperature * advantage), settings.weight_clip)
    actor = Adam(state.actor.params, settings.learning_rate)
    actor.step(lambda p: -np.mean(weights * clone_log_prob(p, batch, -5.0)))
    target = bootstrap(batch, settings.discount, mlp(value.params, batch.next_observations)[:, 0])
    critic = Adam(state.critic.params, settings.learning_rate)
    critic.step(lambda p: critic_loss(twin(p, batch.observations, batch.actions), target))
    moved = polyak(critic_target, critic.params, settings.target_rate)
    return SimpleNamespace(value=value, actor=actor, critic=critic, critic_target=moved)


def soft_clamped(actor, states):
    """OnestepRL's policy: mean and log-deviation through tanh, the latter onto [-5, 0]."""
    mean, log_std = np.split(np.tanh(mlp(actor, states)), 2, axis=-1)
    return mean, -2.5 + 2.5 * log_std


def onestep_behaviour(settings, state, batch):
    """First part: SARSA with a target network, and the clone."""
    following = single(as_double(state.critic_target), batch.next_observations, batch.next_actions)
    target = bootstrap(batch, settings.discount, following)
    critic = Adam(state.critic.params, settings.learning_rate)
    critic.step(lambda p: np.mean((single(p, batch.observations, batch.actions) - target) ** 2))
    actor = Adam(state.actor.params, settings.learning_rate)
    actor.step(
        lambda p: -np.mean(normal_log_prob(*soft_clamped(p, batch.observations), batch.actions))
    )
    moved = polyak(state.critic_target, critic.params, settings.target_rate)
    return SimpleNamespace(actor=actor, critic=critic, critic_target=moved, behaviour=actor.params)


def onestep_policy(settings, state, batch, noise):
    """Second part: cloning weighted by the advantage over the behaviour's own actions; the rest is frozen."""
    critic, behaviour = as_double(state.critic.params), as_double(state.behaviour)
    mean, log_std = soft_clamped(behaviour, batch.observations)
    drawn = np.clip(mean + np.exp(log_std) * noise, -1, 1)
    value = np.mean([single(critic, batch.observations, each) for each in drawn], axis=0)
    advantage = single(critic, batch.observations, batch.actions) - value
    weights = np.minimum(np.exp(settings.inverse_temperature * advantage), settings.weight_clip)
    actor = Adam(state.actor.params, settings.learning_rate)
    actor.step(
        lambda p: (
            -np.mean(weights * normal_log_prob(*soft_clamped(p, batch.observations), batch.actions))
        )
    )
    return SimpleNamespace(actor=actor)


def clone_log_prob(actor, batch, lowest):
    mean = np.tanh(mlp(actor["layers"], batch.observations))
    return normal_log_prob(mean, np.clip(actor["log_std"], lowest, 2.0), batch.actions)


def td3bc(settings, state, batches, noises):
    """One critic step a batch with frozen targets, then the actor on the last batch, then both targets."""
    critic = Adam(state.critic.params, settings.learning_rate)
    targets = as_double((state.actor_target, state.critic_target))
    for batch, noise in zip(batches, noises, strict=True):
        smooth = np.clip(
            settings.target_noise * noise, -settings.target_noise_clip, settings.target_noise_clip
        )
        following = np.clip(np.tanh(mlp(targets[0], batch.next_observations)) + smooth, -1, 1)
        q = twin(targets[1], batch.next_observations, following).min(axis=0)
        target = bootstrap(batch, settings.discount, q)
        critic.step(lambda p, b=batch, t=target: squared(twin(p, b.observations, b.actions), t))
    batch, actor = batches[-1], Adam(state.actor.params, settings.learning_rate)
    actions = np.tanh(mlp(actor.params, batch.observations))
    scale = np.abs(twin(critic.params, batch.observations, actions)[0]).mean()

    def actor_loss(params):
        mean = np.tanh(mlp(params, batch.observations))
        q = twin(critic.params, batch.observations, mean)[0].mean()
        return -settings.value_weight / scale * q + np.mean((mean - batch.actions) ** 2)

    actor.step(actor_loss)
    moved = [
        polyak(t, o, settings.target_rate)
        for t, o in zip(targets, (actor.params, critic.params), strict=True)
    ]
    return SimpleNamespace(
        critic=critic, actor=actor, actor_target=moved[0], critic_target=moved[1]
    )


def awac(settings, state, batch, next_noise, noise):
    """Critic towards a sampled next action, then cloning weighted by the advantage over a sampled action."""
    start = as_double(state.actor.params)
    std = np.exp(np.clip(start["log_std"], -10, 2))
    following = np.tanh(mlp(start["layers"], batch.next_observations)) + std * next_noise
    q = twin(as_double(state.critic_target), batch.next_observations, np.clip(following, -1, 1))
    target = bootstrap(batch, settings.discount, q.min(axis=0))
    critic = Adam(state.critic.params, settings.learning_rate)
    critic.step(lambda p: squared(twin(p, batch.observations, batch.actions), target))
    own = np.clip(np.tanh(mlp(start["layers"], batch.observations)) + std * noise, -1, 1)
    advantage = twin(critic.params, batch.observations, batch.actions).min(axis=0)
    advantage = advantage - twin(critic.params, batch.observations, own).min(axis=0)
    weights = np.exp(advantage / settings.temperature)
    actor = Adam(start, settings.learning_rate, settings.actor_weight_decay)
    actor.step(lambda p: -np.sum(weights / weights.sum() * clone_log_prob(p, batch, -10.0)))
    moved = polyak(state.critic_target, critic.params, settings.target_rate)
    return SimpleNamespace(critic=critic, actor=actor, critic_target=moved)


def squashed(policy, noise):
    """Sample of a tanh-Gaussian and its log-density."""
    mean, log_std = policy
    raw = mean + np.exp(log_std) * noise
    density = normal_log_prob(mean, log_std, raw) - np.log(1 - np.tanh(raw) ** 2).sum(axis=-1)
    return np.tanh(raw), density


def squashed_policy(actor, states):
    mean, log_std = np.split(mlp(actor, states), 2, axis=-1)
    return np.clip(mean, -9, 9), np.clip(log_std, -5, 2)


def cql(settings, state, batch, noise, cloning):
    """Actor, entropy temperature and critic, all from the old parameters; `noise` holds every random number."""
    critic_start = as_double(state.critic.params)
    alpha = np.exp(float(state.log_temperature.params))
    actor = Adam(state.actor.params, settings.actor_learning_rate)
    start = actor.params

    def actor_loss(params):
        policy = squashed_policy(params, batch.observations)
        actions, log_prob = squashed(policy, noise.actor)
        inside = 1 - settings.likelihood_margin
        seen = np.clip(batch.actions, -inside, inside)
        data = normal_log_prob(*policy, np.arctanh(seen)) - np.log(1 - seen**2).sum(axis=-1)
        q = twin(critic_start, batch.observations, actions).min(axis=0)
        return np.mean(alpha * log_prob - (data if cloning else q))

    actor.step(actor_loss)
    policy = squashed_policy(start, batch.observations)
    log_prob = squashed(policy, noise.actor)[1].mean()
    temperature = Adam(state.log_temperature.params, settings.actor_learning_rate)
    temperature.step(lambda p: float(-p * (log_prob - batch.actions.shape[1])))
    next_policy = squashed_policy(start, batch.next_observations)
    following, _ = squashed(next_policy, noise.following)
    q = twin(as_double(state.critic_target), batch.next_observations, following).min(axis=0)
    target = bootstrap(batch, settings.discount, q)
    here, there = squashed(policy, noise.proposals[0]), squashed(next_policy, noise.proposals[1])
    uniform_density = -batch.actions.shape[1] * np.log(2)
    scale = 1.0
    if settings.conservative_scaling == "values":
        scale = np.abs(twin(critic_start, batch.observations, batch.actions)).mean()
    critic = Adam(critic_start, settings.learning_rate)

    def critic_loss(params):
        def values(actions):
            return np.stack([twin(params, batch.observations, each) for each in actions], axis=1)

        x = [values(noise.uniform) - uniform_density, values(here[0]) - here[1]]
        x = (
            np.concatenate([*x, values(there[0]) - there[1]], axis=1)
            / settings.conservative_temperature
        )
        soft_maximum = settings.conservative_temperature * np.log(np.exp(x).sum(axis=1))
        data = twin(params, batch.observations, batch.actions)
        gap = (soft_maximum - data).mean(axis=1).sum()
        return squared(data, target) + settings.conservative_weight * scale * gap

    critic.step(critic_loss)
    moved = polyak(state.critic_target, critic.params, settings.target_rate)
    return SimpleNamespace(
        actor=actor, critic=critic, critic_target=moved, log_temperature=temperature
    )
