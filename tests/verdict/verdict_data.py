"""Files with known returns, and a calibration with round numbers."""

import numpy as np

from rlassay.data.dataset import Dataset, Origin
from rlassay.verdict.calibration import LARGEST, POINTS, Calibration

NO_FAULT = {"checks": []}
DATASET = {
    "transitions": 2_000,
    "episodes": 40,
    "observation_dim": 3,
    "action_dim": 2,
    "mean_length": 50.0,
    "longest": 50,
    "coverage": 0.9,
    "mean_return": 50.0,
    "return_by_step": 60.0,
    "lowest": 0.0,
    "highest": 100.0,
    "deviation": 10.0,
    "return_points": 50.0,
    "by_step_points": 60.0,
    "cloning": 51.0,
    "offline_rl": 62.0,
    "best": 70.0,
    "best_agent": "iql",
}
CALIBRATION = Calibration(
    oracle="a test",
    environments=("Here-v0", "There-v0"),
    forecasts={"cloning": "return", "offline_rl": "return_by_step"},
    half_widths={
        POINTS: {"cloning": 12.0, "offline_rl": 8.0},
        LARGEST: {"cloning": 0.2, "offline_rl": 0.1},
    },
    ranges={
        "observation_dim": [2, 5],
        "action_dim": [1, 3],
        "longest": [20, 200],
        "mean_length": [20, 200],
        "coverage": [0.05, 1.0],
    },
    agent="iql",
    datasets=(
        {**DATASET, "environment": "Here-v0", "dataset": "mixed"},
        {
            **DATASET,
            "environment": "There-v0",
            "dataset": "poor",
            "return_points": 1.0,
            "by_step_points": 1.0,
        },
    ),
)


def episodes_of(returns, lengths=50, dims=(3, 2), seed=0, discrete=False, **origin) -> Dataset:
    """Episodes with these returns, each earned in equal parts, cut by timeouts; states and actions are noise."""
    returns = np.asarray(returns, float)
    lengths = np.broadcast_to(np.asarray(lengths), returns.shape)
    rng = np.random.default_rng(seed)
    rows = int(lengths.sum())
    actions = rng.uniform(-1, 1, (rows, dims[1])).astype(np.float32)
    if discrete:
        actions = rng.integers(0, 4, (rows, 1))
    ends = np.zeros(rows, bool)
    ends[np.cumsum(lengths) - 1] = True
    return Dataset.from_columns(
        observations=rng.normal(size=(rows, dims[0])).astype(np.float32),
        actions=actions,
        rewards=np.repeat(returns / lengths, lengths).astype(np.float32),
        terminals=np.zeros(rows, bool),
        timeouts=ends,
        origin=Origin(**origin),
    )
