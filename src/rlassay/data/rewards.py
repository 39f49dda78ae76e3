"""What one reward throughout can tell."""

from __future__ import annotations

import numpy as np

from rlassay.data.dataset import Dataset


def only_reward(data: Dataset) -> float | None:
    """The reward of every transition, where they are all the same; None where they differ or there is none to compare."""
    if data.rewards is None or len(data) < 2 or np.ptp(data.rewards) > 0:
        return None
    return float(data.rewards[0])


def tells_nothing(data: Dataset) -> bool:
    """Whether one reward throughout says nothing about behaviour.

    It does where episodes end by a terminal: who falls later, or arrives sooner, does better. Zeros never do, nor do
    episodes that are only cut.
    """
    reward = only_reward(data)
    return reward is not None and (reward == 0 or not data.terminals.any())
