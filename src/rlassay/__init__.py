"""How good is this offline-RL dataset, before anyone trains on it?

    import rlassay
    card = rlassay.score("data.hdf5")

The verbs below are resolved when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rlassay.rendering import DRAWINGS

if TYPE_CHECKING:
    from rlassay.agents import register_agent as register_agent
    from rlassay.agents import train_agent as train_agent
    from rlassay.collect import collect as collect_graded
    from rlassay.curation import Curation as Curation
    from rlassay.curation import curate as curate
    from rlassay.data.dataset import Dataset as Dataset
    from rlassay.errors import RlassayError as RlassayError
    from rlassay.formats import load as load
    from rlassay.formats import save as save  # pyright: ignore[reportUnknownVariableType]
    from rlassay.inspection import inspect_source as inspect_dataset
    from rlassay.motion import demonstrations as demonstrations
    from rlassay.oracle import oracle as run_oracle
    from rlassay.policy import load_policy as load_policy
    from rlassay.repair import repair as repair_dataset
    from rlassay.results.card import Comparison as Comparison
    from rlassay.results.card import Score as Score
    from rlassay.results.card import Scorecard as Scorecard
    from rlassay.scoring import assess as assess
    from rlassay.scoring import compare as compare
    from rlassay.scoring import episode_scores as episode_scores
    from rlassay.scoring import register_score as register_score
    from rlassay.scoring import score as score
    from rlassay.scoring import transition_scores as transition_scores
    from rlassay.transport import register_cost as register_cost

__version__ = "0.1.0"

# public name: (module, name there); no name may equal a module's, or importing the module would replace the verb
_PUBLIC = {
    "load": ("rlassay.formats", "load"),
    "save": ("rlassay.formats", "save"),
    "Dataset": ("rlassay.data.dataset", "Dataset"),
    "inspect_dataset": ("rlassay.inspection", "inspect_source"),
    "repair_dataset": ("rlassay.repair", "repair"),
    "score": ("rlassay.scoring", "score"),
    "compare": ("rlassay.scoring", "compare"),
    "assess": ("rlassay.scoring", "assess"),
    "Scorecard": ("rlassay.results.card", "Scorecard"),
    "Score": ("rlassay.results.card", "Score"),
    "Comparison": ("rlassay.results.card", "Comparison"),
    "Curation": ("rlassay.curation", "Curation"),
    "register_score": ("rlassay.scoring", "register_score"),
    "register_cost": ("rlassay.transport", "register_cost"),
    "episode_scores": ("rlassay.scoring", "episode_scores"),
    "transition_scores": ("rlassay.scoring", "transition_scores"),
    "curate": ("rlassay.curation", "curate"),
    "demonstrations": ("rlassay.motion", "demonstrations"),
    "train_agent": ("rlassay.agents", "train_agent"),
    "register_agent": ("rlassay.agents", "register_agent"),
    "load_policy": ("rlassay.policy", "load_policy"),
    "run_oracle": ("rlassay.oracle", "oracle"),
    "collect_graded": ("rlassay.collect", "collect"),
    "RlassayError": ("rlassay.errors", "RlassayError"),
}

# what results draw of themselves: the report room reads results, so they cannot import it
DRAWINGS.update(
    card_html=("rlassay.report.notebook", "card_html"),
    comparison_html=("rlassay.report.notebook", "comparison_html"),
    dataset_html=("rlassay.report.notebook", "dataset_html"),
    curation_html=("rlassay.report.notebook", "curation_html"),
    write_page=("rlassay.report.page", "write_page"),
    plot_card=("rlassay.report.figures", "plot_card"),
)

__all__ = [
    "__version__",
    "load",
    "save",
    "Dataset",
    "inspect_dataset",
    "repair_dataset",
    "score",
    "compare",
    "assess",
    "Scorecard",
    "Score",
    "Comparison",
    "Curation",
    "register_score",
    "register_cost",
    "episode_scores",
    "transition_scores",
    "curate",
    "demonstrations",
    "train_agent",
    "register_agent",
    "load_policy",
    "run_oracle",
    "collect_graded",
    "RlassayError",
]  # a literal, which type checkers can read


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'rlassay' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, without the modules that happen to be imported already."""
    return sorted(__all__)
