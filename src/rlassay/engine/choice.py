"""Which engine runs the tasks of a command: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from contextvars import ContextVar

from rlassay.engine.local import Engine, LocalEngine
from rlassay.errors import SettingsError

ENGINES = ("local", "ray")
_chosen: ContextVar[Engine | None] = ContextVar("engine of this command", default=None)


def engine_named(name: str, address: str | None = None, workers: int | None = None) -> Engine:
    """The engine of this name; an address is Ray's alone."""
    if name not in ENGINES:
        raise SettingsError("unknown engine", allowed=ENGINES, got=name)
    if name == "local":
        if address is not None:
            raise SettingsError("the local engine has no address", remedy="add --engine ray")
        return LocalEngine(workers)
    from rlassay.engine.cluster import RayEngine

    return RayEngine(address, workers)


def use_engine(engine: Engine) -> None:
    """Let whatever this command runs from now on go through `engine`."""
    _chosen.set(engine)


def default_engine() -> Engine:
    """The engine that the command chose, else one process a core of this machine."""
    return _chosen.get() or LocalEngine()
