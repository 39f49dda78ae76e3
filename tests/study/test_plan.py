"""What the studies plan can be made from the zoo of this checkout."""

from pathlib import Path

import pytest

from rlassay.collect.recipes import RANDOM_STEP
from rlassay.collect.sources import ZooActors
from rlassay.study import plan

ZOO = Path(__file__).parents[2] / "zoo"


def test_fresh_mixtures_share_no_policy_set_with_the_first():
    actors = ZooActors.open(ZOO, "Hopper-v5")
    first, fresh = plan.study_recipes(actors), plan.fresh_recipes(actors)
    assert tuple(fresh) == plan.FRESH_MIXTURES
    assert not {recipe.parts for recipe in fresh.values()} & {recipe.parts for recipe in first.values()}  # fmt: skip


@pytest.mark.parametrize("environment", plan.ENVIRONMENTS)
def test_the_zoo_holds_every_policy_of_the_studies(environment):
    actors = ZooActors.open(ZOO, environment)
    for recipe in (*plan.study_recipes(actors).values(), *plan.fresh_recipes(actors).values()):
        for part in recipe.parts:
            assert part.step == RANDOM_STEP or part.step in actors.steps(part.seed), recipe.name
