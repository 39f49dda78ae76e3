"""What the reader of a card must know about its data: warnings with a code and a remedy."""

from __future__ import annotations

import numpy as np

from rlassay.assay.assessment import Assessment
from rlassay.critic import warnings_of
from rlassay.data.dataset import Dataset
from rlassay.results.card import Warning

TINY = 1_000


def data_warnings(data: Dataset) -> list[Warning]:
    """Size, flags, rewards and bounds."""
    found = [Warning(note.code, note.message, note.remedy) for note in data.origin.notes]
    if len(data) < TINY:
        found.append(
            Warning(
                "tiny_dataset",
                f"{len(data):,} transitions are few; learned scores rest on {TINY:,} or more",
                "trust counted scores only, or collect more data",
            )
        )
    if data.episode_count == 1:
        found.append(
            Warning(
                "one_episode",
                "one episode gives no interval: episodes are what is resampled",
                "collect more episodes, or check that the file marks their ends",
            )
        )
    elif data.episode_count == len(data):
        found.append(
            Warning(
                "one_step_episodes",
                "every episode has one step, so a value is a reward",
                "check the terminal and timeout flags if the task has longer episodes",
            )
        )
    return found + _reward_warnings(data) + _bound_warnings(data)


def _reward_warnings(data: Dataset) -> list[Warning]:
    if data.rewards is None:
        return [
            Warning(
                "no_rewards",
                "the data has no rewards; only the scores that need none are given",
                "add a reward column, for example a success flag",
            )
        ]
    if len(data) > 1 and np.ptp(data.rewards) == 0:
        return [
            Warning(
                "constant_reward",
                f"every reward is {float(data.rewards[0]):g}; values tell lengths of episodes at most",
                "check that the reward column was recorded",
            )
        ]
    return []


def _bound_warnings(data: Dataset) -> list[Warning]:
    if data.discrete_actions:
        return [
            Warning(
                "discrete_actions",
                "the actions are discrete; scores that compare with random actions need continuous ones",
                "use the counted scores",
            )
        ]
    if not data.action_bounds()[2]:
        return [
            Warning(
                "action_bounds_from_data",
                "the file names no action bounds; random actions span the recorded range",
                "name the environment, or store the bounds in the file",
            )
        ]
    return []


def assessment_warnings(assessment: Assessment) -> list[Warning]:
    """What critic and transport found out about themselves."""
    found: list[Warning] = []
    discount = assessment.settings.critic.discount
    if "fitted" in assessment.__dict__:
        report = assessment.fitted.critic.diagnosis
        found += warnings_of(report, int(assessment.data.episode_lengths.max()), discount)
    for estimator, results in assessment.computed_transport.items():
        if any(result.converged is False for result in results):
            found.append(
                Warning(
                    "transport_not_converged",
                    f"bwd.{estimator} has not converged",
                    "raise transport.steps or transport.epsilon, or use the estimator exact",
                )
            )
    reference = assessment.reference
    if reference is not None and reference.note:
        found.append(
            Warning(
                "reference_note",
                f"{reference.family}: {reference.note}",
                "read `relative` and `tq` as a common scale, not as a share of what is possible",
            )
        )
    return found
