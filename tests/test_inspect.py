"""Every check is seen to fire on a fault made by hand, and to stay silent on good data."""

import json

import numpy as np
import pytest

from rlassay.data.dataset import Dataset, Note, Origin
from rlassay.errors import DatasetError
from rlassay.formats import load
from rlassay.inspection import CHECKS, inspect, inspect_source
from rlassay.report.inspection import markdown, show_inspection

ROWS, LENGTH = 2_000, 100


def good(**changes):
    """Twenty smooth episodes with a known last observation; half end in terminals, half in timeouts."""
    rng = np.random.default_rng(0)
    episodes = ROWS // LENGTH
    walk = rng.normal(size=(episodes, LENGTH + 1, 3)).cumsum(axis=1).astype("f4")
    last = np.arange(ROWS) % LENGTH == LENGTH - 1
    even = np.arange(ROWS) // LENGTH % 2 == 0
    columns = {
        "observations": walk[:, :-1].reshape(ROWS, 3),
        "next_observations": walk[:, 1:].reshape(ROWS, 3),
        "actions": rng.uniform(-0.9, 0.9, (ROWS, 2)).astype("f4"),
        "rewards": rng.normal(1, 0.1, ROWS).astype("f4"),
        "terminals": last & even,
        "timeouts": last & ~even,
        "action_low": [-1, -1],
        "action_high": [1, 1],
    }
    for name, change in changes.items():
        if callable(change):
            columns[name] = columns[name].copy()
            change(columns[name])
        elif change is None:
            columns.pop(name, None)
        else:
            columns[name] = change
    return columns


def put(where, value):
    def change(column):
        column[where] = value

    return change


def check(name, columns, **options):
    return inspect(load(columns, **options))[name]


def test_good_data_passes_everything():
    inspection = inspect(load(good(), env_id="Hopper-v5"))
    assert inspection.status == "pass", [c for c in inspection.checks if c.status != "pass"]
    assert len(inspection.checks) == len(CHECKS) + 1


def with_both_flags(columns):
    columns["timeouts"] = columns["timeouts"].copy()
    columns["timeouts"][99] = True
    return columns


def stretched(columns, rows=15_000):
    """One long recording without any flag but a last terminal."""
    walk = np.random.default_rng(1).normal(size=(rows, 3)).cumsum(axis=0).astype("f4")
    flags = np.arange(rows) == rows - 1
    actions = np.random.default_rng(2).uniform(-0.9, 0.9, (rows, 2))
    return {
        "observations": walk,
        "actions": actions,
        "rewards": walk[:, 0],
        "terminals": flags,
        "timeouts": ~flags & False,
    }


def repeated(columns):
    return {
        name: np.concatenate([column, column[300:400]]) if len(column) == ROWS else column
        for name, column in columns.items()
    }


def few(columns, rows=300):
    return {
        name: column[:rows] if len(column) == ROWS else column for name, column in columns.items()
    }


def teleported(columns):
    """A border that lost its flag: the walk jumps far away at row 250, and the successors agree."""
    for name in ("observations", "next_observations"):
        columns[name] = columns[name].copy()
    columns["observations"][250:300] += 500
    columns["next_observations"][249:300] += 500
    return columns


FAULTS = {
    "nan": ("finite", "fail", good(rewards=put(7, np.nan)), [7]),
    "infinity": ("finite", "fail", good(observations=put((12, 1), np.inf)), [12]),
    "nan in next": ("finite", "fail", good(next_observations=put((5, 0), np.nan)), [5]),
    "no rewards": ("rewards", "warn", good(rewards=None), []),
    "constant rewards": ("rewards", "warn", good(rewards=np.ones(ROWS)), []),
    "actions far outside": ("action_bounds", "fail", good(actions=put(3, 1.5)), [3]),
    "actions just outside": ("action_bounds", "warn", good(actions=put(4, 1.001)), [4]),
    "choices below 0": (
        "action_bounds",
        "fail",
        good(
            actions=np.where(np.arange(ROWS) == 6, -1, np.arange(ROWS) % 3)[:, None],
            action_low=None,
            action_high=None,
        ),
        [6],
    ),
    "saturated": (
        "action_saturation",
        "warn",
        good(actions=put(slice(0, 1_500), 1.0)),
        list(range(20)),
    ),
    "dead observation": (
        "dead_dimensions",
        "warn",
        good(observations=put((slice(None), 1), 3.0)),
        [],
    ),
    "dead action": ("dead_dimensions", "warn", good(actions=put((slice(None), 0), 0.5)), []),
    "both flags": ("end_flags", "warn", with_both_flags(good()), [99]),
    "end without a flag": (
        "unfinished_episodes",
        "warn",
        good(terminals=put(99, False), episode_starts=np.arange(0, ROWS, 100)),
        [99],
    ),
    "endless": ("episode_lengths", "warn", stretched(good()), [0]),
    "outlying return": ("episode_returns", "warn", good(rewards=put(150, 1e8)), [100]),
    "next is own row": (
        "alignment",
        "fail",
        good(next_observations=good()["observations"]),
        list(range(20)),
    ),
    "one odd successor": ("alignment", "warn", good(next_observations=put(42, 0.0)), [42]),
    "teleport": ("continuity", "warn", teleported(good()), [249]),
    "copied episode": ("duplicate_episodes", "warn", repeated(good()), [ROWS]),
    "one step": ("short_episodes", "warn", good(terminals=put(100, True)), [100]),
    "few rows": ("size", "warn", few(good()), []),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(fault):
    name, status, columns, rows = FAULTS[fault]
    fired = check(name, columns)
    assert fired.status == status, fired
    assert list(fired.rows) == rows
    assert fired.remedy and fired.message


@pytest.mark.parametrize("fault", FAULTS)
def test_silent_on_good_data(fault):
    name = FAULTS[fault][0]
    assert check(name, good()).status == "pass"


def test_every_check_has_a_fault():
    names = {check.name for check in inspect(load(good())).checks}
    assert names - {"shapes"} == {fault[0] for fault in FAULTS.values()}


def test_impossible_lengths_and_returns_of_a_known_task():
    """Timeouts lost: the walker2d case with a return of 3,780,163."""
    columns = good(
        terminals=np.zeros(ROWS, bool),
        timeouts=np.zeros(ROWS, bool),
        rewards=np.full(ROWS, 2_000.0),
    )
    columns["rewards"][0] = 1.0
    inspection = inspect(load(columns, env_id="walker2d-medium-expert-v2"))
    assert inspection["episode_lengths"].status == "fail"
    assert inspection["episode_lengths"].rows == (0,)
    assert inspection["episode_returns"].status == "fail"
    assert "only=['episode_lengths']" in inspection["episode_lengths"].remedy
    cut = inspect(load(columns, env_id="walker2d-medium-expert-v2", max_episode_steps=100))
    assert cut["episode_lengths"].status == "pass"


@pytest.mark.parametrize(
    ("shift", "words"),
    [(0, "own observation"), (2, "one row late"), (-1, "row before")],
)
def test_off_by_one_is_named(shift, words):
    columns = good()
    columns["next_observations"] = np.roll(columns["observations"], -shift, axis=0)
    fired = check("alignment", columns)
    assert fired.status == "fail" and words in fired.message


def test_rounding_is_no_misalignment():
    columns = good(next_observations=good()["next_observations"] * np.float32(1 + 1e-6))
    assert (columns["next_observations"] != good()["next_observations"]).any()
    assert check("alignment", columns).status == "pass"


def test_columns_of_different_length_are_a_failed_check(tmp_path):
    np.savez(tmp_path / "x.npz", **{**good(), "rewards": np.zeros(ROWS - 1)})
    inspection = inspect_source(tmp_path / "x.npz")
    assert inspection.status == "fail" and [c.name for c in inspection.checks] == ["shapes"]
    assert "1,999 rows" in inspection["shapes"].message
    with pytest.raises(DatasetError):
        inspect_source(tmp_path / "missing.npz")
    data = load(good())
    broken = Dataset(
        {**data._columns, "rewards": data.rewards[:-1]}, data.episode_starts, data.origin
    )
    assert inspect(broken)["shapes"].status == "fail"


def test_notes_of_the_reader_are_checks():
    origin = Origin(
        notes=(Note("cameras_left_out", "no cameras", "encode"), Note("joined", "a, b"))
    )
    data = load(good())
    inspection = inspect(Dataset(data._columns, data.episode_starts, origin))
    assert inspection["source.cameras_left_out"].status == "warn"
    assert inspection["source.joined"].status == "pass"


def test_json_and_markdown():
    inspection = inspect(load(good(actions=put(3, 1.5))))
    value = json.loads(json.dumps(inspection.to_dict(), allow_nan=False))
    assert value["schema"] == "rlassay.inspection/1" and value["status"] == "fail"
    assert {tuple(check) for check in value["checks"]} == {
        ("name", "status", "message", "rows", "remedy")
    }
    fired = next(check for check in value["checks"] if check["name"] == "action_bounds")
    assert fired["rows"] == [3] and fired["status"] == "fail"
    page = markdown(inspection)
    assert "| FAIL | `action_bounds` |" in page
    assert len(page.splitlines()) == 6 + len(inspection.checks)
    with pytest.raises(KeyError, match="no check"):
        inspection["nothing"]


@pytest.mark.parametrize("width", [40, 100])
def test_terminal_table_fits(width):
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    show_inspection(inspect(load(good(actions=put(3, 1.5)))), Console(file=text, width=width))
    lines = text.getvalue().splitlines()
    assert max(len(line) for line in lines) <= width
    assert any(line.startswith("FAIL") and "action_bounds" in line for line in lines)
    assert "\x1b" not in text.getvalue()  # no colour outside a terminal


def environment_check(env_id, **changes):
    return inspect_source(good(**changes), env_id=env_id)["environment"]


def test_the_environment_is_asked_for_its_dimensions():
    """Hopper has 11 observations and 3 actions; this file has 3 and 2."""
    check = environment_check("Hopper-v5")
    assert check.status == "fail"
    assert "observations of 3 instead of 11" in check.message
    assert "actions of 2 instead of 3" in check.message


def pendulum(**changes):
    """Pendulum-v1: 3 observations, one action in [-2, 2], 200 steps."""
    return {"actions": good()["actions"][:, :1], "action_low": None, "action_high": None, **changes}


def test_bounds_and_step_limit_of_the_environment():
    assert environment_check("Pendulum-v1", **pendulum()).status == "pass"
    strong = good()["actions"][:, :1].copy()
    strong[17] = 2.5
    check = environment_check("Pendulum-v1", **pendulum(actions=strong))
    assert check.rows == (17,) and "1 actions outside [-2, 2]" in check.message
    never = np.zeros(ROWS, bool)
    joined = environment_check("Pendulum-v1", **pendulum(terminals=never, timeouts=never))
    assert joined.rows == (0,) and "1 episodes beyond its 200 steps" in joined.message


def test_discrete_choices_of_the_environment():
    four = np.random.default_rng(0).normal(size=(ROWS, 4)).astype("f4").cumsum(axis=0)
    choices = np.arange(ROWS) % 2
    own = {"observations": four, "next_observations": None, "action_low": None, "action_high": None}
    assert environment_check("CartPole-v1", **own, actions=choices).status == "pass"
    check = environment_check("CartPole-v1", **own, actions=np.arange(ROWS) % 3)
    assert check.status == "fail" and "beyond the 2 choices" in check.message
    check = environment_check("CartPole-v1", **own, actions=choices + 0.5)
    assert "instead of one of 2 choices" in check.message


def test_an_environment_that_cannot_be_made_is_not_checked():
    check = environment_check("NoSuch-v7")
    assert check.status == "pass" and check.message.startswith("not checked: ")


def test_no_module_is_imported_because_a_file_names_it(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert environment_check("planted:Danger-v0").message.startswith("not checked: ")


def test_without_the_simulator_it_says_so(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "gymnasium", None)
    assert environment_check("Hopper-v5").message == "not checked: needs the extra sim"


def test_inspect_and_curate_count_copies_by_one_rule(tmp_path):
    """A copy with another reward is none for either; one that differs by rounding is one for both."""
    from rlassay.curation import apply_rule
    from rlassay.curation.rule import Rule

    for change in ({}, {"rewards": 1.0}, {"observations": 1e-12}):
        columns = {n: np.asarray(c, "f8") if n != "terminals" else c for n, c in good().items()}
        columns = repeated(columns)
        for name, offset in change.items():
            columns[name][ROWS:] += offset
        data = load(columns)
        counted = len(inspect(data)["duplicate_episodes"].rows)
        assert counted == apply_rule(data, Rule(dedupe=True)).repeated
        assert counted == (0 if "rewards" in change else 1)
