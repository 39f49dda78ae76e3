"""The verb `curate`, the dry run, and the command from end to end with learned scores."""

import json

import numpy as np
import pytest
from curate_data import assert_same_data, made_dataset, made_table
from test_curation_failures import rlassay

from rlassay.curation import apply_rule, curate
from rlassay.curation.command import Request, curate_file
from rlassay.curation.rule import Rule
from rlassay.errors import SettingsError
from rlassay.formats import load, save
from rlassay.scoring import episode_scores, transition_scores

SMALL = {"critic.steps": 200, "critic.refresh": 100}
QUICK = ("--set", "critic.steps=200", "--set", "critic.refresh=100")


@pytest.fixture(scope="module")
def data():
    return made_dataset(lengths=(40, 60, 80, 50, 70, 30), terminal=(0, 2))


def test_the_verb_keeps_the_best_by_the_learned_score(data):
    best = curate(data, keep=0.5, by="bwd", settings=SMALL)
    table = episode_scores(data, scores=["bwd"], settings=SMALL)
    expected = np.sort(np.argsort(-table["bwd"])[:3])
    assert_same_data(best, data.select(expected))
    record = best.origin.metadata["curation"]
    assert record["fingerprint"] == data.fingerprint
    assert record["rule"] == {"keep": 0.5, "by": "bwd"} and record["episodes"] == [3, 6]


def test_a_given_table_saves_scoring(data):
    table = made_table(bwd=[0, 5, 1, 4, 2, 3])
    assert_same_data(curate(data, top_k=2, table=table), data.select([1, 3]))
    with pytest.raises(SettingsError, match="belongs to other data"):
        curate(data, top_k=1, table=made_table(bwd=[1, 2]))


def test_the_table_of_a_source_is_used_after_repetitions_went(data):
    twice = data.select([0, 0, 1])
    curation = apply_rule(twice, Rule(top_k=1, by="q", dedupe=True), table=made_table(q=[1, 9, 2]))
    assert curation.kept.tolist() == [2] and curation.repeated == 1


def test_named_episodes_are_kept_in_file_order(data):
    assert_same_data(curate(data, only=[4, 1]), data.select([1, 4]))
    with pytest.raises(SettingsError, match="0 to 5"):
        curate(data, only=[6])


def test_diverse_reaches_the_choice(data):
    plain = curate(data, top_k=2, by="reward")
    spread = curate(data, top_k=2, by="reward", diverse=True, diversity=1.0)
    assert_same_data(plain, data.select([4, 5]))
    assert len(spread) > len(plain)  # here the long episodes cover most


def test_a_dry_run_shows_every_score_and_writes_nothing(data, tmp_path):
    save(data, tmp_path / "a.npz")
    names = "return,q,bwd,bwd.tail,bc_error"
    done = rlassay(
        "curate",
        tmp_path / "a.npz",
        "--keep",
        "0.5",
        "--by",
        "return",
        "--dry-run",
        "--json",
        "-",
        "-o",
        tmp_path / "b.npz",
        "--scores",
        names,
        *QUICK,
        "--set",
        "baselines.fit_steps=50",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["schema"] == "rlassay.curation/1" and result["dry_run"] and result["out"] is None
    for side in ("before", "after"):
        assert list(result[side]["scores"]) == names.split(",")
    assert (
        result["after"]["scores"]["return"]["value"] > result["before"]["scores"]["return"]["value"]
    )
    assert result["kept"] == [2, 4, 5] and result["after"]["transitions"] == 80 + 70 + 30
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_the_dry_run_pools_epsilon(data):
    """`bwd.tail` depends on epsilon; both sides must use the one of `compare`."""
    from rlassay.curation.effect import compared
    from rlassay.scoring import compare

    after = data.select([3, 4, 5])
    ours = compared(data, after, ["bwd.tail"], settings=SMALL)
    cards = compare([data, after], scores=["bwd.tail"], settings=SMALL).cards
    assert [o["scores"]["bwd.tail"]["value"] for o in ours] == [c["bwd.tail"].value for c in cards]


@pytest.mark.parametrize(
    ("kind", "score"), [("advantage", "advantage"), ("value-gap", "value_gap")]
)
def test_weights_alone_belong_to_the_source(data, tmp_path, kind, score):
    save(data, tmp_path / "a.npz")
    request = Request(
        str(tmp_path / "a.npz"),
        Rule(),
        weights=tmp_path / "w.npz",
        weight_by=kind,
        temperature=2.0,
        scoring={"settings": SMALL},
    )
    result = curate_file(request)
    worth = transition_scores(data, scores=[score], settings=SMALL)[score]
    with np.load(tmp_path / "w.npz") as file:
        weights = file["weights"]
        assert str(file["fingerprint"]) == data.fingerprint
    expected = np.exp(np.minimum((worth - worth.mean()) / worth.std() / 2, np.log(100)))
    assert np.allclose(weights, expected / expected.mean(), rtol=1e-4)
    assert result["weights"]["kind"] == kind and result["out"] is None


def test_weights_of_a_curated_copy_belong_to_the_copy(data, tmp_path):
    save(data, tmp_path / "a.npz")
    done = rlassay(
        "curate",
        tmp_path / "a.npz",
        "--top-k",
        "2",
        "--by",
        "return",
        "-o",
        tmp_path / "b.npz",
        "--weights",
        tmp_path / "w.npz",
        "--weight-by",
        "return",
        "--temperature",
        "0.5",
    )
    assert done.returncode == 0, done.stderr
    assert "kept 2 of 6 episodes" in done.stdout and "effective" not in done.stderr
    with np.load(tmp_path / "w.npz") as file:
        copy = load(tmp_path / "b.npz")
        assert str(file["fingerprint"]) == copy.fingerprint and len(file["weights"]) == len(copy)


def test_existing_weights_are_refused_without_force(data, tmp_path):
    save(data, tmp_path / "a.npz")
    (tmp_path / "w.npz").write_bytes(b"precious")
    done = rlassay(
        "curate", tmp_path / "a.npz", "--weights", tmp_path / "w.npz", "--weight-by", "return"
    )
    assert done.returncode == 2 and "exists" in done.stderr
    assert (tmp_path / "w.npz").read_bytes() == b"precious"


def test_curating_and_rules_start_without_jax(tmp_path, data):
    """A choice by return reads and writes files; it never waits for JAX."""
    import subprocess
    import sys

    save(data, tmp_path / "a.npz")
    code = (
        "import sys; from rlassay.curation.command import *\n"
        f"curate_file(Request({str(tmp_path / 'a.npz')!r}, Rule(only=(1,)), out=Path({str(tmp_path / 'b.npz')!r})))\n"
        "print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
