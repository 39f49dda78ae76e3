"""Studies and oracles on a terminal: tables that fit, and the plain Markdown in a pipe."""

import io

from rich.console import Console

from rlassay.oracle import oracle_of_runs, published_oracle
from rlassay.report.oracle import show_oracle
from rlassay.report.study import column_groups, show_study

TEXT = """### Wide

| environment | dataset | first of all | second | third | fourth | fifth |
|---|---|---|---|---|---|---|
| Hopper-v5 | medium-replay | 0.94 [0.85, 0.99] | 0.93 [0.81, 0.98] | 0.87 [0.55, 0.97] | 0.90 [0.84, 0.95] | 1 |
| Walker2d-v5 | run-mix | 0.91 [0.78, 0.98] |  | 0.84 [0.27, 0.95] | 0.83 [0.73, 0.90] | 2 |

A sentence behind it.
"""


def shown(show, *given, width=80, terminal=True) -> str:
    file = io.StringIO()
    show(*given, Console(file=file, width=width, force_terminal=terminal, color_system=None))
    return file.getvalue()


def test_a_wide_table_is_split_by_columns_and_fits():
    text = shown(show_study, TEXT)
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines())
    assert text.count("medium-replay") == 2  # the labels are repeated in every part
    for cell in ("0.94 [0.85, 0.99]", "0.90 [0.84, 0.95]", "A sentence behind it.", "fifth"):
        assert cell in text
    assert "|" not in text and "#" not in text


def test_a_pipe_gets_the_markdown_as_it_is():
    assert shown(show_study, TEXT, terminal=False) == TEXT + "\n"


def test_columns_are_grouped_behind_the_labels():
    rows = [["name", "a", "b", "c"], ["x", "1" * 30, "2" * 30, "3" * 30]]
    assert column_groups(rows, 80) == [[0, 1, 2], [0, 3]]
    assert column_groups(rows, 10) == [[0, 1], [0, 2], [0, 3]]  # one a part, however narrow


def test_the_oracle_as_a_table():
    text = shown(show_oracle, published_oracle("hopper-expert-v2").to_json())
    assert "profile published, normalised score" in text
    assert "iql" in text and "110.1" in text and "interquartile mean" in text


def test_what_diverged_and_what_failed_is_said():
    run = {"score": {"value": 80.0}, "return": {"value": 1.0}, "diverged_at": 5}
    failed = [{"run": "iql seed 0", "cause": "no rewards"}]
    found = oracle_of_runs("Hopper-v5", {"source": "x.hdf5"}, {"bc": [run, run]}, "lite", failed)
    text = shown(show_oracle, found.to_json(), width=120)
    assert "2 runs diverged" in text and "none is left without them" in text
    assert "iql seed 0 failed: no rewards" in text and "oracle 80.0 [80.0, 80.0]" in text
    assert "80.0 normalised score" in repr(found)
