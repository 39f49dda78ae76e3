"""The paper's tables and figures, reproduced with evidence: `rlassay study NAME`.

A study either renders what `results/` holds, in seconds, or runs what is missing first. Every task is kept in the run
store, so that a study goes on where it was stopped.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from rlassay.errors import SettingsError
from rlassay.study.grid.cells import Report
from rlassay.study.grid.files import read_about
from rlassay.study.grid.plan import PROFILES
from rlassay.words import suggest

STUDIES = (
    *("table1", "fig2", "fig1", "table2", "runtime", "confirm", "long", "paper", "curation"),
    *("conflict", "parts", "worlds", "verdict", "cql"),
    *("real", "wild", "demonstrations", "discrete"),
)
OF_OTHERS = ("real", "wild")  # on files of others, which no zoo can make
_RAW = {
    "table1": ("table1/scores.csv", "table1/runs.csv"),
    "fig2": ("table1/scores.csv", "table1/runs.csv"),
    "fig1": ("fig1/runs.csv",),
    "table2": ("table2/runs.csv",),
    "long": ("long/runs.csv",),
    "confirm": ("confirm/scores.csv", "confirm/runs.csv"),
    "paper": ("long/paper_scores.csv", "long/scores.csv"),
    "curation": ("curation/runs.csv",),
    "conflict": ("conflict/runs.csv",),
    "parts": ("parts/runs.csv",),
    "worlds": ("worlds/runs.csv",),
    "verdict": ("verdict/features.csv",),
    "cql": ("cql/runs.csv",),
    "runtime": ("runtime/times.csv", "runtime/growth.csv"),
    "real": ("real/scores.csv", "real/runs.csv"),
    "wild": ("wild/runs.csv", "wild/features.csv"),
    "discrete": ("discrete/runs.csv", "discrete/scores.csv"),
    "demonstrations": ("demonstrations/detection.csv", "demonstrations/runs.csv"),
}


def study(
    name: str,
    *,
    profile: str = "lite",
    run: bool = False,
    results: Path = Path("results"),
    zoo: Path = Path("zoo"),
    data: Path | None = None,
    oracle: str | None = None,
    report: Report = lambda line: None,
) -> tuple[str, list[str]]:
    """Render a study from `results`, after running what is missing if asked: (Markdown, what is missing).

    `oracle` names the one that `verdict` is calibrated on.
    """
    if name not in STUDIES:
        raise SettingsError(f"unknown study{suggest(name, STUDIES)}", allowed=STUDIES, got=name)
    if profile not in PROFILES:
        raise SettingsError("unknown profile", allowed=PROFILES, got=profile)
    if oracle is not None and name != "verdict":
        raise SettingsError("--oracle is for the study verdict", got=f"study {name}")
    failures: list[str] = []
    if run:
        runner = importlib.import_module(f"rlassay.study.{'table1' if name == 'fig2' else name}")
        more = {"data": data} if name in OF_OTHERS else {}
        failures = runner.run(results, PROFILES[profile], zoo, report, **more)
    options = {} if oracle is None else {"oracle": oracle}
    text = importlib.import_module(f"rlassay.study.{name}").render(results, **options)
    missing = [cell for raw in _RAW[name] for cell in read_about(results / raw).get("missing", [])]
    return text, failures + missing
