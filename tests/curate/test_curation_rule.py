"""Rules on hand-made tables: what stays, what goes, how ties are broken, what is refused."""

import numpy as np
import pytest
from curate_data import made_table

from rlassay.curation.choice import budget_of, choose
from rlassay.curation.ranking import parse_terms, rank, unit_ranks
from rlassay.curation.rule import Rule
from rlassay.data.cells import Cells
from rlassay.errors import DatasetError, SettingsError
from rlassay.results.episodes import EpisodeTable


def kept(table, **rule):
    return choose(table, Rule(**rule)).kept.tolist()


def test_the_best_share_stays_in_the_order_of_the_file():
    table = made_table(**{"return": [3, 9, 1, 7]})
    assert kept(table, keep=0.5, by="return") == [1, 3]
    assert kept(table, top_k=3, by="return") == [0, 1, 3]
    assert kept(table, min_score=3, by="return") == [0, 1, 3]


def test_a_score_that_is_better_when_lower_keeps_the_low_ones():
    table = made_table(pd=[3, 9, 1, 7])
    assert kept(table, keep=0.5, by="pd") == [0, 2]
    assert kept(table, min_score=3, by="pd") == [0, 2]
    assert kept(table, keep=0.5, by="-pd") == [1, 3]


@pytest.mark.parametrize(
    ("keep", "total", "count"),
    [(0.5, 5, 3), (0.333333, 3, 1), (0.666667, 3, 2), (0.1, 30, 3), (0.001, 10, 1), (0.99, 4, 4)],
)
def test_a_share_is_rounded_to_the_nearest_number_and_at_least_one(keep, total, count):
    assert budget_of(Rule(keep=keep), np.ones(total)) == count


def test_a_share_of_the_rows_takes_the_best_episodes_until_it_is_reached():
    table = EpisodeTable(
        np.array([0, 5, 15]), np.array([5, 10, 85]), {"q": np.array([3.0, 2.0, 1.0])}
    )
    assert kept(table, keep_rows=0.05, by="q") == [0]
    assert kept(table, keep_rows=0.15, by="q") == [0, 1]
    assert kept(table, keep_rows=0.16, by="q") == [0, 1, 2]
    assert kept(table, keep=0.5, by="q") == [0, 1]


def test_of_equal_scores_the_earlier_stay_and_the_cut_is_told():
    choice = choose(made_table(q=[1, 2, 2, 2]), Rule(top_k=2, by="q"))
    assert choice.kept.tolist() == [1, 2]
    assert choice.tied_at_cut == 1


def test_an_unknown_score_ranks_last_and_never_reaches_a_bound():
    table = made_table(q=[np.nan, 1, -5, 2])
    assert kept(table, top_k=3, by="q") == [1, 2, 3]
    assert kept(table, min_score=-10, by="q") == [1, 2, 3]
    assert choose(table, Rule(top_k=3, by="q")).unscored == 1


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("bwd", [(1, "bwd")]),
        ("0.5*bwd+0.5*return", [(0.5, "bwd"), (0.5, "return")]),
        (" bwd - 2 * bc_surprise ", [(1, "bwd"), (-2, "bc_surprise")]),
        ("1e-1*bwd.tail+.3*q", [(0.1, "bwd.tail"), (0.3, "q")]),
    ],
)
def test_weighted_sums_are_read(text, terms):
    assert parse_terms(text) == terms


@pytest.mark.parametrize("text", ["", "0.5*", "bwd return", "bwd++q", "0*bwd", "bwd/2", "*q"])
def test_an_unreadable_sum_is_refused(text):
    with pytest.raises(SettingsError, match="cannot be read"):
        parse_terms(text)


def test_a_sum_adds_ranks_not_values():
    table = made_table(q=[0, 1, 2], **{"return": [1e9, 0, 1]})
    combined = rank(table, "0.5*q + 0.5*return").goodness
    assert combined.tolist() == [0.5, 0.25, 0.75]
    assert kept(table, top_k=1, by="0.5*q+0.5*return") == [2]
    assert kept(table, top_k=1, by="0.2*q+0.8*return") == [0]


def test_a_sum_turns_each_score_to_its_good_side():
    table = made_table(q=[0, 1, 2], pd=[5, 0, 9])
    assert rank(table, "q + pd").goodness.tolist() == [0.25, 0.75, 0.5]


def test_equal_values_share_their_mean_rank():
    assert unit_ranks(np.array([5.0, 1.0, 5.0, np.nan, 9.0])).tolist()[:3] == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("keep", [0, -0.5, 1.5, float("nan")])
@pytest.mark.parametrize("name", ["keep", "keep_rows"])
def test_a_share_outside_its_range_is_refused(name, keep):
    with pytest.raises(SettingsError, match=f"{name} is out of range; allowed: above 0, up to 1"):
        Rule(**{name: keep})


def test_two_ways_of_choosing_are_refused():
    with pytest.raises(SettingsError, match="two ways of choosing"):
        Rule(keep=0.5, top_k=3)


def test_more_episodes_than_there_are_is_refused():
    with pytest.raises(SettingsError, match="1 to 2"):
        kept(made_table(q=[1, 2]), top_k=3, by="q")


def test_one_episode_cannot_be_divided():
    with pytest.raises(DatasetError, match="one episode"):
        kept(made_table(q=[1]), keep=0.5, by="q")


def test_equal_scores_choose_nothing():
    with pytest.raises(DatasetError, match="all 3 episodes have the same score by q"):
        kept(made_table(q=[4, 4, 4]), keep=0.5, by="q")


def test_keeping_everything_needs_no_difference():
    assert kept(made_table(q=[4, 4, 4]), keep=0.9, by="q") == [0, 1, 2]


def test_a_bound_nobody_reaches_names_the_range():
    with pytest.raises(DatasetError, match="the scores are 1 to 4"):
        kept(made_table(q=[1, 4]), min_score=5, by="q")


def test_an_unknown_score_names_the_known_ones():
    with pytest.raises(
        SettingsError, match="unknown episode score; allowed: q, return; got: nonsense"
    ):
        kept(made_table(q=[1, 2], **{"return": [1, 2]}), keep=0.5, by="nonsense")


def cells_of(*episodes):
    visited = np.concatenate([np.asarray(e) for e in episodes])
    starts = np.concatenate([[0], np.cumsum([len(e) for e in episodes])])
    return Cells(visited, starts, len(np.unique(visited)))


def test_diverse_keeps_the_only_visitor_of_a_region():
    cells = cells_of([0, 1], [0, 1], [0, 1], [2, 3])
    table = made_table(q=[10, 9, 8, 1])
    assert choose(table, Rule(top_k=2, by="q", diverse=True), cells).kept.tolist() == [0, 3]
    alone = Rule(top_k=2, by="q", diverse=True, diversity=0.0)
    assert choose(table, alone, cells).kept.tolist() == [0, 1]


def test_diverse_prefers_quality_where_coverage_is_equal():
    cells = cells_of([0, 1], [0, 1], [2, 3], [2, 3])
    table = made_table(q=[1, 10, 8, 2])
    assert choose(table, Rule(top_k=2, by="q", diverse=True), cells).kept.tolist() == [1, 2]


def test_diverse_within_a_share_of_rows_counts_what_an_episode_costs():
    """Both long episodes cover two cells; the two short ones cover the same four at a tenth of the cost."""
    cells = cells_of([0, 1], [2, 3], [0, 1], [2, 3])
    lengths = np.array([100, 100, 10, 10])
    table = EpisodeTable(np.arange(4), lengths, {"q": np.ones(4)})
    rule = Rule(keep_rows=0.05, by="q", diverse=True)
    assert choose(table, rule, cells).kept.tolist() == [2, 3]


def test_diverse_without_a_number_is_refused():
    with pytest.raises(SettingsError, match="diverse needs a number"):
        Rule(min_score=1, diverse=True)


def test_the_rule_remembers_what_mattered():
    assert Rule(keep=0.5, by="q").to_dict() == {"keep": 0.5, "by": "q"}
    assert Rule(dedupe=True).to_dict() == {"dedupe": True}
    assert Rule(keep=0.5, by="q", diverse=True, diversity=0.3).to_dict() == {
        "keep": 0.5,
        "by": "q",
        "diverse": True,
        "diversity": 0.3,
    }
