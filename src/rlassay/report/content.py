"""What the page says: cards turned into plain text and chart specifications, nothing drawn yet."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from rlassay.report import charts, words
from rlassay.report.demonstrations import demonstrations_view
from rlassay.report.series import episodes_of, thin
from rlassay.report.verdicts import verdict_of
from rlassay.report.words import (
    by_importance,
    estimator_of,
    headline,
    in_reading_order,
    meaning_of,
    title_of,
    without_copies,
)
from rlassay.results.card import Score, Scorecard
from rlassay.results.packing import packed

View = dict[str, Any]
MARK = {"pass": "Pass", "warn": "Warning", "fail": "Fail"}
FACTS = {
    "source": "Source",
    "format": "Format",
    "env_id": "Environment",
    "transitions": "Transitions",
    "episodes": "Episodes",
    "observation_dim": "Observation dimensions",
    "action_dim": "Action dimensions",
    "fingerprint": "Fingerprint",
}


def card_view(
    card: Scorecard, name: str, key: str, point_limit: int, timeline_share: float = 1.0
) -> View:
    """One dataset: words, rows of tables, and charts under ids that begin with `key`."""
    figures = {
        f"{key}-{place}": spec for place, spec in enumerate(_figures(card, point_limit)) if spec
    }
    movement = demonstrations_view(card.demonstrations, key, timeline_share)
    return {
        "key": key,
        "name": name,
        "lead": words.summary(card),
        "tiles": _tiles(card),
        "verdict": verdict_of(card),
        "groups": _score_groups(card),
        "figures": {chart: spec for chart, spec in figures.items() if spec["kind"] != "episodes"},
        "explorer": next(
            ((chart, spec) for chart, spec in figures.items() if spec["kind"] == "episodes"), None
        ),
        "movement": movement,
        "charts": figures | (movement["charts"] if movement else {}),
        "checks": [_check_row(check) for check in card.inspection.get("checks") or []],
        "warnings": [
            {"message": words.plain(warning.message), "remedy": words.plain(warning.remedy)}
            for warning in by_importance(card.warnings)
        ],
        "facts": [
            (label, _text(card.dataset[field]))
            for field, label in FACTS.items()
            if card.dataset.get(field) is not None
        ],
        "settings": grouped(flattened(card.settings)),
        "diagnosis": grouped(flattened(card.diagnosis)),
        "software": flattened(card.software),
        "seconds": [(step, f"{value:.2f} s") for step, value in card.seconds.items()],
        "command": words.plain(card.command),
    }


def _figures(card: Scorecard, point_limit: int) -> list[charts.Spec | None]:
    return [
        explorer_spec(card, point_limit),
        charts.returns_chart(card),
        *charts.distribution_charts(card),
        charts.calibration_chart(card, point_limit),
        *charts.training_charts(card),
    ]


def _score_groups(card: Scorecard) -> list[View]:
    """The headline scores, then the others by what they tell; one number stands in one row."""
    shown = without_copies(card)
    leading = headline(shown)
    rest = words.grouped([name for name in shown if name not in leading])
    groups = {"The short answer": leading, **rest} if rest else {"Scores": leading}
    return [
        {"title": group, "rows": [_score_row(name, card) for name in names]}
        for group, names in groups.items()
        if names
    ]


def _score_row(name: str, card: Scorecard) -> View:
    score = card[name]
    estimator = estimator_of(card) if name == "bwd" else None
    title = title_of(name, score) + (f" (estimator {estimator})" if estimator else "")
    value, interval = words.value_and_interval(score)
    return {
        "name": words.plain(name),
        "title": words.plain(title),
        "meaning": words.plain(meaning_of(name, score)),
        "arrow": words.ARROWS[score.direction],
        "direction": score.direction,
        "value": value,
        "raw": score.value,
        "interval": interval,
        "unit": words.plain(score.unit),
        "relative": score.relative,
        "seeds": len(score.per_seed),
        "n": f"{score.n:,}",
        "converged": {True: "yes", False: "no", None: "–"}[score.converged],
    }


def _tiles(card: Scorecard) -> list[View]:
    """The strip of key numbers at the top."""
    tiles = [
        _score_tile(card[name], label)
        for name, label in (
            ("return", "Mean return"),
            ("return_top10", "Best tenth"),
            ("bwd", "Distance, bwd"),
        )
        if name in card
    ]
    return [*tiles, *_critic_tile(card), *_check_tile(card), _size_tile(card)]


def _score_tile(score: Score, label: str) -> View:
    seeds = f"{len(score.per_seed)} seeds" if len(score.per_seed) > 1 else "one seed"
    value, interval = words.value_and_interval(score)
    span = f"95 %: {interval}" if score.interval else "no interval"
    detail = (
        f"{words.percent(score.relative)} relative"
        if score.relative is not None
        else f"{score.direction} is better, {seeds}"
    )
    return {
        "label": f"{label} {words.ARROWS[score.direction]}",
        "value": value,
        "span": span,
        "detail": detail,
        "relative": score.relative,
    }


def _critic_tile(card: Scorecard) -> list[View]:
    judged = [card[name].converged for name in ("q", "bwd", "pd") if name in card]
    if not judged:
        return []
    settled = {True: "Converged", False: "Not converged", None: "Not judged"}[judged[0]]
    tone = {True: "good", False: "bad", None: "neutral"}[judged[0]]
    correlation = (card.diagnosis.get("critic") or {}).get("correlation")
    span = "no held-out correlation"
    if isinstance(correlation, int | float):
        span = f"correlation {correlation:.2f}"
    return [
        {
            "label": "Critic",
            "value": settled,
            "span": span,
            "detail": "on held-out episodes",
            "tone": tone,
            "words": True,
        }
    ]


def _check_tile(card: Scorecard) -> list[View]:
    checks = card.inspection.get("checks") or []
    if not checks:
        return []
    status = [str(check.get("status")) for check in checks]
    worst = next((name for name in ("fail", "warn") if name in status), "pass")
    value = {
        "pass": "Sound",
        "warn": f"{status.count('warn')} to look at",
        "fail": f"{status.count('fail')} failed",
    }
    return [
        {
            "label": "Structure",
            "value": value[worst],
            "span": f"{status.count('pass')} of {len(checks)} checks pass",
            "detail": "see structural checks",
            "tone": {"pass": "good", "warn": "warn", "fail": "bad"}[worst],
            "words": True,
        }
    ]


def _size_tile(card: Scorecard) -> View:
    def text(field: str) -> str:
        return _text(card.dataset.get(field, "–"))

    return {
        "label": "Size",
        "value": text("episodes"),
        "span": "episodes",
        "detail": f"{text('transitions')} transitions",
    }


def _check_row(check: Mapping[str, Any]) -> View:
    status = str(check.get("status"))
    rows = [str(row) for row in check.get("rows") or []]
    named = f"rows {', '.join(rows[:8])}{', …' if len(rows) > 8 else ''}" if rows else ""
    return {
        "status": status if status in MARK else "warn",
        "mark": MARK.get(status, words.plain(status)),
        "name": words.plain(check.get("name", "")),
        "message": words.plain(check.get("message", "")),
        "rows": words.plain(named),
        "remedy": words.plain(check.get("remedy") or ""),
    }


def explorer_spec(card: Scorecard, point_limit: int) -> charts.Spec | None:
    """The episodes and everything the explorer needs to name, count and curate them."""
    episodes = episodes_of(card)
    if episodes is None or not episodes.scores:
        return None
    shown = thin(episodes, point_limit)
    source = str(card.dataset.get("source") or "DATASET")
    copy = f"bwd.{estimator_of(card)}" if "bwd" in shown.scores else ""
    scores = [name for name in in_reading_order(shown.scores) if name != copy]
    preferred = "bwd" if "bwd" in scores else scores[0]
    episode_list = f"{PurePosixPath(curated_name(source)).stem}-episodes.csv"
    return {
        "kind": "episodes",
        "title": "Episodes",
        "columns": {words.plain(name): packed(values) for name, values in shown.columns.items()},
        "scores": [preferred, *[name for name in scores if name != preferred]],
        "directions": {name: score.direction for name, score in card.items()},
        "units": {name: words.plain(score.unit) for name, score in card.items()},
        "sampled": shown.sampled,
        "note": _sample_note(len(shown), episodes.total),
        "sentences": {name: charts.explorer_caption(episodes, name) for name in scores},
        "curate": f"rlassay curate {shlex.quote(source)}",
        "out": shlex.quote(curated_name(source)),
        "file": episode_list,
        "list": shlex.quote(episode_list),
    }


def _sample_note(shown: int, total: int) -> str:
    if shown == total:
        return f"All {total:,} episodes are shown."
    return (
        f"A seeded sample of {shown:,} of {total:,} episodes is shown, so that the page stays small; "
        "counts and means below are of the sample."
    )


def curated_name(source: str) -> str:
    """`data/x.hdf5` -> `x-curated.hdf5`, in the folder where the command will run."""
    path = PurePosixPath(source.replace("\\", "/"))
    return f"{path.stem or 'dataset'}-curated{path.suffix}"


def flattened(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as dotted names."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows += flattened(value, f"{prefix}{name}.")
        else:
            rows.append((words.plain(f"{prefix}{name}"), _text(value)))
    return rows


def grouped(rows: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Dotted names gathered by what stands before the last dot."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, value in rows:
        group, _, last = name.rpartition(".")
        groups.setdefault(group or "general", []).append((last, value))
    return groups


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return words.number(value, 5)
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value[:20]) + (", …" if len(value) > 20 else "")
    return words.plain(value)
