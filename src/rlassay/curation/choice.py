"""Which episodes of a scored table a rule keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.curation.diversity import greedy_choice
from rlassay.curation.ranking import Ranking, rank, unit_ranks
from rlassay.curation.rule import Rule
from rlassay.data.cells import Cells
from rlassay.errors import DatasetError, SettingsError
from rlassay.results.episodes import EpisodeTable
from rlassay.settings import require


@dataclass(frozen=True)
class Choice:
    """Episodes that stay, in the order of the file."""

    kept: np.ndarray
    tied_at_cut: int = 0  # dropped episodes that score the same as the worst kept one
    unscored: int = 0  # episodes without a score


def sizes_under(rule: Rule, lengths: np.ndarray) -> np.ndarray:
    """What each episode costs of the budget: its rows with `keep_rows`, else one."""
    return lengths.astype(np.float64) if rule.keep_rows is not None else np.ones(len(lengths))


def budget_of(rule: Rule, lengths: np.ndarray) -> float:
    """What a ranking rule may spend; an impossible number is refused."""
    total = len(lengths)
    if rule.top_k is not None:
        allowed = f"1 to {total:,}, the number of episodes"
        require(rule.top_k <= total, "top_k", allowed, rule.top_k)
        return rule.top_k
    if total == 1 and rule.min_score is None:
        raise DatasetError(
            "the dataset has one episode, so no share of it can be chosen",
            remedy="nothing was written; --trim-idle and --weights work inside an episode",
        )
    if rule.keep_rows is not None:
        return rule.keep_rows * float(lengths.sum())
    return max(1, int((rule.keep or 1.0) * total + 0.5))


def choose(table: EpisodeTable, rule: Rule, cells: Cells | None = None) -> Choice:
    """Apply a ranking rule to a table; `cells` is needed with `diverse` alone."""
    ranking = rank(table, rule.by or "return")
    unscored = int(np.isnan(ranking.goodness).sum())
    if rule.min_score is not None:
        return Choice(_reaching(ranking, rule.min_score), unscored=unscored)
    sizes, budget = sizes_under(rule, table.length), budget_of(rule, table.length)
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
