"""Expectations that a good dataset meets, learnt from it, written as TOML, and held against others.

A section that is deleted from the file is not asked; a number that is edited is what counts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlassay.data.blocks import blocks_of
from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError
from rlassay.inspection.results import Check, found, passed

SCHEMA = "rlassay.rules/1"
MARGIN = 0.1  # of the range seen, added on both sides
OUTSIDE = 0.001  # share of rows that may lie outside a range
RATE_MARGIN = 0.1  # by which the share of terminal ends may differ


def learn(data: Dataset, margin: float = MARGIN) -> dict[str, Any]:
    """What this dataset meets, with a margin around every range."""
    lengths = data.episode_lengths
    rules: dict[str, Any] = {
        "schema": SCHEMA,
        "learnt_from": data.origin.source,
        "dimensions": {
            "observations": data.observation_dim,
            "actions": data.action_dim,
            "discrete_actions": bool(data.discrete_actions),
        },
        "observations": _ranges(data.observations, margin),
        "actions": _ranges(data.actions, margin),
        "lengths": _range(lengths, margin) | {"median": float(np.median(lengths))},
        "ends": {"terminal_share": _terminal_share(data), "margin": RATE_MARGIN},
    }
    if data.rewards is not None:
        rules["rewards"] = _range(data.rewards, margin)
        rules["returns"] = {
            "mean_at_least": float(np.quantile(data.episode_returns, 0.25)),
            **_range(data.episode_returns, margin),
        }
    return rules


def learn_all(datasets: Sequence[Dataset], margin: float = MARGIN) -> dict[str, Any]:
    """What every one of these datasets meets: the widest ranges and the lowest demands."""
    rules = [learn(data, margin) for data in datasets]
    merged = dict(rules[0])
    for other in rules[1:]:
        if other["dimensions"] != merged["dimensions"]:
            raise DatasetError(
                "good datasets differ in their dimensions",
                allowed=_dimensions_text(merged),
                got=f"{_dimensions_text(other)} in {other['learnt_from']}",
                remedy="learn rules from datasets of one task",
            )
        shared = [name for name in merged if name in other]
        merged = {name: _merged(name, merged[name], other[name]) for name in shared}
    return merged


def _dimensions_text(rules: Mapping[str, Any]) -> str:
    known = rules["dimensions"]
    return f"{known['observations']} / {known['actions']}"


def _merged(name: str, one: Any, other: Any) -> Any:
    if name == "learnt_from":
        return f"{one}, {other}"
    if name == "ends":
        return _merged_ends(one, other)
    if not isinstance(one, Mapping) or name == "dimensions":
        return one
    widest = {"low": np.minimum, "mean_at_least": np.minimum, "high": np.maximum}
    return {
        key: np.asarray(widest[key](value, other[key])).tolist() if key in widest else value
        for key, value in one.items()
    }


def _merged_ends(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """The middle of both shares, with a margin that reaches as far as either did."""
    edges = [
        rule["terminal_share"] + sign * rule["margin"] for rule in (one, other) for sign in (-1, 1)
    ]
    low, high = min(edges), max(edges)
    return {"terminal_share": (low + high) / 2, "margin": (high - low) / 2}


def _ranges(column: np.ndarray, margin: float) -> dict[str, Any]:
    low, high = (bound.astype(np.float64) for bound in (column.min(axis=0), column.max(axis=0)))
    room = margin * (high - low)
    return {"low": (low - room).tolist(), "high": (high + room).tolist(), "outside": OUTSIDE}


def _range(values: np.ndarray, margin: float) -> dict[str, float]:
    low, high = float(values.min()), float(values.max())
    room = margin * (high - low)
    return {"low": low - room, "high": high + room}


def _terminal_share(data: Dataset) -> float:
    return float(data.terminals[data.episode_stops - 1].mean())


# -- the file ----------------------------------------------------------------------------------------------------------


def to_toml(rules: Mapping[str, Any]) -> str:
    """The rules as TOML, numbers with nine digits."""
    lines = [
        "# Expectations learnt by `rlassay learn`; `rlassay inspect FILE --rules THIS` holds a file to them.",
        "# Delete a section that should not be asked; edit a number to change what counts.",
    ]
    lines += [f"schema = {_value(SCHEMA)}", f"learnt_from = {_value(rules['learnt_from'])}"]
    for name, section in rules.items():
        if isinstance(section, Mapping):
            lines += ["", f"[{name}]", *(f"{key} = {_value(v)}" for key, v in section.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(_escaped(letter) for letter in value) + '"'
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\u{ord(letter) & 0xFFFF:04x}"


def read_rules(path: Path) -> dict[str, Any]:
    """Rules of a file; what is no such file is refused."""
    remedy = "write rules with `rlassay learn GOOD -o rules.toml`"
    try:
        rules = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DatasetError(f"cannot read {path} ({error.strerror})", remedy=remedy) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} is no TOML ({error})", remedy=remedy) from None
    if rules.get("schema") != SCHEMA:
        raise DatasetError(
            f"{path} holds no rules", allowed=SCHEMA, got=rules.get("schema"), remedy=remedy
        )
    unknown = {name for name in rules if isinstance(rules[name], dict)} - set(HELD)
    if unknown:
        raise DatasetError(f"{path} has unknown sections", allowed=list(HELD), got=unknown)
    return rules


# -- holding others to them --------------------------------------------------------------------------------------------


def hold(rules: Mapping[str, Any], data: Dataset) -> list[Check]:
    """One check a section of the rules."""
    checks = []
    for name, section in rules.items():
        if isinstance(section, Mapping):
            try:
                checks.append(HELD[name](f"rules.{name}", section, data))
            except (KeyError, TypeError, ValueError):
                raise DatasetError(
                    f"the section [{name}] of the rules cannot be read",
                    remedy="learn the rules again with `rlassay learn GOOD -o rules.toml`",
                ) from None
    return checks


def _broken(name: str, message: str, rows: Any = ()) -> Check:
    remedy = "repair the data, or learn the rules again if the change is meant"
    return found(name, "fail", message, remedy, rows)


def _dimensions(name: str, rule: Mapping[str, Any], data: Dataset) -> Check:
    seen = {
        "observations": data.observation_dim,
        "actions": data.action_dim,
        "discrete_actions": bool(data.discrete_actions),
    }
    wrong = [f"{key} {seen[key]} instead of {rule[key]}" for key in rule if seen[key] != rule[key]]
    return _broken(name, "; ".join(wrong)) if wrong else passed(name, "dimensions as expected")


def _column(name: str, rule: Mapping[str, Any], data: Dataset) -> Check:
    column = getattr(data, name.removeprefix("rules."))
    low, high = np.asarray(rule["low"], float), np.asarray(rule["high"], float)
    if column.shape[1] != len(low):
        return _broken(name, f"{column.shape[1]} dimensions instead of {len(low)}")
    counts = [flags.sum(axis=0) for _, flags in _outside(column, low, high)]
    shares = np.sum(counts, axis=0) / len(column)
    wrong = np.flatnonzero(shares > float(rule["outside"]))
    if len(wrong) == 0:
        return passed(name, f"{len(low)} dimensions within their ranges")
    worst = int(wrong[shares[wrong].argmax()])
    message = (
        f"{len(wrong)} dimensions leave their ranges, most of all dimension {worst}: "
        f"{shares[worst]:.1%} of its rows are outside [{low[worst]:g}, {high[worst]:g}]"
    )
    rows = [
        first + np.flatnonzero(flags[:, wrong].any(axis=1))
        for first, flags in _outside(column, low, high)
    ]
    return _broken(name, message, np.concatenate(rows))


def _outside(column: Any, low: np.ndarray, high: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """First row of each block, and flags of its entries that are outside their range or no numbers."""
    for first, block in blocks_of(column):
        yield first, (block < low) | (block > high) | ~np.isfinite(block)


def _rewards(name: str, rule: Mapping[str, Any], data: Dataset) -> Check:
    if data.rewards is None:
        return _broken(name, "the data has no rewards")
    outside = np.flatnonzero((data.rewards < rule["low"]) | (data.rewards > rule["high"]))
    if len(outside):
        return _broken(name, f"{len(outside):,} rewards are outside {_shown(rule)}", outside)
    return passed(name, f"all rewards in {_shown(rule)}")


def _lengths(name: str, rule: Mapping[str, Any], data: Dataset) -> Check:
    lengths = data.episode_lengths
    outside = np.flatnonzero((lengths < rule["low"]) | (lengths > rule["high"]))
    if len(outside):
        message = f"{len(outside):,} episodes have lengths outside {_shown(rule)}"
        return _broken(name, message, data.episode_starts[outside])
    return passed(name, f"all lengths in {_shown(rule)}")


def _ends(name: str, rule: Mapping[str, Any], data: Dataset) -> Check:
    share, wanted = _terminal_share(data), float(rule["terminal_share"])
    message = f"{share:.0%} of the episodes end in a terminal, expected {wanted:.0%}"
    if abs(share - wanted) > float(rule["margin"]):
        return _broken(name, message)
    return passed(name, message)


def _returns(name: str, rule: Mapping[str, Any], data: Dataset) -> Check:
    if data.rewards is None:
        return _broken(name, "the data has no rewards")
    mean, returns = float(data.episode_returns.mean()), data.episode_returns
    if mean < rule["mean_at_least"]:
        message = f"the mean return {mean:g} is below {rule['mean_at_least']:g}"
        return _broken(name, message)
    outside = np.flatnonzero((returns < rule["low"]) | (returns > rule["high"]))
    if len(outside):
        message = f"{len(outside):,} episodes return outside {_shown(rule)}"
        return _broken(name, message, data.episode_starts[outside])
    return passed(name, f"mean return {mean:g}, all in {_shown(rule)}")


def _shown(rule: Mapping[str, Any]) -> str:
    return f"[{rule['low']:g}, {rule['high']:g}]"


HELD = {
    "dimensions": _dimensions,
    "observations": _column,
    "actions": _column,
    "rewards": _rewards,
    "lengths": _lengths,
    "ends": _ends,
    "returns": _returns,
}
