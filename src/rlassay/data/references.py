"""Reference returns of D4RL, by environment family: 0 is random, 100 is D4RL's expert.

Source: D4RL `infos.py`, commit 89141a6. The numbers belong to gym's -v2 dynamics; on Gymnasium's -v4 and -v5 they are
still the only common scale, and `Reference.note` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlassay.data.dataset import Dataset


@dataclass(frozen=True)
class Reference:
    """Returns that score 0 and 100, the discount-free sums of whole episodes."""

    low: float
    high: float
    family: str
    note: str | None = None
    horizon: int | None = None  # steps of a full episode, where the family fixes it

    def normalise(self, returns):
        """D4RL's normalised score on the scale 0 to 100."""
        return 100.0 * (np.asarray(returns, float) - self.low) / (self.high - self.low)


# family: (low, high, steps of a full episode)
_FAMILIES = {
    "halfcheetah": (-280.178953, 12135.0, 1000),
    "hopper": (-20.272305, 3234.3, 1000),
    "walker2d": (1.629008, 4592.3, 1000),
    "ant": (-325.6, 3879.7, 1000),
    "maze2d-umaze": (23.85, 161.86, 300),
    "maze2d-medium": (13.13, 277.39, 600),
    "maze2d-large": (6.7, 273.99, 800),
    "maze2d-umaze-dense": (68.537689, 193.66285642381482, 300),
    "maze2d-medium-dense": (44.264742, 297.4552547777125, 600),
    "maze2d-large-dense": (30.569041, 303.4857382709002, 800),
    "maze2d-open": (0.01, 20.66, 150),
    "maze2d-open-dense": (11.17817, 27.166538620695782, 150),
    "antmaze": (0.0, 1.0, None),
    "kitchen": (0.0, 4.0, None),
    "pen": (96.262799, 3076.8331017826877, None),
    "hammer": (-274.856578, 12794.134825156867, None),
    "relocate": (-6.425911, 4233.877797728884, None),
    "door": (-56.512833, 2880.5693087298737, None),
    "minigrid-fourrooms": (0.01442, 2.89685, None),
    "flow-ring": (-165.22, 24.42, None),
    "flow-merge": (118.67993, 330.03179, None),
    "carla-lane": (-0.8503839912088142, 1023.5784385429523, None),
    "carla-town": (-114.81579500772153, 2440.1772022247314, None),
    "bullet-halfcheetah": (-1275.766996, 2381.6725, 1000),
    "bullet-hopper": (20.058972, 1441.8059623430963, 1000),
    "bullet-ant": (373.705955, 2650.495, 1000),
    "bullet-walker2d": (16.523877, 1623.6476303317536, 1000),
    "bullet-maze2d-open": (8.75, 64.15, None),
    "bullet-maze2d-umaze": (32.46, 153.99, None),
    "bullet-maze2d-medium": (14.87, 238.05, None),
    "bullet-maze2d-large": (1.82, 285.92, None),
}
_NEW_DYNAMICS = "reference returns are D4RL's, measured on the older -v2 dynamics"


def reference_for(env_id: str | None) -> Reference | None:
    """The reference of an environment id, a D4RL or a Minari dataset name; None when the family is unknown."""
    if not env_id:
        return None
    name = re.sub(r"[/_]", "-", env_id.lower())
    best = max((f for f in _FAMILIES if _names_family(name, f)), key=len, default=None)
    if best is None:
        return None
    low, high, horizon = _FAMILIES[best]
    version = re.search(r"-v(\d+)$", name)
    newer = (version and int(version.group(1)) >= 4) or name.startswith("mujoco-")
    return Reference(low, high, best, _NEW_DYNAMICS if newer else None, horizon)


def reference_of(data: Dataset) -> Reference | None:
    """The reference of a dataset: the returns that its source states, else those of its environment's family."""
    family = reference_for(data.env_id)
    if data.origin.reference is None:
        return family
    low, high = data.origin.reference
    horizon = family.horizon if family else None
    return Reference(low, high, "file", None, horizon)


def usable_reference(low: object, high: object) -> tuple[float, float] | None:
    """Two returns as a file states them, if they are finite and in order."""
    if not (isinstance(low, int | float) and isinstance(high, int | float)):
        return None
    return (float(low), float(high)) if np.isfinite([low, high]).all() and low < high else None


def _names_family(name: str, family: str) -> bool:
    """The family's words stand in the name, in order and whole: `ant` names no `antmaze`."""
    words = r"(?:-[^-]+)*?-".join(re.escape(word) for word in family.split("-"))
    if not family.startswith("bullet") and "bullet" in name:
        return False
    return re.search(rf"(?:^|-){words}(?:-|$)", name) is not None
