"""Scores of episodes and transitions: what they are, and that they agree with the dataset's."""

import numpy as np
import pytest
from curate_data import made_dataset

import rlassay.scoring as scoring
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError, SettingsError
from rlassay.scoring import SCORES, episode_scores, register_score, transition_scores
from rlassay.scoring.episodes import DEFAULT, episode_means, known_scores, table_of

SMALL = {
    "critic.steps": 200,
    "critic.refresh": 100,
    "transport.steps": 50,
    "transport.anchors": 40,
    "baselines.fit_steps": 50,
    "transport.states": 150,
}


@pytest.fixture(scope="module")
def data():
    return made_dataset(lengths=(40, 60, 80, 50, 70), terminal=(0, 2))


@pytest.fixture(scope="module")
def assessment(data):
    return scoring.assess(data, settings=SMALL, seeds=2)


@pytest.fixture(scope="module")
def table(assessment):
    return table_of(assessment)


@pytest.mark.parametrize(
    "name", ["q", "advantage", "pd", "bwd", "bwd.exact", "bwd.tail", "bwd.dual"]
)
def test_the_mean_over_the_scored_rows_is_the_datasets_score(assessment, name):
    from rlassay.scoring.episodes import rows_under_assay
    from rlassay.scoring.measure import measure

    values = rows_under_assay(assessment, name)
    assert np.isclose(values[assessment.rows].mean(), measure(assessment, name).value, rtol=1e-12)


def test_sinkhorn_has_values_at_its_anchors_alone(assessment):
    from rlassay.scoring.episodes import rows_under_assay
    from rlassay.scoring.measure import measure

    values = rows_under_assay(assessment, "bwd.sinkhorn")
    anchors = [assessment.problem_rows[one.rows] for one in assessment.transport("sinkhorn")]
    assert np.array_equal(np.flatnonzero(~np.isnan(values)), np.union1d(*anchors))
    alone = np.setdiff1d(anchors[0], anchors[1])
    first = assessment.transport("sinkhorn")[0]
    assert np.array_equal(values[alone], first.integrand[np.searchsorted(anchors[0], alone)])
    assert np.isclose(first.integrand.mean(), measure(assessment, "bwd.sinkhorn").per_seed[0])


@pytest.mark.parametrize("estimator", ["exact", "tail"])
def test_with_every_row_scored_the_length_weighted_mean_of_the_table_is_the_score(data, estimator):
    settings = {**SMALL, "transport.states": 10_000, "evaluation.share": 1.0}
    settings["critic.settle"] = False  # a table of episodes is made by a critic trained to the end
    settings["transport.estimator"] = estimator
    card = scoring.score(data, settings=settings, scores=["bwd"])
    table = episode_scores(data, settings=settings, scores=["bwd"])
    assert np.isclose(
        np.average(table["bwd"], weights=table["length"]), card["bwd"].value, rtol=1e-12
    )


def test_an_episode_is_the_mean_over_its_transitions(data, table):
    rows = transition_scores(data, settings=SMALL, seeds=2)
    assert set(rows) == set(DEFAULT) - {"return", "coverage"}
    for name, values in rows.items():
        assert values.shape == (len(data),)
        parts = [values[e.start : e.stop].mean() for e in data.episodes()]
        assert np.allclose(table[name], parts, rtol=1e-10), name


def test_counted_columns_are_counted(data, table):
    assert np.array_equal(table["return"], data.episode_returns)
    assert np.allclose(table["reward"], data.episode_returns / data.episode_lengths)
    assert np.isclose(table["coverage"].sum(), 1)
    assert table["start"].tolist() == [0, 40, 100, 180, 230]


def test_formulas_of_the_rows(assessment, table):
    """advantage = q - v and pd + value_gap = q - v + noise of two samples of the same random actions."""
    rows = assessment.rows
    from rlassay.scoring.episodes import rows_under_assay

    q, v = (np.mean([getattr(k, n) for k in assessment.evaluated], axis=0) for n in "qv")
    assert np.allclose(rows_under_assay(assessment, "q")[rows], q)
    assert np.allclose(rows_under_assay(assessment, "advantage")[rows], q - v)
    noise = np.abs(table["pd"] + table["value_gap"] - table["advantage"])
    assert (noise < 0.3 * np.abs(table["q"]).mean()).all()


def test_directions_are_those_of_the_registry(table):
    assert table.direction("pd") == "lower" and table.direction("bc_surprise") == "lower"
    assert table.direction("bwd") == "higher" and table.direction("coverage") == "higher"


def test_an_expert_action_is_farther_from_random_in_value():
    """A one-step task with reward -|a - 0.5|: actions near 0.5 have the larger value gap."""
    rng = np.random.default_rng(0)
    episodes, steps = 40, 20
    good = np.repeat(np.arange(episodes) % 2 == 0, steps)
    spread = np.where(good, 0.02, 1.0)[:, None]
    actions = np.clip(0.5 + spread * rng.uniform(-1, 1, (episodes * steps, 1)), -1, 1)
    data = Dataset.from_columns(
        observations=rng.normal(size=(episodes * steps, 2)).astype(np.float32),
        actions=actions.astype(np.float32),
        rewards=-np.abs(actions[:, 0] - 0.5),
        terminals=np.ones(episodes * steps, bool),
    )
    rows = transition_scores(
        data,
        scores=["value_gap", "bc_surprise", "advantage"],
        settings={"critic.steps": 1500, "baselines.fit_steps": 500},
    )
    assert rows["value_gap"][good].mean() > rows["value_gap"][~good].mean() + 0.1
    assert rows["bc_surprise"][good].mean() < 0.5 * rows["bc_surprise"][~good].mean()
    assert rows["advantage"][good].mean() > rows["advantage"][~good].mean() + 0.1


def test_without_rewards_the_reward_free_scores_stay():
    data = made_dataset(lengths=(30, 30, 30), terminal=(), rewards=False)
    table = episode_scores(data, settings=SMALL)
    assert list(table.scores) == ["bc_surprise", "coverage"]
    with pytest.raises(DatasetError, match="bwd cannot be computed: the data has no rewards"):
        episode_scores(data, scores=["bwd"], settings=SMALL)


def test_counted_scores_need_no_critic(data):
    """Three million critic steps would show."""
    table = episode_scores(data, scores=["return", "coverage"], settings={"critic.steps": 10**12})
    assert list(table.scores) == ["return", "coverage"]


def test_an_unknown_score_is_refused_with_the_known_ones(data):
    with pytest.raises(SettingsError, match="unknown episode score; allowed: return, reward, q"):
        episode_scores(data, scores=["nonsense"])
    with pytest.raises(SettingsError, match="belongs to episodes"):
        transition_scores(data, scores=["coverage"])


def test_a_registered_score_ranks_episodes_too(data):
    register_score(
        "first_action",
        lambda row_actions: row_actions[:, 0],
        direction="lower",
        unit="action",
        needs=["row_actions"],
        description="first coordinate of the action",
    )
    try:
        table = episode_scores(data, scores=["first_action"], settings=SMALL)
        assert np.allclose(
            table["first_action"], episode_means(data, data.actions[:, 0].astype(float))
        )
        assert table.direction("first_action") == "lower"
        assert "first_action" in known_scores()
    finally:
        del SCORES["first_action"]


def test_the_mean_of_unknown_values_is_unknown():
    data = made_dataset(lengths=(2, 3), terminal=())
    values = np.array([1.0, np.nan, np.nan, np.nan, np.nan])
    assert np.array_equal(episode_means(data, values), [1.0, np.nan], equal_nan=True)


def test_an_episode_is_never_judged_by_a_policy_that_saw_it():
    """Two episodes do the opposite in the same states: the clone of one errs by twice the action on the other."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (800, 1)).astype(np.float32)
    sides = np.repeat([1, -1], 400)[:, None]
    data = Dataset.from_columns(
        observations=states,
        actions=(sides * states).astype(np.float32),
        rewards=None,
        terminals=np.zeros(800, bool),
        episode_starts=[0, 400],
    )
    table = episode_scores(data, scores=["bc_surprise"], settings={"baselines.fit_steps": 500})
    assert (table["bc_surprise"] > 3).all()
