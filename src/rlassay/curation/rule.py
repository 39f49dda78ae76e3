"""The rule of a curation: what to keep, by what, and what to clean first. Command line and verb are made from it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rlassay.curation.options import option
from rlassay.curation.terms import parse_terms
from rlassay.errors import SettingsError
from rlassay.settings import require

WAYS = ("keep", "keep_rows", "top_k", "min_score", "only")  # at most one is given
BY_RETURN = "return"  # what the study supports: no score chose better episodes than their returns
WITHOUT_REWARDS = "mutual_information"  # docs/demonstrations.md: by the policies that learned from what scores kept


def _named(path: Path) -> tuple[int, ...]:
    from rlassay.formats.episode_lists import read_episode_list

    return read_episode_list(path)


@dataclass(frozen=True)
class Rule:
    """How episodes are chosen. At most one of `keep`, `keep_rows`, `top_k`, `min_score` and `only` is given."""

    keep: float | None = option(None, "Best share of the episodes, above 0 up to 1.")
    keep_rows: float | None = option(None, "Best episodes until this share of the transitions.")
    top_k: int | None = option(None, "Number of best episodes.")
    min_score: float | None = option(None, "Episodes at least as good as this.")
    only: tuple[int, ...] | None = option(
        None,
        "Exactly the episodes of this CSV or text file.",
        metavar="LIST",
        typed=Path | None,
        read=_named,
    )
    by: str | None = option(
        None,
        "A score, or a sum such as 0.5*bwd+0.5*return. Default: "
        f"{BY_RETURN}, or {WITHOUT_REWARDS} without rewards.",
        metavar="SCORE",
    )
    dedupe: bool = option(False, "Drop exact repetitions of an episode.")
    trim_idle: bool = option(False, "Cut motionless rows at both ends of episodes.")
    idle_tolerance: float = option(0.01, "What counts as motionless, of a column's deviation.")
    diverse: bool = option(False, "Keep the covered states while raising the score.")
    diversity: float = option(0.5, "Weight of coverage against the score, 0 to 1.")

    def __post_init__(self) -> None:
        if self.only is not None:
            object.__setattr__(self, "only", tuple(self.only))
        self._require_ranges()
        given = [name for name in WAYS if getattr(self, name) is not None]
        if len(given) > 1:
            raise SettingsError("two ways of choosing are given", allowed="one", got=given)
        if self.diverse and (self.min_score is not None or self.only is not None or not given):
            raise SettingsError(
                "diverse needs a number of episodes to choose",
                remedy="give keep, keep_rows or top_k with it",
            )
        if self.by is not None:
            parse_terms(self.by)

    def _require_ranges(self) -> None:
        for name in ("keep", "keep_rows"):
            share = getattr(self, name)
            require(share is None or 0 < share <= 1, name, "above 0, up to 1", share)
        require(self.top_k is None or self.top_k >= 1, "top_k", "1 or more", self.top_k)
        finite = self.min_score is None or math.isfinite(self.min_score)
        require(finite, "min_score", "a number", self.min_score)
        require(0 <= self.diversity <= 1, "diversity", "0 to 1", self.diversity)
        tolerable = 0 <= self.idle_tolerance < 1
        require(tolerable, "idle_tolerance", "0 up to, not including, 1", self.idle_tolerance)

    @property
    def ranks(self) -> bool:
        """Whether the rule needs scores at all."""
        shares = self.keep or self.keep_rows or 1.0
        return self.top_k is not None or self.min_score is not None or shares < 1

    @property
    def empty(self) -> bool:
        shares = self.keep or self.keep_rows
        return not (self.ranks or shares or self.only is not None or self.dedupe or self.trim_idle)

    def settled(self, rewarded: bool) -> tuple[Rule, tuple[str, ...]]:
        """The rule with its score named, and a remark where the usual one is not to be had."""
        if self.by is not None or not self.ranks:
            return self, ()
        if rewarded:
            return replace(self, by=BY_RETURN), ()
        remark = (
            f"the data has no rewards, so episodes are ranked by {WITHOUT_REWARDS}, which needs none; "
            "choose another score with --by"
        )
        return replace(self, by=WITHOUT_REWARDS), (remark,)

    def to_dict(self) -> dict[str, Any]:
        """The settings that mattered."""
        values = asdict(self) | {"only": None if self.only is None else list(self.only)}
        idle = set() if self.ranks else {"by"}
        idle |= set() if self.trim_idle else {"idle_tolerance"}
        idle |= set() if self.diverse else {"diversity"}
        return {
            k: v for k, v in values.items() if k not in idle and v is not None and v is not False
        }
