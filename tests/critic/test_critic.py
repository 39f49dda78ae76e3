"""The critic on problems with known values, and whether its diagnosis tells right from wrong."""

import numpy as np
import pytest

from probes import Chain, bandit, dataset, walks, with_columns
from rlassay.critic import PAPER, CriticSettings
from rlassay.critic.diagnosis import Calibration, bias_and_error, change_of_last_tenth
from rlassay.critic.fit import fit_critic
from rlassay.errors import DatasetError, SettingsError
from rlassay.settings import change

QUICK = CriticSettings(discount=0.9, steps=3_000, refresh=500, learning_rate=3e-3, hidden=(64,))
CHAIN = Chain()


def values(data, settings, seeds=(0,)):
    fitted = fit_critic(data, settings, seeds)
    q = np.mean(
        [fitted.critic.q(k, data.observations, data.actions) for k in range(len(seeds))], axis=0
    )
    v = np.mean([fitted.critic.v(k, data.observations) for k in range(len(seeds))], axis=0)
    return fitted, q, v


@pytest.fixture(scope="module")
def chain():
    data = CHAIN.data(episodes=200, length=100)
    return data, *values(data, QUICK)


def test_q_and_v_of_a_chain(chain):
    data, _, q, v = chain
    states = data.observations.argmax(axis=1)
    spread = np.ptp(CHAIN.v) + CHAIN.slope
    assert np.abs(q - CHAIN.q(states, data.actions[:, 0])).mean() < 0.05 * spread
    assert np.abs(v - CHAIN.v[states]).mean() < 0.05 * spread


def test_the_critic_says_that_it_converged(chain):
    report = chain[1].critic.diagnosis
    assert report["converged"] is True
    assert abs(report["bias"]) <= report["tolerance"]
    assert report["held_out_episodes"] >= 20
    assert report["correlation"] > 0.3
    assert abs(report["bellman_residual"]) < 0.1


def test_too_few_steps_are_found_out():
    data = CHAIN.data(episodes=200, length=100)
    report = fit_critic(data, change(PAPER, {"steps": 100, "discount": 0.9})).critic.diagnosis
    assert report["converged"] is False
    assert abs(report["bias"]) > report["tolerance"]


def test_sarsa_reaches_the_same_values_in_its_own_time():
    data = CHAIN.data(episodes=100, length=100)
    _, q, _ = values(
        data, change(PAPER, {"discount": 0.9, "learning_rate": 3e-3, "decay": True, "steps": 6_000})
    )
    states = data.observations.argmax(axis=1)
    assert np.abs(q - CHAIN.q(states, data.actions[:, 0])).mean() < 0.1 * (
        np.ptp(CHAIN.v) + CHAIN.slope
    )


def test_a_slow_target_holds_sarsa_back():
    data = CHAIN.data(episodes=100, length=100)
    settings = change(PAPER, {"discount": 0.9, "learning_rate": 3e-3, "steps": 1_000})
    near = fit_critic(data, settings).critic.diagnosis
    far = fit_critic(data, change(settings, {"target_rate": 0.005})).critic.diagnosis
    assert abs(far["bias"]) > 2 * abs(near["bias"])


def test_a_bandit_has_the_rewards_as_values():
    data = bandit()
    _, q, v = values(data, QUICK)
    expected = (data.observations * data.actions)[:, 0]
    assert np.abs(q - expected).mean() < 0.05
    assert np.abs(v).mean() < 0.1  # E[a s | s] = 0


def test_terminals_end_the_value_and_timeouts_do_not():
    rows, length = 4_000, 20
    ends = np.arange(rows) % length == length - 1
    columns = {
        "observations": np.zeros((rows, 1)),
        "next_observations": np.zeros((rows, 1)),
        "actions": np.zeros((rows, 1)),
        "rewards": np.ones(rows),
    }
    endless = fit_critic(dataset(timeouts=ends, **columns), QUICK).critic
    assert endless.q(0, np.zeros((1, 1)), np.zeros((1, 1)))[0] == pytest.approx(10.0, rel=1e-3)
    ending = fit_critic(dataset(terminals=ends, **columns), QUICK).critic
    mean = np.mean([(1 - 0.9**left) / 0.1 for left in range(1, length + 1)])
    assert ending.q(0, np.zeros((1, 1)), np.zeros((1, 1)))[0] == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize("factor", [2.0**10, 2.0**-7])
def test_rewards_times_a_power_of_two_scale_the_values_exactly(factor):
    data = walks()
    small = fit_critic(data, change(QUICK, {"steps": 200, "refresh": 100})).critic
    scaled = with_columns(data, rewards=data.rewards * np.float32(factor))
    large = fit_critic(scaled, change(QUICK, {"steps": 200, "refresh": 100})).critic
    before = small.q(0, data.observations, data.actions)
    after = large.q(0, data.observations, data.actions)
    np.testing.assert_allclose(after, before * factor, rtol=1e-12)


def test_a_seed_does_not_depend_on_its_neighbours():
    data = walks()
    settings = change(QUICK, {"steps": 100, "refresh": 50})
    alone, together = (
        fit_critic(data, settings, (5,)).critic,
        fit_critic(data, settings, (5, 6)).critic,
    )
    one, both = (critic.q(0, data.observations, data.actions) for critic in (alone, together))
    np.testing.assert_array_equal(one, both)
    assert not np.array_equal(both, together.q(1, data.observations, data.actions))


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (QUICK, {"discount": 0.8}),
        (QUICK, {"steps": 150}),
        (QUICK, {"batch_size": 16}),
        (QUICK, {"hidden": (8, 8)}),
        (QUICK, {"learning_rate": 1e-4}),
        (QUICK, {"decay": False}),
        (QUICK, {"trace_decay": 0.5}),
        (QUICK, {"refresh": 20}),
        (QUICK, {"rows": 300}),
        (QUICK, {"holdout": 0.5}),
        (QUICK, {"method": "sarsa"}),
        (PAPER, {"target_rate": 0.1}),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_every_setting_changes_the_critic(base, changes):
    data = walks()
    base = change(base, {"steps": 100, **({"refresh": 50} if base is QUICK else {})})
    before = fit_critic(data, base).critic.q(0, data.observations, data.actions)
    after = fit_critic(data, change(base, changes)).critic.q(0, data.observations, data.actions)
    assert not np.array_equal(before, after)


@pytest.mark.parametrize(
    "changes",
    [
        {"discount": 1.0},
        {"trace_decay": 1.5},
        {"target_rate": 0.0},
        {"steps": 0},
        {"holdout": 0.9},
        {"method": "mc"},
    ],
)
def test_settings_out_of_range_are_refused(changes):
    with pytest.raises(SettingsError):
        change(QUICK, changes)


def test_rows_without_any_target_are_refused():
    data = dataset(
        observations=np.zeros((3, 1)),
        actions=np.zeros((3, 1)),
        rewards=np.ones(3),
        timeouts=np.ones(3, bool),
    )
    with pytest.raises(DatasetError, match="successor"):
        fit_critic(data, QUICK)


def test_fewer_than_twenty_held_out_episodes_give_no_verdict():
    report = fit_critic(walks(episodes=30), change(QUICK, {"steps": 50})).critic.diagnosis
    assert report["converged"] is None
    assert "held-out" in report["reason"]


def test_constant_rewards_have_one_exact_value():
    data = walks()
    constant = with_columns(data, rewards=np.full(len(data), 0.3, np.float32))
    fitted = fit_critic(constant, change(QUICK, {"steps": 50}))
    q = fitted.critic.q(0, data.observations, data.actions)
    np.testing.assert_allclose(q, float(np.float32(0.3)) / (1 - 0.9), rtol=1e-9)
    assert fitted.critic.diagnosis["converged"] is not False


def test_the_standard_error_counts_episodes_not_rows():
    rng = np.random.default_rng(0)
    level = rng.normal(size=50)
    episode = np.repeat(np.arange(50), 20)
    bias, error, count = bias_and_error(Calibration(level[episode], np.zeros(1_000), episode))
    assert count == 50
    assert bias == pytest.approx(level.mean())
    assert error == pytest.approx(level.std(ddof=1) / np.sqrt(50), rel=1e-9)


def test_change_of_the_last_tenth_reads_the_curve():
    curve = {"step": [100 * k for k in range(1, 11)], "value": [0.0] * 8 + [3.0, 5.0]}
    assert change_of_last_tenth(curve) == pytest.approx(2.0)


def test_the_mixture_gap_tells_hidden_policies_from_one():
    """Two policies share a state in which nothing shows who acts: returns remember, one-step targets forget."""
    length, episodes = 40, 200
    rng = np.random.default_rng(0)
    good = np.repeat(rng.random(episodes) < 0.5, length)
    step = np.tile(np.arange(length), episodes)
    shared = step % 2 == 1
    action = np.where(shared, 0.0, np.where(good, 1.0, -1.0))
    columns = {
        "observations": shared[:, None].astype(float),
        "actions": action[:, None],
        "rewards": action,
        "timeouts": step == length - 1,
    }
    settings = change(QUICK, {"steps": 1_000})
    mixed = fit_critic(dataset(**columns), settings).critic.diagnosis
    alike = columns | {"actions": np.abs(action)[:, None], "rewards": np.abs(action)}
    pure = fit_critic(dataset(**alike), settings).critic.diagnosis
    # Q of one-step targets at the deciding state: +-1; of returns: +-1 + .81 + ... to the cut, where V is 0
    left = np.arange(1, length // 2 + 1)
    gap = ((1 - 0.81**left) / 0.19).mean() - 1
    assert mixed["mixture_gap_rms"] == pytest.approx(gap / np.sqrt(2), rel=0.05)
    assert pure["mixture_gap_rms"] < 0.1
