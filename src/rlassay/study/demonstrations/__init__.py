"""The defect benchmark: which scores of movement find faults, and which help the policy; rules in docs/demonstrations.md."""

from __future__ import annotations

from pathlib import Path

from rlassay.engine.files import write_atomically
from rlassay.study.demonstrations.detection import (
    LEVEL_OF_RULE,
    detection_by_score,
    detection_summary,
    run_detection,
)
from rlassay.study.grid.cells import Report
from rlassay.study.grid.files import markdown_table, read_table, write_table
from rlassay.study.grid.plan import Profile

FOLDER = "demonstrations"
COMMAND = "rlassay study demonstrations --run"


def run(results: Path, profile: Profile, zoo: Path, report: Report) -> list[str]:
    """Detection first, without training; once it is complete, the policy test of the six scores that it names."""
    from rlassay.study.demonstrations.policy import run_policies
    from rlassay.study.demonstrations.tasks import write_tasks

    folder, about = results / FOLDER, {"command": COMMAND, "transitions": profile.transitions}
    write_tasks(folder, {"command": COMMAND})
    failures = run_detection(folder, profile, zoo, about, report)
    if failures:
        return failures
    chosen = six(results)
    return run_policies(folder, chosen, profile, zoo, {**about, "scores": chosen}, report)


def six(results: Path) -> list[str]:
    """The six scores of the policy test, by the rule written before."""
    from rlassay.motion.selection import six_scores

    return six_scores(detection_by_score(read_table(results / FOLDER / "detection.csv")))


def render(results: Path) -> str:
    """Mean detection of every score at each strength, the six that the rule names, and the policies where they have run."""
    folder = results / FOLDER
    summary = detection_summary(read_table(folder / "detection.csv"))
    about = {"command": COMMAND, "complete": True}
    write_table(folder / "detection_summary.csv", summary, list(summary[0]), about)
    text = "### Detection: area under the ROC curve within strata of length, mean over environments and defects\n\n"
    text += markdown_table(summary, list(summary[0]))
    text += f"\nSix scores for the policy test, by the rule at strength {LEVEL_OF_RULE}: {', '.join(six(results))}.\n"
    if (folder / "runs.csv").exists():
        from rlassay.study.demonstrations.policy import gain_rows

        gains = gain_rows(read_table(folder / "runs.csv"))
        if gains:
            write_table(folder / "gains.csv", gains, list(gains[0]), about)
            text += "\n### BC on the half that a score keeps, against a random half\n\n"
            text += markdown_table(gains, list(gains[0]))
    write_atomically(folder / "table.md", text)
    return text
