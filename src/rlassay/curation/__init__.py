"""Curation: which episodes are worth keeping, and how to weigh the rest. Nothing here imports JAX."""

from rlassay.curation.facade import apply_rule, curate
from rlassay.curation.result import Curation
from rlassay.curation.rule import Choice, Rule, choose
from rlassay.curation.weights import Weights, weigh, write_weights
from rlassay.results.episodes import EpisodeTable, write_episode_table

__all__ = [
    "Choice", "Curation", "EpisodeTable", "Rule", "Weights", "apply_rule", "choose", "curate", "weigh",
    "write_episode_table", "write_weights",
]  # fmt: skip
