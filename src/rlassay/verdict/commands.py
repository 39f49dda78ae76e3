"""The command behind an advice: ready to run as printed, with the options that the file was read with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from rlassay.data.dataset import Dataset
from rlassay.data.references import reference_for
from rlassay.inspection.results import repaired_name
from rlassay.verdict.labels import Action
from rlassay.verdict.parts import BEST_PART

READING = ("--format", "--env", "--mask", "--max-episode-steps", "--observation-keys", "--map")
_GYMNASIUM = re.compile(
    r"(Hopper|HalfCheetah|Walker2d|Ant|Humanoid|HumanoidStandup|Swimmer|Reacher|Pusher"
    r"|InvertedPendulum|InvertedDoublePendulum)-v[45]|Pendulum-v1|MountainCarContinuous-v0"
)
_GYMNASIUM_DISCRETE = re.compile(r"(CartPole|Acrobot)-v1|MountainCar-v0")
DISCRETE_AGENT = "iql"  # the value-based one of discrete actions: none is calibrated
_FAMILIES = {"hopper": "Hopper-v5", "halfcheetah": "HalfCheetah-v5", "walker2d": "Walker2d-v5"}


def command_for(action: Action, data: Dataset, agent: str, scored_by: str, mendable: bool) -> str:
    """The command that follows the advice; empty for data in memory, which no command can read.

    `agent` is the value-based one to train, `scored_by` the command of the card, `mendable` whether `repair` knows a rule
    for what the inspection found.
    """
    if data.origin.format == "arrays":
        return ""
    source, reading = Path(data.origin.source), reading_options(scored_by)
    if action == "repair" and mendable:
        words = ["repair", str(source), "-o", str(repaired_name(source))]
    elif action in ("repair", "collect-more"):
        words = ["inspect", str(source)]
    elif action == "clone-best-part":
        words = ["curate", str(source), "--keep", f"{BEST_PART:g}", "--by", "return"]
        words += ["-o", str(free_name(source, "best"))]
    else:
        value_based = DISCRETE_AGENT if data.discrete_actions else agent
        return training_command(data, "bc" if action == "clone" else value_based, reading)
    return shlex.join(["rlassay", *words, *_flags(reading)])


def training_command(data: Dataset, agent: str, reading: dict[str, str]) -> str:
    """`train` where we know a simulator of the task or clone, else a copy in a format that other trainers read."""
    source, env_id = Path(data.origin.source), simulator_of(data)
    if (
        env_id is None and agent == "bc" and not data.discrete_actions
    ):  # judged on held-out episodes
        words = ["train", agent, str(source), "-o", f"runs/{source.stem}-{agent}"]
        return shlex.join(["rlassay", *words, *_flags(reading)])
    if env_id is None:
        out = free_name(source, "train", ".npz" if source.suffix == ".hdf5" else ".hdf5")
        return shlex.join(["rlassay", "convert", str(source), str(out), *_flags(reading)])
    words = ["train", agent, str(source), "--env", env_id, "-o", f"runs/{source.stem}-{agent}"]
    others = {flag: value for flag, value in reading.items() if flag != "--env"}
    return shlex.join(["rlassay", *words, *_flags(others)])


def simulator_of(data: Dataset) -> str | None:
    """Gymnasium's environment of the task, by name alone; None where it is not known."""
    env_id = data.env_id
    if not env_id:
        return None
    if data.discrete_actions:
        return env_id if _GYMNASIUM_DISCRETE.fullmatch(env_id) else None
    if _GYMNASIUM.fullmatch(env_id):
        return env_id
    reference = reference_for(env_id)
    return _FAMILIES.get(reference.family) if reference else None


def free_name(source: Path, mark: str, ending: str | None = None) -> Path:
    """A name beside the source, under an ending that we write, that nothing has yet."""
    ending = ending or (source.suffix if source.suffix in (".hdf5", ".npz") else ".hdf5")
    for number in range(1, 1_000):
        found = source.with_name(f"{source.stem}-{mark}{'' if number == 1 else number}{ending}")
        if not found.exists():
            break
    return found


def reading_options(command: str) -> dict[str, str]:
    """The reading options of the command that made the card, by flag."""
    words = shlex.split(command)
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in READING:
            found[flag] = value if equals else "".join(words[place + 1 : place + 2])
    return found


def reading_flags(command: str) -> list[str]:
    """The same as words of another command."""
    return _flags(reading_options(command))


def _flags(reading: dict[str, str]) -> list[str]:
    return [part for pair in reading.items() for part in pair]
