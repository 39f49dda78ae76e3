"""Discrete actions: which numbers they have, and how many there are."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from rlassay.data.dataset import Dataset
from rlassay.errors import DatasetError

MOST_ACTIONS = 10_000
NUMBERED_ANEW = "number them anew from 0, or state their bounds in the file"  # a remedy
FEW_NUMBERS = 100  # different whole numbers that look like choices
# Of Gymnasium's own environments, by name without version: known also where the simulator is not installed.
OF_ENVIRONMENTS = {
    "CartPole": 2,
    "Acrobot": 3,
    "MountainCar": 3,
    "LunarLander": 4,
    "Blackjack": 2,
    "CliffWalking": 4,
    "FrozenLake": 4,
    "Taxi": 6,
}


class ActionNumbers(NamedTuple):
    """The actions `first` to `first + count - 1`."""

    first: int
    count: int

    @property
    def last(self) -> int:
        return self.first + self.count - 1


NumberSource = Literal["file", "environment", "data"]


def known_numbers(data: Dataset) -> tuple[ActionNumbers | None, NumberSource]:
    """The actions that the file states, else those of its environment, else None: the data itself has to tell."""
    low, high, stated = data.action_bounds()
    if stated and np.isfinite([low, high]).all():
        first = round(float(low[0]))
        return ActionNumbers(first, round(float(high[0])) - first + 1), "file"
    family = (data.env_id or "").rpartition("-v")[0].rpartition("/")[2]
    if family in OF_ENVIRONMENTS:
        return ActionNumbers(0, OF_ENVIRONMENTS[family]), "environment"
    return None, "data"


def numbers_of(*datasets: Dataset) -> tuple[ActionNumbers, NumberSource]:
    """The actions of all these datasets together, and who told; one that cannot be numbered is refused."""
    found: list[ActionNumbers] = []
    sources: list[NumberSource] = []
    for data in datasets:
        _require_one_number(data)
        known, source = known_numbers(data)
        found.append(action_numbers(data, known, "" if source == "file" else str(data.env_id)))
        sources.append(source)
    first = min(numbers.first for numbers in found)
    last = max(numbers.last for numbers in found)
    return ActionNumbers(first, last - first + 1), min(sources, key=get_args(NumberSource).index)


def _require_one_number(data: Dataset) -> None:
    if data.action_dim != 1:
        raise DatasetError(
            f"{data.origin.source} has {data.action_dim} discrete actions at a time",
            allowed="one number a row",
            remedy="number the combinations, and store that number",
        )


def action_numbers(
    data: Dataset, known: ActionNumbers | None = None, name: str = ""
) -> ActionNumbers:
    """The actions an agent may choose from: those known from the environment `name`, or the file without one, else 0 to the data's largest.

    A number between them that the data never uses is an action that was never taken.
    """
    _require_one_number(data)
    low, high = (int(bound[0]) for bound in data.action_range)
    numbers = known or ActionNumbers(0, high + 1)
    if low < numbers.first or high > numbers.last:
        raise _no_such_actions(data, known, name, (low, high))
    if numbers.count > MOST_ACTIONS:
        raise DatasetError(
            f"{data.origin.source} has {numbers.count:,} discrete actions",
            allowed=f"{MOST_ACTIONS:,} at most",
            remedy="number the actions that occur from 0 without large gaps",
        )
    return numbers


def _no_such_actions(
    data: Dataset, known: ActionNumbers | None, name: str, got: tuple[int, int]
) -> DatasetError:
    allowed = "discrete actions are numbered from 0"
    remedy = NUMBERED_ANEW
    if known:
        where = f"the actions of {name}" if name else "what the file states"
        allowed = f"{where}: {known.first} to {known.last}"
    if known and not name:
        remedy = "correct the bounds in the file, or leave them out"
    return DatasetError(
        f"{data.origin.source} has actions that do not exist",
        allowed=allowed,
        got=f"{got[0]} to {got[1]}",
        remedy=remedy,
    )


def whole_numbers(data: Dataset) -> int | None:
    """How many different numbers the actions are, if they may be choices stored as floats; else None."""
    if data.discrete_actions or data.action_dim != 1:
        return None
    distinct = np.unique(data.actions)
    few = 1 < len(distinct) <= FEW_NUMBERS and len(distinct) < len(data)
    return len(distinct) if few and (distinct == np.round(distinct)).all() else None


def unseen_actions(data: Dataset, numbers: ActionNumbers) -> list[int]:
    """The actions that the data never takes."""
    every = np.arange(numbers.first, numbers.last + 1)
    return np.setdiff1d(every, data.actions).tolist()
