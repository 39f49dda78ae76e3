"""An error names only flags that its command has: one test over all messages of the package.

Messages are every sentence in the code outside the commands' own modules. A flag that only some commands have stands
in `SAID_BY` with the commands that can print it; a new flag in a message fails here until somebody has thought of that.
"""

import ast
import functools
import re
from pathlib import Path

import pytest
import typer

import rlassay
from rlassay.cli import app

ROOT = Path(rlassay.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z](?![\w_.])")
QUOTED = re.compile(r"rlassay ([a-z]+)((?: (?!rlassay)[^`\n]*)?)")
SCRIPT = re.compile(r"python scripts/[^`\n]*|`ray [^`\n]*`")  # programs with flags of their own

SCORING = {"score", "compare"}
WRITING = {"convert", "curate", "repair"}
SAID_BY = {
    "--set": {*SCORING, "curate", "train", "oracle", "collect"},
    "--force": {*WRITING, "compare", "learn"},
    "--dry-run": {"curate", "repair"},
    "--only": {"repair"},  # in the command that remedies of inspect are filled with
    "--to": {*WRITING},
    "--preset": {*SCORING, "curate"},
    "--scores": {*SCORING, "curate"},
    "--reference": SCORING,
    "--fail-if": {"inspect", "score"},
    "--all": SCORING,
    "--refine": {"score"},
    "--by": {"curate"},
    "--trim-idle": {"curate"},
    "--weights": {"curate"},
    "--mask-in-place": {"curate"},
    "--mask": {"curate"},
    "--zoo": {"collect", "study"},
    "--from-zoo": {"collect"},
    "--run": {"study"},
    "--oracle": {"study"},
    "--data": {"study"},
    "--engine": {"oracle", "score", "study"},
    "--address": {"oracle", "score", "study"},
}


@functools.cache
def flags_of() -> dict[str, set[str]]:
    """Every command and its flags."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name: set(_flags(command)) for name, command in commands.items()}


def _flags(command):
    """Of a command and, for a group such as `runs`, of those below it."""
    for parameter in command.params:
        yield from parameter.opts
    for below in getattr(command, "commands", {}).values():
        yield from _flags(below)


def readers() -> set[str]:
    """Commands that read data: they have the options of reading."""
    return {name for name, flags in flags_of().items() if "--max-episode-steps" in flags}


def shared_flags() -> set[str]:
    """What every command that reads data has."""
    return set.intersection(*(flags_of()[name] for name in readers()))


def sentences(tree: ast.Module):
    """Strings with a space that are no docstrings; of f-strings the constant parts, a gap for each value."""
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
            parts = (str(p.value) if isinstance(p, ast.Constant) else " " for p in node.values)
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and id(node) not in silent and " " in str(node.value):
            yield str(node.value)


@functools.cache
def messages() -> list[tuple[str, str]]:
    """(file, text) of every message that names a flag."""
    return [
        (str(path.relative_to(ROOT)), text)
        for path in ROOT.rglob("*.py")
        if path.parent.name != "cli"
        for sentence in sentences(ast.parse(path.read_text()))
        if FLAG.search(text := SCRIPT.sub("", sentence))
    ]


def test_there_are_messages_to_look_at():
    assert len(messages()) > 20
    assert {"inspect", "score", "curate", "train", "oracle", "convert", "repair"} <= readers()


def test_a_quoted_command_has_the_flags_it_is_quoted_with():
    for file, text in messages():
        for command, rest in QUOTED.findall(text):
            assert command in flags_of(), f"{file}: there is no `rlassay {command}`: {text}"
            unknown = set(FLAG.findall(rest)) - flags_of()[command]
            assert not unknown, f"{file}: `rlassay {command}` has no {unknown}: {text}"


def test_a_flag_is_one_that_every_command_has_which_can_say_it():
    for file, text in messages():
        for flag in FLAG.findall(QUOTED.sub("", text)):
            assert flag in SAID_BY or flag in shared_flags(), (
                f"{file}: {flag} is not a flag of every command that reads data; quote the command it belongs to, "
                f"or say in SAID_BY which commands can print it: {text}"
            )


@pytest.mark.parametrize("flag", SAID_BY)
def test_those_who_say_it_have_it(flag):
    lacking = {name for name in SAID_BY[flag] if flag not in flags_of()[name]}
    assert not lacking
    said = {found for _, text in messages() for found in FLAG.findall(text)}
    assert flag in said, "no message names it any more: delete the row"


def test_a_command_speaks_of_its_own_flags():
    """Sentences in the modules of commands: each flag is one of some command that the module registers or serves."""
    known = set().union(*flags_of().values())
    for path in (ROOT / "cli").glob("*.py"):
        for text in sentences(ast.parse(path.read_text())):
            own = flags_of().get(path.stem, known)
            unknown = set(FLAG.findall(QUOTED.sub("", text))) - own
            assert not unknown, f"{path.name}: {unknown}: {text}"
