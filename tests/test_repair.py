"""Repair: every rule on a fault made by hand, all at once, and everything else bit for bit as it was."""

import hashlib
import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

from rlassay.errors import DatasetError, SettingsError
from rlassay.formats import load
from rlassay.inspection import inspect, inspect_source
from rlassay.repair import RULES, repair, repair_file
from test_inspect import LENGTH, ROWS, good, put, repeated, teleported

COLUMNS = ("observations", "actions", "rewards", "next_observations", "terminals", "timeouts")


def rlassay(*arguments):
    command = [sys.executable, "-m", "rlassay", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))


def by_rule(result):
    return {rule.name: rule for rule in result.rules}


def every_defect():
    """One recording with everything that repair knows, and the rows that are touched by it."""
    columns = teleported(good())  # a jump behind row 249
    touched = [249]
    for name in COLUMNS:
        columns[name] = columns[name].copy()
    columns["rewards"][350] = np.nan
    columns["observations"][450, 1] = np.inf
    columns["next_observations"][449] = np.nan
    touched += [349, 350, 449, 450]
    columns["timeouts"][99] = True  # with the terminal that is there
    columns["episode_starts"] = np.arange(0, ROWS, LENGTH)
    columns["terminals"][699] = columns["timeouts"][599] = False
    columns["terminals"][698] = columns["terminals"][699] = True  # a doubled end
    touched += [99, 599, 698, 699]
    columns["actions"][750] = 1.7
    columns["next_observations"][942] = 0.0
    touched += [750, 942]
    columns["terminals"][1000] = True  # an end one row late
    columns["timeouts"][1299] = columns["terminals"][1299] = False
    columns["next_observations"][1299] = columns["observations"][1300]
    columns["episode_starts"] = np.setdiff1d(columns["episode_starts"], [700, 1300])
    touched += [1000, 1299]
    return alone(repeated(columns)), touched


def alone(columns):
    """With an episode of one step at the end, and the number of every row beside the columns."""
    rows = len(columns["rewards"])
    last = {name: columns[name][:1] + np.zeros_like(columns[name][:1]) for name in COLUMNS}
    last["observations"] = last["observations"] + 7
    last["next_observations"] = last["next_observations"] + 9
    last["terminals"] = np.ones(1, bool)
    last["timeouts"] = np.zeros(1, bool)
    columns = {**columns, **{n: np.concatenate([columns[n], last[n]]) for n in COLUMNS}}
    columns["episode_starts"] = np.append(columns["episode_starts"], [ROWS, rows])
    columns["row"] = np.arange(rows + 1)
    columns["metadata"] = json.dumps({"max_episode_steps": LENGTH})
    return columns


@pytest.fixture
def wreck(tmp_path):
    columns, touched = every_defect()
    np.savez(tmp_path / "wreck.npz", **columns)
    return tmp_path / "wreck.npz", touched


@pytest.mark.parametrize("ending", ["npz", "hdf5"])
def test_every_defect_at_once_becomes_a_file_that_passes(wreck, tmp_path, ending):
    source, touched = wreck
    before = hashlib.sha256(source.read_bytes()).hexdigest()
    out = tmp_path / f"out.{ending}"
    done = rlassay("repair", source, "-o", out, "--json", "-")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {rule["name"] for rule in told["rules"] if rule["rows"]} == set(RULES)
    assert (told["before"]["status"], told["after"]["status"]) == ("fail", "pass")
    after = inspect_source(out)
    assert after.status == "pass", [check for check in after.checks if check.status != "pass"]
    assert hashlib.sha256(source.read_bytes()).hexdigest() == before
    assert_other_rows_are_bit_equal(load(source), load(out, extras=True), touched)


def assert_other_rows_are_bit_equal(source, repaired, touched):
    rows = repaired.origin.extras["row"]
    dropped = np.setdiff1d(np.arange(len(source)), rows)
    copies = np.arange(ROWS, len(source))
    assert set(dropped) == {350, 450, *copies}
    same = ~np.isin(rows, touched)
    assert same.sum() >= len(rows) - len(touched)
    for name in COLUMNS:
        ours, theirs = getattr(repaired, name)[same], getattr(source, name)[rows[same]]
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes(), name


def test_the_copy_remembers_where_it_came_from(wreck, tmp_path):
    source, _ = wreck
    for name in ("a.npz", "b.hdf5", "c-v0"):
        repair_file(str(source), tmp_path / name)
        record = load(tmp_path / name).origin.metadata["repair"]
        assert record["fingerprint"] == load(source).fingerprint
        assert record["source"] == str(source) and record["rlassay"]
        assert {"name", "rows", "episodes", "message"} == set(record["rules"][0])


SINGLE = {
    "finite": (good(rewards=put(7, np.nan)), 1),
    "alignment": (good(next_observations=put(42, 0.0)), 1),
    "continuity": (teleported(good()), 1),
    "action_bounds": (good(actions=put(3, 1.5)), 1),
    "duplicate_episodes": (repeated(good()), 100),
    "double_ends": (good(terminals=put(98, True)), 1),
    "unfinished_episodes": (
        good(terminals=put(99, False), episode_starts=np.arange(0, ROWS, LENGTH)),
        1,
    ),
}


@pytest.mark.parametrize("rule", SINGLE)
def test_a_rule_counts_what_it_changes_and_no_other_does(rule):
    columns, rows = SINGLE[rule]
    result = repair(load(columns))
    assert {name: one.rows for name, one in by_rule(result).items() if one.rows} == {rule: rows}
    assert result.after.status == "pass"
    assert [one.name for one in repair(load(columns), only=[rule]).rules] == [rule]


def test_good_data_stays_as_it_is():
    data = load(good())
    result = repair(data)
    assert not any(rule.rows for rule in result.rules)
    assert result.data.fingerprint == data.fingerprint


def test_a_row_before_a_dropped_one_is_cut_there():
    data = repair(load(good(observations=put(50, np.nan)))).data
    assert len(data) == ROWS - 1
    assert data.timeouts[49] and not data.terminals[49] and data.next_valid[49]
    assert data.episode_starts[:3].tolist() == [0, 50, 99]


@pytest.mark.parametrize("shift", [0, 2, -1])
def test_a_shifted_column_is_computed_again(shift):
    columns = good()
    columns["next_observations"] = np.roll(columns["observations"], -shift, axis=0)
    data = repair(load(columns), only=["alignment"]).data
    inside = np.flatnonzero(data.next_action_valid)
    assert np.array_equal(data.next_observations[inside], data.observations[inside + 1])
    assert not data.next_valid[data.episode_stops - 1].any()


def test_a_lost_border_is_set_and_the_true_last_observation_kept():
    flagless = good(terminals=put(299, False), timeouts=put(299, False))
    data = repair(load(flagless), only=["alignment"]).data
    assert data.timeouts[299] and 300 in data.episode_starts
    assert np.array_equal(data.next_observations[299], good()["next_observations"][299])


def test_a_successor_across_a_new_border_is_unknown():
    """The recorder wrote the next row as successor: behind the border that is another episode's observation."""
    data = repair(load(teleported(good())), only=["continuity"]).data
    assert data.timeouts[249] and not data.next_valid[249]
    assert data.next_valid[[248, 250]].all()


def test_shuffled_rows_are_left_alone():
    order = np.random.default_rng(0).permutation(ROWS)
    columns = {name: good()[name][order] for name in COLUMNS}
    columns |= {"terminals": np.zeros(ROWS, bool), "timeouts": np.arange(ROWS) == ROWS - 1}
    result = repair(load(columns), only=["alignment"])
    assert "shuffled" in by_rule(result)["alignment"].message
    assert result.data.fingerprint == load(columns).fingerprint


def test_an_end_one_row_late_joins_the_episode_that_follows():
    data = repair(load(good(terminals=put(100, True)))).data
    assert np.array_equal(data.episode_starts, load(good()).episode_starts)


def test_a_task_of_single_steps_keeps_them():
    columns = good(terminals=np.ones(ROWS, bool), timeouts=None)
    result = repair(load(columns), only=["double_ends", "short_episodes"])
    assert len(result.data) == ROWS and result.data.episode_count == ROWS
    assert {rule.message for rule in result.rules} == {"not applied: most episodes have one step"}


def test_actions_are_rescaled_when_asked():
    columns = good(actions=good()["actions"] * 3)
    data = load(columns)
    clipped, scaled = (repair(data, actions=how).data.actions for how in ("clip", "rescale"))
    inside = (np.abs(data.actions) <= 1).all(axis=1)
    assert np.array_equal(clipped[inside], data.actions[inside])
    assert np.abs(clipped).max() <= 1 and np.abs(scaled).max() <= 1
    assert np.corrcoef(scaled[:, 0], data.actions[:, 0])[0, 1] == pytest.approx(1)
    assert np.corrcoef(clipped[:, 0], data.actions[:, 0])[0, 1] < 0.99


def test_the_step_limit_is_counted_wherever_it_was_applied(tmp_path):
    columns = good(terminals=np.zeros(ROWS, bool), timeouts=np.zeros(ROWS, bool))
    columns["next_observations"] = None
    columns = {name: column for name, column in columns.items() if column is not None}
    np.savez(tmp_path / "x.npz", **columns)
    told = repair_file(
        str(tmp_path / "x.npz"), tmp_path / "y.npz", reading={"max_episode_steps": LENGTH}
    )
    cut = next(rule for rule in told["rules"] if rule["name"] == "episode_lengths")
    assert cut["rows"] == ROWS // LENGTH
    assert load(tmp_path / "y.npz").episode_count == ROWS // LENGTH


def test_what_could_not_be_settled_stays_said_in_the_copy(tmp_path):
    columns = {name: part for name, part in good().items() if name != "timeouts"}
    np.savez(tmp_path / "x.npz", **columns)
    repair_file(str(tmp_path / "x.npz"), tmp_path / "y.npz")
    assert inspect_source(tmp_path / "y.npz")["source.timeouts_missing"].status == "warn"
    repair_file(str(tmp_path / "y.npz"), tmp_path / "z.npz")
    assert inspect_source(tmp_path / "z.npz")["source.timeouts_missing"].status == "warn"


def test_a_dry_run_writes_nothing_and_counts_the_same(wreck, tmp_path):
    source, _ = wreck
    files = sorted(tmp_path.iterdir())
    dry = repair_file(str(source), tmp_path / "x.npz", dry_run=True)
    assert sorted(tmp_path.iterdir()) == files and dry["out"] is None
    wet = repair_file(str(source), tmp_path / "x.npz")
    assert (dry["rules"], dry["after"]) == (wet["rules"], wet["after"])


def test_mistakes_are_one_sentence(wreck, tmp_path):
    source, _ = wreck
    with pytest.raises(SettingsError, match="did you mean finite"):
        repair_file(str(source), tmp_path / "x.npz", only=["finit"])
    with pytest.raises(SettingsError, match="--dry-run"):
        repair_file(str(source), None)
    with pytest.raises(SettingsError, match="clip, rescale"):
        repair_file(str(source), tmp_path / "x.npz", actions="squash")
    with pytest.raises(DatasetError, match="--force"):
        repair_file(str(source), source)
    with pytest.raises(DatasetError, match="never changed"):
        repair_file(str(source), source, force=True)
    with pytest.raises(DatasetError, match="tells no format"):
        repair_file(str(source), tmp_path / "x.txt")


def test_the_table_and_an_hdf5_of_others(tmp_path):
    """A D4RL file with an array beside the columns: it follows the rows that stay."""
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        for name in COLUMNS:
            file[name] = good(rewards=put(7, np.nan))[name]
        file["infos/step"] = np.arange(ROWS)
    done = rlassay("repair", tmp_path / "x.hdf5", "-o", tmp_path / "y.hdf5")
    assert done.returncode == 0 and f"wrote {tmp_path / 'y.hdf5'}" in done.stderr
    assert "finite" in done.stdout and "after: PASS" in done.stdout
    with h5py.File(tmp_path / "y.hdf5") as file:
        assert file["infos/step"][()].tolist() == [*range(7), *range(8, ROWS)]


def test_inspection_of_repaired_data_in_memory_equals_that_of_the_file(wreck, tmp_path):
    source, _ = wreck
    repair_file(str(source), tmp_path / "x.npz")
    in_memory = inspect(repair(load(source)).data).checks
    assert in_memory == inspect_source(tmp_path / "x.npz").checks


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_broken_a_second_repair_finds_nothing(seed):
    """Random damage to values, flags and order: one pass settles everything that has a rule."""
    rng = np.random.default_rng(seed)
    columns = {name: column.copy() for name, column in good().items() if name in COLUMNS}
    for name in ("observations", "rewards", "next_observations", "actions"):
        columns[name][rng.integers(0, ROWS, rng.integers(0, 5))] = rng.choice([np.nan, np.inf])
    for name in ("terminals", "timeouts"):
        flipped = rng.integers(0, ROWS, rng.integers(0, 5))
        columns[name][flipped] ^= True
    columns["actions"][rng.integers(0, ROWS, 3)] *= 50
    columns["next_observations"][rng.integers(0, ROWS, 3)] += 5
    columns |= {"action_low": [-1, -1], "action_high": [1, 1]}
    once = repair(load(columns))
    assert once.after.status == "pass", [c for c in once.after.checks if c.status != "pass"]
    twice = repair(once.data)
    assert not any(rule.rows for rule in twice.rules)
    assert twice.data.fingerprint == once.data.fingerprint
