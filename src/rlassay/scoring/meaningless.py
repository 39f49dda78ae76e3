"""Scores that would mean nothing are withheld, each with its reason, instead of shown as numbers."""

from __future__ import annotations

from rlassay.data.rewards import only_reward, tells_nothing
from rlassay.scoring.assessment import Assessment
from rlassay.scoring.registry import ScoreSpec
from rlassay.scoring.unavailable import Unavailable

HANDFUL = 50  # transitions below which nothing is learned from the data
FITTED = ("cloning_errors", "action_spread", "conflict")  # columns of the small fits


def refuse_meaningless(assessment: Assessment, spec: ScoreSpec) -> None:
    """Raise `Unavailable` where the data cannot give the score a meaning."""
    learned = spec.of_critic or any(need in FITTED for need in spec.needs)
    if learned and len(assessment.data) < HANDFUL:
        raise Unavailable(
            "handful",
            f"{len(assessment.data):,} transitions are too few to learn anything from",
            f"collect {HANDFUL} transitions or more; counted scores need no learning",
        )
    if not spec.of_critic:
        return
    if tells_nothing(assessment.whole):
        raise Unavailable(
            "constant_reward",
            f"every reward is {only_reward(assessment.whole):g}, so a value tells how long an episode lasts and nothing about behaviour",
            "check that the reward column was recorded, and the flags of terminals",
        )
