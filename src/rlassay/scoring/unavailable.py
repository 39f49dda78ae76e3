"""Why a score is missing: one exception with a code, a sentence and a remedy."""

from __future__ import annotations

from rlassay.errors import RlassayError

OTHER_SCORES = "choose other scores with --scores, or add what is missing to the data"


class Unavailable(RlassayError):
    """A column that this dataset cannot have; the scores that need it are left out with a warning."""

    def __init__(self, code: str, what: str, remedy: str = OTHER_SCORES):
        self.code = code
        super().__init__(what, remedy=remedy)


def no_rewards() -> Unavailable:
    """Everything that is made of rewards is missing."""
    remedy = "use the scores that need no reward, or add rewards to the data"
    return Unavailable("no_rewards", "the data has no rewards", remedy)
