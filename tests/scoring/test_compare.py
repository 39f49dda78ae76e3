"""Comparison: pooled statistics, a ranking that says ties, and what is refused."""

import json

import numpy as np
import pytest
from small import SMALL

import rlassay
from probes import walks, with_columns
from rlassay.errors import DatasetError, SettingsError
from rlassay.results.card import Score, read_cards
from rlassay.scoring.compare import rank, task_of


def made(source, shift=0.0, env_id=None, seed=0):
    data = walks(episodes=40, length=30, seed=seed, level=0.3, env_id=env_id, source=source)
    return with_columns(data, rewards=data.rewards + np.float32(shift))


SCORES = ["return", "q", "bwd", "bwd.tail", "saco", "pd"]


@pytest.fixture(scope="module")
def comparison():
    sources = [made("low"), made("high", 2.0, seed=1), made("alike", 2.0, seed=2)]
    return rlassay.compare(sources, scores=SCORES, settings=SMALL)


def score(value, half=None, direction="higher"):
    interval = None if half is None else (value - half, value + half)
    return Score(value, interval, (value,), direction, "1", 10)


def test_the_order_is_that_of_the_data(comparison):
    for name in ("return", "q", "bwd", "bwd.tail"):
        ranks = {entry.source: entry for entry in comparison.ranking[name]}
        assert ranks["low"].rank == 3, name
        assert ranks["low"].tied_with == [], name
    of_return = {entry.source: entry for entry in comparison.ranking["return"]}
    assert of_return["high"].tied_with == ["alike"]


def test_epsilon_is_one_for_all(comparison):
    for estimator in ("exact", "tail"):
        found = {card.diagnosis["transport"][estimator]["epsilon"] for card in comparison.cards}
        assert len(found) == 1
    assert "pooled" in comparison.cards[0].diagnosis["transport"]["epsilon_rule"]
    alone = rlassay.score(made("low"), scores=["bwd.tail"], settings=SMALL)
    assert alone.diagnosis["transport"]["tail"]["epsilon"] not in found


def test_the_grid_is_pooled():
    wide = made("wide")
    narrow = with_columns(wide, observations=wide.observations * 0.2, actions=wide.actions * 0.2)
    pooled = rlassay.compare([narrow, wide], scores=["saco"])
    alone = rlassay.score(narrow, scores=["saco"])
    assert alone["saco"].value == pytest.approx(pooled.cards[1]["saco"].value, rel=0.05)
    assert pooled.cards[0]["saco"].value < 0.5 * alone["saco"].value


def test_json(comparison):
    found = json.loads(comparison.to_json())
    assert found["schema"] == "rlassay.comparison/1"
    assert set(found) == {"schema", "cards", "ranking"}
    assert next(iter(found["ranking"])) == "verdict"
    assert set(found["ranking"]) == {"verdict", *SCORES}
    entry = found["ranking"]["q"][0]
    assert set(entry) == {"source", "rank", "value", "interval", "tied_with"}


def test_saved_cards_are_ranked_as_they_are(comparison, tmp_path):
    path = tmp_path / "comparison.json"
    path.write_text(comparison.to_json())
    again = rlassay.compare(read_cards(path))
    assert again.ranking == comparison.ranking


def test_cards_under_different_rules_are_refused(comparison):
    changed = rlassay.score(
        made("low"), scores=["q", "bwd"], settings=SMALL | {"transport.cost": "gap"}
    )
    with pytest.raises(DatasetError, match="cost"):
        rlassay.compare([comparison.cards[0], changed])
    other = rlassay.score(
        made("low"), scores=["q", "bwd"], settings=SMALL | {"transport.epsilon": 2.0}
    )
    with pytest.raises(DatasetError, match="epsilon_rule"):
        rlassay.compare([comparison.cards[0], other])
    forced = rlassay.compare([comparison.cards[0], other], force=True)
    assert set(forced.ranking) == {"verdict", "q", "bwd"}


def test_cards_and_data_do_not_mix(comparison):
    with pytest.raises(SettingsError, match="mixed"):
        rlassay.compare([comparison.cards[0], made("low")])


def test_one_dataset_is_no_comparison():
    with pytest.raises(SettingsError, match="two"):
        rlassay.compare([made("low")])


def test_different_versions_are_refused_unless_forced():
    first, second = made("a", env_id="Hopper-v4"), made("b", env_id="Hopper-v5")
    with pytest.raises(DatasetError, match="hopper-v4, hopper-v5.*--force"):
        rlassay.compare([first, second], scores=["return"])
    forced = rlassay.compare([first, second], scores=["return"], force=True)
    assert len(forced.cards) == 2


def test_different_dimensions_are_refused_even_by_force():
    other = walks(dims=(4, 2), source="other")
    with pytest.raises(DatasetError, match="observations"):
        rlassay.compare([made("low"), other], force=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hopper-medium-v2", "hopper-expert-v2"),
        ("mujoco/hopper/simple-v0", "mujoco/hopper/expert-v0"),
        ("Hopper-v5", "hopper-v5"),
        ("halfcheetah-medium-replay-v2", "halfcheetah-medium-expert-v2"),
    ],
)
def test_quality_words_are_no_part_of_the_task(one, other):
    assert task_of(one) == task_of(other)


def test_versions_and_families_are_part_of_the_task():
    assert (
        len(
            {
                task_of(name)
                for name in ("hopper-medium-v1", "hopper-medium-v2", "walker2d-medium-v2")
            }
        )
        == 3
    )


def test_ties_follow_from_both_intervals():
    def tie(one, other):
        [first, _] = rank([one, other], ["one", "other"])
        return len(first.tied_with) == 1

    assert tie(score(1.0, 0.5), score(1.6, 0.5))
    assert not tie(score(1.0, 0.5), score(1.8, 0.5))
    assert tie(score(1.0), score(1.0)) and not tie(score(1.0), score(1.1))
    assert not tie(
        score(1.0, 0.5), score(1.1)
    )  # one of them has no interval: only equal values tie


def test_ranks_count_who_is_better():
    ranks = rank([score(2.0), score(3.0), score(2.0), score(1.0)], ["a", "b", "c", "d"])
    assert [(entry.source, entry.rank) for entry in ranks] == [
        ("b", 1),
        ("a", 2),
        ("c", 2),
        ("d", 4),
    ]
    assert [entry.tied_with for entry in ranks] == [[], ["c"], ["a"], []]


def test_lower_is_better_where_the_score_says_so():
    ranks = rank([score(1.0, direction="lower"), score(-1.0, direction="lower")], ["a", "b"])
    assert [entry.source for entry in ranks] == ["b", "a"]


def test_equal_values_share_a_rank():
    ranks = rank([score(1.0), score(2.0), score(2.0)], ["a", "b", "c"])
    assert [(entry.source, entry.rank) for entry in ranks] == [("b", 1), ("c", 1), ("a", 3)]


def test_equal_sources_are_told_apart():
    pair = [made("same"), made("same", 1.0)]
    found = rlassay.compare(pair, scores=["return"])
    assert {entry.source for entry in found.ranking["return"]} == {"same (1)", "same (2)"}


def test_data_without_rewards_is_ranked_by_what_it_has():
    bare = with_columns(made("bare"), rewards=None)
    found = rlassay.compare([bare, made("full")], scores=["saco", "return"])
    assert set(found.ranking) == {"saco"}
