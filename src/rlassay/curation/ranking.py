"""What `--by` means: one score, or a weighted sum of the ranks of several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlassay.curation.terms import parse_terms
from rlassay.results.episodes import EpisodeTable


@dataclass(frozen=True)
class Ranking:
    """Every episode with one number, higher is better, and the unit that number has."""

    by: str
    goodness: np.ndarray  # NaN where unknown
    raw: np.ndarray  # what `--min-score` is compared with
    higher: bool  # whether a high `raw` is good

    def order(self) -> np.ndarray:
        """Episodes from best to worst. Equal ones stand in their order in the file; unknown ones come last."""
        return np.lexsort((np.arange(len(self.goodness)), -self.goodness, np.isnan(self.goodness)))

    def at_least(self, bound: float) -> np.ndarray:
        """Episodes at least as good as `bound`; an unknown one is not."""
        return np.flatnonzero(self.raw >= bound if self.higher else self.raw <= bound)

    @property
    def all_equal(self) -> bool:
        known = self.goodness[~np.isnan(self.goodness)]
        return len(known) < 2 or bool((known == known[0]).all())


def rank(table: EpisodeTable, by: str) -> Ranking:
    """One score ranks by its own values; several by the weighted mean of their ranks in [0, 1].

    Ranks, because scores differ in unit and have long tails: a sum of values would follow the widest one alone. Each
    rank is turned by the score's direction, so a positive weight always means "good by this score".
    """
    terms = parse_terms(by)
    if len(terms) == 1:
        sign, (weight, name) = 1.0, terms[0]
        if weight < 0:
            sign = -1.0
        higher = (table.direction(name) == "higher") == (sign > 0)
        return Ranking(by, sign * table.goodness(name), table[name], higher)
    total = sum(abs(weight) for weight, _ in terms)
    combined = sum(weight / total * unit_ranks(table.goodness(name)) for weight, name in terms)
    combined = np.asarray(combined)
    return Ranking(by, combined, combined, higher=True)


def unit_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0 (smallest) to 1 (largest); equal values share their mean rank, NaN stays NaN."""
    ranks = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    if known.sum() < 2:
        ranks[known] = 0.5
        return ranks
    from scipy.stats import rankdata

    ranks[known] = (rankdata(values[known]) - 1) / (known.sum() - 1)
    return ranks
