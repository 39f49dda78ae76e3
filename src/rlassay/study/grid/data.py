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
from rlassay.engine.files import read_or_set_aside, write_json
from rlassay.runtime import state_folder
from rlassay.study.grid.plan import Profile, discrete_recipes, fresh_recipes, study_recipes


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
        recipes = study_recipes(actors) | fresh_recipes(actors)
    settings = RolloutSettings(profile.transitions)
    return {name: stored_dataset(actors, recipes[name], settings, report) for name in names}


def stored_dataset(
    actors: Actors,
    recipe: Recipe,
    settings: RolloutSettings,
    report: Callable[[str], None] = lambda line: None,
) -> StudyData:
    """The dataset of a recipe; it is rolled out when the store does not hold it."""
    identity = identity_of(actors, recipe, settings)
    path = state_folder() / "datasets" / actors.env_id / f"{recipe.name}-{identity}.npz"
    beside = path.with_suffix(".json")
    fingerprint = read_or_set_aside(beside, _fingerprint_in)
    if fingerprint is None or not path.exists():
        report(f"rolling out {actors.env_id} {recipe.name}")
        data = make_dataset(actors, recipe, settings)
        formats.save(data, path)
        fingerprint = data.fingerprint
        write_json(beside, {"fingerprint": fingerprint})
    return StudyData(actors.env_id, recipe.name, path, fingerprint, identity)


def _fingerprint_in(beside: Path) -> str:
    """What the file beside a dataset tells of it; anything else is damage."""
    found = json.loads(beside.read_text())["fingerprint"]
    if not isinstance(found, str) or not found:
        raise ValueError("it holds no fingerprint")
    return found


def identity_of(actors: Actors, recipe: Recipe, settings: RolloutSettings) -> str:
    """Changes with the recipe, the rollout's settings, the simulator and the actors' weights."""
    digest = hashlib.sha256(json.dumps(describe(actors, recipe, settings), sort_keys=True).encode())
    for part in recipe.parts:
        if part.step != RANDOM_STEP:
            for layer in actors.actor(part.seed, part.step).weights:
                digest.update(layer.tobytes())
    return digest.hexdigest()[:12]
