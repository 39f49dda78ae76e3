"""The critic of discrete actions on a chain and a bandit with known answers, by both fits."""

import numpy as np
import pytest

from discrete_probes import BANDIT_Q, GAIN, LAW, DiscreteChain, discrete_bandit
from rlassay.critic import CriticSettings, Scaling
from rlassay.critic.compiled import _Discrete, _initial_state, _make_step
from rlassay.critic.discrete import DiscreteCritic, split_inputs
from rlassay.critic.fit import fit_critic
from rlassay.kernel import choices
from rlassay.kernel.forward import mlp
from rlassay.kernel.regression import Regression, initial_layers

STATES = np.eye(2)
FITS = {
    "settled": {"settle": True, "steps": 3_000, "refresh": 1_000},
    "compiled": {"steps": 2_500, "refresh": 500},
    "sarsa": {"method": "sarsa", "steps": 4_000, "learning_rate": 3e-3},
}


def fitted(data, fit: str, **changes):
    settings = {"hidden": (32,), "discount": 0.5, **FITS[fit], **changes}
    found = fit_critic(data, CriticSettings(**settings))
    assert isinstance(found.critic, DiscreteCritic)
    return found.critic


@pytest.mark.parametrize("fit", FITS)
def test_values_and_law_of_a_chain_are_known(fit):
    chain = DiscreteChain()
    critic = fitted(chain.data(), fit)
    states = critic.scaling.observations(STATES)
    np.testing.assert_allclose(critic.q_of_all(0, states), chain.q, atol=0.35)
    np.testing.assert_allclose(critic.v_at(0, states), chain.v, atol=0.25)
    np.testing.assert_allclose(critic.law(0, states), LAW, atol=0.05)
    advantage = critic.q_of_all(0, states) - critic.v_at(0, states)[:, None]
    np.testing.assert_allclose(advantage, GAIN - (LAW @ GAIN)[:, None], atol=0.35)


@pytest.mark.parametrize("fit", ["settled", "compiled"])
def test_the_value_of_a_bandit_is_its_reward(fit):
    critic = fitted(discrete_bandit(), fit)
    states = critic.scaling.observations(STATES)
    np.testing.assert_allclose(critic.q_of_all(0, states), BANDIT_Q, atol=0.05)
    np.testing.assert_allclose(critic.v_at(0, states), (LAW * BANDIT_Q).sum(axis=1), atol=0.15)


def test_v_is_the_sum_of_law_times_q_and_q_the_entry_of_the_action(monkeypatch):
    data = DiscreteChain(first=-1).data(episodes=45, length=20)
    critic = fitted(data, "settled", steps=200)
    states, rows = critic.scaling.observations(data.observations), np.arange(len(data))
    every, law = critic.q_of_all(0, states), critic.law(0, states)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-12)
    whole = critic.v_at(0, states), critic.q(0, data.observations, data.actions)
    np.testing.assert_allclose(whole[0], (law * every).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(whole[1], every[rows, data.actions[:, 0] + 1], rtol=1e-6)
    np.testing.assert_allclose(critic.v_random(0, states), every.mean(axis=1), rtol=1e-12)
    monkeypatch.setattr(choices, "MOST_ROWS", 7)  # in small blocks the same
    np.testing.assert_allclose(critic.v_at(0, states), whole[0], rtol=1e-6)


def test_the_diagnosis_tells_how_well_the_law_is_known():
    critic = fitted(DiscreteChain().data(), "settled")
    share = DiscreteChain().stationary
    entropy = float(share @ -(LAW * np.log(LAW)).sum(axis=1))
    marginal = share @ LAW
    assert critic.diagnosis["law_log_loss"] == pytest.approx(entropy, abs=0.06)
    of_frequencies = float(-(marginal * np.log(marginal)).sum())
    assert critic.diagnosis["frequencies_log_loss"] == pytest.approx(of_frequencies, abs=0.05)
    assert critic.diagnosis["converged"] is True
    assert "mixture_gap" in critic.diagnosis


def test_seeds_are_fitted_apart():
    data = discrete_bandit(400)
    found = fit_critic(data, CriticSettings(settle=True, steps=300, hidden=(8,)), (0, 1)).critic
    states = found.scaling.observations(STATES)
    assert not np.array_equal(found.v_at(0, states), found.v_at(1, states))


def test_many_actions_share_their_features():
    """Apart for every action they would be too many for the linear solutions."""
    data = discrete_bandit(300, count=400)
    critic = fitted(data, "settled", steps=50)
    inputs = critic.scaling.inputs(data.observations, data.actions)
    assert critic.count == 400 and critic.features(0, inputs).shape == (300, 32)
    few = fitted(discrete_bandit(300, count=3), "settled", steps=50)
    assert few.features(0, few.scaling.inputs(data.observations, data.actions)).shape == (300, 99)


def test_inputs_name_the_place_of_an_action():
    data = DiscreteChain(first=5).data(episodes=2, length=10)
    states, places = split_inputs(Scaling.of(data).inputs(data.observations, data.actions))
    assert states.shape == (20, 2)
    np.testing.assert_array_equal(places, data.actions[:, 0] - 5)


# -- slopes ----------------------------------------------------------------------------------------------------------


def numeric_slope(loss, outputs):
    found = np.zeros_like(outputs)
    for place in np.ndindex(outputs.shape):
        step = np.zeros_like(outputs)
        step[place] = 1e-5
        found[place] = (loss(outputs + step) - loss(outputs - step)) / 2e-5
    return found


def test_slopes_are_those_of_the_losses():
    rng = np.random.default_rng(0)
    outputs, chosen, wanted = rng.normal(size=(4, 3)), np.array([0, 2, 1, 2]), rng.normal(size=4)
    of_law = numeric_slope(lambda x: choices.log_loss(x, chosen).mean(), outputs)
    np.testing.assert_allclose(choices.law_slope(outputs, chosen), of_law, atol=1e-7)
    squared = numeric_slope(lambda x: ((x[range(4), chosen] - wanted) ** 2).mean(), outputs)
    np.testing.assert_allclose(choices.squared_slope(outputs, chosen, wanted), squared, atol=1e-7)


def test_a_network_descends_as_it_learns():
    """The squared error by its slope is the step that `learn` takes."""
    layers = initial_layers(np.random.default_rng(0), (2, 4, 1))
    one, other = Regression(layers), Regression(layers)
    inputs, wanted = np.random.default_rng(1).normal(size=(2, 6, 2)).astype(np.float32)
    error = one.outputs(inputs) - wanted[:, :1]
    one.learn(error, 0.1)
    other.outputs(inputs)
    other.descend(error * np.float32(2 / 6), 0.1)
    np.testing.assert_array_equal(one.weights, other.weights)


def test_one_compiled_update_is_that_of_its_formula():
    """Q of the recorded action towards its target, and beside it the log-loss of the law."""
    settings, kind = CriticSettings(method="sarsa", discount=0.5, hidden=(3,)), _Discrete(2, 3)
    state = _initial_state(settings, 0, kind)
    rng = np.random.default_rng(0)
    inputs, following = (
        np.column_stack([rng.normal(size=(4, 2)), [0, 1, 2, 1]]).astype(np.float32)
        for _ in range(2)
    )
    batch = {"inputs": inputs, "following": following, "rewards": np.arange(4, dtype=np.float32)}
    batch["continues"] = np.array([1, 0, 1, 0], np.float32)
    layers = [{k: np.asarray(v) for k, v in layer.items()} for layer in state["online"]["q"]]
    places = inputs[:, -1].astype(int)
    q, after = (mlp(layers, x[:, :-1])[range(4), places] for x in (inputs, following))
    wanted = np.arange(4) + 0.5 * np.array([1, 0, 1, 0]) * after
    _, info = _make_step(settings, kind)(state, None, batch)
    assert float(info["loss"]) == pytest.approx(((q - wanted) ** 2).mean(), rel=1e-5)
    law = [{k: np.asarray(v) for k, v in layer.items()} for layer in state["online"]["law"]]
    expected = choices.log_loss(mlp(law, inputs[:, :-1]), places).mean()
    beside = kind.loss_beside(state["online"], inputs, q)
    assert float(beside) == pytest.approx(float(expected), rel=1e-5)
