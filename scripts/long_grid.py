"""Run the grid of the long oracle, or one that stands beside it, from a clone at a fixed commit: it outlives changes here.

    python scripts/long_grid.py            # clone, install, run what is missing; stop with Ctrl-C, start again at will
    python scripts/long_grid.py --collect  # bring its tables into results/long/, to be committed
    python scripts/long_grid.py conflict   # the same for another study: conflict, parts or worlds

The commit is the one in `results/<study>/grid.json`, which the first start writes. The clone has its own virtual
environment with the versions that rolled out the committed data: they are part of its identity.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
STUDIES = ("long", "conflict", "parts", "worlds")
TABLES = ("runs.csv", "runs.json", "curves.csv", "curves.json")
FURTHER = ("references.csv", "references.json")  # of the other worlds
PINNED = ("jax", "numpy", "gymnasium", "mujoco")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", nargs="?", choices=STUDIES, default="long")
    parser.add_argument(
        "--folder", type=Path, help="where the clone lives; default: in the run store"
    )
    parser.add_argument("--collect", action="store_true", help="copy the tables into results/")
    asked = parser.parse_args()
    tables = ROOT / "results" / asked.study
    plan = read_plan(tables / "grid.json")
    clone = asked.folder or state_folder() / "grid" / plan["commit"]
    if asked.collect:
        collect(clone, asked.study)
        return
    python = prepare(clone, plan)
    copy_tables(tables, clone / "results" / asked.study)
    command = [str(python), "-P", "-m", "rlassay", "study", asked.study, "--run"]
    sys.exit(run_beside(command, clone))


def run_beside(command: list[str], folder: Path) -> int:
    """Run at the lowest priority; Ctrl-C and SIGTERM reach the command, which keeps what it has.

    Linux may share the processor between sessions first and count niceness within one only, so the command gets a session
    of its own, and that is made nice as well.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    running = subprocess.Popen(
        command, cwd=folder, start_new_session=True, preexec_fn=lambda: os.nice(15)
    )
    with contextlib.suppress(OSError):
        Path(f"/proc/{running.pid}/autogroup").write_text("15")
    try:
        return running.wait()
    except KeyboardInterrupt:
        running.terminate()  # not SIGINT, which a shell makes its background jobs ignore
        return running.wait()


def collect(clone: Path, study: str) -> None:
    """Tables, and of the other worlds the actors that were trained there."""
    copy_tables(clone / "results" / study, ROOT / "results" / study)
    actors = clone / "zoo" / "worlds"
    if study == "worlds" and actors.exists():
        shutil.copytree(actors, ROOT / "zoo" / "worlds", dirs_exist_ok=True)


def read_plan(path: Path) -> dict:
    """The commit and the versions of the grid; written down at the first start."""
    if not path.exists():
        versions = json.loads((ROOT / "results" / "table1" / "runs.json").read_text())["software"]
        plan = {
            "commit": git("rev-parse", "HEAD"),
            "versions": {name: versions[name] for name in PINNED},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(plan, indent=1) + "\n")
    return json.loads(path.read_text())


def prepare(clone: Path, plan: dict) -> Path:
    """The clone's Python, installed where it is missing."""
    if not clone.exists():
        git("clone", "--quiet", str(ROOT), str(clone))
        git("-C", str(clone), "checkout", "--quiet", plan["commit"])
    python, ready = clone / ".venv" / "bin" / "python", clone / ".venv" / ".ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(clone / ".venv")], check=True)
        pins = [f"{name}=={version}" for name, version in plan["versions"].items()]
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "-e", f"{clone}[sim,plot]", *pins], check=True
        )
        ready.touch()
    return python


def copy_tables(source: Path, target: Path) -> None:
    """The raw tables and what stands beside them; the one with more finished runs wins."""
    if finished(source) <= finished(target):
        return
    target.mkdir(parents=True, exist_ok=True)
    for name in (*TABLES, *FURTHER):
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
    print(f"{finished(target)} finished runs in {target}")


def finished(folder: Path) -> int:
    import csv

    table = folder / "runs.csv"
    if not table.exists():
        return 0
    with open(table, newline="") as file:
        return sum(bool(row["return"]) for row in csv.DictReader(file))


def state_folder() -> Path:
    sys.path.insert(0, str(ROOT / "src"))
    from rlassay.runtime import state_folder

    return state_folder()


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main()
