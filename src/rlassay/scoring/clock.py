"""Where the seconds of a scorecard went: disjoint phases that sum to the total."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rlassay import runtime

PHASES = ("load", "compile", "critic", "transport", "scores", "other")
_COMPILE_EVENTS = ("jaxpr_to_mlir_module_duration", "backend_compile_duration")


class Clock:
    """Phases may nest: an inner one pauses the outer. Compiling is taken out of the phase in which it happens."""

    def __init__(self) -> None:
        self._elapsed: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self._compiled: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self._stack = ["other"]
        self._since = time.perf_counter()

    @contextmanager
    def phase(self, name: str, *, compiles: bool = False) -> Iterator[None]:
        """Count what happens inside to `name`; with `compiles` JAX is started first, if it has not been."""
        self._bank()
        self._stack.append(name)
        try:
            if compiles:
                runtime.keep_compiled_programs()
            listening = "jax" in sys.modules
            with _compile_times(self._on_compile) if listening else nullcontext():
                yield
        finally:
            self._bank()
            self._stack.pop()

    def seconds(self) -> dict[str, float]:
        """Seconds of each phase and their sum."""
        self._bank()
        found = dict(self._elapsed)
        for name in PHASES:
            moved = min(self._compiled[name], found[name]) if name != "compile" else 0.0
            found[name] -= moved
            found["compile"] += moved
        return {"total": sum(found.values()), **found}

    def _bank(self) -> None:
        now = time.perf_counter()
        self._elapsed[self._stack[-1]] += now - self._since
        self._since = now

    def _on_compile(self, event: str, seconds: float, **_: object) -> None:
        if event.endswith(_COMPILE_EVENTS):
            self._compiled[self._stack[-1]] += seconds


@contextmanager
def _compile_times(listener) -> Iterator[None]:
    """Listen to JAX's compile events; only the innermost phase of one clock listens."""
    import jax.monitoring as monitoring

    outer, _active[:] = list(_active), [listener]
    for each in outer:
        monitoring.unregister_event_duration_listener(each)
    monitoring.register_event_duration_secs_listener(listener)
    try:
        yield
    finally:
        monitoring.unregister_event_duration_listener(listener)
        for each in outer:
            monitoring.register_event_duration_secs_listener(each)
        _active[:] = outer


_active: list = []
