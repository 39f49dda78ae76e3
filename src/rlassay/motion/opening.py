"""Commands of other tools that open an episode; they are printed and not run here."""

from __future__ import annotations

from pathlib import Path

from rlassay.data.dataset import Dataset
from rlassay.motion.report import MotionReport


def open_commands(data: Dataset, report: MotionReport) -> dict[str, str]:
    """For a LeRobot folder, how its viewer and Rerun open the first episode worth watching; else nothing."""
    source = Path(data.origin.source)
    if not report.watch or data.origin.format != "lerobot" or not source.is_dir():
        return {}
    from rlassay.formats.episode_lists import lerobot_indices, lerobot_show_commands

    first = data.episode_starts[report.watch[0].episode]
    return lerobot_show_commands(source, int(lerobot_indices(source)[1][first]))
