"""The oracle: what offline agents really reach on a dataset. Its score is the yardstick of all others (`rlassay.oracle/1`).

`score.value` is the mean over agents of the mean over seeds of the evaluations that count, never of the best.
"""

from rlassay.oracle.profiles import LONG_AGENTS, PROFILES, agents_of, settings_of
from rlassay.oracle.published import published_oracle
from rlassay.oracle.running import make_task, oracle, oracle_of_runs, train_task
from rlassay.results.oracle import Oracle

__all__ = [
    "LONG_AGENTS",
    "PROFILES",
    "Oracle",
    "agents_of",
    "make_task",
    "oracle",
    "oracle_of_runs",
    "published_oracle",
    "settings_of",
    "train_task",
]
