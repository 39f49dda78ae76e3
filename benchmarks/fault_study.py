"""`rlassay` with a study small enough to be disturbed: two levels, one weight, tiny networks."""

from __future__ import annotations

from dataclasses import replace

from rlassay.runtime import leave_on_signals

leave_on_signals()
from rlassay import oracle  # noqa: E402
from rlassay.cli import main  # noqa: E402
from rlassay.study import fig1  # noqa: E402
from rlassay.study.grid import plan  # noqa: E402

oracle.PROFILES["lite"] = {
    "*": {"updates": 60, "batch_size": 32, "width": 16, "eval_every": 30, "eval_episodes": 1}
}
plan.PROFILES["lite"] = replace(plan.LITE, transitions=600)
fig1.LEVELS = ("level-50k", "level-200k")
fig1.WEIGHTS = (0.0,)
main()
