"""Putting a card together: scores, diagnosis, series, inspection, software, warnings, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlassay import settings as change_settings
from rlassay.critic.diagnosis import warnings_of
from rlassay.data.dataset import Dataset
from rlassay.data.discrete import numbers_of, unseen_actions, whole_numbers
from rlassay.data.rewards import only_reward
from rlassay.errors import DatasetError
from rlassay.inspection import inspect
from rlassay.results.card import Caution, Score, Scorecard
from rlassay.results.provenance import card_software, describe_data
from rlassay.runtime import one_thread_a_product
from rlassay.scoring.assessment import Assessment
from rlassay.scoring.measure import Missing, measure_all
from rlassay.scoring.series import row_scores, series
from rlassay.scoring.unrewarded import demonstrated
from rlassay.transport.settings import RELATIVE_EPSILON
from rlassay.verdict.verdict import verdict_of

MOST_NAMED = 10  # unseen actions that a warning lists
TINY = 1_000  # transitions below which learned scores rest on little
UNEXPLAINED = 0.9  # cloning error from which the state says next to nothing about the action


@one_thread_a_product()
def make_card(
    assessment: Assessment, names: Sequence[str], command: str, refined: bool = False
) -> Scorecard:
    """Measure the named scores and describe how they came about; `refined` adds the clone in a learned world."""
    data = assessment.whole
    scores, missing = measure_all(assessment, names)
    if not scores:
        asked = [each for each in missing if each[1].code != "no_rewards"]
        name, reason = (asked or missing)[0]  # where some need no reward, why they are missing, too
        raise DatasetError(
            f"none of the scores asked for can be computed from {data.origin.source}: {name} is not given: {reason.what}",
            remedy=reason.remedy,
        )
    inspection = inspect(data).to_dict()
    warnings = [*data_warnings(data), *assessment_warnings(assessment), *_unavailable(missing)]
    warnings += _cloning_warnings(scores)
    measured, doubts = _refined(assessment) if refined else ({}, [])
    verdict, more = verdict_of(
        data, assessment.reference, inspection, command, measured=measured or None
    )
    figures = series(assessment)
    demonstrations: dict[str, Any] = {}
    if assessment.sample is None:  # episodes are numbered, and the sample's numbers are others
        with assessment.clock.phase("scores"):
            demonstrations = demonstrated(assessment.data, command, assessment.seeds[0])
    return Scorecard(
        dataset={**describe(data), **learned_from(assessment)},
        settings={**used_settings(assessment), "scores": list(names)},
        scores=scores,
        diagnosis=diagnosis(assessment) | ({"refine": measured} if measured else {}),
        series=figures,
        inspection=inspection,
        command=command,
        software=card_software(),
        warnings=(*warnings, *doubts, *more),
        seconds=assessment.clock.seconds(),
        verdict=verdict,
        demonstrations=demonstrations,
    )


def learned_from(assessment: Assessment) -> dict[str, Any]:
    """The size of the sample, where the data did not fit and a sample is what was learned from."""
    if assessment.sample is None:
        return {}
    lengths = assessment.whole.episode_lengths[assessment.sample]
    return {"learned_from": {"episodes": len(lengths), "transitions": int(lengths.sum())}}


def _refined(assessment: Assessment) -> tuple[dict[str, Any], list[Caution]]:
    from rlassay.scoring.refine import refine

    with assessment.clock.phase("scores", compiles=True):
        return refine(assessment.data, assessment.seeds[0])


def describe(data: Dataset) -> dict[str, Any]:
    """The card's block on the dataset."""
    return {
        "source": data.origin.source,
        "format": data.origin.format,
        **describe_data(data),
        "observation_dim": data.observation_dim,
        "action_dim": data.action_dim,
        "env_id": data.env_id,
        **_discrete(data),
        **({"origin": dict(data.origin.pinned)} if data.origin.pinned else {}),
    }


def _discrete(data: Dataset) -> dict[str, Any]:
    """How many actions there are, and who says so: the file, its environment, or the data."""
    if not data.discrete_actions:
        return {}
    try:
        numbers, source = numbers_of(data)
    except DatasetError:
        return {"discrete_actions": None}
    return {"discrete_actions": {**numbers._asdict(), "source": source}}


def used_settings(assessment: Assessment) -> dict[str, Any]:
    """Every setting that was used, by its key, and what is not a setting: preset, seeds, reference."""
    reference = assessment.reference
    return {
        **change_settings.flatten(assessment.settings),
        "preset": assessment.plan.preset,
        "seeds": list(assessment.seeds),
        "reference": None if reference is None else [reference.low, reference.high],
        "pooled": bool(assessment.shared.epsilons),
        **used_steps(assessment),
    }


def used_steps(assessment: Assessment) -> dict[str, int]:
    """How far the fits went that end once they have settled."""
    computed, found = assessment.computed, {}
    if assessment.settings.critic.settle and computed.critic is not None:
        found["critic.steps_used"] = computed.critic.critic.diagnosis["steps"]
    if computed.cloned is not None:
        found["baselines.fit_steps_used"] = computed.cloned.steps
    return found


def diagnosis(assessment: Assessment) -> dict[str, Any]:
    """What critic and transport know about their own quality; empty parts where nothing was computed."""
    found: dict[str, Any] = {"critic": {}, "transport": {}}
    if (fitted := assessment.computed.critic) is not None:
        found["critic"] = dict(fitted.critic.diagnosis)
        found["critic"]["discount"] = assessment.settings.critic.discount
        advantage = row_scores(assessment)["advantage"]
        found["critic"]["advantage_deviation"] = float(advantage.std())
    if assessment.computed.transport:
        found["transport"] = _transport_diagnosis(assessment)
    return found


def _transport_diagnosis(assessment: Assessment) -> dict[str, Any]:
    settings = assessment.settings.transport
    found: dict[str, Any] = {
        "estimator": settings.estimator,
        "cost": assessment.transport_settings(settings.estimator).cost,
        "random_policy": _random_policy(assessment),
        "epsilon_rule": epsilon_rule(assessment, settings.estimator),
    }
    for estimator, results in assessment.computed.transport.items():
        shared = {name for result in results for name in result.diagnosis}
        found[estimator] = {
            "cost": results[0].cost,
            "epsilon": float(np.mean([result.epsilon for result in results])),
            "epsilon_rule": epsilon_rule(assessment, estimator),
            "converged": _all_converged([result.converged for result in results]),
            **{
                name: _mean([result.diagnosis[name] for result in results])
                for name in sorted(shared)
            },
        }
    return found


def _random_policy(assessment: Assessment) -> str:
    if assessment.shared.scaling.numbers is None:
        return assessment.settings.transport.random_policy
    return "uniform"  # of discrete actions there is no other


def epsilon_rule(assessment: Assessment, estimator: str) -> str:
    """How epsilon came about: two cards compare only when the rules agree."""
    if assessment.settings.transport.epsilon is not None:
        return f"absolute {assessment.settings.transport.epsilon:g}"
    pooled = ", pooled" if assessment.shared.epsilons else ""
    return f"{RELATIVE_EPSILON[estimator]:g} sd of the cost{pooled}"


def _all_converged(verdicts: list[bool | None]) -> bool | None:
    return None if None in verdicts else all(verdicts)


def _mean(values: list[Any]) -> Any:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return float(np.mean(values))
    return values[0]


# -- warnings: what the reader must know -----------------------------------------------------------------------------


def data_warnings(data: Dataset) -> list[Caution]:
    """Size, flags, rewards and bounds."""
    found = [Caution(note.code, note.message, note.remedy) for note in data.origin.notes]
    if len(data) < TINY:
        found.append(
            Caution(
                "tiny_dataset",
                f"{len(data):,} transitions are few; learned scores rest on {TINY:,} or more",
                "trust counted scores only, or collect more data",
            )
        )
    if data.episode_count == 1:
        found.append(
            Caution(
                "one_episode",
                "one episode gives no interval: episodes are what is resampled",
                "collect more episodes, or check that the file marks their ends",
            )
        )
    elif data.episode_count == len(data):
        found.append(
            Caution(
                "one_step_episodes",
                "every episode has one step, so a value is a reward",
                "check the terminal and timeout flags if the task has longer episodes",
            )
        )
    return found + _reward_warnings(data) + _action_warnings(data)


def _reward_warnings(data: Dataset) -> list[Caution]:
    if data.rewards is None:
        return [
            Caution(
                "no_rewards",
                "the data has no rewards; only the scores that need none are given",
                "add a reward column, for example a success flag",
            )
        ]
    if (reward := only_reward(data)) is not None:
        return [
            Caution(
                "constant_reward",
                f"every reward is {reward:g}; values tell lengths of episodes at most",
                "check that the reward column was recorded",
            )
        ]
    return []


def _action_warnings(data: Dataset) -> list[Caution]:
    if data.discrete_actions:
        return _number_warnings(data)
    found = []
    if not data.action_bounds()[2]:
        found.append(
            Caution(
                "action_bounds_from_data",
                "the file names no action bounds; random actions span the recorded range",
                "name the environment, or store the bounds in the file",
            )
        )
    if (choices := whole_numbers(data)) is not None:
        found.append(
            Caution(
                "whole_number_actions",
                f"every action is one of {choices} whole numbers, stored as floats; they are scored as continuous",
                "store them as integers if they are numbers of choices",
            )
        )
    return found


def _number_warnings(data: Dataset) -> list[Caution]:
    try:
        numbers, source = numbers_of(data)
    except DatasetError:
        return []  # the scores that are missing tell why
    found = []
    if source == "data":
        found.append(
            Caution(
                "action_count_from_data",
                f"the file does not say how many actions there are; {numbers.count:,} are taken, "
                f"{numbers.first} to the largest recorded",
                "name the environment with --env, or store the bounds of the actions in the file",
            )
        )
    if unseen := unseen_actions(data, numbers):
        shown = ", ".join(str(number) for number in unseen[:MOST_NAMED])
        more = f" and {len(unseen) - MOST_NAMED:,} more" if len(unseen) > MOST_NAMED else ""
        found.append(
            Caution(
                "unseen_actions",
                f"of {numbers.count:,} actions the data never takes {shown}{more}; their values are guesses, "
                "and pd and bwd rest on them",
                "read q and bc_error instead, or record these actions",
            )
        )
    return found


def assessment_warnings(assessment: Assessment) -> list[Caution]:
    """What critic and transport found out about themselves."""
    found = _sample_warnings(assessment)
    discount = assessment.settings.critic.discount
    if (fitted := assessment.computed.critic) is not None:
        longest = int(assessment.whole.episode_lengths.max())
        found += warnings_of(fitted.critic.diagnosis, longest, discount)
    for estimator, results in assessment.computed.transport.items():
        if any(result.converged is False for result in results):
            found.append(
                Caution(
                    "transport_not_converged",
                    f"bwd.{estimator} has not converged",
                    "raise transport.steps or transport.epsilon, or use the estimator exact",
                )
            )
    reference = assessment.reference
    if reference is not None and reference.note:
        found.append(
            Caution(
                "reference_note",
                f"{reference.family}: {reference.note}",
                "read `relative` and `tq` as a common scale, not as a share of what is possible",
            )
        )
    return found


def _cloning_warnings(scores: Mapping[str, Score]) -> list[Caution]:
    """Whether its actions look random, which can be told without reference returns."""
    error = scores.get("bc_error")
    if error is None or error.value < UNEXPLAINED:
        return []
    return [
        Caution(
            "actions_unexplained",
            f"a clone explains {max(0.0, 1 - error.value):.0%} of its actions (bc_error): they look random, or depend on "
            "what was not recorded",
            "check that the observations hold what the actions were chosen by; cloning repeats such actions on average",
        )
    ]


def _sample_warnings(assessment: Assessment) -> list[Caution]:
    known = learned_from(assessment).get("learned_from")
    if known is None:
        return []
    return [
        Caution(
            "sampled",
            f"critic, transport and cloning see {known['transitions']:,} of {len(assessment.whole):,} transitions, "
            f"{known['episodes']:,} whole episodes by seed {assessment.seeds[0]}; counted scores see all",
            "compare seeds to see how much the sample matters, or allow more with --memory",
        )
    ]


def _unavailable(missing: list[Missing]) -> list[Caution]:
    """Scores that are missing for one reason become one warning."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, reason in missing:
        names.setdefault((reason.what, reason.remedy or ""), []).append(name)
    return [
        Caution("score_unavailable", f"{', '.join(each)} not given: {what}", remedy)
        for (what, remedy), each in names.items()
    ]
