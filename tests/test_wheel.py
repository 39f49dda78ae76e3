"""The wheel in an environment of its own: what a user without a checkout gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import rlassay

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source archive."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def run(built, tmp_path_factory):
    """`run("score", ...)` in a fresh environment: the wheel, and of this one only the libraries.

    A folder named in a .pth file brings its packages, but not its own .pth files, and so no editable install.
    """
    folder = tmp_path_factory.mktemp("user")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    python = folder / "env" / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout
    libraries = sysconfig.get_paths()["purelib"]
    (Path(own.strip()) / "libraries.pth").write_text(f"{libraries}\n")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(built[0])], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["RLASSAY_STORE"] = str(folder / "store")

    def command(*words, program="rlassay"):
        words = [str(folder / "env" / "bin" / program), *map(str, words)]
        return subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)

    where = command("-c", "import rlassay; print(rlassay.__file__)", program="python").stdout
    assert where.startswith(str(folder / "env")), where  # not the checkout's
    return command


def test_the_wheel_holds_what_the_package_needs(built):
    names = zipfile.ZipFile(built[0]).namelist()
    for needed in (
        "rlassay/py.typed",
        "rlassay/report/assets/page.css",
        "rlassay/samples/hopper-medium-v5.hdf5",
    ):
        assert needed in names
    assert not [name for name in names if not name.startswith(("rlassay/", "rl_assay-"))]


def test_the_source_archive_holds_the_source(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/rlassay/__init__.py"} <= names
    assert not [name for name in names if name.startswith(("zoo/", "results/", ".venv"))]


def test_the_version_is_the_packages(run):
    assert rlassay.__version__ in run("--version").stdout


def test_scoring_inspecting_and_reporting_need_no_checkout(run, tmp_path):
    card, page = tmp_path / "card.json", tmp_path / "page.html"
    scored = run("score", "--scores", "return,saco", "--json", card)
    assert scored.returncode == 0, scored.stderr
    assert "hopper-expert-v5.hdf5" in scored.stdout
    assert len(json.loads(card.read_text())["cards"]) == 3
    reported = run("report", card, "-o", page)
    assert reported.returncode == 0, reported.stderr
    assert "hopper-medium-v5.hdf5" in page.read_text()
    find = "from rlassay import samples; print(samples.paths()[1])"
    sample = run("-c", find, program="python").stdout.strip()
    assert run("inspect", sample).returncode == 0


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        (("study", "fig2"), "run from a checkout that holds the committed results"),
        (("collect", "Hopper-v5", "-o", "data", "--from-zoo"), "name its zoo with --zoo DIR"),
    ],
)
def test_what_needs_a_checkout_says_so_in_one_sentence(run, words, needs):
    ended = run(*words)
    assert ended.returncode == 2
    assert needs in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
