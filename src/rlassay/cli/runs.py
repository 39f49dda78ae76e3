"""The commands over the run store: runs list, runs show, runs clean."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlassay.cli.options import JsonOption, StoreOption, emit_json, say, use_store

if TYPE_CHECKING:
    from rlassay.engine.inventory import StoredRun

LONG = 60  # signs of a list that stands in one line of `show`
SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
StudyOption = Annotated[
    str | None,
    typer.Option("--study", metavar="NAME", help="Only runs that a table of this study names."),
]
ResultsOption = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="Where the studies' tables live.")
]
OlderOption = Annotated[
    str | None,
    typer.Option("--older-than", metavar="AGE", help="Not changed for so long: 12h, 30d or 8w."),
]
StateOption = Annotated[
    str | None,
    typer.Option("--state", help="Only these: done, running, stopped, failed or broken."),
]

runs_app = typer.Typer(
    help="What the run store holds: list, show and clean it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
    app.add_typer(runs_app, name="runs")


@runs_app.command("list", short_help="List the runs of the store, the latest first.")
def list_command(
    state: StateOption = None,
    study: StudyOption = None,
    results: ResultsOption = Path("results"),
    older_than: OlderOption = None,
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:
    """List the runs of the store, the latest first: what, when, size and state."""
    from rlassay.engine.inventory import size_of

    use_store(store)
    root = _root()
    runs = _chosen(root, state, study, results, older_than)
    others = {name: size_of(root / name) for name in ("datasets", "xla")}
    told = {"schema": "rlassay.runs/1", "store": str(root), "bytes": others}
    if emit_json({**told, "runs": [run.to_dict() for run in runs]}, json):
        return
    _show(runs, root)
    total = _shown_size(sum(run.size for run in runs))
    kept = f"datasets {_shown_size(others['datasets'])}, compiled programs {_shown_size(others['xla'])}"
    say(f"{_counted(len(runs), 'run')}, {total}; beside them {kept}")
    say(f"in {root}")


@runs_app.command("show")
def show_command(
    key: Annotated[str, typer.Argument(metavar="KEY", help="A run's key, or how it begins.")],
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:
    """Show one run: its settings, its data, its files, and why it failed."""
    from rlassay.errors import SettingsError

    use_store(store)
    found = [run for run in _all_runs(_root()) if run.key.startswith(key)]
    if len(found) != 1:
        remedy = "see the keys with `rlassay runs list`"
        what = "several runs begin so" if found else "the store has no such run"
        raise SettingsError(what, got=key, remedy=remedy)
    if emit_json({"schema": "rlassay.run-record/1", **found[0].to_dict()}, json):
        return
    for line in _record(found[0]):
        say(line)


@runs_app.command("clean", short_help="Remove leftovers, and the runs that are asked for.")
def clean_command(
    older_than: OlderOption = None,
    study: StudyOption = None,
    results: ResultsOption = Path("results"),
    broken: Annotated[
        bool,
        typer.Option("--broken", help="Runs with unreadable or failed records, and damaged files."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    store: StoreOption = None,
    json: JsonOption = None,
) -> None:
    """Remove leftovers of killed processes, and the runs that are asked for; a running one stays."""
    from rlassay.engine import parts
    from rlassay.engine.inventory import leftover_files, remove_runs

    use_store(store)
    root = _root()
    runs = _to_remove(root, older_than, study, results, broken)
    files = leftover_files(root, damaged=broken)
    size = sum(run.size for run in runs)
    if not dry_run:
        size = remove_runs(runs)
        for path in files:
            parts.remove(path)
    told = {
        "schema": "rlassay.runs-clean/1",
        "store": str(root),
        "dry_run": dry_run,
        "runs": [run.key for run in runs],
        "leftovers": [str(path) for path in files],
        "bytes": size,
    }
    if not emit_json(told, json):
        if dry_run:
            _show(runs, root)
        verb = "would remove" if dry_run else "removed"
        found = f"{_counted(len(runs), 'run')} ({_shown_size(size)})"
        say(f"{verb} {found} and {_counted(len(files), 'leftover')} of killed processes")
        if older_than is None and study is None and not broken:
            say("choose runs with --older-than 30d, --study NAME or --broken")


def _to_remove(
    root: Path, older_than: str | None, study: str | None, results: Path, broken: bool
) -> list[StoredRun]:
    """What all the options agree on; without any no run is removed."""
    if older_than is None and study is None and not broken:
        return []
    found = _chosen(root, None, study, results, older_than)
    if broken:
        found = [run for run in found if run.state in ("broken", "failed")]
    return [run for run in found if run.state != "running"]


def _root() -> Path:
    from rlassay.runtime import state_folder

    return state_folder()


def _all_runs(root: Path) -> list[StoredRun]:
    from rlassay.engine.inventory import stored_runs

    return stored_runs(root)


def _chosen(
    root: Path, state: str | None, study: str | None, results: Path, older_than: str | None
) -> list[StoredRun]:
    from rlassay.engine.inventory import STATES
    from rlassay.engine.inventory import older_than as old_ones
    from rlassay.errors import SettingsError

    if state is not None and state not in STATES:
        raise SettingsError("unknown state of a run", allowed=STATES, got=state)
    keys = None if study is None else _keys_of(study, results)
    age = None if older_than is None else _seconds(older_than)
    found = _all_runs(root)
    if age is not None:
        found = old_ones(found, age)
    found = [run for run in found if state in (None, run.state)]
    return found if keys is None else [run for run in found if run.key in keys]


def _keys_of(study: str, results: Path) -> set[str]:
    """Keys in the tables of a study, which name the run behind every row."""
    from rlassay.errors import DatasetError

    keys: set[str] = set()
    for table in sorted((results / study).glob("*.csv")):
        with open(table, newline="", errors="replace") as file:
            keys |= {row["key"] for row in csv.DictReader(file) if row.get("key")}
    if not keys:
        raise DatasetError(
            f"{results / study} holds no table that names runs",
            remedy="name the folder of the tables with --results, or clean with --older-than",
        )
    return keys


def _seconds(text: str) -> float:
    from rlassay.errors import SettingsError

    found = re.fullmatch(r"(\d+(?:\.\d+)?)([mhdw])", text.strip())
    if found is None:
        raise SettingsError("an age cannot be read", allowed="such as 12h, 30d or 8w", got=text)
    return float(found[1]) * SECONDS[found[2]]


def _show(runs: list[StoredRun], root: Path) -> None:
    """A line a run; keys are as short as `show` needs to tell them from every other one of the store."""
    from rich.console import Console

    from rlassay.report.table import Column, show_table

    if not runs:
        return
    digits = _digits(run.key for run in _all_runs(root))
    columns = [
        Column("key"),
        Column("state"),
        Column("age", align="right", optional=2),
        Column("size", align="right", optional=1),
        Column("what", fold=True),
    ]
    rows = [
        (run.key[:digits], run.state, _age(run), _shown_size(run.size), _what(run)) for run in runs
    ]
    show_table(columns, rows, Console())


def _digits(keys: Iterable[str]) -> int:
    """How much of a key is needed: at least 8 signs, and no two begin alike."""
    known = set(keys)
    longest = max(map(len, known))
    enough = (n for n in range(8, longest) if len({key[:n] for key in known}) == len(known))
    return next(enough, longest)


def _age(run: StoredRun) -> str:
    """In the unit that `--older-than` would take."""
    seconds = max(0.0, time.time() - run.when)
    unit = next((unit for unit in ("d", "h") if seconds >= SECONDS[unit]), "m")
    return f"{seconds // SECONDS[unit]:.0f}{unit}"


def _when(run: StoredRun) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.when))


def _what(run: StoredRun) -> str:
    return f"{run.name}: {run.label}"


def _record(run: StoredRun) -> list[str]:
    values: dict[str, Any] = {"what": _what(run), "key": run.key, "state": run.state}
    values |= {"changed": _when(run), "size": _shown_size(run.size), "folder": run.folder}
    values |= {"revision": run.revision, "failure": run.failure}
    values |= {"set aside": ", ".join(run.damaged)}
    lines = [f"{name:9s} {value}" for name, value in values.items() if value]
    for name, held in (("data", run.data), ("settings", run.settings)):
        lines += [name] if held else []
        lines += [f"  {inner} = {value}" for inner, value in _flat(held)]
    return lines


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _flat(settings: Any, above: str = "") -> list[tuple[str, Any]]:
    """Names with their values, an inner name behind its outer one; a list is one entry an item."""
    found: list[tuple[str, Any]] = []
    for name, value in settings.items():
        if isinstance(value, dict):
            found += _flat(value, f"{above}{name}.")
        elif isinstance(value, list) and sum(len(str(item)) for item in value) > LONG:
            found += [(f"{above}{name}[{place}]", item) for place, item in enumerate(value)]
        else:
            found.append((f"{above}{name}", value))
    return found


def _shown_size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
