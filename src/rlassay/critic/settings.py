"""Settings of the behavioural critic and its two presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rlassay.errors import SettingsError
from rlassay.settings import added_later, require


@dataclass(frozen=True)
class CriticSettings:
    """How Q and V of the behaviour are fitted. The defaults are preset `default`."""

    method: Literal["lambda", "sarsa"] = "lambda"  # targets: returns along episodes, or one step
    discount: float = 0.99  # weight of the next step's value
    steps: int = 10_000  # gradient steps
    batch_size: int = 256  # rows a step
    hidden: tuple[int, ...] = (256,)  # widths of the hidden layers of Q and of V
    learning_rate: float = 1e-3  # of Adam
    decay: bool = True  # let the learning rate fall to zero along a cosine
    trace_decay: float = 0.99  # lambda of the returns; method `lambda`
    refresh: int = 2_000  # gradient steps between two computations of the returns; method `lambda`
    target_rate: float = 1.0  # 1 is no target network; method `sarsa`
    rows: int = 100_000  # most transitions to train on, a seeded choice of whole episodes
    holdout: float = 0.2  # share of episodes kept for the diagnosis
    # stop before `steps` once the mean value has settled, in NumPy; method `lambda`, on for `score` by default
    settle: bool = added_later(False)

    def __post_init__(self) -> None:
        require(
            0 <= self.discount < 1, "critic.discount", "0 up to, not including, 1", self.discount
        )
        require(0 <= self.trace_decay <= 1, "critic.trace_decay", "0 to 1", self.trace_decay)
        require(
            0 < self.target_rate <= 1, "critic.target_rate", "above 0, up to 1", self.target_rate
        )
        require(0 <= self.holdout <= 0.5, "critic.holdout", "0 to 0.5", self.holdout)
        require(self.learning_rate > 0, "critic.learning_rate", "above 0", self.learning_rate)
        for name in ("steps", "batch_size", "refresh", "rows"):
            require(getattr(self, name) >= 1, f"critic.{name}", "1 or more", getattr(self, name))
        require(all(width >= 1 for width in self.hidden), "critic.hidden", "1 or more", self.hidden)


PAPER = CriticSettings(method="sarsa", learning_rate=3e-4, decay=False)
FAST = CriticSettings(steps=3_000, refresh=500, rows=30_000)

# Which settings only one method reads: changing one of them elsewhere would do nothing, so it is refused.
ONLY_WITH_METHOD = {
    "trace_decay": "lambda",
    "refresh": "lambda",
    "settle": "lambda",
    "target_rate": "sarsa",
}


def refuse_idle_settings(method: str, changed: set[str]) -> None:
    """Refuse a changed critic setting that the chosen method never reads."""
    for name in sorted(changed & set(ONLY_WITH_METHOD)):
        if ONLY_WITH_METHOD[name] != method:
            raise SettingsError(
                f"critic.{name} has no effect with critic.method={method}",
                remedy=f"choose critic.method={ONLY_WITH_METHOD[name]}"
                + (", for example by --preset paper" if name == "target_rate" else ""),
            )
