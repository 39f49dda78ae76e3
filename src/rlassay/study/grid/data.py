"""Datasets of the studies: rolled out from the zoo once, kept in the run store, named by what they are made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rlassay import formats
from rlassay.collect import make_dataset
from rlassay.collect.graded import RolloutSettings, describe
from rlassay.collect.recipes import RANDOM_STEP, Recipe
from rlassay.collect.sources import Actors, ZooActors
from rlassay.data.dataset import Dataset
from rlassay.engine.files import read_or_set_aside, write_json
from rlassay.runtime import state_folder
from rlassay.study.grid.plan import (
    Profile,
    conflict_recipes,
    discrete_recipes,
    fresh_recipes,
    study_recipes,
)


@dataclass(frozen=True)
class StudyData:
    """One dataset of a study: where it lies, its fingerprint, and the identity of what it was made of.

    Results are kept by identity: another processor may round a rollout differently, and the committed results still
    are those of this recipe, these actors and this simulator.
    """

    environment: str
    name: str
    path: Path
    fingerprint: str
    identity: str

    @property
    def reference(self) -> dict[str, str]:
        """How a task of the engine names it."""
        return {
            "path": str(self.path),
            "fingerprint": self.fingerprint,
            "identity": self.identity,
        }


def study_data(
    environment: str,
    names: Iterable[str],
    profile: Profile,
    zoo: Path,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, StudyData]:
    """The named datasets of an environment, made where they are missing."""
    actors = ZooActors.open(zoo, environment)
    if actors.collector == "dqn":
        recipes = discrete_recipes(actors)
    else:
        recipes = study_recipes(actors) | fresh_recipes(actors) | conflict_recipes(actors)
    settings = RolloutSettings(profile.transitions)
    return {name: stored_dataset(actors, recipes[name], settings, report) for name in names}


def stored_dataset(
    actors: Actors,
    recipe: Recipe,
    settings: RolloutSettings,
    report: Callable[[str], None] = lambda line: None,
) -> StudyData:
    """The dataset of a recipe; it is rolled out when the store does not hold it."""

    def roll_out() -> Dataset:
        report(f"rolling out {actors.env_id} {recipe.name}")
        return make_dataset(actors, recipe, settings)

    identity = identity_of(actors, recipe, settings)
    return _stored(actors.env_id, recipe.name, recipe.name, identity, roll_out)


def stored_part(whole: StudyData, part: str, choose: Callable[[Dataset], Dataset]) -> StudyData:
    """What `choose` keeps of a stored dataset, under the same name; `part` says how it is chosen."""
    return _stored(
        whole.environment,
        whole.name,
        f"{whole.name}-{part}",
        part_identity(whole.identity, part),
        lambda: choose(formats.load(whole.path)),
    )


def part_identity(whole: str, part: str) -> str:
    """That of a part of the dataset with the identity `whole`."""
    return hashlib.sha256(f"{whole} {part}".encode()).hexdigest()[:12]


def _stored(
    environment: str, name: str, stem: str, identity: str, make: Callable[[], Dataset]
) -> StudyData:
    """A dataset of the store, made where it is missing."""
    path = state_folder() / "datasets" / environment / f"{stem}-{identity}.npz"
    beside = path.with_suffix(".json")
    fingerprint = read_or_set_aside(beside, _fingerprint_in)
    if fingerprint is None or not path.exists():
        data = make()
        formats.save(data, path)
        fingerprint = data.fingerprint
        write_json(beside, {"fingerprint": fingerprint})
    return StudyData(environment, name, path, fingerprint, identity)


def _fingerprint_in(beside: Path) -> str:
    """What the file beside a dataset tells of it; anything else is damage."""
    found = json.loads(beside.read_text())["fingerprint"]
    if not isinstance(found, str) or not found:
        raise ValueError("it holds no fingerprint")
    return found


def identity_of(actors: Actors, recipe: Recipe, settings: RolloutSettings) -> str:
    """Changes with the recipe, the rollout's settings, the simulator, the actors' weights and the reference returns.

    Not with the name of the environment: uniform actions of two that have no references are one identity.
    """
    digest = hashlib.sha256(json.dumps(describe(actors, recipe, settings), sort_keys=True).encode())
    for part in recipe.parts:
        if part.step != RANDOM_STEP:
            for layer in actors.actor(part.seed, part.step).weights:
                digest.update(layer.tobytes())
    return digest.hexdigest()[:12]
