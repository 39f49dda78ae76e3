"""Scores of discrete actions: a chain and a bandit with known answers, every way of asking, and what is refused."""

import json

import numpy as np
import pytest
from small import SMALL

import rlassay
from discrete_probes import BANDIT_Q, GAIN, LAW, DiscreteChain, discrete_bandit, numbered
from probes import walks, with_columns
from rlassay.curation import curate
from rlassay.data.discrete import OF_ENVIRONMENTS, known_numbers, numbers_of
from rlassay.errors import DatasetError, SettingsError
from rlassay.scoring import assess
from rlassay.scoring.registry import resolve

# `transport.neighbours` and the pool are read by continuous actions alone
DISCRETE = {key: value for key, value in SMALL.items() if "neighbour" not in key} | {
    "critic.discount": 0.5,
    "critic.steps": 2_000,
    "critic.refresh": 500,
}
QUICK = DISCRETE | {"critic.steps": 200, "critic.refresh": 100}


def codes(card) -> dict[str, str]:
    return {caution.code: caution.message for caution in card.warnings}


# -- known answers -----------------------------------------------------------------------------------------------------


def test_scores_of_a_chain_are_known():
    chain = DiscreteChain()
    every_row = DISCRETE | {"transport.states": 20_000, "evaluation.share": 1.0}
    card = rlassay.score(chain.data(), scores=["q", "advantage", "pd", "bwd"], settings=every_row)
    assert card["q"].value == pytest.approx(float(chain.stationary @ chain.v), abs=0.1)
    assert card["advantage"].value == pytest.approx(0, abs=0.1)
    assert card["pd"].value == pytest.approx(chain.pd, abs=0.15)
    assert card["bwd"].value == pytest.approx(chain.distance, abs=0.15)
    assert card["q"].converged is True
    assert card.dataset["discrete_actions"] == {"first": 0, "count": 3, "source": "file"}
    assert (
        card.diagnosis["critic"]["law_log_loss"] < card.diagnosis["critic"]["frequencies_log_loss"]
    )


def test_one_step_episodes_of_a_bandit_are_scored():
    data = discrete_bandit(env_id="Bandit-v0")
    card = rlassay.score(
        data, scores=["q", "pd", "bwd.exact", "bc_error", "eas"], settings=DISCRETE
    )
    share = np.array([1 - data.observations[:, 1].mean(), data.observations[:, 1].mean()])
    assert card["q"].value == pytest.approx(float(np.mean(data.rewards)), abs=0.05)
    v = (LAW * BANDIT_Q).sum(axis=1)
    assert card["pd"].value == pytest.approx(float(share @ (BANDIT_Q.mean(axis=1) - v)), abs=0.15)
    expected = float(share @ BANDIT_Q.mean(axis=1)) - 2 / 3
    assert card["bwd.exact"].value == pytest.approx(expected, abs=0.1)
    entropy = float(share @ -(LAW * np.log(LAW)).sum(axis=1))
    assert card["eas"].value == pytest.approx(entropy, abs=0.05) and card["eas"].unit == "nats"
    marginal = share @ LAW
    of_frequencies = float(-(marginal * np.log(marginal)).sum())
    assert card["bc_error"].value == pytest.approx(entropy / of_frequencies, abs=0.05)
    assert "frequencies" in card["bc_error"].meaning
    assert {"one_step_episodes", "action_count_from_data"} <= set(codes(card))


def test_sums_over_actions_replace_samples():
    """Another seed of the same critic would draw other random actions; here there is nothing to draw."""
    found = assess(DiscreteChain().data(episodes=45, length=20), settings=QUICK)
    rows, critic = found.evaluated[0], found.fitted.critic
    every = critic.q_of_all(0, rows.states)
    np.testing.assert_array_equal(rows.q_random, every)
    np.testing.assert_allclose(rows.v_random, every.mean(axis=1), rtol=1e-12)
    exact = every.mean(axis=1) - 2 / 3
    np.testing.assert_allclose(found.transport("exact")[0].integrand, exact, rtol=1e-9)
    np.testing.assert_allclose(found.every_row[0].v_random[found.rows], rows.v_random, rtol=1e-5)


def test_one_action_throughout_is_cloned_without_error():
    rows = 200
    data = numbered(
        np.zeros(rows, int),
        count=2,
        observations=np.random.default_rng(0).normal(size=(rows, 2)),
        rewards=np.random.default_rng(1).normal(size=rows),
        terminals=np.arange(rows) % 10 == 9,
    )
    card = rlassay.score(data, scores=["bc_error", "q"], settings=QUICK)
    assert card["bc_error"].value == 0
    assert "never takes 1;" in codes(card)["unseen_actions"]


# -- every way of asking -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "paper", "fast"])
def test_all_scores_are_given(preset):
    data = DiscreteChain().data(episodes=60, length=20)
    settings = {**QUICK, "baselines.neighbour_rows": 100}
    settings = {k: v for k, v in settings.items() if k != "critic.refresh" or preset != "paper"}
    card = rlassay.score(data, scores=["all"], preset=preset, settings=settings, reference=(-9, 9))
    # states and actions are too few for neighbours of distinct rows
    assert set(resolve(None)) - set(card) <= {"knn_entropy"}
    assert card.diagnosis["transport"]["random_policy"] == "uniform"
    assert "discrete_actions" not in codes(card)


def test_presets_differ_where_they_should():
    data = discrete_bandit(400)
    quick = assess(data, settings=QUICK)
    slow = assess(data, settings=QUICK | {"critic.settle": False, "baselines.fit_settle": False})
    assert quick.cloned.steps <= slow.cloned.steps == QUICK["baselines.fit_steps"]
    assert slow.fitted.critic.q_of_all(0, slow.evaluated[0].states).shape[1] == 3


def test_better_data_is_ranked_first(tmp_path):
    good, bad = discrete_bandit(600, seed=1), discrete_bandit(600, seed=2)
    context = bad.observations[:, 1].astype(int)
    worst = BANDIT_Q.argmin(axis=1)[context]
    bad = with_columns(bad, actions=worst[:, None], rewards=BANDIT_Q[context, worst])
    sources = [str(tmp_path / name) for name in ("good.npz", "bad.npz")]
    for data, path in zip((good, bad), sources, strict=True):
        rlassay.save(data, path)
    found = rlassay.compare(sources, scores=["return", "q", "bwd"], settings=QUICK)
    for name in ("return", "q"):
        assert [rank.source for rank in found.ranking[name]] == sources
    assert all(card.settings["pooled"] for card in found.cards)


def d3rlpy_file(data, path) -> None:
    """d3rlpy 1 stores discrete actions as floats, and says that they are discrete."""
    import h5py

    with h5py.File(path, "w") as file:
        for name in ("observations", "rewards", "terminals"):
            file[name] = np.asarray(getattr(data, name), np.float32)
        file["actions"] = data.actions.astype(np.float32)
        file["episode_terminals"] = data.terminals.astype(np.float32)
        file["discrete_action"], file["version"] = True, "1.0"


def test_files_of_every_layout_are_scored_and_ranked_alike(tmp_path):
    from typer.testing import CliRunner

    from rlassay.cli import app

    data = discrete_bandit(400)
    paths = [tmp_path / name for name in ("one.npz", "two.hdf5", "three.h5")]
    for path in paths[:2]:
        rlassay.save(data, path)
    d3rlpy_file(data, paths[2])
    changes = [part for key, value in QUICK.items() for part in ("--set", f"{key}={value}")]
    asked = ["compare", *map(str, paths), "--scores", "return,q,bwd,bc_error", *changes]
    ended = CliRunner().invoke(app, [*asked, "--json", str(tmp_path / "ranks.json")])
    assert ended.exit_code == 0, ended.output
    ranking = json.loads((tmp_path / "ranks.json").read_text())["ranking"]
    for name in ("return", "q", "bwd", "bc_error"):
        values = [each["value"] for each in ranking[name]]
        assert values == pytest.approx([values[0]] * 3, rel=1e-5)


@pytest.mark.parametrize("by", ["bwd", "q", "pd", "value_gap", "random_distance", "bc_surprise"])
def test_episodes_are_chosen_by_learned_scores(by):
    data = DiscreteChain().data(episodes=40, length=10)
    kept = curate(data, keep=0.5, by=by, settings=QUICK)
    assert kept.episode_count == 20 and kept.discrete_actions


def test_scores_of_episodes_are_means_over_their_rows():
    data = DiscreteChain().data(episodes=40, length=10)
    assessment = assess(data, settings=QUICK)
    table = rlassay.episode_scores(data, settings=QUICK, scores=["bwd", "pd", "value_gap"])
    rows = assessment.every_row[0]
    expected = (rows.q - rows.v_random).reshape(40, 10).mean(axis=1)
    np.testing.assert_allclose(table.columns["value_gap"], expected, rtol=1e-6)
    dataset = rlassay.score(data, scores=["pd"], settings=QUICK)["pd"].value
    assert np.mean(table.columns["pd"]) == pytest.approx(dataset, abs=0.3)


def test_weights_follow_a_learned_score(tmp_path):
    from typer.testing import CliRunner

    from rlassay.cli import app

    data, weights = tmp_path / "chain.npz", tmp_path / "weights.npz"
    rlassay.save(DiscreteChain().data(episodes=40, length=10), data)
    changes = [part for key, value in QUICK.items() for part in ("--set", f"{key}={value}")]
    asked = ["curate", str(data), "--by", "bwd", "--weights", str(weights), "--keep", "0.5"]
    ended = CliRunner().invoke(app, [*asked, "-o", str(tmp_path / "out.npz"), *changes])
    assert ended.exit_code == 0, ended.output
    assert rlassay.load(tmp_path / "out.npz").discrete_actions
    with np.load(weights) as found:
        assert np.isfinite(found["weights"]).all() and np.ptp(found["weights"]) > 0


def test_page_and_verdict_are_made(tmp_path):
    card = rlassay.score(DiscreteChain().data(), settings=QUICK)
    page = tmp_path / "page.html"
    card.to_html(page)
    assert "Bellman-Wasserstein" in page.read_text()
    edges = card.series["histograms"]["action"]["edges"]
    np.testing.assert_array_equal(edges, [-0.5, 0.5, 1.5, 2.5])
    shares = card.series["histograms"]["action"]
    np.testing.assert_allclose(shares["random"], 1 / 3)
    assert shares["data"][0] == pytest.approx(0.5, abs=0.1)
    assert card.verdict is not None and card.verdict["label"] == "outside-calibration"


def test_a_matrix_of_distances_changes_the_distance(tmp_path):
    data, path = DiscreteChain().data(episodes=45, length=20), tmp_path / "apart.csv"
    np.savetxt(path, 5 * (1 - np.eye(3)), delimiter=",")
    near = rlassay.score(data, scores=["bwd"], settings=QUICK)["bwd"].value
    far = rlassay.score(data, scores=["bwd"], settings=QUICK | {"transport.ground": str(path)})
    assert far["bwd"].value == pytest.approx(near - 4 * 2 / 3, abs=1e-6)


def test_a_cost_of_others_is_given_the_numbers():
    from rlassay.transport import COSTS, register_cost

    seen = []

    def cost(q_data, q_random, actions, random_actions):
        seen.append(set(np.unique(random_actions)))
        return q_random - q_data

    register_cost("of_numbers", cost)
    try:
        settings = QUICK | {"transport.cost": "of_numbers"}
        data = DiscreteChain(first=-1).data(episodes=45, length=20)
        assert np.isfinite(rlassay.score(data, scores=["bwd"], settings=settings)["bwd"].value)
    finally:
        del COSTS["of_numbers"]
    assert seen[0] == {-1.0, 0.0, 1.0}


# -- numbers of actions ------------------------------------------------------------------------------------------------


def rows_of(actions, **more):
    count = len(actions)
    rng = np.random.default_rng(0)
    return numbered(
        actions,
        observations=rng.normal(size=(count, 2)),
        rewards=rng.normal(size=count),
        terminals=np.arange(count) % 10 == 9,
        **more,
    )


CYCLE = np.arange(200) % 3


def test_numbers_come_from_the_file_the_environment_or_the_data():
    assert numbers_of(rows_of(CYCLE, count=5)) == ((0, 5), "file")
    assert numbers_of(rows_of(CYCLE, env_id="Acrobot-v1")) == ((0, 3), "environment")
    assert numbers_of(rows_of(CYCLE, env_id="LunarLander-v3")) == ((0, 4), "environment")
    assert numbers_of(rows_of(CYCLE, env_id="Unknown-v1")) == ((0, 3), "data")
    assert numbers_of(rows_of(CYCLE), rows_of(CYCLE + 1, count=5)) == ((0, 5), "file")


def test_known_environments_have_as_many_actions_in_the_simulator():
    gymnasium = pytest.importorskip("gymnasium")
    for family, count in OF_ENVIRONMENTS.items():
        versions = [name for name in gymnasium.registry if name.rpartition("-v")[0] == family]
        assert versions, family
        try:
            env = gymnasium.make(versions[-1])
        except gymnasium.error.DependencyNotInstalled:
            continue
        assert env.action_space.n == count and env.action_space.start == 0
        env.close()


def test_negative_numbers_are_a_range_of_their_own_only_where_the_file_says_so():
    stated = rlassay.score(rows_of(CYCLE - 1, first=-1, count=3), scores=["q"], settings=QUICK)
    assert stated.dataset["discrete_actions"]["first"] == -1 and "q" in stated
    data = rows_of(CYCLE - 1)
    card = rlassay.score(data, scores=["return", "q", "bc_error", "saco"], settings=QUICK)
    assert list(card) == ["return", "saco"]
    told = codes(card)["score_unavailable"]
    assert told.startswith("q, bc_error not given: numbered has actions that do not exist")
    assert "got: -1 to 1" in told and card.dataset["discrete_actions"] is None
    with pytest.raises(DatasetError, match="bc_surprise cannot be computed"):
        rlassay.episode_scores(data, scores=["bc_surprise"], settings=QUICK)


def test_gaps_are_actions_that_were_never_taken():
    card = rlassay.score(rows_of(2 * CYCLE), scores=["q", "bwd"], settings=QUICK)
    assert card.dataset["discrete_actions"]["count"] == 5
    assert "of 5 actions the data never takes 1, 3;" in codes(card)["unseen_actions"]
    many = codes(rlassay.score(rows_of(CYCLE, count=60), scores=["q"], settings=QUICK))
    assert "never takes 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 47 more;" in many["unseen_actions"]


def test_a_count_below_the_largest_action_is_refused_in_a_sentence():
    card = rlassay.score(rows_of(CYCLE, count=2), scores=["return", "q"], settings=QUICK)
    told = codes(card)["score_unavailable"]
    assert "allowed: what the file states: 0 to 1; got: 0 to 2" in told and "\n" not in told
    of_environment = rlassay.score(
        rows_of(CYCLE, env_id="CartPole-v1"), scores=["return", "q"], settings=QUICK
    )
    assert "the actions of CartPole-v1: 0 to 1" in codes(of_environment)["score_unavailable"]


def test_whole_numbers_stored_as_floats_are_said_to_be_continuous():
    data = rows_of(CYCLE.astype(np.float32))
    card = rlassay.score(data, scores=["q"], settings=QUICK)
    assert "one of 3 whole numbers, stored as floats" in codes(card)["whole_number_actions"]
    assert "discrete_actions" not in card.dataset
    plain = rlassay.score(walks(episodes=10, dims=(3, 1)), scores=["return"], settings=SMALL)
    assert "whole_number_actions" not in codes(plain)


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (np.stack([CYCLE, CYCLE], axis=1), "has 2 discrete actions at a time"),
        (np.append(CYCLE, 10_000), "has 10,001 discrete actions"),
    ],
)
def test_what_has_no_single_small_number_is_refused(actions, told):
    card = rlassay.score(rows_of(actions), scores=["return", "q"], settings=QUICK)
    assert told in codes(card)["score_unavailable"] and list(card) == ["return"]


def test_infinite_bounds_of_a_file_say_nothing():
    data = rows_of(CYCLE, count=3)
    from dataclasses import replace

    data.origin = replace(data.origin, action_high=np.array([np.inf]))
    assert known_numbers(data) == (None, "data")


def test_many_actions_are_scored_on_fewer_rows():
    actions = np.random.default_rng(0).integers(0, 3_000, 1_500)
    data = rows_of(actions, count=3_000)
    found = assess(data, settings=QUICK | {"critic.steps": 4, "critic.refresh": 4})
    assert len(found.rows) == 2_000_000 // 3_000
    assert found.pairs[0].costs.shape == (666, 3_000)
    card = rlassay.score(
        data,
        scores=["bwd.exact", "bwd.dual", "bwd.sinkhorn"],
        settings=QUICK | {"critic.steps": 4, "critic.refresh": 4},
    )
    assert list(card) == ["bwd.exact"]
    told = [caution.message for caution in card.warnings if caution.code == "score_unavailable"]
    assert any("dual takes 100 at most" in each for each in told)
    assert any("sinkhorn takes 500 at most" in each for each in told)


def test_kinds_are_not_mixed_in_a_comparison():
    with pytest.raises(DatasetError, match="some of the datasets have discrete actions"):
        rlassay.compare([rows_of(CYCLE), rows_of(CYCLE.astype(float))], settings=QUICK)


def test_a_comparison_shares_the_numbers_and_names_files_that_differ():
    found = rlassay.compare(
        [rows_of(CYCLE, count=3), rows_of(CYCLE, count=4)], scores=["q", "bwd"], settings=QUICK
    )
    assert (
        "numbered differently: 0 to 2 and 0 to 3" in codes(found.cards[0])["actions_in_other_units"]
    )
    one_bad = rlassay.compare(
        [rows_of(CYCLE), rows_of(CYCLE - 1)], scores=["return", "q"], settings=QUICK
    )
    assert all("q" not in card for card in one_bad.cards)
    assert "another dataset of this comparison" in codes(one_bad.cards[0])["score_unavailable"]


@pytest.mark.parametrize(
    ("data", "key", "value"),
    [
        (rows_of(CYCLE), "transport.random_policy", "clipped_normal"),
        (rows_of(CYCLE), "transport.neighbours", 4),
        (walks(episodes=10), "transport.ground", "apart.csv"),
    ],
)
def test_settings_of_the_other_kind_are_refused(data, key, value):
    with pytest.raises(SettingsError, match=f"{key} has no effect on"):
        rlassay.score(data, scores=["return"], settings={key: value})


# -- one reward throughout ---------------------------------------------------------------------------------------------


def test_one_reward_has_values_where_episodes_end_by_a_terminal():
    """Who falls later does better: the value is the discounted time to the fall."""
    data = rows_of(CYCLE)
    ones = with_columns(data, rewards=np.ones(len(data)))
    card = rlassay.score(ones, scores=["q"], settings=DISCRETE)
    lengths = (1 - 0.5 ** np.arange(1, 11)) / 0.5
    assert card["q"].value == pytest.approx(lengths.mean(), abs=0.05)
    assert "constant_reward" in codes(card)
    for changed in ({"rewards": np.zeros(len(data))}, {"terminals": np.zeros(len(data), bool)}):
        flat = with_columns(ones, **changed)
        assert "q" not in rlassay.score(flat, scores=["return", "q"], settings=QUICK)


def test_gain_of_the_chain_is_what_the_law_earns():
    assert DiscreteChain().pd == pytest.approx(
        float(GAIN.mean() - DiscreteChain().stationary @ (LAW @ GAIN))
    )
