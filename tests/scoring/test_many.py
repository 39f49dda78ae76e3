"""`rlassay score PATHS --out DIR`: one card a file, equal to the card of a single score, continued, one bad file no end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from small import SMALL

import rlassay
from probes import walks
from rlassay.formats import save
from rlassay.formats.trees import Found
from rlassay.results.card import read_cards
from rlassay.scoring import many

SETTINGS = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("many")
    for seed, name in enumerate(("a.npz", "deep/b.hdf5")):
        (root / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        save(walks(episodes=30, seed=seed, env_id="Hopper-v5"), root / "data" / name)
    (root / "data/bad.hdf5").write_bytes(b"no data")
    done = run(
        "score", str(root / "data"), "--out", str(root / "cards"), "--workers", "2", *SETTINGS
    )
    assert done.returncode == 3, done.stderr
    return root, done


def run(*words):
    return subprocess.run([sys.executable, "-m", "rlassay", *words], capture_output=True, text=True)


def test_every_file_has_a_card_and_the_bad_one_is_told(tree):
    root, done = tree
    cards = root / "cards"
    assert sorted(str(p.relative_to(cards)) for p in cards.rglob("*.json")) == [
        "a.npz.json",
        "deep/b.hdf5.json",
    ]
    assert f"{root}/data/bad.hdf5 is of no known format" in done.stderr
    assert "2 made, 1 failed; 2 cards" in done.stdout


def test_a_card_is_that_of_a_single_score(tree):
    root, _ = tree
    [card] = read_cards(root / "cards/a.npz.json")
    alone = rlassay.score(root / "data/a.npz", settings=SMALL)
    assert card.scores == alone.scores and card.verdict == alone.to_dict()["verdict"]
    assert card.dataset == alone.to_dict()["dataset"]


def test_the_same_command_makes_nothing_twice_and_a_changed_file_again(tree):
    root, _ = tree
    words = ["score", str(root / "data/**/*.*"), "--out", str(root / "cards"), *SETTINGS]
    before = (root / "cards/a.npz.json").read_bytes()
    again = run(*words, "--json", "-")
    told = json.loads(again.stdout)
    assert again.returncode == 3 and told["schema"] == "rlassay.cards/1"
    assert len(told["cards"]) == 2 and told["errors"][0]["source"].endswith("bad.hdf5")
    assert (root / "cards/a.npz.json").read_bytes() == before
    (root / "cards/a.npz.json").unlink()
    save(walks(episodes=31, seed=1, env_id="Hopper-v5"), root / "data/deep/b.hdf5")
    third = run(*words)
    assert "1 made, 1 from before, 1 failed" in third.stdout
    assert (root / "cards/a.npz.json").read_bytes() == before  # from the run store
    assert read_cards(root / "cards/deep/b.hdf5.json")[0].dataset["episodes"] == 31


def test_a_file_that_broke_loses_its_card(tree, tmp_path):
    path = tmp_path / "data.npz"
    save(walks(episodes=30, env_id="Hopper-v5"), path)
    options = {"settings": SMALL, "scores": ["return"]}
    many.score_files([Found(str(path), "data.npz")], tmp_path / "cards", options)
    assert (tmp_path / "cards/data.npz.json").exists()
    path.write_bytes(b"no longer data")
    [scored] = many.score_files([Found(str(path), "data.npz")], tmp_path / "cards", options)
    assert scored.card is None and "no known format" in str(scored.failure)
    assert not (tmp_path / "cards/data.npz.json").exists()


def test_compare_ranks_a_folder_of_cards_without_the_data(tree, tmp_path):
    root, _ = tree
    done = run("compare", str(root / "cards"), "--json", "-")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["cards"]) == 2 and len(told["ranking"]["return"]) == 2
    card = json.loads((root / "cards/a.npz.json").read_text())
    card["diagnosis"]["transport"]["cost"] = "distance"
    (tmp_path / "a.json").write_text(json.dumps(card))
    (tmp_path / "b.json").write_bytes((root / "cards/deep/b.hdf5.json").read_bytes())
    refused = run("compare", str(tmp_path))
    assert refused.returncode == 2 and "differ in their cost" in refused.stderr


def test_the_index_links_every_card_and_names_what_failed(tree):
    root, _ = tree
    text = (root / "cards/index.html").read_text()
    for href in ("a.npz.json", "deep/b.hdf5.json"):
        assert f'href="{href}"' in text and (root / "cards" / href).exists()
    assert "bad.hdf5" in text and "no known format" in text
    assert "http://" not in text and "https://" not in text


def test_a_gate_holds_over_all_cards(tree):
    root, _ = tree
    words = ["score", str(root / "data/*.npz"), "--out", str(root / "cards"), *SETTINGS]
    failing = run(*words, "--fail-if", "episodes > 1", "--junit", str(root / "ci.xml"))
    assert failing.returncode == 1 and "fails if" in failing.stderr
    assert (root / "ci.xml").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--scores", "nonsense"], "nonsense"),
        (["--format", "nonsense"], "unknown format"),
        (["--set", "critic.nonsense=1"], "nonsense"),
        (["--episodes", "table.csv"], "--episodes writes the table of one dataset"),
        (["--no-store"], "--out continues from the run store"),
        (["--engine", "spark"], "unknown engine"),
        (["--address", "host:1"], "the local engine has no address"),
    ],
)
def test_a_mistake_of_the_command_is_told_once_and_nothing_runs(tree, tmp_path, words, says):
    done = run("score", str(tree[0] / "data"), "--out", str(tmp_path / "cards"), *words)
    assert done.returncode == 2 and says in done.stderr
    assert not Path(tmp_path / "cards").exists()


def test_workers_are_bounded_by_cores_and_memory(monkeypatch, tmp_path):
    (tmp_path / "x").write_bytes(b"0" * 1_000_000)
    files = [Found(str(tmp_path / "x"), str(k)) for k in range(8)]
    monkeypatch.setattr(many, "available_cores", lambda: 4)
    monkeypatch.setattr(many, "available_memory", lambda: 2**40)
    assert many.workers_that_fit(files) == 4 and many.workers_that_fit(files[:2]) == 2
    monkeypatch.setattr(many, "available_memory", lambda: 2.5 * many.OWN_BYTES / many.MEMORY_SHARE)
    assert many.workers_that_fit(files) == 2
    monkeypatch.setattr(many, "available_memory", lambda: 1)
    assert many.workers_that_fit(files) == 1


@pytest.mark.parametrize("harm", [b"", b'{"schema": "rlassay', bytes(400), None])
def test_a_damaged_or_lost_card_in_the_store_is_made_again(tmp_path, monkeypatch, capfd, harm):
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path / "store"))
    save(walks(episodes=30, seed=0, env_id="Hopper-v5"), tmp_path / "a.npz")
    words = ["score", str(tmp_path / "*.npz"), "--out", str(tmp_path / "cards"), *SETTINGS]
    assert run(*words).returncode == 0
    told = (tmp_path / "cards/a.npz.json").read_text()
    (kept,) = (tmp_path / "store").rglob("card.json")
    kept.write_bytes(harm) if harm is not None else kept.unlink()
    again = run(*words)
    assert again.returncode == 0 and "1 made" in again.stdout, again.stderr
    assert harm is None or f"{kept} is damaged" in again.stderr
    first, second = (json.loads(text) for text in (told, kept.read_text()))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
