"""How good is this offline-RL dataset, before anyone trains on it?

    import rlassay
    card = rlassay.score("data.hdf5")

The verbs below are resolved when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlassay.assay import assess as assess
    from rlassay.assay import compare as compare
    from rlassay.assay import score as score
    from rlassay.curation import curate as curate
    from rlassay.data.dataset import Dataset as Dataset
    from rlassay.episodes import episode_scores as episode_scores
    from rlassay.episodes import transition_scores as transition_scores
    from rlassay.formats import load as load
    from rlassay.formats import save as save
    from rlassay.motion import demonstrations as demonstrations
    from rlassay.results.card import Comparison as Comparison
    from rlassay.results.card import Scorecard as Scorecard
    from rlassay.scores import register_score as register_score
    from rlassay.transport import register_cost as register_cost

__version__ = "0.1.0"

# public name: (module, name there); no name may equal a module's, or importing the module would replace the verb
_PUBLIC = {
    "load": ("rlassay.formats", "load"),
    "save": ("rlassay.formats", "save"),
    "Dataset": ("rlassay.data.dataset", "Dataset"),
    "inspect_dataset": ("rlassay.inspection", "inspect_source"),
    "score": ("rlassay.assay", "score"),
    "compare": ("rlassay.assay", "compare"),
    "assess": ("rlassay.assay", "assess"),
    "Scorecard": ("rlassay.results.card", "Scorecard"),
    "Comparison": ("rlassay.results.card", "Comparison"),
    "register_score": ("rlassay.scores", "register_score"),
    "register_cost": ("rlassay.transport", "register_cost"),
    "episode_scores": ("rlassay.episodes", "episode_scores"),
    "transition_scores": ("rlassay.episodes", "transition_scores"),
    "curate": ("rlassay.curation", "curate"),
    "demonstrations": ("rlassay.motion", "demonstrations"),
    "train_agent": ("rlassay.agents", "train_agent"),
    "register_agent": ("rlassay.agents", "register_agent"),
    "run_oracle": ("rlassay.oracle", "oracle"),
    "collect_graded": ("rlassay.collect", "collect"),
    "RlassayError": ("rlassay.errors", "RlassayError"),
}

__all__ = ["__version__", *_PUBLIC]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'rlassay' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
