"""Can an episode score tell good episodes from bad ones? Area under the ROC curve with hidden labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.collect.sources import Actors
from rlassay.engine.choice import default_engine
from rlassay.engine.files import write_json
from rlassay.engine.local import Engine
from rlassay.engine.store import RunStore, Task
from rlassay.errors import SolverError
from rlassay.motion.detection import area_under_curve
from rlassay.study.grid.files import Row

REVISION = 1
GOOD = "expert"
BAD = ("random", "noisy", "corrupted")
SCORES = (
    "return",
    "reward",
    "q",
    "advantage",
    "pd",
    "bwd.exact",
    "bwd.tail",
    "value_gap",
    "random_distance",
    "bc_surprise",
    "coverage",
)
COLUMNS = ("environment", "score", "against", "auc", "low", "high", "seeds", "episodes")
REPLICATES = 2_000
EPISODES = 40  # of each label


def score_task(
    settings: Mapping[str, Any], data: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The worker's side: every score of every episode, turned so that higher is better."""
    from rlassay.formats import load
    from rlassay.scoring import episode_scores

    table = episode_scores(
        load(data["path"]),
        scores=settings["scores"],
        preset=settings["preset"],
        seed=settings["seed"],
    )
    return {name: table.goodness(name).tolist() for name in settings["scores"]}


def detect(
    environment: str,
    data: Mapping[str, str],
    labels: np.ndarray,
    *,
    seeds: int = 3,
    preset: str = "default",
    engine: Engine | None = None,
    store: RunStore | None = None,
) -> list[Row]:
    """AUC of every score for experts against each kind of bad episode, and against all of them."""
    tasks = [
        Task(
            "detection",
            "rlassay.study.curation.detection:score_task",
            {"scores": list(SCORES), "preset": preset, "seed": seed},
            data,
            REVISION,
            f"detection seed {seed}",
        )
        for seed in range(seeds)
    ]
    outcomes = (engine or default_engine()).run(tasks, store or RunStore())
    for outcome in outcomes:
        if outcome.result is None:
            raise SolverError(f"the detection study failed: {outcome.failure}")
    tables = [outcome.result for outcome in outcomes]
    return [
        _row(environment, name, against, [np.asarray(t[name]) for t in tables if t], labels)
        for name in SCORES
        for against in (*BAD, "all")
    ]


def detect_in_zoo(
    environment: str, zoo: Path, seeds: int, episodes: int = EPISODES
) -> tuple[list[Row], Row]:
    """The same for labelled episodes of the zoo's last actor of its first seed, and what they are made of."""
    from rlassay.collect.sources import ZooActors

    actors, store = ZooActors.open(zoo, environment), RunStore()
    seed = actors.seeds()[0]
    made = {"kind": actors.kind, "seed": seed, "step": max(actors.steps(seed))}
    data, labels = _labelled(actors, episodes, store)
    rows = detect(environment, data, labels, seeds=seeds, store=store)
    about = {"seeds": seeds, "preset": "default", "episodes_of_each_label": episodes}
    return rows, {**about, "actors": made}


def _labelled(actors: Actors, episodes: int, store: RunStore) -> tuple[dict[str, str], np.ndarray]:
    """The labelled episodes, made once: a dataset file and the labels beside it."""
    from rlassay.collect.graded import RolloutSettings
    from rlassay.formats import load, save
    from rlassay.study.curation.mixtures import labelled_episodes, mixture_recipe
    from rlassay.study.grid.data import identity_of

    recipe = mixture_recipe(actors, "expert-random")  # the labels are made of the same actor
    identity = identity_of(actors, recipe, RolloutSettings(episodes))
    path = store.root / "datasets" / f"detection-{actors.env_id}-{identity}.npz"
    beside = path.with_suffix(".json")
    if not beside.exists():
        data, labels = labelled_episodes(actors, episodes)
        save(data, path)
        write_json(beside, labels.tolist())
    reference = {"path": str(path), "fingerprint": load(path).fingerprint}
    return reference, np.asarray(json.loads(beside.read_text()))


def pivot(rows: Sequence[Row]) -> list[Row]:
    """One row a score, one column an environment and kind of bad episode."""
    found: dict[str, Row] = {}
    for row in rows:
        if row["against"] in BAD:
            column = f"{row['environment']} {row['against']}"
            found.setdefault(row["score"], {"score": row["score"]})[column] = row["auc"]
    return list(found.values())


def _row(
    environment: str, name: str, against: str, goodness: Sequence[np.ndarray], labels: np.ndarray
) -> Row:
    good = np.flatnonzero(labels == GOOD)
    bad = np.flatnonzero(labels != GOOD if against == "all" else labels == against)
    low, high = auc_interval(goodness, good, bad)
    return {
        "environment": environment,
        "score": name,
        "against": against,
        "auc": float(np.mean([area_under_curve(g[good], g[bad]) for g in goodness])),
        "low": low,
        "high": high,
        "seeds": len(goodness),
        "episodes": len(good) + len(bad),
    }


def auc_interval(
    goodness: Sequence[np.ndarray], good: np.ndarray, bad: np.ndarray
) -> tuple[float, float]:
    """95 % percentile interval over resampled episodes and scoring seeds."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(REPLICATES):
        drawn = goodness[int(rng.integers(len(goodness)))]
        values.append(
            area_under_curve(drawn[rng.choice(good, len(good))], drawn[rng.choice(bad, len(bad))])
        )
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
