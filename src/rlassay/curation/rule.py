"""The rule of a curation: what to keep, by what, and what to clean first."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rlassay.curation.diversity import greedy_choice
from rlassay.curation.ranking import Ranking, parse_terms, rank, unit_ranks
from rlassay.errors import DatasetError, SettingsError
from rlassay.results.episodes import EpisodeTable
from rlassay.scoring.coverage import Cells
from rlassay.settings import require


@dataclass(frozen=True)
class Rule:
    """How episodes are chosen. At most one of `keep`, `keep_rows`, `top_k`, `min_score` and `only` is given."""

    keep: float | None = None  # share of episodes, rounded to the nearest number, at least one
    keep_rows: float | None = None  # share of transitions: best episodes until it is reached
    top_k: int | None = None  # number of episodes
    min_score: float | None = None  # keep what is at least as good as this, in the unit of `by`
    only: tuple[int, ...] | None = None  # exactly these episodes
    by: str = "bwd"  # a score, or a weighted sum of the ranks of several
    dedupe: bool = False  # drop exact repetitions of an earlier episode first
    trim_idle: bool = False  # cut motionless rows at the start and end of episodes first
    idle_tolerance: float = 0.01  # of a column's deviation, and of an action's range
    diverse: bool = False  # choose greedily for score and coverage together
    diversity: float = 0.5  # weight of coverage against score with `diverse`

    def __post_init__(self) -> None:
        for name in ("keep", "keep_rows"):
            share = getattr(self, name)
            require(share is None or 0 < share <= 1, name, "above 0, up to 1", share)
        require(self.top_k is None or self.top_k >= 1, "top_k", "1 or more", self.top_k)
        require(
            self.min_score is None or np.isfinite(self.min_score),
            "min_score",
            "a number",
            self.min_score,
        )
        require(0 <= self.diversity <= 1, "diversity", "0 to 1", self.diversity)
        require(
            0 <= self.idle_tolerance < 1,
            "idle_tolerance",
            "0 up to, not including, 1",
            self.idle_tolerance,
        )
        ways = ("keep", "keep_rows", "top_k", "min_score", "only")
        given = [name for name in ways if getattr(self, name) is not None]
        if len(given) > 1:
            raise SettingsError("two ways of choosing are given", allowed="one", got=given)
        if self.diverse and (self.min_score is not None or self.only is not None or not given):
            raise SettingsError(
                "diverse needs a number of episodes to choose",
                remedy="give keep, keep_rows or top_k with it",
            )
        parse_terms(self.by)

    @property
    def ranks(self) -> bool:
        """Whether the rule needs scores at all."""
        shares = self.keep or self.keep_rows or 1.0
        return self.top_k is not None or self.min_score is not None or shares < 1

    @property
    def empty(self) -> bool:
        shares = self.keep or self.keep_rows
        return not (self.ranks or shares or self.only is not None or self.dedupe or self.trim_idle)

    def sizes(self, lengths: np.ndarray) -> np.ndarray:
        """What each episode costs of the budget: its rows with `keep_rows`, else one."""
        return lengths.astype(np.float64) if self.keep_rows is not None else np.ones(len(lengths))

    def budget(self, lengths: np.ndarray) -> float:
        """What a ranking rule may spend; an impossible number is refused."""
        total = len(lengths)
        if self.top_k is not None:
            allowed = f"1 to {total:,}, the number of episodes"
            require(self.top_k <= total, "top_k", allowed, self.top_k)
            return self.top_k
        if total == 1 and self.min_score is None:
            raise DatasetError(
                "the dataset has one episode, so no share of it can be chosen",
                remedy="nothing was written; --trim-idle and --weights work inside an episode",
            )
        if self.keep_rows is not None:
            return self.keep_rows * float(lengths.sum())
        return max(1, int((self.keep or 1.0) * total + 0.5))

    def to_dict(self) -> dict[str, Any]:
        """The settings that mattered."""
        values = asdict(self) | {"only": None if self.only is None else list(self.only)}
        idle = set() if self.ranks else {"by"}
        idle |= set() if self.trim_idle else {"idle_tolerance"}
        idle |= set() if self.diverse else {"diversity"}
        return {
            k: v for k, v in values.items() if k not in idle and v is not None and v is not False
        }


@dataclass(frozen=True)
class Choice:
    """Episodes that stay, in the order of the file."""

    kept: np.ndarray
    tied_at_cut: int = 0  # dropped episodes that score the same as the worst kept one
    unscored: int = 0  # episodes without a score


def choose(table: EpisodeTable, rule: Rule, cells: Cells | None = None) -> Choice:
    """Apply a ranking rule to a table; `cells` is needed with `diverse` alone."""
    ranking = rank(table, rule.by)
    unscored = int(np.isnan(ranking.goodness).sum())
    if rule.min_score is not None:
        return Choice(_reaching(ranking, rule.min_score), unscored=unscored)
    sizes, budget = rule.sizes(table.length), rule.budget(table.length)
    if budget >= sizes.sum():
        return Choice(np.arange(len(table)), unscored=unscored)
    if rule.diverse:
        if cells is None:
            raise SettingsError("diverse needs the cells that each episode visits")
        quality = np.nan_to_num(unit_ranks(ranking.goodness), nan=0.0)
        chosen = greedy_choice(quality, cells, sizes, budget, rule.diversity)
        return Choice(np.sort(chosen), unscored=unscored)
    _refuse_equal(ranking)
    order = ranking.order()
    count = int(np.searchsorted(np.cumsum(sizes[order]), budget * (1 - 1e-12))) + 1
    worst = ranking.goodness[order[count - 1]]
    tied = int((ranking.goodness[order[count:]] == worst).sum())
    return Choice(np.sort(order[:count]), tied, unscored)


def _refuse_equal(ranking: Ranking) -> None:
    if ranking.all_equal:
        raise DatasetError(
            f"all {len(ranking.goodness):,} episodes have the same score by {ranking.by}, so none is better than another",
            remedy="nothing was written; rank by another score with --by",
        )


def _reaching(ranking: Ranking, bound: float) -> np.ndarray:
    kept = ranking.at_least(bound)
    if len(kept) == 0:
        known = ranking.raw[~np.isnan(ranking.raw)]
        span = f"{known.min():.6g} to {known.max():.6g}" if len(known) else "unknown everywhere"
        raise DatasetError(
            f"no episode reaches the bound {bound:g} by {ranking.by}",
            remedy=f"nothing was written; the scores are {span}",
        )
    return kept
