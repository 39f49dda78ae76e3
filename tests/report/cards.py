"""Scorecards as scoring writes them, made of seeded noise: what the report is tested with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rlassay.results.card import Caution, Score, Scorecard, json_values
from rlassay.scoring import SCORES

LOW, HIGH = -20.27, 3234.3  # Hopper's reference returns


def make_card(
    name: str = "data/hopper-medium.hdf5",
    quality: float = 0.4,
    episodes: int = 120,
    seed: int = 0,
    sampled_from: int | None = None,
    fresh: bool = False,
    **changes: Any,
) -> Scorecard:
    """A card of a dataset whose mean return lies at `quality` between the reference returns.

    A fresh one holds NumPy arrays, as scoring leaves them; the others what JSON would give back.
    """
    generator = np.random.default_rng(seed)
    rows = episode_columns(generator, quality, episodes, sampled_from)
    total = rows["sampled_from"]
    parts: dict[str, Any] = {
        "dataset": {
            "source": name,
            "format": "d4rl",
            "fingerprint": f"{seed:02x}" + "4be1c0de" * 7 + "af",
            "transitions": int(rows["length"].sum()) * total // episodes,
            "episodes": total,
            "observation_dim": 11,
            "action_dim": 3,
            "env_id": "Hopper-v5",
        },
        "settings": {
            "preset": "default",
            "seeds": 3,
            "seed": 0,
            "critic": {"steps": 10_000, "target_rate": 0.005, "discount": 0.99},
            "transport": {"estimator": "exact", "cost": "paper", "epsilon": 0.5, "k": 1},
        },
        "scores": make_scores(rows, generator),
        "diagnosis": {
            "critic": {
                "bias": -1.9,
                "correlation": 0.94,
                "mixture_gap": 3.1,
                "held_out_episodes": 24,
            },
            "transport": {"estimator": "exact", "epsilon": 11.7},
        },
        "series": {
            "episodes": rows,
            "histograms": histograms(generator, rows),
            "calibration": calibration(generator),
            "training": training(),
        },
        "inspection": inspection(),
        "command": f"rlassay score {name} --seeds 3 --html report.html",
        "software": {
            "rlassay": "0.1.0",
            "python": "3.11.2",
            "jax": "0.10.2",
            "numpy": "2.3.0",
            "threads": 1,
        },
        "warnings": (
            Caution(
                "long_episodes",
                "episodes outlast the critic's horizon 1/(1-discount) by far",
                "read return beside q, or raise critic.discount",
            ),
        ),
        "seconds": {
            "total": 9.4,
            "load": 0.3,
            "compile": 3.1,
            "critic": 4.0,
            "transport": 1.2,
            "scores": 0.6,
            "other": 0.2,
        },
    }
    parts.update(changes)
    if not fresh:
        parts["series"] = json_values(parts["series"])
    return Scorecard(**parts)


def episode_columns(
    generator: np.random.Generator, quality: float, episodes: int, sampled_from: int | None
) -> dict[str, Any]:
    """The table of episodes: two modes of return, scores that follow it with noise."""
    centre = LOW + quality * (HIGH - LOW)
    good = generator.random(episodes) < 0.35
    returns = centre * np.where(good, 1.45, 0.76) + generator.normal(0, 0.1 * centre + 8, episodes)
    length = np.clip(returns / 3.1, 12, 1000).astype(int)
    total = sampled_from or episodes
    return {
        "index": np.sort(generator.choice(total, episodes, replace=False)),
        "start": np.concatenate([[0], np.cumsum(length)[:-1]]),
        "length": length,
        "return": returns,
        "q": returns / 12 + generator.normal(0, 14, episodes),
        "advantage": generator.normal(0, 0.6, episodes),
        "bwd": returns / 40 + generator.normal(0, 9, episodes) - 12,
        "sampled_from": total,
    }


def make_scores(rows: dict[str, Any], generator: np.random.Generator) -> dict[str, Score]:
    returns = np.asarray(rows["return"])
    best = np.sort(returns)[-max(1, len(returns) // 10) :]

    def score(value: float, half: float, unit: str, **others: Any) -> Score:
        seeds = tuple(float(value + half * noise) for noise in generator.normal(0, 0.4, 3))
        others = {"direction": "higher", "n": rows["sampled_from"], **others}
        value, half = float(value), float(half)
        return Score(value, (value - half, value + half), seeds, unit=unit, **others)

    spread = float(returns.std() / np.sqrt(len(returns)) * 1.96)
    scores = {
        "reward": score(3.04, 0.05, "reward"),
        "return": score(
            returns.mean(), spread, "return", relative=float((returns.mean() - LOW) / (HIGH - LOW))
        ),
        "return_top10": score(
            best.mean(), spread, "return", relative=float((best.mean() - LOW) / (HIGH - LOW))
        ),
        "q": score(np.mean(rows["q"]), 4.1, "value", converged=True, relative=0.47),
        "advantage": score(0.02, 0.05, "value", converged=True),
        "pd": score(-17.2, 2.2, "value", direction="lower", converged=True),
        "bwd": score(np.mean(rows["bwd"]), 3.3, "value + squared action", converged=True),
        "bwd.tail": score(np.mean(rows["bwd"]) + 31, 5.0, "value + squared action", converged=True),
        "bc_error": score(0.081, 0.006, "squared action", direction="lower", converged=True),
        "knn_entropy": Score(11.3, None, (11.3,), "higher", "nat", 20_000),
    }
    told = {name: {"title": SCORES[name].title, "meaning": SCORES[name].meaning} for name in scores}
    return {name: replace(score, **told[name]) for name, score in scores.items()}


def histograms(generator: np.random.Generator, rows: dict[str, Any]) -> dict[str, Any]:
    counts, edges = np.histogram(rows["return"], bins=40)
    value_edges = np.linspace(-40, 320, 37)
    action_edges = np.linspace(-1, 1, 33)
    return {
        "return": {"edges": edges, "data": counts / counts.sum()},
        "value": {
            "edges": value_edges,
            "data": np.histogram(generator.normal(150, 45, 20_000), value_edges)[0],
            "random": np.histogram(generator.normal(95, 60, 20_000), value_edges)[0],
        },
        "action": {
            "edges": action_edges,
            "data": np.histogram(np.tanh(generator.normal(0.3, 0.8, 20_000)), action_edges)[0],
            "random": np.histogram(generator.uniform(-1, 1, 20_000), action_edges)[0],
        },
    }


def calibration(generator: np.random.Generator, points: int = 800) -> dict[str, Any]:
    truth = generator.gamma(6, 25, points)
    return {"predicted": truth + generator.normal(-2, 16, points), "monte_carlo": truth}


def training() -> dict[str, Any]:
    step, dual_step = np.linspace(0, 10_000, 101), np.linspace(0, 10_000, 51)
    return {
        "step": step,
        "critic": 150 - 140 * np.exp(-step / 1200),
        "dual_step": dual_step,
        "dual": 30 - 24 * np.exp(-dual_step / 900),
    }


def inspection() -> dict[str, Any]:
    return {
        "status": "warn",
        "checks": [
            {
                "name": "shapes",
                "status": "pass",
                "message": "all columns have one row per transition",
                "rows": [],
                "remedy": "",
            },
            {
                "name": "finite",
                "status": "pass",
                "message": "no NaN, no infinity",
                "rows": [],
                "remedy": "",
            },
            {
                "name": "saturated actions",
                "status": "warn",
                "message": "7 % of the actions sit at a bound",
                "rows": [12, 13, 408],
                "remedy": "check the action scaling of the recorder",
            },
        ],
    }


def three_cards() -> list[Scorecard]:
    """Random, medium and expert, as the bundled samples are graded."""
    grades = {"random": 0.02, "medium": 0.4, "expert": 0.85}
    return [
        make_card(f"samples/hopper-{name}.hdf5", quality, seed=seed)
        for seed, (name, quality) in enumerate(grades.items())
    ]


def make_comparison(cards: list[Scorecard]) -> dict[str, Any]:
    """`rlassay.comparison/1` with ties where intervals overlap."""
    ranking = {name: _ranking(cards, name) for name in cards[0].scores}
    return {
        "schema": "rlassay.comparison/1",
        "cards": [card.to_dict() for card in cards],
        "ranking": ranking,
    }


def _ranking(cards: list[Scorecard], name: str) -> list[dict[str, Any]]:
    sign = -1 if cards[0][name].direction == "higher" else 1
    order = sorted(cards, key=lambda card: sign * card[name].value)
    return [
        {
            "source": card.dataset["source"],
            "rank": place,
            "value": card[name].value,
            "interval": card[name].interval and list(card[name].interval),  # type: ignore[arg-type]
            "tied_with": [
                other.dataset["source"]
                for other in order
                if other is not card and _overlap(card[name], other[name])
            ],
        }
        for place, card in enumerate(order, start=1)
    ]


def _overlap(one: Score, other: Score) -> bool:
    if one.interval is None or other.interval is None:
        return False
    return one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]


def make_curation() -> dict[str, Any]:
    """The JSON of a curation of four episodes, with markup in its texts."""
    return {
        "schema": "rlassay.curation/1",
        "source": "data/<b>x.npz",
        "out": "y.npz",
        "rule": {"keep": 0.5, "by": "return"},
        "kept": [0, 2],
        "dropped": [1, 3],
        "notes": ["a <i>note</i>"],
        "dry_run": False,
        "version": "0.2.0",
        "fingerprint": "ab",
        "before": {
            "episodes": 4,
            "transitions": 40,
            "scores": {
                "return": {"value": 10.0, "interval": [9.0, 11.0], "direction": "higher"},
                "bc_error": {"value": 0.5, "interval": [0.4, 0.6], "direction": "lower"},
            },
        },
        "after": {
            "episodes": 2,
            "transitions": 18,
            "scores": {
                "return": {"value": 15.0, "interval": [14.0, 16.0], "direction": "higher"},
                "bc_error": {"value": 0.45, "interval": [0.35, 0.55], "direction": "lower"},
            },
        },
    }
