"""The paper's printed Table 1, to stand beside ours. Source: "Expert or not?", Table 1; starred oracles as printed."""

from __future__ import annotations

import numpy as np

from rlassay.study.analysis.correlate import Points

COLUMNS = ("oracle", "advantage", "pd", "q", "reward", "bwd")
TABLE_1 = {
    ("HalfCheetah", "random"): (15.26, 0.019, -0.125, -52.205, -0.286, 0.006),
    ("HalfCheetah", "medium"): (44.78, -0.095, -13.347, 414.775, 4.762, 468.918),
    ("HalfCheetah", "medium-replay"): (41.17, -0.538, -33.724, 183.582, 3.091, 295.577),
    ("HalfCheetah", "medium-expert"): (80.01, -0.436, -17.851, 678.412, 7.727, 1130.780),
    ("HalfCheetah", "expert"): (80.40, 0.122, -31.876, 1029.175, 10.639, 1185.976),
    ("Hopper", "random"): (10.55, -0.147, -0.272, 10.392, 0.836, 21.677),
    ("Hopper", "medium"): (62.23, 0.020, -1.805, 238.403, 3.100, 306.393),
    ("Hopper", "medium-replay"): (75.87, 0.037, -5.110, 129.268, 2.378, 237.555),
    ("Hopper", "medium-expert"): (92.79, 0.295, -2.269, 276.679, 3.355, 356.766),
    ("Hopper", "expert"): (99.83, 0.093, -1.573, 348.335, 3.610, 391.350),
    ("Walker2d", "random"): (2.03, -0.030, -0.158, -1.063, 0.090, 0.251),
    ("Walker2d", "medium"): (76.67, -0.311, -16.264, 279.726, 3.392, 358.277),
    ("Walker2d", "medium-replay"): (60.98, 0.004, -18.606, 134.724, 2.476, 268.269),
    ("Walker2d", "medium-expert"): (103.27, -0.552, -14.659, 362.572, 4.156, 510.431),
    ("Walker2d", "expert"): (107.03, -0.268, -7.108, 484.168, 4.913, 543.489),
}


def printed(environment: str, dataset: str) -> dict[str, float]:
    """The paper's row for a split of an environment; empty where it has none."""
    row = TABLE_1.get((environment.partition("-")[0], dataset))
    return {} if row is None else dict(zip((f"paper_{name}" for name in COLUMNS), row, strict=True))


def printed_points() -> Points:
    """The printed rows as points of a correlation; the paper gives no seeds."""
    environments, datasets = (np.array([key[i] for key in TABLE_1]) for i in (0, 1))
    columns = dict(zip(COLUMNS, np.array(list(TABLE_1.values())).T, strict=True))
    oracle = columns.pop("oracle")
    scores = {name: values[:, None] for name, values in columns.items()}
    return Points(
        environments, datasets, oracle, scores, {name: -1 if name == "pd" else 1 for name in scores}
    )
