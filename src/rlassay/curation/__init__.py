"""Curation: which episodes are worth keeping, and how to weigh the rest. Nothing here imports JAX.

Names are resolved when first used: the command line reads `Rule` and `Request` for its options, and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlassay.curation.choice import Choice as Choice
    from rlassay.curation.choice import choose as choose
    from rlassay.curation.facade import apply_rule as apply_rule
    from rlassay.curation.facade import curate as curate
    from rlassay.curation.result import Curation as Curation
    from rlassay.curation.rule import Rule as Rule
    from rlassay.curation.weights import Weights as Weights
    from rlassay.curation.weights import weigh as weigh
    from rlassay.curation.weights import write_weights as write_weights

_HOMES = {
    "Choice": "choice",
    "choose": "choice",
    "apply_rule": "facade",
    "curate": "facade",
    "Curation": "result",
    "Rule": "rule",
    "Weights": "weights",
    "weigh": "weights",
    "write_weights": "weights",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
