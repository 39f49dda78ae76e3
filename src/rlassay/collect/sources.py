"""Where trained actors come from: the folders of online runs, or the zoo that ships with the project.

Both answer the same three questions: which seeds are there, which actor a seed had at a step, and how its learning
curve went.
"""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rlassay.errors import DatasetError, SettingsError
from rlassay.policy import Policy

MANIFEST = "manifest.json"
CURVE = "curve.csv"  # of an online run
ZOO_REMEDY = "run from a checkout of the project, or name its zoo with --zoo DIR"


class Actors(Protocol):
    """Trained actors of one environment."""

    @property
    def kind(self) -> str: ...

    @property
    def env_id(self) -> str: ...

    @property
    def collector(self) -> str: ...

    def seeds(self) -> list[int]: ...

    def actor(self, seed: int, step: int) -> Policy: ...

    def steps(self, seed: int) -> list[int]: ...

    def curve(self, seed: int) -> list[tuple[int, float]]: ...


@dataclass(frozen=True)
class RunActors:
    """Actors of finished or running online runs, one folder a seed."""

    env_id: str
    folders: dict[int, Path]
    kind: str = "runs"
    collector: str = "td3"  # what trained them

    def seeds(self) -> list[int]:
        return sorted(self.folders)

    def actor(self, seed: int, step: int) -> Policy:
        return Policy.load(self.folders[seed] / "actors" / f"step{step}.safetensors")

    def steps(self, seed: int) -> list[int]:
        names = (self.folders[seed] / "actors").glob("step*.safetensors")
        return sorted(int(name.stem.removeprefix("step")) for name in names)

    def curve(self, seed: int) -> list[tuple[int, float]]:
        return read_curve(self.folders[seed] / CURVE)

    def replay(self, seed: int) -> Path:
        return self.folders[seed] / "replay.bin"


@dataclass(frozen=True)
class ZooActors:
    """Actors under `zoo/<env-id>/`, described by `zoo/manifest.json`."""

    env_id: str
    folder: Path
    manifest: dict[str, Any]
    kind: str = "zoo"

    @classmethod
    def open(cls, folder: Path, env_id: str) -> ZooActors:
        """Read the manifest; an environment the zoo lacks is refused with those it has."""
        manifest = load_manifest(folder)
        if env_id not in manifest["environments"]:
            raise SettingsError(
                f"the zoo has no actors of {env_id}",
                allowed=sorted(manifest["environments"]),
                remedy="leave --from-zoo out to train them",
            )
        return cls(env_id, folder, manifest)

    @property
    def collector(self) -> str:
        return self.manifest["environments"][self.env_id].get("collector", "td3")

    @property
    def runs(self) -> dict[str, Any]:
        """Our own runs, and those of other algorithms under numbers of their own."""
        environment = self.manifest["environments"][self.env_id]
        return {**environment.get("others", {}), **environment["runs"]}

    def seeds(self) -> list[int]:
        """Of our own runs: what recipes are made of unless they ask for others."""
        own = self.manifest["environments"][self.env_id]["runs"]
        return sorted(int(seed) for seed, run in own.items() if not run.get("replaced_by"))

    def others(self) -> list[int]:
        """Numbers of the runs of other algorithms."""
        return sorted(int(n) for n in self.manifest["environments"][self.env_id].get("others", {}))

    def mean_return(self, seed: int, step: int) -> float:
        """Of an actor, without noise, as the manifest says."""
        return float(self.runs[str(seed)]["actors"][str(step)]["mean_return"])

    def actor(self, seed: int, step: int) -> Policy:
        """One actor, once its file is the one the manifest describes (a manifest of version 0.1 has no hashes)."""
        path = actor_path(self.folder, self.env_id, seed, step)
        policy = Policy.load(path)
        wanted = self.runs[str(seed)]["actors"].get(str(step), {}).get("sha256")
        if wanted is not None and file_hash(path) != wanted:
            raise DatasetError(
                f"{path} is not the actor that {MANIFEST} describes",
                remedy="take both from one checkout of the project",
            )
        return policy

    def steps(self, seed: int) -> list[int]:
        return sorted(int(step) for step in self.runs[str(seed)]["actors"])

    def curve(self, seed: int) -> list[tuple[int, float]]:
        return [(int(step), float(value)) for step, value in self.runs[str(seed)]["curve"]]


def actor_path(zoo: Path, env_id: str, seed: int | str, step: int | str) -> Path:
    """Where a zoo keeps an actor."""
    return zoo / env_id / f"seed{seed}-step{step}.safetensors"


def file_hash(path: Path) -> str:
    """The sha256 of a file, as manifests name it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a zoo; a file without environments, runs, actors and curves is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        runs = [run for each in manifest["environments"].values() for run in each["runs"].items()]
        whole = all(int(seed) >= 0 and run["actors"].keys() and run["curve"] for seed, run in runs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        whole, manifest = False, {}
    if not whole:
        raise DatasetError(
            f"{folder} holds no zoo",
            allowed=f"a folder whose {MANIFEST} describes actors and their curves",
            remedy=ZOO_REMEDY,
        )
    return manifest


def read_curve(path: Path) -> list[tuple[int, float]]:
    """(step, mean return) of every evaluation in a run's `curve.csv`."""
    with open(path, newline="") as file:
        return [(int(row["step"]), float(row["mean_return"])) for row in csv.DictReader(file)]
