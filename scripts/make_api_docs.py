"""Write docs/api.md from the docstrings of the public names, or run its examples with `--run`; tests do both."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from api_examples import EXAMPLES

import rlassay

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
INTRODUCTION = """# Python

Made by `python scripts/make_api_docs.py` from the docstrings. The examples run in the tests.

Results (`Dataset`, `Scorecard`, `Comparison`, `Curation`) have a short `repr`, show themselves as tables in notebooks,
and give a table of pandas or polars with `to_frame()`.
"""
GROUPS = {
    "Data": ("load", "save", "Dataset", "inspect_dataset"),
    "Scores": ("score", "compare", "assess", "Scorecard", "Score", "Comparison"),
    "Episodes": ("episode_scores", "transition_scores", "curate", "Curation"),
    "Agents": ("train_agent", "load_policy", "run_oracle", "collect_graded"),
    "Extending": ("register_score", "register_cost", "register_agent"),
}


def page() -> str:
    """Every public name once: those of the groups, then the rest."""
    named = [name for names in GROUPS.values() for name in names]
    others = [name for name in rlassay._PUBLIC if name not in named]
    sections = [INTRODUCTION]
    for group, names in {**GROUPS, "Others": tuple(others)}.items():
        if names:
            sections.append(f"## {group}\n")
            sections += [_entry(name, getattr(rlassay, name)) for name in names]
    return "\n".join(sections)


def doctests() -> dict[str, str]:
    """The examples that stand on the page, by name."""
    found = dict(EXAMPLES)
    for name in rlassay._PUBLIC:
        text = inspect.getdoc(getattr(rlassay, name)) or ""
        if ">>>" in text:
            found[name] = text + "\n" + found.get(name, "")
    return found


def _entry(name: str, thing: Any) -> str:
    parts = [f"### {name}\n", f"```python\n{_signature(name, thing)}\n```\n", _prose(thing)]
    if name in EXAMPLES:
        parts.append(f"```pycon\n{EXAMPLES[name].strip()}\n```\n")
    if inspect.isclass(thing):
        parts.append(_members(thing))
    return "\n".join(part for part in parts if part)


def _signature(name: str, thing: Any) -> str:
    """The call as one would write it, one argument a line where it is long."""
    signature = inspect.signature(thing)
    text = _plain(str(signature))
    if len(name) + len(text) <= 100:
        return f"{name}{text}"
    parameters = list(signature.parameters.values())
    arguments = [_plain(str(parameter)) for parameter in parameters]
    named = [parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters]
    if True in named:
        arguments.insert(named.index(True), "*")
    ending = text.rpartition(")")[2]
    return f"{name}(\n" + "".join(f"    {each},\n" for each in arguments) + f"){ending}"


def _plain(text: str) -> str:
    """Annotations without their quotes, and defaults without addresses."""
    text = re.sub(r"(: |-> )(['\"])(.*?)\2", r"\1\3", text)
    return re.sub(r"<factory>|<function .*? at 0x[0-9a-f]+>", "...", text)


def _prose(thing: Any) -> str:
    """The docstring; its doctest becomes a block."""
    text = inspect.getdoc(thing) or ""
    before, mark, example = text.partition(">>>")
    block = f"\n```pycon\n{mark}{example.rstrip()}\n```\n" if mark else ""
    return f"{before.strip()}\n{block}"


def _members(thing: type) -> str:
    """Public methods and properties that have a docstring, as a table."""
    rows = []
    for name, member in vars(thing).items():
        function = (
            getattr(member, "__func__", None)
            or getattr(member, "fget", None)
            or getattr(member, "func", None)
            or member
        )
        text = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
        if name.startswith("_") or not text or not inspect.isfunction(function):
            continue
        called = f"{name}()" if inspect.isfunction(getattr(member, "__func__", member)) else name
        rows.append(f"| `{called}` | {text.replace('|', chr(92) + '|')} |")
    if not rows:
        return ""
    return "\n".join(["| member | |", "|---|---|", *rows]) + "\n"


def failures() -> list[str]:
    """What doctest has to say about the examples; nothing where all of them hold."""
    told: list[str] = []
    for name, text in doctests().items():
        test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    return told


if __name__ == "__main__":
    if "--run" in sys.argv:
        sys.exit("".join(failures()) or None)
    PAGE.write_text(page())
