"""Weights: softmax over rows, mean one, temperature, and the file."""

import numpy as np
import pytest
from curate_data import made_dataset

from rlassay.curation.weights import Weights, weigh, write_weights
from rlassay.errors import DatasetError, SettingsError


def test_return_weights_are_a_softmax_of_scaled_returns():
    data = made_dataset(lengths=(2, 3, 4), terminal=(), level=[0, 1, 2])
    weights = weigh(data, "return", None).values
    returns = data.episode_returns
    scaled = (returns - returns.min()) / (returns.max() - returns.min())
    expected = np.repeat(np.exp(scaled / 0.1), [2, 3, 4])
    assert np.allclose(weights, expected / expected.mean(), rtol=1e-5)
    assert np.isclose(weights.mean(), 1)


@pytest.mark.parametrize("kind", ["advantage", "value-gap"])
def test_row_weights_follow_their_worth(kind):
    data = made_dataset()
    worth = np.random.default_rng(0).normal(size=len(data)) * 7 + 100
    weights = weigh(data, kind, worth).values
    expected = np.exp((worth - worth.mean()) / worth.std())
    assert np.allclose(weights, expected / expected.mean(), rtol=1e-5)


def test_an_outlier_weighs_at_most_a_hundred_times_the_mean_row():
    data = made_dataset(lengths=(500, 500), terminal=())
    worth = np.zeros(1000)
    worth[0] = 1e6
    weights = weigh(data, "advantage", worth, temperature=0.1).values
    assert np.isclose(weights[0] / weights[1], 100 * np.exp(1 / np.sqrt(999) / 0.1), rtol=1e-3)


def test_a_low_temperature_sharpens():
    data = made_dataset()
    shares = [weigh(data, "return", None, t).effective_share for t in (0.05, 0.5, 100.0)]
    assert shares[0] < shares[1] < shares[2] and np.isclose(shares[2], 1, atol=1e-3)


def test_tiny_temperatures_stay_finite():
    assert np.isfinite(weigh(made_dataset(), "return", None, 1e-9).values).all()


def test_equal_returns_weigh_alike():
    data = made_dataset(lengths=(3, 3), terminal=(), level=[0, 0])
    equal = data.select([0])
    assert np.array_equal(weigh(equal, "return", None).values, np.ones(3, np.float32))


def test_the_file_names_what_it_belongs_to(tmp_path):
    data = made_dataset()
    write_weights(tmp_path / "w.npz", weigh(data, "return", None, 0.2))
    with np.load(tmp_path / "w.npz", allow_pickle=False) as file:
        assert file["weights"].shape == (len(data),) and file["weights"].dtype == np.float32
        assert str(file["kind"]) == "return" and float(file["temperature"]) == 0.2
        assert str(file["fingerprint"]) == data.fingerprint


def test_the_effective_share_is_kishs():
    assert Weights(np.array([1.0, 1, 1, 1]), "return", 1, "").effective_share == 1
    assert Weights(np.array([4.0, 0, 0, 0]), "return", 1, "").effective_share == 0.25


def test_bad_settings_are_refused():
    data = made_dataset()
    with pytest.raises(SettingsError, match="unknown kind"):
        weigh(data, "magic", None)
    with pytest.raises(SettingsError, match="temperature"):
        weigh(data, "return", None, 0)
    with pytest.raises(DatasetError, match="one finite value a row"):
        weigh(data, "advantage", np.full(len(data), np.nan))
