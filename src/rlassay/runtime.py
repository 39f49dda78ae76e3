"""Process-wide set-up that must happen before a heavy library starts: signals, threads, compile cache, simulator noise."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def state_folder() -> Path:
    """Where runs and caches live: `$RLASSAY_STORE`, else the user's state folder; never the checkout."""
    if named := os.environ.get("RLASSAY_STORE"):
        return expanded(named)
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return expanded(base) / "rlassay"


def expanded(path: str | Path) -> Path:
    """The path with `~` and `~user` replaced; an unknown user is refused."""
    from rlassay.errors import SettingsError

    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise SettingsError(
            f"{path} names the home of an unknown user", remedy="write the path in full"
        ) from None


WORTH_KEEPING = 0.3  # seconds; programs that compile faster are not kept
INTERRUPTED = 130  # exit code, for SIGINT and SIGTERM alike
_kept = "what was finished is kept, and unfinished outputs were removed"
_endings: list[Callable[[], None]] = []
_listening = False
_ending = threading.Event()


def on_interrupt(sentence: str) -> None:
    """What an interrupted command tells its user: what is kept, and how it goes on."""
    global _kept
    _kept = sentence


def before_leaving(ending: Callable[[], None]) -> None:
    """Have `ending` called when the process is interrupted; from another thread, so it must not wait for the work."""
    _endings.append(ending)


def leave_on_signals(*, quiet: bool = False) -> None:
    """From now on SIGINT and SIGTERM end the process at once, with one line and exit code 130.

    A thread of its own hears of them: Python's handlers wait until a computation in XLA returns, which can take half a
    minute. The interpreter is not torn down, because XLA's threads crash when that happens around them.
    """
    global _listening
    if _listening or threading.current_thread() is not threading.main_thread():
        return
    _listening = True
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_wait_for_signal, args=(reading, quiet), daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):  # last: a signal is never swallowed unheard
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    atexit.register(_be_deaf)


def _be_deaf() -> None:
    """The work is done and told; while the interpreter ends, a signal must not turn that into a crash."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _wait_for_signal(reading: int, quiet: bool) -> None:
    while os.read(reading, 1)[0] not in (signal.SIGINT, signal.SIGTERM):
        continue
    leave(INTERRUPTED, "" if quiet else f"rlassay: interrupted; {_kept}\n")


def leave(code: int, line: str = "") -> None:
    """End this process now: say why, end what it started, remove what it had not finished."""
    from rlassay.words import printable

    _ending.set()
    if line:
        shown_again = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""  # a bar hides the cursor
        os.write(2, (shown_again + printable(line, lines=True)).encode(errors="backslashreplace"))
    for ending in _endings:
        try:
            ending()
        except Exception:  # whatever it is, the others still have to be called
            continue
    flushing = threading.Thread(target=_flush_output, daemon=True)
    flushing.start()
    flushing.join(0.5)  # a reader that does not read must not keep us
    os._exit(code)


def is_leaving() -> bool:
    """Whether another thread is ending this process."""
    return _ending.is_set()


def stand_by_if_leaving() -> None:
    """For the thread that works: where another one is ending this process, it has the last word.

    It removes what is half written, so that the work may fail now for no other reason.
    """
    if _ending.is_set():
        threading.Event().wait()


def _flush_output() -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        return


def use_threads(count: int) -> None:
    """Limit the compute threads of NumPy and JAX; results are bit-equal between runs only with one thread.

    Has to run before JAX starts its CPU client, because XLA reads its thread count (`NPROC`) once.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ[name] = str(count)
    flags = os.environ.get("XLA_FLAGS", "")
    if count == 1 and "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()


_product_lock = threading.Lock()
_product_limit: Any = None  # while somebody is inside
_product_callers = 0


@contextlib.contextmanager
def one_thread_a_product() -> Iterator[None]:
    """NumPy's products on one thread, as the command has them from its start; also a decorator.

    A caller from Python has loaded NumPy before, with as many threads as there are cores. Products are then rounded in
    another order, which training carries into the digits that are shown; and for matrices as small as ours the threads
    cost more than they give.
    """
    global _product_limit, _product_callers
    from threadpoolctl import ThreadpoolController

    with _product_lock:
        if _product_callers == 0:  # the first of several callers limits, the last one gives back
            _product_limit = ThreadpoolController().limit(limits=1, user_api="blas")
        _product_callers += 1
    try:
        yield
    finally:
        with _product_lock:
            _product_callers -= 1
            if _product_callers == 0:
                _product_limit.restore_original_limits()


def compute_where_called() -> None:
    """One compute thread a program, run by the thread that calls it; the kernel then calls several at once.

    For networks as small as critic and potentials XLA's own threads cost more than they give (a critic step takes 0.25
    instead of 0.39 ms of processor time), and this way several seeds use several cores with bit-equal results.
    Has to run before JAX starts its CPU client.
    """
    use_threads(1)
    os.environ["JAX_CPU_ENABLE_ASYNC_DISPATCH"] = "false"
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_cpu_enable_async_dispatch", False)
    use_lanes(available_cores())


def available_cores() -> int:
    """Cores this process may use; fewer than the machine has where it is pinned or in a container."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_lanes(count: int) -> None:
    """Let `count` programs compute at the same time."""
    global _lane_count
    _lane_count = count
    lanes.cache_clear()


_lane_count = 1


@functools.cache
def lanes() -> tuple[Any, ...]:
    """CPU devices that compute at the same time: JAX's own, and with `compute_where_called` one more a further core.

    XLA runs the programs of one client on one pool of threads, so that with one thread a program two programs take
    turns, whoever calls them. A client a core has a pool a core: two programs then take the time of one.
    """
    import jax

    found = [jax.devices()[0]]
    try:
        from jaxlib import xla_client

        for _ in range(_lane_count - 1):
            found += xla_client.make_cpu_client(asynchronous=False).devices()[:1]
    except (ImportError, AttributeError, TypeError):  # not a public interface: then one lane it is
        return tuple(found[:1])
    return tuple(found)


def keep_compiled_programs(*, start: bool = True) -> None:
    """Turn on JAX's persistent compilation cache, so that a second run starts at once.

    Without `start` JAX is told by its environment and not imported: a task may do without it.
    """
    kept = state_folder() / "xla"
    if not start and "jax" not in sys.modules:
        for name, value in compilation_cache(kept).items():
            os.environ.setdefault(name, value)
        return
    import jax

    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        jax.config.update("jax_compilation_cache_dir", str(kept))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING)


def compilation_cache(folder: Path | str) -> dict[str, str]:
    """Environment variables that tell JAX to keep compiled programs there."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(WORTH_KEEPING),
    }


def load_plugins() -> None:
    """Import the modules that register scores, costs or agents of third parties.

    They are the entry points of the group `rlassay` in installed packages and the modules named in
    `$RLASSAY_PLUGINS`, separated by commas.
    """
    from importlib import import_module
    from importlib.metadata import entry_points

    from rlassay.errors import SettingsError

    names = [point.module for point in entry_points(group="rlassay")]
    names += [name.strip() for name in os.environ.get("RLASSAY_PLUGINS", "").split(",")]
    for name in filter(None, names):
        try:
            import_module(name)
        except ImportError as error:
            raise SettingsError(
                f"the plugin {name} cannot be imported ({error})",
                remedy="put its package on PYTHONPATH, or take it out of $RLASSAY_PLUGINS",
            ) from None


def quiet_simulator() -> None:
    """Keep Gymnasium's notices (deprecations, newer versions) off the user's terminal."""
    import logging

    warnings.filterwarnings("ignore", module=r"gymnasium.*")
    warnings.filterwarnings("ignore", message=r".*out of date.*")
    logging.getLogger("gymnasium").setLevel(logging.ERROR)


def quiet_mujoco() -> None:
    """Send MuJoCo's warnings to Python's log instead of the terminal and a MUJOCO_LOG.TXT in the user's folder."""
    import logging

    import mujoco

    log = logging.getLogger("rlassay.mujoco")
    mujoco.set_mju_user_warning(  # pyright: ignore[reportAttributeAccessIssue]
        lambda message: log.info("%s", message)
    )
