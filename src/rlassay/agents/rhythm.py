"""When a run is evaluated, and in which chunks it is computed between two evaluations."""

from __future__ import annotations

import math
from typing import NamedTuple

LONGEST_CHUNK = 1_000  # steps run by one program; between chunks one may stop


class Rhythm(NamedTuple):
    """One step of an agent may be several updates; evaluations fall on whole steps."""

    updates_per_step: int
    eval_every: int  # updates

    @property
    def period(self) -> int:
        """Steps between evaluations."""
        return math.ceil(self.eval_every / self.updates_per_step)

    @property
    def chunk(self) -> int:
        """Steps run by one program."""
        return min(LONGEST_CHUNK, self.period)

    def is_evaluation(self, updates: int) -> bool:
        """Whether a run of any length is evaluated there, not only one that ends there."""
        return updates // self.updates_per_step % self.period == 0

    def is_border(self, updates: int) -> bool:
        """Whether a run of any length begins a chunk there, so that its random numbers are the same."""
        return updates // self.updates_per_step % self.period % self.chunk == 0

    def next_evaluation(self, updates: int) -> int:
        """The step of the evaluation after so many updates."""
        return (updates // self.updates_per_step // self.period + 1) * self.period
