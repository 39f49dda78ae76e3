"""Intervals and correlations against independent formulas."""

import functools

import numpy as np
import pytest
import scipy.stats

from rlassay import stats
from rlassay.scoring.scores import mean_by_length
from rlassay.stats import Resampling

RNG = np.random.default_rng(0)


def test_bootstrap_variance_of_a_mean_is_that_of_the_textbook():
    values = RNG.normal(size=60)
    variance, count = Resampling(4_000).variance([(values, np.arange(60))])
    assert count == 60
    assert variance == pytest.approx(values.var(ddof=1) / 60, rel=0.1)


def test_episodes_are_resampled_not_rows():
    level = RNG.normal(size=40)
    group = np.repeat(np.arange(40), 25)
    variance, _ = Resampling(4_000).variance([(level[group], group)])
    assert variance == pytest.approx(level.var(ddof=1) / 40, rel=0.1)


def test_the_variance_of_a_functional_equals_a_plain_loop():
    values = RNG.normal(size=30)
    variance, _ = Resampling(2_000, seed=1).variance([(values, np.arange(30))], stats.top_mean)
    rng = np.random.default_rng(9)
    loop = [np.sort(values[rng.integers(0, 30, 30)])[-3:].mean() for _ in range(2_000)]
    assert variance == pytest.approx(np.var(loop) * 30 / 29, rel=0.15)


def test_many_groups_are_thinned_and_the_variance_scaled(monkeypatch):
    values = RNG.normal(size=4_000)
    everything, _ = Resampling(2_000).variance([(values, np.arange(4_000))])
    monkeypatch.setattr(stats, "MOST_GROUPS", 500)
    thinned, count = Resampling(2_000).variance([(values, np.arange(4_000))])
    assert count == 4_000
    assert thinned == pytest.approx(everything, rel=0.25)


def test_a_statistic_that_knows_lengths_is_thinned_with_them(monkeypatch):
    lengths = RNG.integers(1, 9, size=1_000).astype(float)
    values = lengths + RNG.normal(size=1_000)
    statistic = functools.partial(mean_by_length, lengths=lengths)
    everything, _ = Resampling(2_000).variance([(values, np.arange(1_000))], statistic)
    monkeypatch.setattr(stats, "MOST_GROUPS", 500)
    thinned, count = Resampling(2_000).variance([(values, np.arange(1_000))], statistic)
    assert count == 1_000
    assert thinned == pytest.approx(everything, rel=0.25)


def test_one_group_has_no_variance_and_no_interval():
    assert Resampling().variance([(np.ones(5), np.zeros(5, int))]) == (0.0, 1)
    assert stats.interval([1.0], 0.0, 1) is None


def test_interval_of_one_seed_is_students():
    low, high = stats.interval([3.0], 0.04, 11) or (0, 0)
    half = scipy.stats.t.ppf(0.975, 10) * 0.2
    assert (low, high) == pytest.approx((3 - half, 3 + half))


def test_seeds_widen_the_interval_by_their_standard_error():
    seeds = [1.0, 2.0, 3.0]
    low, high = stats.interval(seeds, 0.0, 50) or (0, 0)
    half = scipy.stats.t.ppf(0.975, 2) * np.sqrt(1 / 3)
    assert (low, high) == pytest.approx((2 - half, 2 + half))


def test_top_mean_counts_the_border_in_part():
    values = np.arange(25.0)
    assert stats.top_mean(values, np.ones(25)) == pytest.approx((24 + 23 + 0.5 * 22) / 2.5)
    doubled = stats.top_mean(np.repeat(values, 2), np.ones(50))
    assert stats.top_mean(values, np.full(25, 2.0)) == pytest.approx(doubled)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("pearson", scipy.stats.pearsonr),
        ("spearman", scipy.stats.spearmanr),
        ("kendall", scipy.stats.kendalltau),
    ],
)
def test_correlations_equal_scipys_with_ties(kind, other):
    x = RNG.integers(0, 6, 25).astype(float)
    y = x + RNG.integers(0, 4, 25)
    assert stats.correlation(x, y, kind) == pytest.approx(other(x, y)[0], rel=1e-12)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_constant_has_no_correlation(kind):
    assert np.isnan(stats.correlation(np.ones(5), np.arange(5.0), kind))


def test_strata_are_resampled_apart():
    strata = np.repeat([0, 1], [4, 16])
    drawn = stats.resampled_indices(20, strata, 50, 0)
    assert (drawn[:, :4] < 4).all() and (drawn[:, 4:] >= 4).all()


def test_the_interval_of_a_mean_is_students():
    low, high = stats.mean_interval([1.0, 2.0, 3.0])
    expected = scipy.stats.t.interval(0.95, 2, loc=2.0, scale=scipy.stats.sem([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx(expected)
    assert stats.mean_interval([1.0]) is None and stats.mean_interval([]) is None


def test_an_estimates_interval_holds_the_middle_95_percent_of_its_resamples():
    found = stats.estimate(7.0, np.arange(1001.0), n=12)
    assert found == stats.Estimate(7.0, pytest.approx((25.0, 975.0)), 12)
    narrow = stats.estimate(7.0, np.arange(1001.0), n=12, level=0.5)
    assert narrow.interval == pytest.approx((250.0, 750.0))


def test_an_estimate_with_few_defined_resamples_has_no_interval():
    undefined = np.where(np.arange(100) < 51, np.nan, 1.0)
    assert stats.estimate(1.0, undefined, n=5).interval is None
    assert stats.estimate(1.0, undefined[1:-1], n=5).interval is None
    assert stats.estimate(1.0, undefined[2:], n=5).interval == (1.0, 1.0)


def test_seeds_and_episodes_add_up_with_satterthwaites_degrees_of_freedom():
    seeds, of_episodes, groups = [1.0, 2.0, 3.0], 0.2, 11
    of_seeds = 1 / 3
    freedom = (of_episodes + of_seeds) ** 2 / (of_episodes**2 / 10 + of_seeds**2 / 2)
    half = scipy.stats.t.ppf(0.975, freedom) * np.sqrt(of_episodes + of_seeds)
    assert stats.interval(seeds, of_episodes, groups) == pytest.approx((2 - half, 2 + half))


def test_replicates_share_their_weights_over_seeds():
    """The same episodes are drawn for every seed: opposite values cancel in each replicate, not only on average."""
    values, group = RNG.normal(size=50), np.arange(50)
    variance, _ = Resampling(200).variance([(values, group), (-values, group)])
    assert variance == pytest.approx(0.0, abs=1e-20)


def test_sums_of_many_values_are_those_of_all_at_once(monkeypatch):
    """In blocks, with the same additions in the same order."""
    from rlassay import stats

    rng = np.random.default_rng(0)
    values, group = rng.normal(size=10_000), np.sort(rng.integers(0, 50, 10_000))
    kept = np.arange(0, 50, 3)
    place = np.searchsorted(kept, group)
    inside = np.isin(group, kept)
    wanted = np.bincount(place[inside], values[inside], len(kept))
    monkeypatch.setattr(stats, "BLOCK_ENTRIES", 333)
    sums, sizes = stats._sums_by_group(values, group, kept)
    assert np.array_equal(sums, wanted)
    assert np.array_equal(sizes, np.bincount(place[inside], minlength=len(kept)))
    assert np.array_equal(stats._all_groups([group, group[::-1]]), np.unique(group))
