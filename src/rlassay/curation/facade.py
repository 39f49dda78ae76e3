"""The verb `curate`: clean, score, choose, and remember how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlassay.curation.cleaning import Cleaned, clean, rows_of
from rlassay.curation.ranking import parse_terms
from rlassay.curation.result import Curation, with_provenance
from rlassay.curation.rule import Choice, Rule, choose
from rlassay.data.dataset import Dataset
from rlassay.errors import SettingsError
from rlassay.results.episodes import EpisodeTable
from rlassay.scoring.coverage import visited_cells


def curate(
    data: Any,
    *,
    keep: float | None = None,
    keep_rows: float | None = None,
    top_k: int | None = None,
    min_score: float | None = None,
    only: Sequence[int] | None = None,
    by: str = "bwd",
    dedupe: bool = False,
    trim_idle: bool = False,
    diverse: bool = False,
    table: EpisodeTable | None = None,
    seed: int = 0,
    **more: Any,
) -> Dataset:
    """The episodes worth keeping, as a Dataset whose `origin.metadata["curation"]` says how they were chosen.

    `data` is anything that `rlassay.load` takes. `more` reaches the rule's `idle_tolerance` and `diversity`, and the
    settings of scoring (`preset`, `settings`). A `table` from `rlassay.episode_scores` saves scoring again.
    """
    from rlassay.formats import load

    own = {name: more.pop(name) for name in ("idle_tolerance", "diversity") if name in more}
    rule = Rule(
        keep=keep, keep_rows=keep_rows, top_k=top_k, min_score=min_score, only=None if only is None else tuple(only),
        by=by, dedupe=dedupe, trim_idle=trim_idle, diverse=diverse, **own,
    )  # fmt: skip
    return apply_rule(load(data), rule, table=table, seed=seed, scoring=more).data


def apply_rule(
    data: Dataset,
    rule: Rule,
    *,
    table: EpisodeTable | None = None,
    seed: int = 0,
    scoring: dict[str, Any] | None = None,
) -> Curation:
    """Repetitions go first, then idle rows, then whatever the rule does not choose."""
    if rule.empty:
        raise SettingsError(
            "no rule is given", allowed="keep, keep_rows, top_k, min_score, only, dedupe, trim_idle"
        )
    _refuse_other_table(table, data)
    _refuse_missing(rule.only, data.episode_count)
    cleaned = clean(data, rule)
    choice = _choose(cleaned, rule, table, seed, scoring or {})
    kept = cleaned.episodes[choice.kept]
    everything = len(choice.kept) == cleaned.data.episode_count
    curation = Curation(
        source=data.origin.source,
        fingerprint=data.fingerprint,
        rule=rule,
        kept=kept,
        dropped=np.setdiff1d(np.arange(data.episode_count), kept),
        data=cleaned.data if everything else cleaned.data.select(choice.kept),
        rows=cleaned.rows[rows_of(cleaned.data, choice.kept)],
        repeated=cleaned.repeated,
        idle_rows=cleaned.idle_rows,
        tied_at_cut=choice.tied_at_cut,
        unscored=choice.unscored,
    )
    return with_provenance(curation, data)


def _choose(
    cleaned: Cleaned, rule: Rule, table: EpisodeTable | None, seed: int, scoring: dict[str, Any]
) -> Choice:
    if rule.only is not None:
        return Choice(np.flatnonzero(np.isin(cleaned.episodes, rule.only)))
    if not rule.ranks:
        return Choice(np.arange(cleaned.data.episode_count))
    rule.budget(
        cleaned.data.episode_lengths
    )  # refuses an impossible number before anything is scored
    if table is None:
        from rlassay.scoring import episode_scores

        names = [name for _, name in parse_terms(rule.by)]
        scored = episode_scores(cleaned.data, scores=names, seed=seed, **scoring)
    else:
        scored = table.take(cleaned.episodes)
    cells = visited_cells(cleaned.data, seed) if rule.diverse else None
    return choose(scored, rule, cells)


def _refuse_other_table(table: EpisodeTable | None, data: Dataset) -> None:
    if table is not None and len(table) != data.episode_count:
        raise SettingsError(
            "the table belongs to other data",
            allowed=f"{data.episode_count:,} episodes",
            got=f"{len(table):,}",
        )


def _refuse_missing(only: Sequence[int] | None, total: int) -> None:
    if only is not None and (len(only) == 0 or min(only) < 0 or max(only) >= total):
        raise SettingsError(
            "the list names episodes that do not exist",
            allowed=f"0 to {total - 1:,}",
            got=f"{min(only)} to {max(only)}" if len(only) else "none",
        )
