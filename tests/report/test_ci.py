"""JUnit and GitHub annotations: well-formed whatever a message says."""

from xml.etree import ElementTree

from rlassay.report.ci import Case, FileResult, to_annotations, to_junit

CASES = [
    Case("shapes", "pass", "12 rows"),
    Case("rewards", "warn", "every reward is 0"),
    Case("finite", "fail", 'NaN in <rows> & "more"\n\x1b[31m'),
]


def test_junit_counts_failures_and_survives_any_text():
    suite = ElementTree.fromstring(to_junit([FileResult("a.hdf5", CASES)]))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    failure = suite[2].find("failure")
    assert failure is not None and '<rows> & "more"' in str(failure.get("message"))
    assert suite[1].findtext("system-out") == "warn: every reward is 0"
    strict = ElementTree.fromstring(to_junit([FileResult("a.hdf5", CASES, strict=True)]))[0]
    assert strict.get("failures") == "2"


def test_an_unreadable_file_is_an_error_of_its_own():
    result = FileResult("b", [Case("read", "error", "cut short")])
    suite = ElementTree.fromstring(to_junit([result]))[0]
    assert suite.get("errors") == "1" and suite.get("failures") == "0" and result.failed


def test_annotations_are_one_command_a_line():
    lines = to_annotations([FileResult("a,b:c.hdf5", CASES)])
    assert len(lines) == 2 and all("\n" not in line for line in lines)
    assert lines[0] == "::warning file=a%2Cb%3Ac.hdf5,title=rlassay rewards::every reward is 0"
    assert lines[1].startswith("::error file=") and "%0A" in lines[1]
    assert to_annotations([FileResult("a", CASES, strict=True)])[0].startswith("::error")


def test_strict_lets_a_warning_fail():
    assert not FileResult("a", CASES[:2]).failed and FileResult("a", CASES[:2], strict=True).failed
