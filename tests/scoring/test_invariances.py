"""What must not change a score, what must change it, and by how much: one file for every registered score."""

import numpy as np
import pytest
from small import REFERENCE, SMALL

import rlassay
from probes import dataset, duplicated, permuted, walks, with_columns
from rlassay.scoring import SCORES, assess

COUNTED = ("reward", "return", "return_by_step", "return_top10", "tq", "eri", "rpsv", "saco")
LEARNED = tuple(name for name in SCORES if name not in COUNTED)
BEHAVIOUR = ("saco", "eas", "bc_error", "knn_entropy")  # rewards do not enter
DATA = walks(episodes=60, length=30, level=0.1)
FACTOR = 2.0**6
SHIFT = 3.0


def card_of(data, scores=tuple(SCORES), **options):
    given = {"settings": SMALL, "reference": REFERENCE, "scores": scores}
    return rlassay.score(data, seeds=2, **given, **options)


@pytest.fixture(scope="module")
def card():
    return card_of(DATA)


@pytest.fixture(scope="module")
def other():
    """Cards of changed data, each computed once."""
    cards = {}

    def get(name):
        if name not in cards:
            cards[name] = card_of(CHANGED[name]())
        return cards[name]

    return get


CHANGED = {
    "permuted": lambda: permuted(DATA),
    "duplicated": lambda: duplicated(DATA),
    "scaled": lambda: with_columns(DATA, rewards=DATA.rewards * np.float32(FACTOR)),
    "shifted": lambda: with_columns(DATA, rewards=DATA.rewards + np.float32(SHIFT)),
    "same": lambda: DATA,
}


def half_width(score) -> float:
    return (score.interval[1] - score.interval[0]) / 2


def test_every_registered_score_is_in_the_card(card):
    assert set(card) == set(SCORES)


@pytest.mark.parametrize("change", ["permuted", "duplicated"])
@pytest.mark.parametrize("name", COUNTED)
def test_counted_scores_are_exact(card, other, name, change):
    assert other(change)[name].value == pytest.approx(card[name].value, rel=1e-12)


@pytest.mark.parametrize("change", ["permuted", "duplicated"])
@pytest.mark.parametrize("name", LEARNED)
def test_learned_scores_stay_within_the_interval(card, other, name, change):
    changed = other(change)[name]
    tolerance = max(half_width(card[name]), half_width(changed))
    assert abs(changed.value - card[name].value) <= tolerance


@pytest.mark.parametrize("name", tuple(SCORES))
def test_the_same_seed_gives_the_same_bits(card, other, name):
    assert other("same")[name] == card[name]


@pytest.mark.parametrize(
    ("name", "power"),
    [
        ("reward", 1),
        ("return", 1),
        ("return_by_step", 1),
        ("return_top10", 1),
        ("extractable", 1),
        ("rpsv", 2),
        ("eri", 0),
        ("q", 1),
        ("pd", 1),
        ("advantage", 1),
    ]
    + [(name, 0) for name in BEHAVIOUR],
)
def test_scaled_rewards_scale_the_value(card, other, name, power):
    expected = np.array(card[name].per_seed) * FACTOR**power
    np.testing.assert_allclose(other("scaled")[name].per_seed, expected, rtol=1e-6)


def test_scaled_rewards_scale_the_value_part_of_the_cost_and_leave_the_distance():
    """Every member of the family reads these pairs: c = Q(s, a') - |a' - a|^2."""
    before = assess(DATA, settings=SMALL).pairs[0]
    after = assess(CHANGED["scaled"](), settings=SMALL).pairs[0]
    np.testing.assert_allclose(after.q_random, before.q_random * FACTOR, rtol=1e-6)
    np.testing.assert_array_equal(after.random_actions, before.random_actions)
    np.testing.assert_allclose(
        after.q_random - after.costs, before.q_random - before.costs, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("name", tuple(SCORES))
def test_shifted_rewards_shift_values_by_the_perpetuity(card, other, name):
    perpetuity = SHIFT / (1 - SMALL["critic.discount"])
    expected = {
        "reward": SHIFT,
        "return": 30 * SHIFT,
        "return_by_step": 30 * SHIFT,
        "return_top10": 30 * SHIFT,
        "tq": 0.3 * SHIFT,
        "extractable": 30 * SHIFT,
    }
    shift = expected.get(name, perpetuity if name == "q" or name.startswith("bwd") else 0.0)
    size = max(abs(card[name].value), perpetuity)
    assert other("shifted")[name].value - card[name].value == pytest.approx(shift, abs=5e-3 * size)


@pytest.mark.parametrize("name", tuple(SCORES))
def test_one_episode_works(name):
    found = card_of_one_episode()
    assert np.isfinite(found[name].value)
    assert found[name].interval is None


def card_of_one_episode(_cache=[]):  # noqa: B006
    if not _cache:
        _cache.append(card_of(walks(episodes=1, length=400)))
    return _cache[0]


def test_directions_agree_with_better_data():
    """Behaviour that takes better actions in the same states scores better by every value score."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(3_000, 2))
    made = {}
    for level, mean in (("good", 0.7), ("bad", -0.7)):
        actions = np.clip(mean + 0.2 * rng.normal(size=(3_000, 1)), -1, 1)
        made[level] = card_of(
            dataset(
                observations=states,
                actions=actions,
                rewards=actions[:, 0],
                terminals=np.arange(3_000) % 10 == 9,
            )
        )
    for name in ("reward", "return", "return_by_step", "return_top10", "tq", "q", "pd"):
        sign = 1 if SCORES[name].direction == "higher" else -1
        assert sign * (made["good"][name].value - made["bad"][name].value) > 0, name
