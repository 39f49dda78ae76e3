"""Gates: what `inspect` and `score` share when they judge many files for a build, and the exit code of it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rlassay.gate import Condition
    from rlassay.report.ci import Case, FileResult

StrictOption = Annotated[bool, typer.Option("--strict", help="A warning fails, too: exit 1.")]
FailIfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="'NAME OP VALUE'",
        help="Exit 1 when this holds, as in 'return < 1000'; may be given several times.",
    ),
]
JunitOption = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write the result as JUnit XML.")
]
GithubOption = Annotated[
    bool, typer.Option("--github", help="Print findings as annotations of GitHub, on stderr.")
]


def expanded(paths: Sequence[str]) -> list[str]:
    """Paths as given; a pattern that the shell left alone becomes the files that it matches, in order."""
    from rlassay.formats.trees import expand_patterns

    return expand_patterns(paths)


@dataclass
class Gate:
    """Conditions, and what every file made of them; `finish` writes the reports and leaves with the exit code."""

    strict: bool = False
    conditions: Sequence[Condition] = ()
    junit: Path | None = None
    github: bool = False
    several: bool = False
    results: list[FileResult] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """One of several files may be unreadable: it is reported, and the others finish."""
        from rlassay.errors import DatasetError

        try:
            yield
        except DatasetError as error:
            if not self.several:
                raise
            self.refused(path, str(error))

    def refused(self, path: str, cause: str) -> None:
        """Say at once that a file could not be read, and remember it."""
        from rlassay.report.ci import Case, FileResult

        named = "" if path in cause else f"{path}: "
        typer.echo(f"rlassay: {named}{cause}", err=True)
        self.errors.append({"source": path, "error": cause})
        self.results.append(FileResult(path, [Case("read", "error", cause)]))

    def judge(self, path: str, cases: list[Case], facts: Mapping[str, Any]) -> None:
        """Take the cases of a file, and hold the conditions against its facts."""
        from rlassay.gate import broken
        from rlassay.report.ci import Case, FileResult

        hits = broken(self.conditions, facts)
        for hit in hits:
            typer.echo(f"rlassay: {path}: fails if {hit}", err=True)
        conditions = [Case("fail-if", "fail", hit) for hit in hits]
        self.results.append(FileResult(path, [*cases, *conditions], strict=self.strict))

    def finish(self) -> None:
        """Write what was asked for; exit 1 when a file fails, else 3 when one could not be read."""
        from rlassay.report.ci import to_annotations, to_junit

        if self.junit is not None:
            from rlassay.engine.files import write_atomically

            write_atomically(self.junit, to_junit(self.results))
            typer.echo(f"wrote {self.junit}", err=True)
        if self.github:
            for line in to_annotations(self.results):
                typer.echo(line, err=True)
        unread = {error["source"] for error in self.errors}
        if any(result.failed for result in self.results if result.path not in unread):
            raise typer.Exit(1)
        if unread:
            raise typer.Exit(3)


def opened(
    paths: Sequence[str],
    known: Callable[[], Iterable[str]],
    strict: bool,
    fail_if: list[str] | None,
    junit: Path | None,
    github: bool,
) -> Gate:
    """The gate for these files; a condition that cannot be asked is refused before anything is read."""
    from rlassay.gate import parse_conditions, require_known

    conditions = parse_conditions(fail_if or [])
    if conditions:
        require_known(conditions, known())
    return Gate(strict, conditions, junit, github, several=len(paths) > 1)


# -- inspections ---------------------------------------------------------------------------------------------------------

INSPECTED = ("status", "transitions", "episodes", "observation_dim", "action_dim")
MEASURED = ("return", "return_min", "return_max", "length", "length_min", "length_max")


def inspection_names() -> list[str]:
    """What `inspect --fail-if` knows: sizes, returns, lengths, and the status of every check."""
    from rlassay.inspection import CHECKS
    from rlassay.inspection.rules import HELD

    checks = ["shapes", *(check.__name__ for check in CHECKS), "environment"]
    return [*INSPECTED, *MEASURED, *checks, *(f"rules.{name}" for name in HELD)]


def inspection_facts(inspection: Any, data: Any) -> dict[str, Any]:
    """The facts of one file; what it does not have is withheld."""
    facts: dict[str, Any] = dict.fromkeys(inspection_names())
    facts |= {name: inspection.dataset.get(name) for name in INSPECTED}
    facts |= {check.name: check.status for check in inspection.checks}
    facts["status"] = inspection.status
    if data is not None and inspection["shapes"].status == "pass":
        lengths = data.episode_lengths
        facts |= {"length": lengths.mean(), "length_min": lengths.min()}
        facts["length_max"] = lengths.max()
        if data.rewards is not None:
            returns = data.episode_returns
            facts |= {"return": returns.mean(), "return_min": returns.min()}
            facts["return_max"] = returns.max()
    return {name: _plain(fact) for name, fact in facts.items()}


def _plain(fact: Any) -> Any:
    """A number that can be compared; NaN and infinity are no value."""
    import math

    if fact is None or isinstance(fact, str):
        return fact
    return float(fact) if math.isfinite(float(fact)) else None


def inspection_cases(inspection: Any) -> list[Case]:
    """One case a check."""
    from rlassay.report.ci import Case

    def told(check: Any) -> str:
        return f"{check.message} -> {check.remedy}" if check.remedy else check.message

    return [Case(check.name, check.status, told(check)) for check in inspection.checks]


# -- scorecards ----------------------------------------------------------------------------------------------------------

COUNTED = ("verdict", "transitions", "episodes")


def score_names() -> list[str]:
    """What `score --fail-if` knows: every score, third parties' included, the verdict's label and the sizes."""
    from rlassay.scoring.registry import SCORES

    return [*SCORES, *COUNTED]


def judge_card(gate: Gate, path: str, card: Any) -> None:
    """Hold a scorecard against the gate: its inspection and warnings are cases, its scores are facts."""
    from rlassay.report.ci import Case

    told = card.to_dict()
    facts: dict[str, Any] = dict.fromkeys(score_names())
    facts |= {name: _plain(score["value"]) for name, score in told["scores"].items()}
    facts |= {name: float(told["dataset"][name]) for name in ("transitions", "episodes")}
    facts["verdict"] = (told.get("verdict") or {}).get("label")
    checks = (told.get("inspection") or {}).get("checks", ())
    cases = [
        # a failed check of the structure is a warning of a score: the card is there, `--strict` refuses it
        Case(check["name"], "pass" if check["status"] == "pass" else "warn", check["message"])
        for check in checks
    ]
    cases += [Case(one["code"], "warn", one["message"]) for one in told["warnings"]]
    gate.judge(path, cases, facts)
