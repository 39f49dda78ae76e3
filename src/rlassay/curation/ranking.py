"""What `--by` means: one score, or a weighted sum of the ranks of several."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rlassay.errors import SettingsError
from rlassay.results.episodes import EpisodeTable

_NUMBER = r"\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_TERM = re.compile(rf"\s*([+-]?)\s*(?:({_NUMBER})\s*\*\s*)?({_NAME})\s*")


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


def parse_terms(by: str) -> list[tuple[float, str]]:
    """`"0.5*bwd + 0.5*return"` as [(0.5, "bwd"), (0.5, "return")]; a bare name has weight 1."""
    terms, position = [], 0
    while position < len(by):
        match = _TERM.match(by, position)
        if match is None or (terms and not match.group(1)):
            raise _unreadable(by)
        sign, number, name = match.groups()
        terms.append(((-1.0 if sign == "-" else 1.0) * float(number or 1.0), name))
        position = match.end()
    if not terms or all(weight == 0 for weight, _ in terms):
        raise _unreadable(by)
    return terms


def _unreadable(by: str) -> SettingsError:
    return SettingsError(
        "--by cannot be read", allowed="a score, or a sum such as 0.5*bwd+0.5*return", got=repr(by)
    )


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
    _, group, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    first = np.cumsum(counts) - counts
    ranks[known] = (first + (counts - 1) / 2)[group] / (known.sum() - 1)
    return ranks
