"""Faults put in on purpose: only where the mask says, as strong as asked; and how detection is counted."""

from pathlib import Path

import numpy as np
import pytest
from motion_data import dataset_of, made_motion
from scipy.stats import mannwhitneyu

from rlassay.errors import SettingsError
from rlassay.motion.defects import DEFECT_NAMES, DEFECTS, LEVELS, inject
from rlassay.motion.detection import area_under_curve, detection, strata_of, stratified_detection
from rlassay.motion.scores import EPISODE_SCORES, goodness, measure
from rlassay.motion.selection import Gain, default_score, gain, six_scores
from rlassay.motion.trajectories import motion_of


@pytest.fixture(scope="module")
def data():
    return dataset_of(made_motion(count=20))


@pytest.fixture(scope="module")
def others():
    return [dataset_of(made_motion(count=9, seed=s)) for s in (5, 6, 7)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", DEFECT_NAMES)
def test_only_masked_episodes_change(data, others, name, level):
    made = inject(data, name, level, others=others)
    assert made.mask.sum() == 6 and made.data.episode_count == 20
    for number in range(20):
        old, new = data.episode(number), made.data.episode(number)
        same = len(old) == len(new) and all(
            np.array_equal(getattr(old, column), getattr(new, column))
            for column in ("observations", "actions", "next_observations")
        )
        assert same != made.mask[number], (number, name)


@pytest.mark.parametrize("name", DEFECT_NAMES)
def test_a_seed_makes_the_same_faults(data, others, name):
    first, again = (inject(data, name, "middle", others=others) for _ in range(2))
    assert first.data.fingerprint == again.data.fingerprint
    other = inject(data, name, "middle", others=others, seed=1)
    assert (
        not np.array_equal(first.mask, other.mask)
        or first.data.fingerprint != other.data.fingerprint
    )


@pytest.mark.parametrize("name", list(DEFECTS))
def test_successors_follow_the_changed_states(data, name):
    made = inject(data, name, "strong").data
    inside = made.next_action_valid
    rows = np.flatnonzero(inside & made.next_valid)
    assert np.array_equal(made.next_observations[rows], made.observations[rows + 1])
    assert len(rows) == len(made) - made.episode_count


def test_the_strengths_are_what_they_say(data):
    noisy = inject(data, "noise_on_actions", "weak")
    rows = noisy.mask[data.episode_index]
    change = (noisy.data.actions - data.actions)[rows]
    inner = np.abs(change) > 0
    assert change[inner].std() == pytest.approx(0.1 * data.actions.std(axis=0).mean(), rel=0.3)
    late = inject(data, "lag", "middle")
    episode = int(np.flatnonzero(late.mask)[0])
    old, new = data.episode(episode).actions, late.data.episode(episode).actions
    assert np.array_equal(new[3:], old[:-3]) and np.array_equal(new[:3], np.repeat(old[:1], 3, 0))
    cut = inject(data, "cut_start", "strong")
    assert (cut.data.episode_lengths[cut.mask] == 48).all()
    idle = inject(data, "idle_stretch", "middle")
    assert (idle.data.episode_lengths[idle.mask] == 156).all()


def test_duplicates_are_copies_of_sound_episodes(data):
    made = inject(data, "duplicates", "strong")
    sound = [data.episode(int(n)).observations for n in np.flatnonzero(~made.mask)]
    copies = [made.data.episode(int(n)).observations for n in np.flatnonzero(made.mask)]
    assert all(any(np.array_equal(copy, each) for each in sound) for copy in copies)
    assert all(
        np.array_equal(copy, copies[0]) for copy in copies
    )  # 8 of one, where 6 are asked for


def test_a_wrong_name_is_one_sentence(data):
    with pytest.raises(SettingsError, match="unknown defect"):
        inject(data, "rust", "weak")
    with pytest.raises(SettingsError, match="unknown level"):
        inject(data, "lag", "extreme")
    with pytest.raises(SettingsError, match="3 datasets"):
        inject(data, "wrong_episodes", "weak")
    with pytest.raises(SettingsError, match="two episodes"):
        inject(data.select([0]), "lag", "weak")


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("noise_on_actions", "tremor"),
        ("noise_on_records", "jitter"),
        ("lag", "lag_error"),
        ("frozen_joints", "frozen"),
        ("idle_stretch", "idle"),
        ("cut_start", "outlying_start"),
        ("duplicates", "distinctness"),
    ],
)
def test_each_fault_has_a_score_that_finds_it_when_strong(data, name, score):
    made = inject(data, name, "strong")
    columns = measure(motion_of(made.data), [score])
    assert detection(goodness(columns, score), made.mask) > 0.85


# -- detection ------------------------------------------------------------------------------------------------------


def test_the_area_is_that_of_mann_and_whitney():
    rng = np.random.default_rng(0)
    good, bad = rng.integers(0, 9, 40).astype(float), rng.integers(0, 7, 25).astype(float)
    expected = mannwhitneyu(good, bad).statistic / (40 * 25)
    assert area_under_curve(good, bad) == pytest.approx(expected)
    assert np.isnan(area_under_curve(good, good[:0]))


def test_a_score_that_only_follows_length_detects_nothing_within_strata():
    rng = np.random.default_rng(0)
    faulty = np.arange(400) < 100
    lengths = np.where(faulty, rng.integers(50, 90, 400), rng.integers(60, 100, 400)).astype(float)
    follows = lengths + 0.01 * rng.normal(size=400)
    assert detection(follows, faulty) > 0.7
    assert abs(stratified_detection(follows, faulty, lengths) - 0.5) < 0.1
    honest = np.where(faulty, -1.0, 1.0)
    assert stratified_detection(honest, faulty, lengths) == 1.0


def test_strata_keep_equal_lengths_together_and_pure_ones_are_missing():
    assert len(np.unique(strata_of(np.full(10, 7)))) == 1
    assert np.bincount(strata_of(np.arange(100))).tolist() == [20] * 5
    assert strata_of(np.arange(1, 6), 2).tolist() == [0, 0, 0, 1, 1]
    faulty = np.array([True, True, False, False])
    assert np.isnan(stratified_detection(np.zeros(4), faulty, np.array([1, 1, 9, 9]), strata=2))


def test_an_episode_without_a_score_ranks_last():
    assert detection(np.array([1.0, 2.0, np.nan]), np.array([False, False, True])) == 1.0


# -- the rule -------------------------------------------------------------------------------------------------------


def areas(**values):
    cells = [("A", "x"), ("A", "y"), ("B", "x")]
    return {n.replace("__", "."): dict(zip(cells, v, strict=True)) for n, v in values.items()}


def test_six_scores_follow_the_written_rule():
    table = areas(
        disagreement=[0.9, 0.9, 0.9],
        disagreement__adjusted=[0.8, 0.8, 0.8],
        mutual_information=[0.5, 0.5, 0.5],
        mutual_information__adjusted=[0.6, 0.6, 0.6],
        tremor=[0.85, 0.85, 0.85],
        smoothness=[0.8, 0.8, 0.8],
        idle=[0.5, 1.0, 0.5],
        frozen=[0.5, 0.5, 0.95],
        bc_surprise=[0.7, 0.7, 0.7],
    )
    chosen = six_scores(table)
    assert chosen == [
        "bc_surprise",
        "mutual_information.adjusted",
        "disagreement",
        "tremor",
        "idle",
        "frozen",
    ]


def test_a_missing_cell_counts_for_no_score():
    table = areas(
        bc_surprise=[0.7, 0.7, 0.7],
        mutual_information=[0.7, np.nan, 0.7],
        tremor=[0.6, 1.0, 0.6],
        idle=[0.7, 0.0, 0.7],
        frozen=[0.65, 0.0, 0.65],
    )
    assert six_scores(table)[2:4] == ["idle", "frozen"]


def test_the_default_must_help_everywhere():
    steady = gain("steady", {(e, d): [3.0, 4.0, 5.0] for e in "AB" for d in "xyz"})
    assert steady.qualifies and steady.mean == pytest.approx(4.0) and steady.worst == 4.0
    torn = gain("torn", {("A", d): [60.0] for d in "xyz"} | {("B", d): [-6.0] for d in "xyz"})
    assert torn.mean > steady.mean and torn.worst == -6.0 and not torn.qualifies
    assert default_score([steady, torn], {"steady": 9, "torn": 1}, "bc_surprise") == "steady"
    assert default_score([torn], {"torn": 1}, "bc_surprise") == "bc_surprise"


def test_of_nearly_equal_winners_the_quicker_one():
    best = Gain("slow", 10.0, (5.0, 15.0), 2.0, 1.0)
    near = Gain("quick", 8.5, (4.0, 13.0), 2.0, 1.0)
    far = Gain("quickest", 7.0, (3.0, 12.0), 2.0, 1.0)
    seconds = {"slow": 9, "quick": 3, "quickest": 1}
    assert default_score([best, near, far], seconds, "bc_surprise") == "quick"


def test_the_docs_name_every_score_and_defect():
    page = (Path(__file__).parents[2] / "docs" / "demonstrations.md").read_text()
    for name in (*EPISODE_SCORES, *DEFECT_NAMES):
        assert f"`{name}`" in page, name


def test_every_score_has_a_title_a_meaning_and_a_direction():
    for name, spec in EPISODE_SCORES.items():
        assert spec.title and spec.meaning and spec.direction in ("higher", "lower"), name
        assert spec.function.__doc__ and spec.direction in spec.function.__doc__.lower(), name
