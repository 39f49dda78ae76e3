"""Two Ray nodes on this machine, one killed in the middle: everything finishes, with the local engine's results bit for bit.

    python scripts/ray_two_nodes.py                              # lite oracle of two bundled samples; an hour and more
    python scripts/ray_two_nodes.py --updates 2000 --agents bc,iql    # the same, shorter

Starts `ray start` twice with ports of their own on loopback, runs `rlassay oracle --engine ray`, ends the second node and all
its processes once a run is stored, runs the same oracle with the local engine and compares. Needs the extras ray and sim.
Only processes that were started here are ended.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rlassay.samples import paths

VARYING = ("seconds", "software", "command", "finished", "started")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_node(*words: str) -> subprocess.Popen[bytes]:
    """One node; it stays in the foreground, so that it and its processes can be ended by their ids."""
    ray = str(Path(sys.executable).with_name("ray"))
    command = [ray, "start", "--block", "--num-cpus", "1", "--node-ip-address", "127.0.0.1"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*command, *words], stdout=quiet, stderr=quiet)


def use_own_token() -> None:
    """Ray listens on every interface and runs what it is sent: nodes and driver share a token made for this run."""
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


def descendants(pid: int) -> list[int]:
    """The process and all below it, children first."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += descendants(int(child))
    return [*found, pid]


def kill(node: subprocess.Popen[bytes]) -> None:
    for pid in descendants(node.pid) if node.poll() is None else []:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    node.wait()


def wait_for(condition: Any, seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what} took more than {seconds:.0f} s")
        time.sleep(1)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def oracle_words(given: argparse.Namespace, store: Path, out: Path) -> list[str]:
    files = [str(path) for path in paths()[: given.datasets]]
    words = [sys.executable, "-m", "rlassay", "oracle", *files, "--env", "Hopper-v5"]
    words += ["--store", str(store), "--json", str(out), "--seeds", str(given.seeds)]
    words += ["--agents", given.agents] if given.agents else []
    words += ["--set", f"updates={given.updates}"] if given.updates else []
    return [*words, "--set", f"eval_every={given.updates}"] if given.updates else words


def stored(store: Path) -> int:
    return len(list((store / "runs").glob("*/*/result.json")))


def comparable(value: Any) -> Any:
    """Without what tells the time or the machine."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items() if key not in VARYING}
    return [comparable(part) for part in value] if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--agents", default="")
    parser.add_argument("--updates", type=int)
    given = parser.parse_args()
    use_own_token()
    port, nodes = free_port(), []
    with tempfile.TemporaryDirectory(prefix="rlassay-two-nodes-") as name:
        folder = Path(name)
        try:
            nodes.append(start_node("--head", "--port", str(port), "--include-dashboard", "false"))
            wait_for(lambda: answers(port), 120, "the head node")
            nodes.append(start_node("--address", f"127.0.0.1:{port}"))
            time.sleep(15)  # until the second node has joined
            words = oracle_words(given, folder / "ray", folder / "ray.json")
            running = subprocess.Popen(
                [*words, "--engine", "ray", "--address", f"127.0.0.1:{port}"]
            )
            wait_for(lambda: stored(folder / "ray") or running.poll() is not None, 7_200, "a run")
            done = stored(folder / "ray")
            kill(nodes[1])
            print(f"killed the second node after {done} stored runs")
            code = running.wait()
        finally:
            for node in nodes:
                kill(node)
        local = subprocess.run(oracle_words(given, folder / "local", folder / "local.json"))
        found = [json.loads((folder / f"{which}.json").read_text()) for which in ("ray", "local")]
        same = comparable(found[0]) == comparable(found[1])
        print(f"ray ended with {code}, local with {local.returncode}; results equal: {same}")
        sys.exit(0 if same and code == local.returncode == 0 else 1)


if __name__ == "__main__":
    main()
