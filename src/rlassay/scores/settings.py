"""Settings of the baselines."""

from __future__ import annotations

from dataclasses import dataclass

from rlassay.settings import require


@dataclass(frozen=True)
class BaselineSettings:
    """Settings of the baselines that need some."""

    fit_steps: int = 3_000  # gradient steps of the policies behind eas and bc_error
    fit_batch_size: int = 256  # rows a step
    fit_learning_rate: float = 1e-3  # of Adam, falling to zero by a cosine
    fit_rows: int = 50_000  # most transitions these policies are fitted to
    bins: int = 5  # cells a dimension for saco
    neighbours: int = 4  # k of knn_entropy
    neighbour_rows: int = 4_000  # rows sampled for knn_entropy

    def __post_init__(self) -> None:
        for name in ("fit_steps", "fit_batch_size", "fit_rows", "neighbours"):
            require(getattr(self, name) >= 1, f"baselines.{name}", "1 or more", getattr(self, name))
        require(self.bins >= 2, "baselines.bins", "2 or more", self.bins)
        require(self.fit_learning_rate > 0, "baselines.fit_learning_rate", "above 0", self.fit_learning_rate)  # fmt: skip
        require(self.neighbour_rows > self.neighbours, "baselines.neighbour_rows", "more than baselines.neighbours", self.neighbour_rows)  # fmt: skip
