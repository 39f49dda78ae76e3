"""Discrete actions: which numbers they have, and how many there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError

MOST_ACTIONS = 10_000


class ActionNumbers(NamedTuple):
    """The actions `first` to `first + count - 1`."""

    first: int
    count: int

    @property
    def last(self) -> int:
        return self.first + self.count - 1


def action_numbers(
    data: Dataset, known: ActionNumbers | None = None, name: str = ""
) -> ActionNumbers:
    """The actions an agent may choose from: those of the environment `name` where it is known, else 0 to the data's largest.

    A number between them that the data never uses is an action that was never taken.
    """
    if data.action_dim != 1:
        raise DatasetError(
            f"{data.origin.source} has {data.action_dim} discrete actions at a time",
            allowed="one number a row",
            remedy="number the combinations, and store that number",
        )
    low, high = (int(bound[0]) for bound in data.action_range)
    numbers = known or ActionNumbers(0, high + 1)
    if low < numbers.first or high > numbers.last:
        where = f"the actions of {name}" if known else "discrete actions are numbered from 0"
        raise DatasetError(
            f"{data.origin.source} has actions that do not exist",
            allowed=f"{where}: {numbers.first} to {numbers.last}" if known else where,
            got=f"{low} to {high}",
            remedy="name the environment the data was recorded in with --env, or number them anew",
        )
    if numbers.count > MOST_ACTIONS:
        raise DatasetError(
            f"{data.origin.source} has {numbers.count:,} discrete actions",
            allowed=f"{MOST_ACTIONS:,} at most",
            remedy="number the actions that occur from 0 without large gaps",
        )
    return numbers


def unseen_actions(data: Dataset, numbers: ActionNumbers) -> list[int]:
    """The actions that the data never takes."""
    every = np.arange(numbers.first, numbers.last + 1)
    return np.setdiff1d(every, data.actions).tolist()
