"""Run tasks on a Ray cluster: `--engine ray`, on this machine or at `--address`.

Ray schedules and restarts; nothing of that is done here. A task runs in a scratch folder of its node, and its result and
files come back to the driver, which alone writes to the run store. Data is named by a path that every node sees.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rlassay import __version__
from rlassay.data.memory import WORKING_COPIES
from rlassay.engine.files import write_atomically
from rlassay.engine.local import Outcome, StoringEngine, worker_environment
from rlassay.engine.store import RunStore, Task
from rlassay.engine.worker import describe, perform
from rlassay.errors import DatasetError, SettingsError
from rlassay.runtime import before_leaving, keep_compiled_programs, use_threads

RETRIES = 3  # of a task whose process or node died; a task that fails by itself is not tried again
OWN_BYTES = 500 * 2**20  # a worker with JAX, before it has read anything
AHEAD = 2  # tasks a core that Ray knows of at once: the others wait here, so that a cancel is quick
PATIENCE = 10  # seconds that a cluster has to answer
POLL = 0.5  # seconds between two looks at the cluster
LOOPBACK = "127.0.0.1"


class RayEngine(StoringEngine):
    """Tasks of one core each on a Ray cluster; without an address on one that is started here, and ended."""

    def __init__(self, address: str | None = None, workers: int | None = None):
        self.address, self.workers = address, workers

    def _run_missing(self, tasks: list[Task], store: RunStore) -> Iterator[Outcome]:
        if not tasks:
            return
        ray = _started(self.address, self.workers)
        try:
            yield from _run_on(ray, tasks, store, self.workers)
        finally:
            ray.shutdown()


def _started(address: str | None, workers: int | None) -> Any:
    """The `ray` module, connected; one compute thread a worker, as the local engine has it."""
    try:
        import ray
    except ImportError:
        raise SettingsError(
            "the engine ray needs the package ray", remedy="pip install 'rl-assay[ray]'"
        ) from None
    _require_listener(address)
    options: dict[str, Any] = {"address": address or "local"}  # not one that happens to run here
    if not address:
        options |= {"num_cpus": workers, "include_dashboard": False}
        options["_node_ip_address"] = LOOPBACK  # nobody outside this machine is to reach it
    try:
        ray.init(
            **options,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": _environment()},
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _unreachable(address or "this machine", error) from None
    before_leaving(ray.shutdown)
    return ray


def _require_listener(address: str | None) -> None:
    """Ray itself would try for minutes before it says that nobody is there."""
    host, _, port = (address or "").rpartition(":")
    if not port.isdigit() or "/" in host:
        return  # none, `auto` or ray://: Ray knows what to do
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(str(address), error) from None


def _unreachable(where: str, error: Exception) -> SettingsError:
    cause = (str(error).splitlines() or [type(error).__name__])[0]
    return SettingsError(
        f"Ray cannot be reached at {where} ({cause})",
        remedy="start it with `ray start --head` and name HOST:PORT with --address; "
        "where it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN",
    )


def _environment() -> dict[str, str]:
    """What a worker process must know before it imports anything: threads, and where modules lie."""
    before = dict(os.environ)
    try:
        use_threads(1)
        changed = {name: value for name, value in os.environ.items() if before.get(name) != value}
        fixed = {name: os.environ[name] for name in ("OMP_NUM_THREADS", "NPROC", "XLA_FLAGS")}
    finally:
        os.environ.clear()
        os.environ.update(before)
    named = ("PYTHONPATH", "RLASSAY_PLUGINS")
    known = worker_environment()
    return {**changed, **fixed, **{name: known[name] for name in named if name in known}}


def _run_on(ray: Any, tasks: list[Task], store: RunStore, workers: int | None) -> Iterator[Outcome]:
    """Keep the cluster busy, take what is ready, store it."""
    remote = ray.remote(max_retries=RETRIES, num_cpus=1)(run_on_node)
    waiting, running = list(reversed(tasks)), {}
    try:
        while waiting or running:
            room = workers or AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting and len(running) < room:
                task = waiting.pop()
                store.begin(task)
                asked = remote.options(memory=_memory_of(ray, task))
                running[asked.remote(task.to_json(), __version__)] = task
            ready, _ = ray.wait(list(running), num_returns=1, timeout=POLL)
            for reference in ready:
                yield _outcome(ray, reference, running.pop(reference), store)
    finally:
        for reference in running:  # Ctrl-C, or an error of ours
            ray.cancel(reference, force=True)


def _memory_of(ray: Any, task: Task) -> int:
    """What to reserve: the file with its working copies, but no more than the largest node has."""
    path = Path(str(task.data.get("path", "")))
    size = path.stat().st_size if path.is_file() else 0
    nodes = [node["Resources"].get("memory", 0) for node in ray.nodes() if node["Alive"]]
    return int(min(OWN_BYTES + WORKING_COPIES * size, max(nodes, default=OWN_BYTES)))


def _outcome(ray: Any, reference: Any, task: Task, store: RunStore) -> Outcome:
    told: dict[str, Any]
    try:
        told = ray.get(reference)
    except ray.exceptions.RayError as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        told = {"failure": f"Ray gave the task up after {RETRIES} retries: {lines[0]}"}
    cause = told.get("failure")
    if cause is not None:
        store.fail(task, cause)
        return Outcome(task, None, cause)
    for name, content in told["files"].items():
        write_atomically(store.folder(task) / name, content)
    store.finish(task, told["result"])
    return Outcome(task, told["result"])


# -- on the node -------------------------------------------------------------------------------------------------------


def run_on_node(asked: Mapping[str, Any], version: str) -> dict[str, Any]:
    """One task in a scratch folder: its result and what it left there, or why it failed."""
    task = Task.from_json(asked)
    try:
        _require_same(version)
        _require_visible(task)
        keep_compiled_programs(start=False)
        with tempfile.TemporaryDirectory(prefix="rlassay-task-") as name:
            folder = Path(name)
            result = perform(task, folder)
            files = {
                str(path.relative_to(folder)): path.read_bytes()
                for path in sorted(folder.rglob("*"))
                if path.is_file() and not path.name.startswith(".")
            }
        return {"result": result, "files": files}
    except Exception as error:  # whatever a task raises is its failure, not the cluster's
        return {"failure": describe(error)}


def _require_same(version: str) -> None:
    if version != __version__:
        raise SettingsError(
            f"the node {socket.gethostname()} has another rlassay",
            allowed=version,
            got=__version__,
            remedy="install one version on all nodes",
        )


def _require_visible(task: Task) -> None:
    path = task.data.get("path")
    if path is not None and os.path.isabs(path) and not os.path.exists(path):
        raise DatasetError(
            f"{path} is not there on the node {socket.gethostname()}",
            remedy="put the data where every node sees it under the same path",
        )
