"""Which columns of a source are what: a map given by the user, or the one that its names suggest."""

from __future__ import annotations

import fnmatch
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlassay.errors import DatasetError, SettingsError
from rlassay.words import suggest

# role: what it says of a row, and the names by which sources call it
ROLES = {
    "observations": ("observations", "observation", "obs", "states", "state", "s"),
    "actions": ("actions", "action", "acts", "act", "a"),
    "rewards": ("rewards", "reward", "rews", "rew", "r"),
    "next_observations": (
        "next_observations",
        "next_observation",
        "next_obs",
        "new_obs",
        "next_states",
        "next_state",
    ),
    "terminals": ("terminals", "terminal", "terminations", "terminated", "terminateds"),
    "timeouts": ("timeouts", "timeout", "truncations", "truncated", "truncateds"),
    "dones": ("dones", "done"),
    "episode": ("episode", "episode_id", "episode_index", "eps_id", "traj_id", "trajectory_id"),
    "step": ("step", "step_index", "t", "frame_index", "timestep"),
    "first": ("is_first", "episode_start"),
}
MAP_LIMIT = 2**20  # bytes of a saved map
LISTED = 40  # names shown in an error


@dataclass(frozen=True)
class ColumnMap:
    """Role -> names or patterns of columns; several are joined in the order given."""

    roles: tuple[tuple[str, tuple[str, ...]], ...]

    def to_dict(self) -> dict[str, Any]:
        return {role: list(names) for role, names in self.roles}

    def resolve(self, names: Iterable[str], source: object) -> dict[str, list[str]]:
        """Role -> the columns it takes, patterns filled in. A number that names no column stays: a constant."""
        known = list(names)
        return {role: _columns(role, parts, known, source) for role, parts in self.roles}


def column_map(given: Any) -> ColumnMap | None:
    """A map from `role=name+name,...`, from a saved TOML file, or from a mapping."""
    if given is None or isinstance(given, ColumnMap):
        return given
    if isinstance(given, Mapping):
        return _checked(dict(given))
    text = str(given)
    if "=" not in text or text.endswith(".toml"):
        return _checked(_saved(Path(text)))
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    return _checked({role.strip(): names.strip().split("+") for role, _, names in parts})


def map_text(given: Any) -> str | None:
    """A map as one would type it behind `--map`; a saved one by its file."""
    if given is None or isinstance(given, str | Path):
        return None if given is None else str(given)
    found = column_map(given)
    return found and ",".join(f"{role}={'+'.join(names)}" for role, names in found.roles)


def _saved(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.loads(file.read(MAP_LIMIT).decode())
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the map {path} cannot be read ({str(error).splitlines()[0]})",
            allowed="role=column,role=column or a TOML file of them",
            remedy='a line of the file reads: observations = ["x", "y"]',
        ) from None


def _checked(entries: dict[str, Any]) -> ColumnMap:
    found = []
    for role, names in entries.items():
        listed = names if isinstance(names, list | tuple) else str(names).split("+")
        if role not in ROLES:
            meant = suggest(role, ROLES)
            raise SettingsError(f"unknown role in the map{meant}", allowed=tuple(ROLES), got=role)
        if not listed or not all(isinstance(n, str | int) and str(n).strip() for n in listed):
            raise SettingsError(f"the map names no column for {role}", got=names)
        found.append((role, tuple(str(n).strip() for n in listed)))
    missing = [role for role in ("observations", "actions") if role not in entries]
    if missing:
        raise SettingsError(f"the map names no {' and no '.join(missing)}", allowed=tuple(ROLES))
    return ColumnMap(tuple(found))


def _columns(role: str, parts: tuple[str, ...], known: list[str], source: object) -> list[str]:
    found: list[str] = []
    for part in parts:
        matches = [part] if part in known else sorted(fnmatch.filter(known, part), key=_natural)
        if not matches and constant(part) is not None:
            matches = [part]
        if not matches:
            raise DatasetError(
                f"{source} has no column {part}, which the map names as {role}",
                allowed=known[:LISTED] or "no columns",
            )
        found += [name for name in matches if name not in found]
    return found


def constant(name: str) -> float | None:
    """The number that stands in a map in the place of a column, or None."""
    return float(name) if re.fullmatch(r"-?\d+(\.\d+)?", name) else None


def _natural(name: str) -> list[Any]:
    """`x_2` before `x_10`."""
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d+)", name)]


# -- guesses ----------------------------------------------------------------------------------------------------------


def exact_map(names: Iterable[str]) -> ColumnMap | None:
    """The map of a source whose columns carry usual names; None when something is missing or doubtful."""
    known = set(names)
    found = {role: [n for n in aliases if n in known] for role, aliases in ROLES.items()}
    roles = {role: (hits[0],) for role, hits in found.items() if len(hits) == 1}
    doubtful = any(len(hits) > 1 for hits in found.values())
    ends = {"terminals", "dones", "episode", "first"} & set(roles)
    if doubtful or not ends or not {"observations", "actions"} <= set(roles):
        return None
    return ColumnMap(tuple(roles.items()))


def guessed_map(names: Iterable[str]) -> str | None:
    """A map as `--map` takes it, where the names suggest one; numbered columns become a pattern."""
    known = list(names)
    roles: dict[str, str] = {}
    for role, aliases in ROLES.items():
        hit = next((guess for a in aliases if (guess := _suggested(a, known))), None)
        if hit is not None:
            roles[role] = hit
    if not {"observations", "actions"} <= set(roles):
        return None
    if not {"terminals", "dones", "episode", "first"} & set(roles):
        return None
    if "terminals" in roles:
        roles.pop("dones", None)
    return ",".join(f"{role}={name}" for role, name in roles.items())


def _suggested(alias: str, known: list[str]) -> str | None:
    lower = {name.lower(): name for name in known}
    if alias in lower:
        return lower[alias]
    for name in known:  # data/obs, obs_0, obs.0, obs[0], obs0
        if name.lower().rsplit("/", 1)[-1] == alias:
            return name
    for name in known:
        match = re.fullmatch(rf"({re.escape(alias)}[_.\-\[]?)\d+\]?", name, re.IGNORECASE)
        if match and (len(alias) > 1 or match.group(1)[-1] in "_.-["):
            return f"{match.group(1).replace('[', '?')}*"
    return None


def unknown_columns(source: object, names: Iterable[str]) -> DatasetError:
    """The refusal of a source whose columns are not known, with the command that would read it."""
    known = list(names)
    guess = guessed_map(known)
    place = shlex.quote(str(source))
    if guess is None:
        remedy = f"say which is what: rlassay inspect {place} --map observations=A+B,actions=C,rewards=D,episode=E"
    else:
        remedy = f"try: rlassay inspect {place} --map {shlex.quote(guess)}"
    return DatasetError(
        f"the columns of {source} are not known",
        got=known[:LISTED] or "no columns",
        remedy=remedy,
    )
