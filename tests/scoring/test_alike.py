"""Datasets that are compared though they do not measure the same thing."""

import numpy as np
import pytest

import rlassay
from probes import walks, with_columns
from rlassay.data.dataset import Origin
from rlassay.scoring.alike import differences, relation


def codes(*datasets):
    return [caution.code for caution in differences(datasets)]


def test_data_of_one_task_are_alike():
    assert codes(walks(seed=0), walks(seed=1), walks(seed=2)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r + 1, "the first + 1"),
        (lambda r: r - 2.5, "the first - 2.5"),
        (lambda r: 10 * r, "10 times the first"),
        (lambda r: 0.1 * r - 3, "0.1 times the first -3"),
        (lambda r: r**2, "neither a shift nor a scale"),
    ],
)
def test_other_rewards_of_the_same_transitions_are_told(change, told):
    data = walks()
    (found,) = differences([data, with_columns(data, rewards=change(data.rewards))])
    assert found.code == "rewards_differ" and told in found.message


def test_a_part_of_a_file_is_recognised():
    data = walks(episodes=30)
    part = with_columns(data.select(np.arange(10, 20)))
    assert codes(data, part) == []
    assert codes(data, with_columns(part, rewards=part.rewards + 1)) == ["rewards_differ"]


def test_ranges_of_rewards_that_do_not_meet():
    one, other = walks(seed=0), walks(seed=1)
    assert codes(one, with_columns(other, rewards=other.rewards + 100)) == ["rewards_differ"]
    assert codes(one, with_columns(other, rewards=other.rewards * 1_000)) == ["rewards_differ"]


def test_equal_rewards_have_no_relation():
    values = np.arange(5.0)
    assert relation(values, values) is None


def test_actions_in_other_units():
    one, other = walks(seed=0), walks(seed=1)
    degrees = with_columns(other, actions=other.actions * 57.3)
    assert codes(one, degrees) == ["actions_in_other_units"]
    single = np.array(other.actions)
    single[:, 1] *= 100
    assert codes(one, with_columns(other, actions=single)) == ["actions_in_other_units"]


def test_stated_bounds_that_differ():
    def bounded(seed, high):
        data = walks(seed=seed)
        data.origin = Origin(action_low=np.full(2, -high), action_high=np.full(2, high))
        return data

    assert codes(bounded(0, 1.0), bounded(1, 1.0)) == []
    assert codes(bounded(0, 1.0), bounded(1, 2.0)) == ["actions_in_other_units"]


def test_compare_warns_on_every_card_and_ranks_by_the_verdict_first():
    data = walks(episodes=40, length=30, source="plain")
    shifted = with_columns(data, rewards=data.rewards + 1)
    found = rlassay.compare([data, data, shifted], scores=["return"])
    assert list(found.ranking) == ["verdict", "return"]
    for card in found.cards:
        assert {"same_data", "rewards_differ"} <= {warning.code for warning in card.warnings}
    (first, *others) = found.ranking["verdict"]
    assert first.rank == 1 and first.interval is not None
    assert others[0].tied_with  # the same data twice


def test_files_without_a_forecast_have_no_first_ranking():
    small = [walks(episodes=5, length=20, seed=seed, source=f"s{seed}") for seed in (0, 1)]
    assert list(rlassay.compare(small, scores=["return"]).ranking) == ["return"]


def test_one_file_without_a_forecast_is_named():
    large = walks(episodes=40, length=30, source="large")
    small = walks(episodes=5, length=20, source="small")
    found = rlassay.compare([large, small], scores=["return"])
    assert list(found.ranking) == ["return"]
    told = [w for w in found.cards[0].warnings if w.code == "not_ranked_by_verdict"]
    assert len(told) == 1 and "small has no forecast" in told[0].message
