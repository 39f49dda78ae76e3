"""Real files of other projects: read them with every command and check counts and returns by an independent reading.

    python scripts/real_data.py --extract MIRRORS --root DIR     # take the files out of git mirrors, note their commits
    python scripts/real_data.py --root DIR [--only TEXT] [--recipes] [--log FILE] [--markdown FILE]

MIRRORS holds bare or plain git folders `owner+name/repo`. None of the files is part of this repository.
"""

from __future__ import annotations

import argparse
import bz2
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq

Reading = tuple[int, int, float | None]  # episodes, transitions, mean return
SOURCES = {
    "AgileRL/AgileRL": ["data/cartpole", "data/pendulum", "tests/assets/minari_cache"],
    "HumanCompatibleAI/imitation": [
        "tests/testdata/expert_models",
        "tests/testdata/pickle_format_rollout.pkl",
    ],
    "hill-a/stable-baselines": ["stable_baselines/gail/dataset"],
    "facebookresearch/ReAgent": ["reagent/test/workflow/test_data"],
    "ray-project/ray": ["rllib/offline/tests/data/cartpole", "rllib/offline/tests/data/pendulum"],
    "YifanTian07/G1-policy-train": ["data", "meta"],
    "yipiandanxinxiangyangkai/open_50": ["data", "meta"],
    "berkeleydeeprlcourse/homework_fall2020": ["hw1/cs285/expert_data"],
    "aravindr93/hand_dapg": ["dapg/demonstrations"],
    "Unity-Technologies/ml-agents": [
        f"Project/Assets/ML-Agents/Examples/{name}/Demos"
        for name in ("3DBall", "Basic", "PushBlock")
    ],
    "st-tech/zr-obp": ["obd/random/men", "obd/bts/men"],
}


# -- independent readings ---------------------------------------------------------------------------------------------


def from_columns(episode, rewards) -> Reading:
    episodes = len(np.unique(np.asarray(episode)))
    mean = None if rewards is None else float(np.sum(rewards, dtype=float) / episodes)
    return episodes, len(episode), mean


def d3rlpy_v1(path: Path) -> Reading:
    with h5py.File(path) as file:
        ends, rewards = file["episode_terminals"][()], file["rewards"][()]
    episodes = int(ends.sum()) + int(not ends[-1])
    return episodes, len(rewards), float(rewards.sum(dtype=float) / episodes)


def minari(path: Path) -> Reading:
    with h5py.File(path / "data" / "main_data.hdf5") as file:
        rewards = [group["rewards"][()] for group in file.values()]
    return (
        len(rewards),
        sum(map(len, rewards)),
        float(np.mean([r.sum(dtype=float) for r in rewards])),
    )


def imitation(path: Path) -> Reading:
    with np.load(path) as archive:
        parts = np.split(archive["rews"], archive["indices"])
    return len(parts), sum(map(len, parts)), float(np.mean([part.sum() for part in parts]))


def stable_baselines(path: Path) -> Reading:
    with np.load(path) as archive:
        return (
            int(archive["episode_starts"].sum()),
            len(archive["obs"]),
            float(archive["episode_returns"].mean()),
        )


def rllib_json(path: Path) -> Reading:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    if "type" in records[0]:
        pairs = [p for r in records for p in zip(r["eps_id"], r["rewards"], strict=True)]
    else:
        pairs = [(r["eps_id"], r["rewards"]) for r in records]
    return from_columns([e for e, _ in pairs], [r for _, r in pairs])


def rllib_parquet(path: Path) -> Reading:
    table = pq.read_table(sorted(path.glob("*.parquet")), columns=["eps_id", "rewards"])
    return from_columns(table["eps_id"].to_numpy(), table["rewards"].to_numpy())


def reagent(path: Path) -> Reading:
    """Rows whose predecessor by number is missing begin another part of an episode, as the reader says."""
    with (bz2.open if path.suffix == ".bz2" else open)(path, "rt") as file:
        rows = sorted(
            (r["mdp_id"], r["sequence_number"], r["reward"]) for r in map(json.loads, file)
        )
    known = {(name, number) for name, number, _ in rows}
    parts = sum((name, number - 1) not in known for name, number, _ in rows)
    return parts, len(rows), float(sum(reward for *_, reward in rows) / parts)


def lerobot(path: Path) -> Reading:
    episodes = np.concatenate(
        [
            pq.read_table(file, columns=["episode_index"])["episode_index"].to_numpy()
            for file in sorted(path.glob("data/*/*.parquet"))
        ]
    )
    return from_columns(episodes, None)


def unity(path: Path) -> Reading:
    """The recording's own description: episodes, and steps without the states behind their ends."""
    content = path.read_bytes()[1:33]
    steps = re.search(rb"\x18(.+?)\x20", content, re.DOTALL)
    episodes = content[steps.end()]  # type: ignore[union-attr]
    count = sum((byte & 127) << 7 * i for i, byte in enumerate(steps.group(1)))  # type: ignore[union-attr]
    mean = np.frombuffer(content[steps.end() + 2 : steps.end() + 6], "<f4")[0]  # type: ignore[union-attr]
    return int(episodes), count - int(episodes), float(mean)


def open_bandit(path: Path) -> Reading:
    with open(path) as file:
        names = file.readline().strip().split(",")
        clicks = [int(line.split(",")[names.index("click")]) for line in file]
    return len(clicks), len(clicks), float(np.mean(clicks))


# -- the corpus -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """Files of one kind: where they lie, how they are read here, and what the commands are told."""

    repository: str
    pattern: str
    read: Callable[[Path], Reading] | None  # None: refused
    options: list[str] = field(default_factory=list)
    tolerance: float = 1e-6


BANDIT = "observations=user-item_affinity_*+position,actions=item_id,rewards=click,terminals=1"
CORPUS = [
    Entry("AgileRL/AgileRL", "data/*/*.h5", d3rlpy_v1),
    Entry("AgileRL/AgileRL", "tests/assets/minari_cache/D4RL/door/human-v2", minari),
    Entry(
        "HumanCompatibleAI/imitation",
        "tests/testdata/expert_models/*/rollouts/final.npz",
        imitation,
    ),
    Entry("HumanCompatibleAI/imitation", "tests/testdata/*.pkl", None),
    Entry("hill-a/stable-baselines", "stable_baselines/gail/dataset/*.npz", stable_baselines),
    Entry("ray-project/ray", "rllib/offline/tests/data/cartpole/*.json", rllib_json),
    Entry("ray-project/ray", "rllib/offline/tests/data/cartpole/*.jsonl", rllib_json),
    Entry("ray-project/ray", "rllib/offline/tests/data/cartpole/cartpole-v1_large", rllib_parquet),
    Entry("ray-project/ray", "rllib/offline/tests/data/pendulum/pendulum-v1_*", rllib_parquet),
    Entry("ray-project/ray", "rllib/offline/tests/data/pendulum/*.json", None),
    Entry("ray-project/ray", "rllib/offline/tests/data/pendulum/*.zip", None),
    Entry(
        "facebookresearch/ReAgent", "reagent/test/workflow/test_data/*/*_training*.json*", reagent
    ),
    Entry("YifanTian07/G1-policy-train", ".", lerobot),
    Entry("yipiandanxinxiangyangkai/open_50", ".", lerobot),
    Entry("berkeleydeeprlcourse/homework_fall2020", "hw1/cs285/expert_data/*.pkl", None),
    Entry("aravindr93/hand_dapg", "dapg/demonstrations/*.pickle", None),
    Entry(
        "Unity-Technologies/ml-agents",
        "Project/Assets/ML-Agents/Examples/*/Demos/*.demo",
        unity,
        tolerance=0.02,
    ),
    Entry("st-tech/zr-obp", "obd/*/men/men.csv", open_bandit, ["--map", BANDIT]),
]


def extract(mirrors: Path, root: Path) -> None:
    """Take the files out of the mirrors; blobs that a mirror lacks are named and left out."""
    commits = {}
    for repository, places in SOURCES.items():
        folder = repository.replace("/", "+")
        git = mirrors / folder / "repo"
        git = git / ".git" if (git / ".git").is_dir() else git
        if not git.is_dir():
            print(f"no mirror of {repository}", file=sys.stderr)
            continue
        call = ["git", f"--git-dir={git}"]
        commits[repository] = _output([*call, "rev-parse", "HEAD"]).strip()
        for name in _output(
            [*call, "ls-tree", "-r", "--name-only", "HEAD", "--", *places]
        ).splitlines():
            done = subprocess.run([*call, "show", f"HEAD:{name}"], capture_output=True, check=False)
            if done.returncode:
                print(f"missing from the mirror: {repository} {name}", file=sys.stderr)
                continue
            target = root / folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(done.stdout)
    (root / "MANIFEST.json").write_text(json.dumps(commits, indent=1) + "\n")


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# -- commands ---------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    repository: str
    path: str
    format: str = ""
    episodes: str = ""
    transitions: str = ""
    mean: str = ""
    status: str = ""
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


def rlassay(*words: str, cwd: Path | None = None) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "rlassay", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def examine(entry: Entry, path: Path, root: Path, recipes: bool) -> Row:
    folder = root / entry.repository.replace("/", "+")
    row = Row(entry.repository, str(path.relative_to(folder)))
    started = time.perf_counter()
    if entry.read is None:
        refused(row, path, recipes)
    else:
        commands(row, entry, path)
    row.seconds = time.perf_counter() - started
    return row


def commands(row: Row, entry: Entry, path: Path) -> None:
    """inspect, score, curate and convert; each must end well, and the numbers must be those of the other reading."""
    code, out, err = rlassay("inspect", str(path), *entry.options, "--json", "-")
    if code not in (0, 1) or not out.startswith("{"):
        row.wrong.append(f"inspect: {err.strip()[:200]}")
        return
    found = json.loads(out)
    row.status, row.format = found["status"], found["dataset"].get("format", "")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "copy.npz"
        code, _, err = rlassay("convert", str(path), str(target), *entry.options)
        if code:
            row.wrong.append(f"convert: {err.strip()[-200:]}")
            return
        compare(row, entry, path, target)
        steps = {
            "score": [
                "score",
                str(path),
                *entry.options,
                "--preset",
                "fast",
                "--seeds",
                "1",
                "--json",
                "-",
            ],
            "curate": [
                "curate",
                str(path),
                *entry.options,
                "--keep",
                "0.5",
                "--dry-run",
                "--preset",
                "fast",
            ],
        }
        without = row.mean == "none"  # rewards: then a score of movement ranks
        steps["curate"] += ["--by", "disagreement" if without else "return"]
        steps["curate"] += ["--scores", "saco" if without else "return"]
        if row.episodes == "1":  # no share of one episode can be chosen
            del steps["curate"]
        for name, words in steps.items():
            code, _, err = rlassay(*words, cwd=Path(folder))
            if code:
                row.wrong.append(f"{name}: {err.strip()[-200:]}")


def compare(row: Row, entry: Entry, path: Path, copy: Path) -> None:
    """Against the independent reading, and the copy against itself."""
    import rlassay as package

    data = package.load(copy)
    episodes, transitions, mean = entry.read(path)  # type: ignore[misc]
    own = None if data.rewards is None else float(data.episode_returns.mean())
    row.episodes, row.transitions = f"{data.episode_count:,}", f"{len(data):,}"
    row.mean = "none" if own is None else f"{own:.2f}"
    if (data.episode_count, len(data)) != (episodes, transitions):
        row.wrong.append(f"counts {episodes} {transitions}")
    if (own is None) != (mean is None) or (
        own is not None
        and mean is not None
        and abs(own - mean) > entry.tolerance * max(1, abs(mean))
    ):
        row.wrong.append(f"mean return {mean}")


def refused(row: Row, path: Path, recipes: bool) -> None:
    """One sentence; with `recipes` its command is run, and what it writes is read."""
    code, _, err = rlassay("inspect", str(path))
    lines = err.strip().splitlines()
    row.status, row.format = "refused", kind_of(err)
    if code != 2 or len(lines) != 1:
        row.wrong.append(f"not refused in one sentence: {err.strip()[:200]}")
        return
    recipe = re.search(r"python -c .*$", lines[0])
    if recipes and recipe:
        with tempfile.TemporaryDirectory() as folder:
            command = recipe.group().replace("python", shlex.quote(sys.executable), 1)
            done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False)
            written = next(Path(folder).glob("plain.*"), None)
            if (
                done.returncode
                or written is None
                or rlassay("inspect", str(written))[0] not in (0, 1)
            ):
                row.wrong.append(f"recipe: {done.stderr.decode()[-200:]}")
                return
            import rlassay as package

            data = package.load(written)
        row.status = "refused, recipe works"
        row.episodes, row.transitions = f"{data.episode_count:,}", f"{len(data):,}"
        row.mean = f"{data.episode_returns.mean():.2f}"


def kind_of(message: str) -> str:
    marks = {
        "LZ4": "RLlib, packed",
        "is a pickle": "pickle",
        "not an archive": "zip",
        "Git LFS": "LFS pointer",
    }
    return next((name for mark, name in marks.items() if mark in message), "")


def markdown(rows: list[Row], commits: dict[str, str]) -> str:
    head = "| file | format | episodes | transitions | mean return | inspection | seconds |\n|---|---|---:|---:|---:|---|---:|\n"
    lines = [
        f"| {row.repository} `{row.path}` | {row.format} | {row.episodes} | {row.transitions} | {row.mean} | "
        f"{'; '.join(['WRONG', *row.wrong]) if row.wrong else row.status} | {row.seconds:.0f} |\n"
        for row in rows
    ]
    used = {row.repository for row in rows}
    places = "".join(
        f"- {name} at `{commit}`\n" for name, commit in commits.items() if name in used
    )
    return head + "".join(lines) + f"\n{places}"


def read_log(log: Path | None) -> dict[tuple[str, str], Row]:
    """Files that an earlier run has examined and found right."""
    if log is None or not log.exists():
        return {}
    rows = [Row(**json.loads(line)) for line in log.read_text().splitlines()]
    return {(row.repository, row.path): row for row in rows if not row.wrong}


def append_log(log: Path | None, row: Row) -> None:
    if log is not None:
        with open(log, "a") as file:
            file.write(json.dumps(vars(row)) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--root", type=Path, required=True, help="where the files are")
    parser.add_argument("--extract", type=Path, help="git mirrors to take the files from first")
    parser.add_argument("--only", default="", help="only paths that contain this text")
    parser.add_argument(
        "--recipes", action="store_true", help="run printed recipes; they load the corpus's pickles"
    )
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument(
        "--log", type=Path, help="one line a file; a log continues where it stopped"
    )
    given = parser.parse_args()
    if given.extract:
        extract(given.extract, given.root)
        return
    os.environ.setdefault("RLASSAY_STORE", tempfile.mkdtemp())
    manifest = given.root / "MANIFEST.json"
    commits = json.loads(manifest.read_text()) if manifest.exists() else {}
    rows = []
    known = read_log(given.log)
    for entry in CORPUS:
        folder = given.root / entry.repository.replace("/", "+")
        found = [folder] if entry.pattern == "." else sorted(folder.glob(entry.pattern))
        for path in (p for p in found if p.exists() and given.only in str(p)):
            row = known.get((entry.repository, str(path.relative_to(folder))))
            if row is None:
                row = examine(entry, path, given.root, given.recipes)
                append_log(given.log, row)
            rows.append(row)
            print(*vars(row).values(), sep=" | ", flush=True)
    if given.markdown:
        given.markdown.write_text(markdown(rows, commits))
    sys.exit(any(row.wrong for row in rows))


if __name__ == "__main__":
    main()
