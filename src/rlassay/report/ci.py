"""What continuous integration reads: JUnit XML, and annotations for GitHub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from xml.etree import ElementTree

Level = Literal["pass", "warn", "fail", "error"]
_LEVELS = {"warn": "warning", "fail": "error", "error": "error"}
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One thing that was asked of a file."""

    name: str
    level: Level
    message: str = ""


@dataclass(frozen=True)
class FileResult:
    """A file with everything that was asked of it; `strict` says whether a warning counts as a failure."""

    path: str
    cases: Sequence[Case]
    strict: bool = False
    seconds: float = 0.0
    failing: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        levels = {"fail", "error"} | ({"warn"} if self.strict else set())
        object.__setattr__(self, "failing", frozenset(levels))

    @property
    def failed(self) -> bool:
        return any(case.level in self.failing for case in self.cases)


def to_junit(results: Sequence[FileResult]) -> str:
    """A test suite a file, a test case a check; warnings that do not fail are said in the case's output."""
    root = ElementTree.Element("testsuites", name="rlassay")
    for result in results:
        path = _text(result.path)
        described = {
            "name": path,
            "time": f"{result.seconds:.3f}",
            "tests": str(len(result.cases)),
            "failures": str(sum(case.level in result.failing - {"error"} for case in result.cases)),
            "errors": str(sum(case.level == "error" for case in result.cases)),
        }
        suite = ElementTree.SubElement(root, "testsuite", described)
        for case in result.cases:
            found = ElementTree.SubElement(suite, "testcase", classname=path, name=_text(case.name))
            if case.level == "error":
                ElementTree.SubElement(found, "error", message=_text(case.message))
            elif case.level in result.failing:
                ElementTree.SubElement(found, "failure", message=_text(case.message))
            elif case.message:
                ElementTree.SubElement(found, "system-out").text = _text(
                    f"{case.level}: {case.message}"
                )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _text(value: str) -> str:
    """Text that XML can hold: control characters and lone surrogates have no form there."""
    return _NOT_IN_XML.sub("\ufffd", value)


def to_annotations(results: Sequence[FileResult]) -> list[str]:
    """One workflow command of GitHub a warning or failure: it shows beside the file in a pull request."""
    return [
        f"::{_LEVELS[case.level] if case.level not in result.failing else 'error'} "
        f"file={_escaped(result.path, of_property=True)},"
        f"title={_escaped(f'rlassay {case.name}', of_property=True)}::{_escaped(case.message)}"
        for result in results
        for case in result.cases
        if case.level != "pass"
    ]


def _escaped(value: str, of_property: bool = False) -> str:
    """GitHub's own escapes, so that no message can end its command or begin another."""
    for letter, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        value = value.replace(letter, code)
    if of_property:
        value = value.replace(":", "%3A").replace(",", "%2C")
    return value
