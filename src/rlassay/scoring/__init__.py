"""The scoring room: a dataset goes in, a scorecard, a ranking or a table of episodes comes out.

Read in this order: `verbs` (score, compare, episode_scores), `scores` (every formula and its meaning), `assessment` (critic,
transport and small fits, each computed once), `rows` and `columns` (what scores read), `measure` (value and interval), `card`.
"""

from rlassay.scoring.assessment import Assessment
from rlassay.scoring.columns import COLUMNS
from rlassay.scoring.measure import discounted
from rlassay.scoring.registry import ScoreSpec, register_score, resolve, signs, spec_of
from rlassay.scoring.scores import SCORES
from rlassay.scoring.settings import PRESETS, ScoreSettings, plan
from rlassay.scoring.unavailable import Unavailable
from rlassay.scoring.verbs import (
    assess,
    compare,
    episode_scores,
    score,
    score_with_episodes,
    transition_scores,
)

__all__ = [
    "COLUMNS",
    "PRESETS",
    "SCORES",
    "Assessment",
    "ScoreSettings",
    "ScoreSpec",
    "Unavailable",
    "assess",
    "compare",
    "discounted",
    "episode_scores",
    "plan",
    "register_score",
    "resolve",
    "score",
    "score_with_episodes",
    "signs",
    "spec_of",
    "transition_scores",
]
