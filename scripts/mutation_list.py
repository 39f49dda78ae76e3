"""Hand-chosen mistakes: each must be caught by the tests it names. Extend the table; `scripts/mutations.py` runs it.

A mutation is (file under src/rlassay, text, the mistake in its place, tests that must fail). The text stands exactly once in the file.
"""

from __future__ import annotations

CLOSED = "tests/transport/test_transport_closed.py"
COSTS = "tests/transport/test_transport_costs.py"
SINKHORN = "tests/transport/test_transport_sinkhorn.py"
DUAL = "tests/transport/test_transport_dual.py"
RETURNS = "tests/critic/test_returns.py"
CRITIC = "tests/critic/test_critic.py"
SAMPLE = "tests/critic/test_sample.py"
SCORES = "tests/scoring/test_scores.py"
CARD = "tests/scoring/test_card.py"
STATS = "tests/test_stats.py"
KEYS = "tests/study/test_score_keys.py"
DISCRETE_CRITIC = "tests/critic/test_discrete_critic.py"
DISCRETE_TRANSPORT = "tests/transport/test_transport_discrete.py"
DISCRETE_SCORES = "tests/scoring/test_discrete_scores.py"
PARTS = "tests/verdict/test_calibrated_parts.py"
CONFLICT = "tests/study/test_conflict.py"
BEST = "tests/study/test_parts_and_worlds.py"

TASKS = "tests/motion/test_tasks.py"
TIMELINES = "tests/motion/test_timelines.py"
DEFECTS = "tests/study/test_demonstrations.py"
ADJUSTED = "tests/motion/test_demonstration_commands.py"

_TRANSPORT = "transport"
_MOTION = "motion"
_CRITIC = "critic"
_SCORING = "scoring"

MUTATIONS: list[tuple[str, str, str, str]] = [
    # -- costs
    (
        f"{_TRANSPORT}/costs.py",
        "return q_random - metric(",
        "return q_random + metric(",
        COSTS,
    ),
    (
        f"{_TRANSPORT}/costs.py",
        "return -q_random - metric",
        "return q_random - metric",
        COSTS,
    ),
    (
        f"{_TRANSPORT}/costs.py",
        " / actions.shape[-1]",
        "",
        COSTS,
    ),
    (
        f"{_TRANSPORT}/costs.py",
        "np.maximum(q_data - q_random, 0)",
        "(q_data - q_random)",
        COSTS,
    ),
    (
        f"{_TRANSPORT}/costs.py",
        "Cost(sup, sign=-1, reads",
        "Cost(sup, reads",
        CLOSED,
    ),
    (
        f"{_TRANSPORT}/costs.py",
        "return -metric(",
        "return metric(",
        COSTS,
    ),
    # -- closed forms
    (
        f"{_TRANSPORT}/closed.py",
        'if settings.regulariser == "entropic" else -epsilon',
        'if settings.regulariser == "entropic" else epsilon',
        CLOSED,
    ),
    (
        f"{_TRANSPORT}/closed.py",
        "- middle, 0).mean() > 2 * epsilon",
        "- middle, 0).mean() > epsilon",
        CLOSED,
    ),
    (
        f"{_TRANSPORT}/closed.py",
        "(excess**2).mean(axis=1) / (4 * epsilon)",
        "(excess**2).mean(axis=1) / (2 * epsilon)",
        CLOSED,
    ),
    (
        f"{_TRANSPORT}/closed.py",
        "(excess < 2 * epsilon).sum",
        "(excess < epsilon).sum",
        SCORES,
    ),
    (
        f"{_TRANSPORT}/closed.py",
        "return costs.mean(axis=1)",
        "return costs.max(axis=1)",
        CLOSED,
    ),
    (
        f"{_TRANSPORT}/closed.py",
        "middle if lowest is None else max(middle, lowest)",
        "middle",
        CLOSED,
    ),
    (
        f"{_TRANSPORT}/settings.py",
        '"tail": 0.1',
        '"tail": 0.5',
        COSTS,
    ),
    (
        f"{_TRANSPORT}/random_policy.py",
        "drawn *= (high - low) / 2",
        "drawn *= high - low",
        COSTS,
    ),
    (
        f"{_TRANSPORT}/estimators.py",
        '_tail, cost="public"',
        "_tail",
        CARD + "::test_tail_takes_the_public_cost_unless_one_is_named",
    ),
    (
        f"{_TRANSPORT}/entropic.py",
        "return Solution(epsilon * values + centre",
        "return Solution(values + centre",
        SINKHORN,
    ),
    (
        f"{_TRANSPORT}/sinkhorn.py",
        "columns - run_start < per_episode",
        "columns - run_start <= per_episode",
        SINKHORN,
    ),
    (
        f"{_TRANSPORT}/held_out.py",
        "return over**2 / (4 * epsilon) + epsilon",
        "return over**2 / (4 * epsilon)",
        DUAL,
    ),
    # -- critic
    (
        f"{_CRITIC}/targets.py",
        "np.where(columns.terminal[last], 0.0, critic.settings.discount)",
        "critic.settings.discount",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "np.where(columns.terminal[last] | columns.known[last], ends, values[last])",
        "ends",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "    mixed[last] = ends\n",
        "",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "discount * (1.0 - trace_decay) * following",
        "discount * trace_decay * following",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "sums_along(mixed, starts, discount * trace_decay)",
        "sums_along(mixed, starts, trace_decay)",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "finished.mean() / (1.0 - weight.mean())",
        "finished.mean()",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "np.where(left[:-reach] > reach",
        "np.where(left[:-reach] >= reach",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "data.terminals[rows],",
        "data.timeouts[rows],",
        RETURNS,
    ),
    (
        f"{_CRITIC}/targets.py",
        "wanted = max(wanted, FEWEST_HELD_OUT)",
        "wanted = min(wanted, FEWEST_HELD_OUT)",
        SAMPLE,
    ),
    (
        f"{_CRITIC}/compiled.py",
        "((returns - self.centre) / (self.spread or 1.0))",
        "(returns / (self.spread or 1.0))",
        RETURNS,
    ),
    (
        f"{_CRITIC}/compiled.py",
        "(~columns.terminal[kept]).astype(np.float32)",
        "np.ones(len(kept), np.float32)",
        RETURNS,
    ),
    (
        f"{_CRITIC}/compiled.py",
        'settings.discount * batch["continues"] * following',
        "settings.discount * following[:, 0]",
        RETURNS,
    ),
    (
        f"{_CRITIC}/compiled.py",
        'state["target"], online["q"], settings.target_rate',
        'online["q"], state["target"], settings.target_rate',
        RETURNS,
    ),
    (
        f"{_CRITIC}/diagnosis.py",
        "np.sqrt((sums**2).sum() * len(counts)",
        "np.sqrt((sums**2).sum()",
        CRITIC + "::test_the_standard_error_counts_episodes_not_rows",
    ),
    (
        f"{_CRITIC}/model.py",
        "return self.centre + self.spread * apply",
        "return self.spread * apply",
        RETURNS,
    ),
    # -- scores
    (
        f"{_SCORING}/scores.py",
        "return weighted_mean(values, weights * lengths)",
        "return weighted_mean(values, lengths)",
        SCORES,
    ),
    (
        f"{_SCORING}/scores.py",
        "return v_random - v",
        "return v - v_random",
        SCORES,
    ),
    (
        f"{_SCORING}/scores.py",
        "lift=1 - 2 * conflict",
        "lift=1 - conflict",
        SCORES,
    ),
    (
        f"{_SCORING}/scores.py",
        "(high - mean) / above_lowest, 0.0)",
        "(high - low) / above_lowest, 0.0)",
        SCORES,
    ),
    (
        f"{_SCORING}/cloning.py",
        ".sum(axis=1) / moving",
        ".sum(axis=1)",
        SCORES,
    ),
    (
        f"{_SCORING}/cloning.py",
        "((actions - self.mean) / scale * moving)",
        "((actions - self.mean) * moving)",
        SCORES,
    ),
    (
        f"{_SCORING}/coverage.py",
        "digamma(count) - digamma(neighbours) + ball",
        "digamma(count) + ball",
        SCORES,
    ),
    (
        f"{_SCORING}/coverage.py",
        "- gammaln(0.5 * dimensions + 1)",
        "- gammaln(0.5 * dimensions)",
        SCORES,
    ),
    (
        f"{_SCORING}/measure.py",
        "reference.horizon * (1.0 - discount)",
        "reference.horizon",
        CARD + "::test_relative_places_returns_and_values_between_references",
    ),
    # -- intervals
    (
        "stats.py",
        "share: float = 0.1",
        "share: float = 0.2",
        STATS,
    ),
    (
        "stats.py",
        "stdtrit(total**2 / doubt, 0.5 + level / 2)",
        "stdtrit(total**2 / doubt, level)",
        STATS,
    ),
    (
        "stats.py",
        "float(np.var(per_seed, ddof=1)) / seeds",
        "float(np.var(per_seed, ddof=1))",
        STATS,
    ),
    (
        "stats.py",
        "[(1 - level) / 2, (1 + level) / 2]",
        "[1 - level, level]",
        STATS,
    ),
    (
        "stats.py",
        "episode_variance**2 / (groups - 1)",
        "episode_variance**2 / groups",
        STATS,
    ),
    (
        "stats.py",
        "unbiased * len(kept) / count",
        "unbiased",
        STATS,
    ),
    # -- what a result depends on
    (
        "study/scoring.py",
        "for name, number in rooms.items() if number != FIRST_REVISIONS[name]",
        "for name, number in rooms.items() if number is None",
        KEYS,
    ),
    (
        "study/scoring.py",
        "key in FIRST_SETTINGS and FIRST_SETTINGS[key] == value",
        "key in FIRST_SETTINGS",
        KEYS,
    ),
    # -- discrete actions
    (
        f"{_CRITIC}/discrete.py",
        "lambda q, law: (law * q).sum(axis=1)",
        "lambda q, law: q.mean(axis=1)",
        DISCRETE_CRITIC,
    ),
    ("kernel/choices.py", "chosen] -= 1", "chosen] -= 0", DISCRETE_CRITIC),
    (
        "kernel/choices.py",
        "np.float32(2 / len(slope))",
        "np.float32(1 / len(slope))",
        DISCRETE_CRITIC,
    ),
    (
        f"{_TRANSPORT}/entropic.py",
        "(transposed @ (mass[..., None] * u))",
        "(transposed @ u)",
        DISCRETE_TRANSPORT,
    ),
    (
        f"{_TRANSPORT}/ground.py",
        "return (actions != random_actions)",
        "return (actions == random_actions)",
        DISCRETE_TRANSPORT,
    ),
    (
        f"{_SCORING}/cloning.py",
        "return loss / self.loss_of_frequencies",
        "return loss",
        DISCRETE_SCORES,
    ),
    ("data/rewards.py", "reward == 0 or not", "reward == 0 and not", DISCRETE_SCORES),
    # -- the verdict's forecast and its calibration
    (
        "verdict/forecast.py",
        "level * (1 - k * discount)",
        "level * (1 - discount)",
        PARTS,
    ),
    (
        "verdict/forecast.py",
        "zero = features.lowest if reference is None else reference.low",
        "zero = 0.0",
        PARTS,
    ),
    (
        "verdict/labels.py",
        "choices = (reached.cloning, reached.offline_rl, reached.best_part)",
        "choices = (reached.cloning, reached.offline_rl)",
        PARTS,
    ),
    (
        "study/verdict/candidates.py",
        "voting, rule = [case for case in cases if case.votes], DISCOUNTED[name]",
        "voting, rule = [], DISCOUNTED[name]",
        PARTS,
    ),
    (
        "study/verdict/candidates.py",
        "errors[0] <= (1 - MARGIN) * errors[1]",
        "errors[0] >= (1 - MARGIN) * errors[1]",
        PARTS,
    ),
    (
        "study/verdict/candidates.py",
        "if all(parts) else []",
        "if any(parts) else []",
        PARTS,
    ),
    (
        "study/verdict/tables.py",
        "None if each.best_part is None else regret",
        "regret",
        PARTS,
    ),
    (
        "verdict/verdict.py",
        'if what != "best_part" or _part_is_enough(data)',
        "if what",
        PARTS,
    ),
    (
        "study/verdict/features.py",
        "{} if reference_for(data.environment) else",
        "{} if data.environment else",
        "tests/study/test_parts_and_worlds.py",
    ),
    (
        "study/wild.py",
        "or missing_runs(results, WORLDS)",
        "",
        "tests/verdict/test_wild.py",
    ),
    (
        "study/wild.py",
        "np.abs(left_out(cases, target, name) - outcome(cases, target))",
        "(left_out(cases, target, name) - outcome(cases, target))",
        "tests/verdict/test_wild.py",
    ),
    (
        "verdict/calibration.py",
        "equal = spread <= ROUNDING * size",
        "equal = spread <= 0 * size",
        "tests/verdict/test_verdict.py",
    ),
    (
        "verdict/calibration.py",
        "if told[0] not in told[1:]:",
        "if told:",
        "tests/verdict/test_verdict.py",
    ),
    (
        "study/paper.py",
        "abs(value - known) > abs(known)",
        "value - known > abs(known)",
        "tests/study/test_printed_algorithm.py",
    ),
    (
        "study/verdict/calibrate.py",
        "chosen(cases, refined) if may_choose(cases) else base()",
        "chosen(cases, refined) if cases else base()",
        PARTS,
    ),
    (
        "study/verdict/cases.py",
        'if run["return"] is not None\n',
        "if True\n",
        PARTS,
    ),
    (
        "study/grid/plan.py",
        "ours[distances.index(max(distances))]",
        "ours[-1]",
        CONFLICT,
    ),
    (
        "study/worlds.py",
        'best = max(stored, key=lambda actor: actor["mean_return"])',
        "best = stored[-1]",
        BEST,
    ),
    # -- demonstrations
    (
        f"{_MOTION}/tasks.py",
        "label[nearest] != label[asked]",
        "label[nearest] == label[asked]",
        TASKS,
    ),
    (f"{_MOTION}/tasks.py", "itself = near == asked[:, None]", "itself = near != near", TASKS),
    (f"{_MOTION}/timelines.py", "np.fmax.reduceat", "np.fmin.reduceat", TIMELINES),
    (f"{_MOTION}/timelines.py", "argsort(-(runs", "argsort((runs", TIMELINES),
    (
        "study/demonstrations/judged.py",
        "append(score - base)",
        "append(base - score)",
        DEFECTS,
    ),
    (
        "study/demonstrations/judged.py",
        "if not one.qualifies and",
        "if one.qualifies and",
        DEFECTS,
    ),
    (
        f"{_SCORING}/episodes.py",
        "adjust_for_length(plain(_unadjusted(name)), data.episode_lengths)",
        "plain(_unadjusted(name))",
        ADJUSTED,
    ),
    (
        "engine/files.py",
        "parts.put_in_place(lambda: _swap(temporary, target))",
        "_swap(temporary, target)",
        "tests/faults/test_interrupts.py::test_a_folder_that_is_being_removed_takes_no_place",
    ),
]
