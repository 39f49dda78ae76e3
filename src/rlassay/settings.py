"""Settings are frozen dataclasses; this is the one place that changes them from `key=value` pairs."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from rlassay.errors import SettingsError

T = TypeVar("T")
NEUTRAL = "neutral"  # metadata of a field: the value that reproduces the numbers from before the field existed


def require(holds: bool, name: str, allowed: object, got: object) -> None:
    """Refuse a setting outside its range; for the `__post_init__` of settings."""
    if not holds:
        raise SettingsError(f"{name} is out of range", allowed=allowed, got=got)


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """`["a.b=1"]` as `{"a.b": "1"}`."""
    parsed = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise SettingsError(
                "a setting is not of the form key=value", got=pair, remedy="write --set key=value"
            )
        parsed[key.strip()] = value.strip()
    return parsed


def change(settings: T, changes: Mapping[str, Any]) -> T:
    """A copy with the named fields changed; dots reach nested settings, an unknown key is refused."""
    for key, value in changes.items():
        if key not in (allowed := allowed_keys(settings)):
            raise SettingsError("unknown setting", allowed=allowed, got=key)
        settings = _change_one(settings, key, key.split("."), value)
    return settings


def _change_one(settings: Any, key: str, path: list[str], value: Any) -> Any:
    head, *rest = path
    if rest:
        inner = _change_one(getattr(settings, head), key, rest, value)
        return dataclasses.replace(settings, **{head: inner})
    kind = typing.get_type_hints(type(settings))[head]
    return dataclasses.replace(settings, **{head: _convert(key, value, kind)})


def allowed_keys(settings: Any, prefix: str = "") -> list[str]:
    """Every key of nested settings, dotted."""
    keys: list[str] = []
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            keys += allowed_keys(value, f"{prefix}{field.name}.")
        else:
            keys.append(f"{prefix}{field.name}")
    return keys


def flatten(settings: Any) -> dict[str, Any]:
    """Every setting under its dotted key, as JSON values."""
    flat: dict[str, Any] = {}
    for key in allowed_keys(settings):
        value = settings
        for part in key.split("."):
            value = getattr(value, part)
        flat[key] = list(value) if isinstance(value, tuple) else value
    return flat


def added_later(neutral: Any) -> Any:
    """A field that came after results had been kept; `neutral` is its default and leaves their numbers as they are."""
    return dataclasses.field(default=neutral, metadata={NEUTRAL: neutral})


def identifying(settings: Any) -> dict[str, Any]:
    """The settings that name a result: all of them, but those added later only where they change its numbers.

    So the key of a result that was kept before a setting existed stays what it was.
    """
    neutral = _neutral_values(settings)
    return {
        key: value
        for key, value in flatten(settings).items()
        if key not in neutral or value != neutral[key]
    }


def _neutral_values(settings: Any, prefix: str = "") -> dict[str, Any]:
    """The neutral value of every field that was added later, by its dotted key."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            found |= _neutral_values(value, f"{prefix}{field.name}.")
        elif NEUTRAL in field.metadata:
            found[f"{prefix}{field.name}"] = field.metadata[NEUTRAL]
    return found


def _convert(key: str, value: Any, kind: Any) -> Any:
    options = typing.get_args(kind)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        if type(None) in options and (value is None or value in ("none", "None", "null")):
            return None
        kinds = [option for option in options if option is not type(None)]
        for option in kinds[:-1]:
            try:
                return _convert(key, value, option)
            except SettingsError:
                continue
        return _convert(key, value, kinds[-1])
    if typing.get_origin(kind) is typing.Literal:
        if value not in options:
            raise SettingsError(f"{key} has an unknown value", allowed=options, got=value)
        return value
    if typing.get_origin(kind) is tuple:
        items = value.split(",") if isinstance(value, str) else value
        items = (
            items if isinstance(items, list | tuple) else [items]
        )  # one number is a tuple of one
        return tuple(_convert(key, item, options[0]) for item in items)
    return _convert_plain(key, value, kind)


def _convert_plain(key: str, value: Any, kind: Any) -> Any:
    try:
        if kind is bool:
            words = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
            return value if isinstance(value, bool) else words[str(value).lower()]
        if kind is int:
            number = float(str(value).replace("_", ""))
            if number != int(number):
                raise ValueError
            return int(number)
        if kind is float:
            return float(value)
        return kind(value)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise SettingsError(f"{key} cannot be read", allowed=kind.__name__, got=value) from None
