"""Demonstrations without rewards: scores of movement, what to watch, and whether there is enough. Nothing here imports JAX."""

from rlassay.motion.report import MotionReport, demonstrations
from rlassay.motion.scores import EPISODE_SCORES, EpisodeScore

__all__ = ["EPISODE_SCORES", "EpisodeScore", "MotionReport", "demonstrations"]
