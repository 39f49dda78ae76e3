"""The verb `curate`: clean, score, choose, and remember how."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, get_type_hints

import numpy as np

from rlassay.curation.choice import Choice, budget_of, choose
from rlassay.curation.cleaning import Cleaned, clean, rows_of
from rlassay.curation.result import Curation, with_provenance
from rlassay.curation.rule import Rule
from rlassay.curation.terms import parse_terms
from rlassay.data.cells import visited_cells
from rlassay.data.dataset import Dataset
from rlassay.errors import SettingsError
from rlassay.results.episodes import EpisodeTable

SCORING = ("preset", "settings", "seeds")  # what reaches `rlassay.episode_scores`


def curate(
    data: Any, *, table: EpisodeTable | None = None, seed: int = 0, **options: Any
) -> Dataset:
    """The episodes worth keeping, as a Dataset whose `origin.metadata["curation"]` says how they were chosen.

    `data` is anything that `rlassay.load` takes. `options` are the fields of `Rule` (`keep=0.5`, `by="bwd"`, ...) and
    the settings of scoring (`preset`, `settings`, `seeds`). A `table` from `rlassay.episode_scores` saves scoring
    again.
    """
    from rlassay.formats import load

    own = [field.name for field in fields(Rule)]
    unknown = [name for name in options if name not in (*own, *SCORING)]
    if unknown:
        raise SettingsError("unknown option of curate", allowed=[*own, *SCORING], got=unknown)
    rule = Rule(**{name: options[name] for name in own if name in options})
    scoring = {name: options[name] for name in SCORING if name in options}
    return apply_rule(load(data), rule, table=table, seed=seed, scoring=scoring).data


def _signature() -> inspect.Signature:
    """What `help(rlassay.curate)` shows: the rule's fields among the arguments."""
    hints = get_type_hints(Rule)
    plain = inspect.signature(curate).parameters
    named = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(Rule)
    ]
    first, *others, rest = plain.values()
    return inspect.Signature([first, *named, *others, rest], return_annotation=Dataset)


curate.__signature__ = _signature()  # type: ignore[attr-defined]


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
    rule, remarks = _settled(rule, data, table)
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
        rows=lambda: cleaned.rows()[rows_of(cleaned.data, choice.kept)],
        repeated=cleaned.repeated,
        idle_rows=cleaned.idle_rows,
        tied_at_cut=choice.tied_at_cut,
        unscored=choice.unscored,
        remarks=remarks,
    )
    return with_provenance(curation, data)


def _choose(
    cleaned: Cleaned, rule: Rule, table: EpisodeTable | None, seed: int, scoring: dict[str, Any]
) -> Choice:
    if rule.only is not None:
        return Choice(np.flatnonzero(np.isin(cleaned.episodes, rule.only)))
    if not rule.ranks:
        return Choice(np.arange(cleaned.data.episode_count))
    budget_of(rule, cleaned.data.episode_lengths)  # refuses before anything is scored
    if table is None:
        from rlassay import episode_scores

        names = [name for _, name in parse_terms(str(rule.by))]
        scored = episode_scores(cleaned.data, scores=names, seed=seed, **scoring)
    else:
        scored = table.take(cleaned.episodes)
    cells = visited_cells(cleaned.data, seed) if rule.diverse else None
    return choose(scored, rule, cells)


def _settled(rule: Rule, data: Dataset, table: EpisodeTable | None) -> tuple[Rule, tuple[str, ...]]:
    """The rule with its score named: a table of one score leaves no choice, else returns come first."""
    if table is None:
        return rule.settled(data.rewards is not None)
    if rule.by is None and len(table.scores) == 1:
        return replace(rule, by=next(iter(table.scores))), ()
    return rule.settled("return" in table.scores)


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
