"""The defect benchmark: which scores of movement find faults, and which help the policy; rules in docs/demonstrations.md."""

from __future__ import annotations

from pathlib import Path

from rlassay.engine.files import write_atomically
from rlassay.study.demonstrations.detection import (
    LEVEL_OF_RULE,
    detection_by_defect,
    detection_by_score,
    detection_summary,
    run_detection,
)
from rlassay.study.demonstrations.judged import incomplete, judgement
from rlassay.study.grid.cells import Report
from rlassay.study.grid.files import markdown_table, read_table, write_table
from rlassay.study.grid.plan import Profile

FOLDER = "demonstrations"
COMMAND = "rlassay study demonstrations --run"
OF_TASKS = "task_mismatch"  # the score that asks for labels


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
    if waiting := incomplete(folder / "detection.csv"):
        return f"Detection is {waiting} cells; nothing is judged before.\n"
    detected = read_table(folder / "detection.csv")
    summary, by_defect = detection_summary(detected), detection_by_defect(detected)
    about = {"command": COMMAND, "complete": True}
    for name, rows in (("detection_summary", summary), ("detection_by_defect", by_defect)):
        write_table(folder / f"{name}.csv", rows, list(rows[0]), about)
    text = "### Detection: area under the ROC curve within strata of length, mean over environments and defects\n\n"
    text += markdown_table(summary, list(summary[0]))
    text += f"\n### By defect at strength {LEVEL_OF_RULE}, raw scores, not within strata\n\n"
    text += markdown_table(by_defect, list(by_defect[0]))
    text += f"\nSix scores for the policy test, by the rule at strength {LEVEL_OF_RULE}: {', '.join(six(results))}.\n"
    if (folder / "tasks.csv").exists():
        found = [row for row in read_table(folder / "tasks.csv") if row["score_name"] == OF_TASKS]
        text += "\n### Mislabelled tasks in a made file: area under the ROC curve\n\n"
        text += markdown_table(found, ["apart", "score_name", "value", "stratified", "seeds"])
    text += judgement(folder)
    write_atomically(folder / "table.md", text)
    return text
