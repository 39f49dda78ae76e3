"""What the studies are about: environments, datasets, agents and budgets, stated before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlassay.collect.recipes import Part, Recipe, level_recipes, mix_recipes
from rlassay.collect.settings import PAPER_LEVELS
from rlassay.collect.sources import Actors, ZooActors
from rlassay.critic.settings import CriticSettings

# Of every score unless a row says another; the committed scores were computed with it.
DEFAULT_DISCOUNT = CriticSettings().discount
ENVIRONMENTS = ("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5")
AGENTS = ("bc", "td3bc", "iql", "awac", "onestep", "xql", "cql")  # cheapest and most telling first

LEVELS = tuple(f"level-{step // 1000}k" if step else "level-random" for step in PAPER_LEVELS)
SPLITS = ("random", "medium", "medium-replay", "medium-expert", "expert")
RUN_MIXTURES = ("medium-replay", "medium-expert", "run-mix")  # checkpoints of one training run
SEED_MIXTURES = ("level-1000k", "seed-mix")  # unrelated policies: other seeds
ORACLE_DATASETS = (
    "random",
    "medium-expert",
    "seed-mix",
    "level-1000k",
    "medium-replay",
    "level-200k",
    "run-mix",
    "level-50k",
    "expert",
    "medium",
)
RUN_MIX_STEPS = (50_000, 200_000, 600_000, max(PAPER_LEVELS))
FRESH_MIXTURES = ("fresh-replay", "fresh-expert-mix", "fresh-run-mix", "fresh-seed-mix")
# Half our actor, half one of another algorithm: of the most like and of the least like return.
CONFLICT_MIXTURES = ("conflict-similar", "conflict-different")
CONFLICT_STEPS = PAPER_LEVELS[2:]  # of our actors among which the partners are looked for
PANELS: Mapping[str, tuple[str, ...]] = {
    "levels": (*LEVELS, "random"),  # the split `random` is level 0
    "splits": SPLITS,
    "mixtures": tuple(dict.fromkeys((*RUN_MIXTURES, *SEED_MIXTURES))),
    "all": tuple(dict.fromkeys((*LEVELS, *SPLITS, *RUN_MIXTURES, *SEED_MIXTURES))),
}
# The long oracle's grid: all mixtures, then what else the first study has trained on.
MIXTURES = (*PANELS["mixtures"], *FRESH_MIXTURES)
OTHERS = tuple(name for name in ORACLE_DATASETS if name not in MIXTURES)

# The study of discrete actions: graded levels, and mixtures; the weaker policy of `seed-mix` is of the other run.
DISCRETE_ENVIRONMENTS = ("CartPole-v1", "Acrobot-v1")
DISCRETE_AGENTS = ("bc", "dqn", "cql", "iql", "awac", "onestep")
DISCRETE_MIXTURES = ("medium-replay", "medium-expert", "seed-mix")
DISCRETE_DATASETS = ("random", "medium-expert", "seed-mix", "medium-replay", "medium", "expert")
DISCRETE_WEAKER = {"CartPole-v1": 12_000, "Acrobot-v1": 3_000}
DISCRETE_CHANGES = {"updates": 12_000, "eval_every": 3_000, "eval_episodes": 20}  # of `lite`


@dataclass(frozen=True)
class Profile:
    """How large the data and how many seeds; the agents' settings are those of the oracle's profile of this name."""

    name: str
    transitions: int
    score_seeds: int
    oracle_seeds: int


LITE = Profile(name="lite", transitions=100_000, score_seeds=3, oracle_seeds=1)
PAPER = Profile(name="paper", transitions=1_000_000, score_seeds=3, oracle_seeds=3)
LONG = Profile(name="long", transitions=100_000, score_seeds=3, oracle_seeds=1)
DISCRETE = Profile(name="lite", transitions=50_000, score_seeds=1, oracle_seeds=1)
PROFILES = {"lite": LITE, "paper": PAPER}  # the studies `long` and `discrete` have their own


def study_recipes(actors: Actors) -> dict[str, Recipe]:
    """Every dataset of the studies by name: the seven levels, D4RL's five splits, and two further mixtures."""
    first, second = actors.seeds()[:2]
    last = max(PAPER_LEVELS)
    mixtures = [
        Recipe(
            "run-mix",
            tuple(Part(first, step) for step in RUN_MIX_STEPS),
            "four checkpoints of one run in equal shares",
        ),
        Recipe(
            "seed-mix",
            (Part(first, last), Part(second, 200_000)),
            "a strong and a weaker policy of two unrelated runs, half each",
        ),
    ]
    recipes = [
        *level_recipes(actors.seeds()[:2], PAPER_LEVELS),
        *mix_recipes(actors, first),
        *mixtures,
    ]
    return {recipe.name: recipe for recipe in recipes}


def fresh_recipes(actors: Actors) -> dict[str, Recipe]:
    """Mixtures mostly of the other training run: what is proposed after the first results is tested on these."""
    first, second = actors.seeds()[:2]
    last = max(PAPER_LEVELS)
    parts = {
        "fresh-replay": tuple(Part(second, step) for step in (50_000, 200_000, 400_000)),
        "fresh-expert-mix": (Part(second, 200_000), Part(second, last)),
        "fresh-run-mix": tuple(Part(second, step) for step in RUN_MIX_STEPS),
        "fresh-seed-mix": (Part(second, last), Part(first, 200_000)),
    }
    return {
        name: Recipe(name, parts[name], "a mixture of the second run") for name in FRESH_MIXTURES
    }


def conflict_recipes(actors: ZooActors) -> dict[str, Recipe]:
    """Mixtures with the actor of another algorithm; none where the zoo has none of the environment.

    Partners are our actors of both runs from 200,000 steps on whose return, as the manifest has it, lies nearest to and
    farthest from the other's; of equals the first run's and the earlier one.
    """
    if not actors.others():
        return {}
    number = actors.others()[0]
    other = Part(number, max(actors.steps(number)))
    level = actors.mean_return(other.seed, other.step)
    ours = [Part(seed, step) for seed in actors.seeds()[:2] for step in CONFLICT_STEPS]
    distances = [abs(actors.mean_return(part.seed, part.step) - level) for part in ours]
    partners = (
        ours[distances.index(min(distances))],
        ours[distances.index(max(distances))],
    )
    return {
        name: Recipe(name, (partner, other), "half our actor, half one of another algorithm")
        for name, partner in zip(CONFLICT_MIXTURES, partners, strict=True)
    }


def discrete_recipes(actors: Actors) -> dict[str, Recipe]:
    """D4RL's five splits of the first run, and a mixture of both runs."""
    first, second = actors.seeds()[:2]
    strong = Part(first, max(actors.steps(first)))
    weaker = Part(second, DISCRETE_WEAKER[actors.env_id])
    mixed = Recipe("seed-mix", (strong, weaker), "a strong and a weaker policy of two runs")
    return {recipe.name: recipe for recipe in (*mix_recipes(actors, first), mixed)}
