"""The evidence for curation: what agents learn from curated data, and whether episode scores find bad episodes."""

from __future__ import annotations

from pathlib import Path

from rlassay.engine.files import write_atomically
from rlassay.study.grid.cells import Report
from rlassay.study.grid.files import Row, markdown_table, read_about, read_table, write_table
from rlassay.study.grid.plan import Profile

FOLDER = "curation"
LEARNING = ("Hopper-v5",)
DETECTION = ("Hopper-v5", "HalfCheetah-v5")
SEEDS = 3
# Fixed before the first run, but for `advantage`, which came in after the detection table had named it.
STUDIED = (
    "full",
    "random",
    "return",
    "bwd",
    "advantage",
    "diverse",
    "weights-return",
    "weights-advantage",
)
SHOWN = (
    "environment",
    "dataset",
    "agent",
    "arm",
    "runs",
    "score",
    "low",
    "high",
    "against_return",
    "low_return",
    "high_return",
)
COMMAND = "rlassay study curation --run"


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Detection first, it takes minutes; then the trainings on every arm of every mixture."""
    from rlassay.study.grid.running import available

    detected, learnt = available(zoo, DETECTION), available(zoo, LEARNING)
    run_detection(results / FOLDER, detected, zoo, report)
    return run_learning(results / FOLDER, learnt, profile, zoo, report)


def run_detection(folder: Path, environments: list[str], zoo: Path, report: Report) -> None:
    """Environments that the table holds are not scored again."""
    from rlassay.study.curation import detection

    path = folder / "detection.csv"
    found = read_table(path, checked=False) if path.exists() else []
    for environment in environments:
        if any(row["environment"] == environment for row in found):
            continue
        report(f"{environment}: scoring labelled episodes ...")
        rows, made = detection.detect_in_zoo(environment, zoo, SEEDS)
        found, made = [*found, *rows], {"command": COMMAND, **made}
        known = {**read_about(path).get("environments", {}), environment: made}
        write_table(path, found, detection.COLUMNS, {"environments": known})
        wide = detection.pivot(found)
        columns = list(dict.fromkeys(name for row in wide for name in row))
        write_table(path.with_name("detection_table.csv"), wide, columns, made)


def run_learning(
    folder: Path, environments: list[str], profile: Profile, zoo: Path, report: Report
) -> list[str]:
    """Train what is missing; returns the causes of failures."""
    from rlassay.collect.sources import ZooActors
    from rlassay.oracle.profiles import settings_of
    from rlassay.settings import flatten
    from rlassay.study.curation.arms import AGENTS, Grid, describe_rules
    from rlassay.study.curation.learning import run_grids
    from rlassay.study.curation.mixtures import MIXTURES, mixture

    settings, grids = settings_of(AGENTS, profile.name, {}), []
    for environment in environments:
        actors = ZooActors.open(zoo, environment)
        for name in MIXTURES:
            data = mixture(actors, name, profile.transitions)
            where = (environment, name, str(data.path), data.fingerprint)
            grids.append(Grid(*where, arms=STUDIED, seeds=SEEDS))
    about: Row = {"command": COMMAND, "seeds": SEEDS, "preset": "default", **describe_rules()}
    about |= {"agents": {agent: flatten(chosen) for agent, chosen in settings.items()}}
    about |= {"transitions": profile.transitions}
    return run_grids(grids, settings, folder, about, report=report)


def render(results: Path) -> str:
    """Both parts as Markdown."""
    folder = results / FOLDER
    learnt = read_table(folder / "summary.csv")
    text = "### What agents learn from curated data\n\nNormalised score with Student's interval over seeds; `against_return`: the difference to the arm `return`, paired by seed.\n\n"
    text += markdown_table([{**row, "runs": int(row["runs"])} for row in learnt], SHOWN)
    wide = read_table(folder / "detection_table.csv")
    text += "\n### Which score finds bad episodes\n\nArea under the ROC curve for an expert's episodes against random, noisy and wrongly recorded ones; 0.5 is chance.\n\n"
    text += markdown_table(wide, list(wide[0]))
    write_atomically(folder / "table.md", text)
    return text
