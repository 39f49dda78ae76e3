"""The scorecard: its JSON, its numbers on known problems, its intervals, its seconds."""

import json

import numpy as np
import pytest
from small import REFERENCE, SMALL

import rlassay
from probes import Chain, bandit, dataset, walks, with_columns
from rlassay.data.references import Reference
from rlassay.errors import DatasetError, SettingsError
from rlassay.results.card import Scorecard
from rlassay.scoring import SCORES, assess, plan
from rlassay.scoring.assessment import Assessment
from rlassay.scoring.measure import discounted, measure, measure_all
from rlassay.settings import allowed_keys

WALKS = walks(episodes=60, length=30, env_id="Hopper-v5")


@pytest.fixture(scope="module")
def card():
    return rlassay.score(WALKS, settings=SMALL, seeds=2, scores="all")


def strict(text: str):
    def refuse(constant):
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


# -- the contract -------------------------------------------------------------------------------------------------


def test_json_has_every_field(card):
    found = strict(card.to_json())
    assert found["schema"] == "rlassay.scorecard/1"
    assert set(found) == {
        "schema",
        "dataset",
        "settings",
        "scores",
        "diagnosis",
        "series",
        "inspection",
        "command",
        "software",
        "warnings",
        "seconds",
        "verdict",
    }
    assert set(found["dataset"]) == {
        "source",
        "format",
        "fingerprint",
        "transitions",
        "episodes",
        "observation_dim",
        "action_dim",
        "env_id",
    }
    for score in found["scores"].values():
        assert set(score) == {
            *("value", "interval", "per_seed", "direction", "unit", "n", "converged", "relative"),
            *("title", "meaning"),
        }
        assert score["title"] and score["meaning"].endswith(".")
        assert len(score["per_seed"]) in (1, 2)
        assert score["value"] == pytest.approx(np.mean(score["per_seed"]))
    assert set(found["software"]) == {"rlassay", "python", "jax", "numpy", "threads"}
    assert set(found["diagnosis"]) == {"critic", "transport"}
    assert found["diagnosis"]["transport"]["estimator"] == "exact"
    assert found["inspection"]["schema"] == "rlassay.inspection/1"
    assert found["command"].startswith("rlassay score probe")


def test_every_setting_stands_in_the_card(card):
    assert set(allowed_keys(plan("default").settings)) <= set(card.settings)
    assert card.settings["critic.steps"] == 600


def test_seconds_sum_to_the_total(card):
    parts = dict(card.seconds)
    total = parts.pop("total")
    assert set(parts) == {"load", "compile", "critic", "transport", "scores", "other"}
    assert all(value >= 0 for value in parts.values())
    assert sum(parts.values()) == pytest.approx(total)
    assert parts["critic"] > 0 and parts["transport"] > 0 and parts["scores"] > 0


def test_a_card_reads_back_equal(card):
    again = Scorecard.from_dict(strict(card.to_json()))
    assert again.to_dict() == card.to_dict()


def test_series(card):
    series = card.to_dict()["series"]
    episodes = series["episodes"]
    assert episodes["index"] == list(range(60))
    assert episodes["sampled_from"] == 60
    np.testing.assert_allclose(episodes["return"], WALKS.episode_returns)
    assert {"q", "advantage", "pd", "bwd"} <= set(episodes)
    for name in ("return", "value", "action"):
        histogram = series["histograms"][name]
        assert len(histogram["edges"]) == len(histogram["data"]) + 1
        assert sum(histogram["data"]) == pytest.approx(1.0)
    assert len(series["calibration"]["predicted"]) == len(series["calibration"]["monte_carlo"]) > 0
    assert series["training"]["step"][-1] == card.settings["critic.steps_used"]
    assert len(series["training"]["dual_step"]) == len(series["training"]["dual"])


def test_series_are_samples_of_at_most_5000_points():
    data = bandit(12_000)
    card = rlassay.score(data, scores=["return"], settings=SMALL)
    episodes = card.to_dict()["series"]["episodes"]
    assert len(episodes["index"]) == 5_000
    assert episodes["sampled_from"] == 12_000


def test_episode_means_weighted_by_scored_rows_give_the_score():
    work = assess(WALKS, settings=SMALL)
    from rlassay.scoring.series import row_scores

    score = measure(work, "bwd")
    rows = row_scores(work)["bwd"]
    counts = np.bincount(work.row_episodes, minlength=60)
    means = np.bincount(work.row_episodes, rows, 60) / counts
    assert (counts @ means) / counts.sum() == pytest.approx(score.value, rel=1e-12)


# -- known answers ------------------------------------------------------------------------------------------------


def test_a_chain_has_its_analytic_scores():
    chain = Chain()
    data = chain.data(episodes=200, length=100)
    settings = {
        "critic.discount": 0.9,
        "critic.steps": 3_000,
        "critic.refresh": 500,
        "critic.hidden": 64,
        "critic.learning_rate": 3e-3,
        "transport.states": 5_000,
    }
    card = rlassay.score(data, scores=["q", "advantage", "pd", "bwd.exact"], settings=settings)
    states = data.observations.argmax(axis=1)
    truth = chain.q(states, data.actions[:, 0]).mean()
    assert card["q"].value == pytest.approx(truth, abs=0.3)
    assert card["advantage"].value == pytest.approx(0.0, abs=0.05)
    assert card["pd"].value == pytest.approx(chain.pd, abs=0.1)
    # E|a' - a|^2 with a' uniform on [-1, 1]: 1/3 + 1/3
    assert card["bwd.exact"].value == pytest.approx(truth + chain.pd - 2 / 3, abs=0.35)
    assert card.diagnosis["critic"]["advantage_deviation"] == pytest.approx(
        2 * np.sqrt(2 / 9), rel=0.1
    )
    assert card["q"].converged is True


def test_relative_places_returns_and_values_between_references():
    card = rlassay.score(
        WALKS, scores=["return", "q", "reward"], settings=SMALL, reference=(-30.0, 30.0)
    )
    assert card["return"].relative == pytest.approx((card["return"].value + 30) / 60)
    # 30 steps an episode: -1 and 1 a step, discounted without end at 0.8
    assert card["q"].relative == pytest.approx((card["q"].value + 5) / 10)
    assert card["reward"].relative is None


def test_relative_is_null_without_references_and_taken_from_the_environment_with_one(card):
    assert card["return"].relative == pytest.approx(
        (card["return"].value + 20.272305) / 3254.572305
    )
    unknown = rlassay.score(walks(episodes=5), scores=["return"])
    assert unknown["return"].relative is None
    assert discounted(Reference(0.0, 1.0, "x"), 0.99) is None


def test_tq_without_references_is_named_as_unavailable():
    card = rlassay.score(walks(episodes=5), scores=["return", "tq"])
    assert "tq" not in card
    (warning,) = [w for w in card.warnings if w.code == "score_unavailable"]
    assert "tq" in warning.message and "--reference" in warning.message


@pytest.mark.parametrize("name", ["reward", "return"])
def test_intervals_cover_the_truth(name):
    """Episodes of different level and length: rows of one episode belong together."""
    covered, chosen = 0, plan("default", {"evaluation.replicates": 200})
    for seed in range(300):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(5, 16, 30)
        ends = np.cumsum(lengths) - 1
        rewards = np.repeat(rng.normal(size=30), lengths) + rng.normal(size=lengths.sum())
        timeouts = np.zeros(lengths.sum(), bool)
        timeouts[ends] = True
        zeros = np.zeros((lengths.sum(), 1))
        data = dataset(observations=zeros, actions=zeros, rewards=rewards, timeouts=timeouts)
        score = measure(Assessment(data, chosen, [seed]), name)
        assert score.interval is not None
        covered += score.interval[0] <= 0.0 <= score.interval[1]
    assert 270 <= covered <= 294


# -- settings -----------------------------------------------------------------------------------------------------

REACHES = {  # setting: (another value, a score that must change)
    "critic.steps": (300, "q"),
    "critic.discount": (0.7, "q"),
    "transport.estimator": ("tail", "bwd"),
    "transport.cost": ("public", "bwd.exact"),
    "transport.gap_weight": (5.0, "bwd.exact"),
    "transport.k": (3, "bwd.exact"),
    "transport.epsilon": (0.01, "bwd.tail"),
    "transport.regulariser": ("quadratic", "bwd.dual"),
    "transport.random_policy": ("clipped_normal", "bwd.exact"),
    "transport.potentials": ("non_positive", "bwd.dual"),
    "transport.steps": (100, "bwd.dual"),
    "transport.batch_size": (32, "bwd.dual"),
    "transport.hidden": (8, "bwd.dual"),
    "transport.learning_rate": (1e-4, "bwd.dual"),
    "transport.states": (300, "bwd.exact"),
    "transport.anchors": (10, "bwd.sinkhorn"),
    "transport.neighbours": (2, "bwd.sinkhorn"),
    "transport.neighbour_pool": (100, "bwd.sinkhorn"),
    "transport.per_episode": (1, "bwd.sinkhorn"),
    "evaluation.share": (0.1, "q"),
    "baselines.fit_steps": (50, "bc_error"),
    "baselines.fit_batch_size": (16, "eas"),
    "baselines.fit_learning_rate": (1e-4, "eas"),
    "baselines.fit_settle": (False, "bc_error"),
    "baselines.fit_rows": (100, "eas"),
    "baselines.bins": (3, "saco"),
    "baselines.neighbours": (2, "knn_entropy"),
    "baselines.neighbour_rows": (50, "knn_entropy"),
}


@pytest.mark.parametrize("key", sorted(REACHES))
def test_every_setting_reaches_a_score(card, key):
    value, name = REACHES[key]
    base = SMALL | ({"transport.cost": "gap"} if key == "transport.gap_weight" else {})
    before = card if base == SMALL else rlassay.score(WALKS, scores=[name], settings=base)
    after = rlassay.score(WALKS, scores=[name], settings=base | {key: value})
    assert after[name].per_seed[0] != before[name].per_seed[0]


def test_replicates_change_the_interval_only(card):
    after = rlassay.score(WALKS, scores=["return"], settings={"evaluation.replicates": 50})
    assert after["return"].value == card["return"].value
    assert after["return"].interval != card["return"].interval


def test_no_setting_is_untested():
    elsewhere = {key for key in allowed_keys(plan("default").settings) if key.startswith("critic.")}
    elsewhere |= {"transport.ground"}  # of discrete actions: tests/scoring/test_discrete_scores.py
    assert set(REACHES) | elsewhere | {"evaluation.replicates"} == set(
        allowed_keys(plan("default").settings)
    )


def test_tail_takes_the_public_cost_unless_one_is_named():
    assert plan("default").transport_for("tail").cost == "public"
    assert plan("default").transport_for("exact").cost == "paper"
    assert plan("default", {"transport.cost": "paper"}).transport_for("tail").cost == "paper"


def test_preset_paper_is_algorithm_1():
    settings = plan("paper").settings
    assert (settings.critic.method, settings.critic.target_rate, settings.critic.hidden) == (
        "sarsa",
        1.0,
        (256,),
    )
    assert (settings.critic.steps, settings.critic.batch_size) == (10_000, 256)
    transport = settings.transport
    assert (transport.estimator, transport.cost, transport.epsilon, transport.k) == (
        "dual",
        "paper",
        1.0,
        1,
    )
    assert transport.random_policy == "clipped_normal"


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        ("best", {}, "default, paper, fast"),
        ("default", {"critic.stepz": 1}, "critic.steps"),
        ("default", {"critic.target_rate": 0.005}, "no effect"),
        ("paper", {"critic.refresh": 5}, "no effect"),
        ("default", {"transport.cost": "love"}, "gap"),
        ("default", {"evaluation.share": 0.0}, "evaluation.share"),
    ],
)
def test_wrong_settings_are_refused_with_what_is_allowed(preset, settings, message):
    with pytest.raises(SettingsError, match=message):
        plan(preset, settings)


# -- what bad input gets ------------------------------------------------------------------------------------------


def score_small(data, scores="all", **options):
    card = rlassay.score(data, settings=SMALL, scores=scores, **options)
    strict(card.to_json())
    return card, {warning.code for warning in card.warnings}


def test_no_rewards_leave_the_scores_that_need_none():
    card, codes = score_small(with_columns(WALKS, rewards=None))
    assert set(card) == {"saco", "eas", "bc_error", "knn_entropy"}
    assert {"no_rewards", "score_unavailable"} <= codes


def test_asking_for_values_without_rewards_is_refused():
    with pytest.raises(DatasetError, match="no rewards"):
        rlassay.score(with_columns(WALKS, rewards=None), scores=["q"])


def test_one_step_terminal_data_is_scored_with_a_warning():
    card, codes = score_small(bandit(1_500))
    assert "one_step_episodes" in codes
    assert set(SCORES) - set(card) == {"tq", "extractable"}


def test_one_step_data_without_successors_has_no_values():
    data = dataset(
        observations=np.random.default_rng(0).normal(size=(50, 2)),
        actions=np.zeros((50, 1)),
        rewards=np.arange(50.0),
        timeouts=np.ones(50, bool),
    )
    card, codes = score_small(data)
    assert "q" not in card and "return" in card
    assert "score_unavailable" in codes


def test_constant_rewards_are_said():
    card, codes = score_small(with_columns(WALKS, rewards=np.ones(len(WALKS), np.float32)))
    assert "constant_reward" in codes and "return" in card
    assert not {"q", "pd", "bwd"} & set(card)  # values would tell lengths, and are withheld


def test_actions_that_the_state_does_not_explain_are_said():
    """Without reference returns this is what tells random actions."""
    rng = np.random.default_rng(0)
    noise = with_columns(WALKS, actions=rng.uniform(-1, 1, WALKS.actions.shape))
    rule = with_columns(WALKS, actions=np.tanh(WALKS.observations[:, : WALKS.action_dim]))
    for data, said in ((noise, True), (rule, False)):
        card = rlassay.score(data, scores=["bc_error"])
        assert ("actions_unexplained" in [each.code for each in card.warnings]) == said


@pytest.mark.parametrize("rows", [1, 2, 7, 40])
def test_tiny_data(rows):
    card, codes = score_small(walks(episodes=1, length=rows))
    assert "tiny_dataset" in codes and "one_episode" in codes
    assert "return" in card


@pytest.mark.parametrize("reward", [1e307, 1e160])
def test_returns_that_overflow_are_refused(reward):
    large = np.full(len(WALKS), reward)
    with pytest.raises(DatasetError, match="too large.*divide its rewards"):
        rlassay.score(with_columns(WALKS, rewards=large))


def test_values_that_are_not_finite_are_refused_with_the_row():
    rewards = np.array(WALKS.rewards)
    rewards[17] = np.nan
    with pytest.raises(DatasetError, match="first row 17; .*repair_dataset"):
        rlassay.score(with_columns(WALKS, rewards=rewards))


def test_bounds_from_the_data_are_said():
    _, codes = score_small(walks(bounds=None), scores=["pd"])
    assert "action_bounds_from_data" in codes


def test_long_episodes_are_said():
    _, codes = score_small(walks(episodes=5, length=200), scores=["q"])
    assert "horizon_beyond_discount" in codes


def test_a_reference_out_of_order_is_refused():
    with pytest.raises(SettingsError, match="LOW below HIGH"):
        rlassay.score(WALKS, reference=(5.0, 5.0))


def test_rewards_of_a_million_overflow_nothing():
    card, _ = score_small(with_columns(WALKS, rewards=WALKS.rewards * np.float32(1e6)))
    assert np.isfinite([score.value for score in card.values()]).all()


def test_values_that_a_score_cannot_give_become_a_warning():
    SCORES["broken"] = SCORES["reward"].__class__(
        lambda rewards: rewards[:-1],
        "Broken",
        "One too few.",
        "higher",
        "1",
        ("rewards",),
        per="transition",
    )
    try:
        found, missing = measure_all(assess(WALKS), ["reward", "broken"])
    finally:
        del SCORES["broken"]
    assert set(found) == {"reward"}
    assert "1,799 values for 1,800 entries" in str(missing[0].reason)


def test_reference_is_used_by_tq():
    card = rlassay.score(WALKS, scores=["tq", "return"], reference=REFERENCE)
    assert card["tq"].value == pytest.approx((card["return"].value + 50) / 100)
