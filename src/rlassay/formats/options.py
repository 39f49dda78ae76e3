"""What a caller may say about a source that the source does not say itself."""

from __future__ import annotations

from dataclasses import dataclass

from rlassay.formats.mapping import ColumnMap


@dataclass(frozen=True)
class ReadOptions:
    """Settings of one reading; every reader takes them."""

    # the environment, where the file does not name it or names it wrongly
    env_id: str | None = None
    mask: str | None = None  # robomimic: read only the episodes of this filter key
    # step limit: longer episodes are cut, and an end there is a timeout
    max_episode_steps: int | None = None
    # of a dict of observations, the vectors to join
    observation_keys: tuple[str, ...] | None = None
    extras: bool = False  # also read arrays beside the schema, for `convert`
    map: ColumnMap | None = None  # which column is what, where the names do not tell
