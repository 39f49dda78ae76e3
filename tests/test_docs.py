"""Documentation that cannot go stale: the README's blocks run, the command reference is current, no page is orphaned."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
SKIPPED = ("pip install", "make ", "git clone")  # what the tests themselves stand on


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text()
    return [body for name, body in BLOCK.findall(text) if name == language]


def shell_lines() -> list[str]:
    lines = [
        line.partition("  #")[0].strip() for body in blocks("bash") for line in body.splitlines()
    ]
    return [line for line in lines if line and not line.startswith(("#", *SKIPPED))]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder as a reader of the README would have it: one of the samples under the names the README uses."""
    from rlassay import samples

    folder = tmp_path_factory.mktemp("desk")
    for name, path in zip(("random", "medium", "expert"), samples.paths(), strict=True):
        shutil.copy(path, folder / f"{name}.hdf5")
    return folder


def test_readme_has_commands():
    assert len(shell_lines()) >= 5
    assert len(blocks("python")) >= 1


def test_readme_commands_run(desk):
    """In order, in one folder: what one writes, the next may read. Long ones are asked for their help only."""
    for line in shell_lines():
        words = shlex.split(line)
        assert words[0] == "rlassay", line
        if words[1] in ("train", "oracle", "collect", "study"):
            words = [*words[:2], "--help"]
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=desk, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_readme_python_runs(desk):
    for body in blocks("python"):
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        subprocess.run([sys.executable, "-c", body], cwd=desk, env=environment, check=True)


def without_digits(text: str) -> list[str]:
    """Lines with every number as #: another processor rounds differently, and intervals move with it."""
    return [re.sub(r"-?[\d,.]*\d", "#", line).split() for line in text.splitlines() if line.strip()]


def test_readme_shows_what_is_printed(desk):
    """Every shown line is printed, in that order; `...` stands for lines left out."""
    [shown] = [body for body in blocks("text") if body.startswith("$ ")]
    command, _, wanted = shown.removeprefix("$ ").partition("\n")
    environment = {**os.environ, "COLUMNS": "80"}
    words = [sys.executable, "-m", *shlex.split(command), "--no-store"]
    done = subprocess.run(words, cwd=desk, env=environment, capture_output=True, text=True)
    printed = iter(without_digits(done.stdout))
    lines = [line for line in without_digits(wanted) if line != ["..."]]
    assert len(lines) > 10 and all(line in printed for line in lines)


def test_command_reference_is_current():
    import make_cli_docs

    assert make_cli_docs.PAGE.read_text() == make_cli_docs.page(), (
        "run python scripts/make_cli_docs.py"
    )


def test_the_table_of_scores_is_current():
    import make_score_docs

    text = make_score_docs.PAGE.read_text()
    assert make_score_docs.table() in text and make_score_docs.page(text) == text, (
        "run python scripts/make_score_docs.py"
    )
    found = {path: path.read_text() for path in (make_score_docs.FOLDER / "each").glob("*.md")}
    assert found == make_score_docs.pages(), "run python scripts/make_score_docs.py"


def test_python_reference_is_current():
    import make_api_docs

    assert make_api_docs.PAGE.read_text() == make_api_docs.page(), (
        "run python scripts/make_api_docs.py"
    )


def test_examples_of_the_python_reference_run():
    """In a process of their own, because one of them registers a score."""
    import make_api_docs

    assert {"load", "score", "compare", "curate", "Scorecard"} <= set(make_api_docs.doctests())
    program = [sys.executable, str(ROOT / "scripts" / "make_api_docs.py"), "--run"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def tutorial_blocks() -> list[tuple[str, str, str]]:
    pages = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    return [
        (page.stem, language, body)
        for page in pages
        for language, body in BLOCK.findall(page.read_text())
    ]


def test_tutorials_run(tmp_path):
    """Every block in order, in one folder a page, as a reader would."""
    programs = {"python": [sys.executable, "-c"], "bash": ["bash", "-euc"]}
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, words in {"rlassay": "-m rlassay", "python": ""}.items():
        (binaries / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (binaries / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    blocks_of_pages = tutorial_blocks()
    assert len(blocks_of_pages) >= 5
    for page, language, body in blocks_of_pages:
        if language in programs:
            desk = tmp_path / page
            desk.mkdir(exist_ok=True)
            done = subprocess.run(
                [*programs[language], body],
                cwd=desk,
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{page}: {body}\n{done.stderr}"


def test_every_page_is_in_the_navigation():
    listed = (ROOT / "mkdocs.yml").read_text()
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page not in listed] == []


def test_tables_are_current():
    import fill_docs

    stale = [
        str(page)
        for page in fill_docs.pages()
        if fill_docs.filled(page.read_text()) != page.read_text()
    ]
    assert stale == [], "run python scripts/fill_docs.py"
    assert fill_docs.stale_pictures() == {}, "run python scripts/fill_docs.py"


def test_a_stale_table_is_seen():
    import fill_docs

    block = "<!-- table results/critic/convergence.csv: dataset, critic where seed=0 -->\n{}<!-- end -->\n"
    page = fill_docs.filled(block.format("\nold\n"))
    assert "old" not in page and "| dataset | critic |" in page
    assert fill_docs.filled(page) == page
    assert fill_docs.filled(block.replace("seed=0", "seed=99").format("")).count("\n|") == 2


def test_pages_turn_scores_as_the_scores_do():
    """Every table row that names a score and a direction names the score's own."""
    from rlassay.scoring import SCORES

    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for page in [ROOT / "README.md", *(ROOT / "docs" / "scores").glob("*.md")]
        for line in page.read_text().splitlines()
        if line.startswith(("| `", "| [`"))
    ]
    told = [
        (name, direction, cells)
        for cells in rows
        for name in re.findall(r"`([\w.]+)`", cells[0])
        for direction in ("higher", "lower")
        if name in SCORES and direction in cells[1:]
    ]
    counts = Counter(name for name, _, _ in told)
    assert counts == dict.fromkeys(SCORES, 2)  # the table of all scores, and the page of its kind
    assert [cells for name, direction, cells in told if SCORES[name].direction != direction] == []
