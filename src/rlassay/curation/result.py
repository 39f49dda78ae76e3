"""The result of a curation and its JSON (schema `rlassay.curation/1`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rlassay import __version__
from rlassay.curation.rule import Rule
from rlassay.data.blocks import chosen_rows
from rlassay.data.dataset import Dataset
from rlassay.rendering import draw
from rlassay.results.card import json_values

SCHEMA = "rlassay.curation/1"
PROVENANCE = "curation"  # key of a dataset's metadata


@dataclass(frozen=True, repr=False)
class Curation:
    """Which episodes of the source stayed, by which rule, and what that does to the data."""

    source: str
    fingerprint: str  # of the source
    rule: Rule
    kept: np.ndarray  # episode numbers in the source
    dropped: np.ndarray
    data: Dataset  # what stayed
    rows: Callable[[], np.ndarray]  # its rows in the source
    repeated: int = 0  # episodes dropped as repetitions
    idle_rows: int = 0  # rows cut at the ends of episodes
    tied_at_cut: int = 0  # dropped episodes whose score equals that of the worst kept one
    unscored: int = 0  # episodes without a score, which rank last
    remarks: tuple[str, ...] = ()  # how the rule was settled, where it left something open

    def __repr__(self) -> str:
        total = len(self.kept) + len(self.dropped)
        return f"<Curation of {self.source}: {len(self.kept):,} of {total:,} episodes kept, by {self.rule.by}>"

    def _repr_html_(self) -> str:
        return draw("curation_html", self)

    def to_frame(self) -> Any:
        """One row an episode of the source, `kept` or not, as a table of pandas or polars."""
        from rlassay.results.frames import curation_frame

        return curation_frame(self)

    def provenance(self) -> dict[str, Any]:
        """What is written into the curated dataset: enough to make it again from the source."""
        numbers = self.kept.astype("<i8").tobytes()
        return {
            "source": self.source,
            "fingerprint": self.fingerprint,
            "rule": self.rule.to_dict(),
            "version": __version__,
            "episodes": [len(self.kept), len(self.kept) + len(self.dropped)],
            "episodes_sha256": hashlib.sha256(numbers).hexdigest(),
        }

    def notes(self) -> list[str]:
        """What a person should know about this choice."""
        found = [*self.remarks]
        if self.repeated:
            found.append(f"{self.repeated:,} episodes repeat an earlier one and were dropped")
        if self.idle_rows:
            found.append(f"{self.idle_rows:,} idle rows were cut at the ends of episodes")
        if self.tied_at_cut:
            found.append(
                f"{self.tied_at_cut:,} dropped episodes score the same as the worst kept one; of equals the earlier stay"
            )
        if self.unscored:
            found.append(
                f"{self.unscored:,} episodes have no score by {self.rule.by} and rank last"
            )
        return found

    def to_dict(
        self, before: Mapping[str, Any], after: Mapping[str, Any], out: str | None, **more: Any
    ) -> dict[str, Any]:
        """The JSON of `rlassay curate`."""
        return json_values(
            {
                "schema": SCHEMA,
                "source": self.source,
                "fingerprint": self.fingerprint,
                "out": out,
                "rule": self.rule.to_dict(),
                "kept": self.kept,
                "dropped": self.dropped,
                "before": before,
                "after": after,
                "notes": self.notes(),
                "version": __version__,
                **more,
            }
        )


def with_provenance(curation: Curation, source: Dataset) -> Curation:
    """The curation written into the metadata of its data, and the source's further arrays cut to the same rows.

    An earlier curation of the source stays inside the record.
    """
    record = curation.provenance()
    if earlier := source.origin.metadata.get(PROVENANCE):
        record["earlier"] = earlier
    extras = dict(source.origin.extras)
    of_rows = [name for name, array in extras.items() if array.shape[:1] == (len(source),)]
    if of_rows:
        rows = curation.rows()
        extras |= {name: chosen_rows(extras[name], rows) for name in of_rows}
    metadata = {**source.origin.metadata, PROVENANCE: record}
    origin = replace(curation.data.origin, metadata=metadata, extras=extras)
    data = Dataset(curation.data._columns, curation.data.episode_starts, origin)
    return replace(curation, data=data)


def provenance_text(curation: Curation) -> str:
    """The same record as one line of JSON."""
    return json.dumps(curation.provenance(), sort_keys=True)
