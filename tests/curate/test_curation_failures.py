"""What goes wrong ends in one sentence, exit code 2, an unchanged source and no partial output."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from curate_data import made_dataset
from test_curation_files import bytes_of, write_robomimic

from rlassay.formats import save

FILE_LIMIT = 20_000  # bytes; smaller than any copy made here


def large_dataset():
    """Incompressible, a quarter of a megabyte."""
    return made_dataset(lengths=(2_000, 2_000, 2_000, 2_000), terminal=())


def rlassay(*arguments, file_limit=None, **environment):
    limit = (
        (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit,) * 2))
        if file_limit
        else None
    )
    return subprocess.run(
        [sys.executable, "-m", "rlassay", *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env={**os.environ, **environment},
    )


def assert_refused(done, *words):
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("rlassay: "), done.stderr
    for word in words:
        assert word in lines[0]
    assert done.stdout == ""


@pytest.fixture
def source(tmp_path):
    save(large_dataset(), tmp_path / "data.hdf5")
    return tmp_path / "data.hdf5"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (("--keep", "0"), ("keep is out of range", "above 0, up to 1", "got: 0")),
        (("--keep", "1.5"), ("keep is out of range", "got: 1.5")),
        (("--top-k", "5"), ("top_k", "1 to 4")),
        (("--keep", "0.5", "--top-k", "1"), ("two ways of choosing",)),
        (
            ("--keep", "0.5", "--by", "nonsense"),
            ("unknown episode score", "return", "got: nonsense"),
        ),
        (("--keep", "0.5", "--by", "0.5*"), ("--by cannot be read",)),
        (("--min-score", "1e9", "--by", "return"), ("no episode reaches", "the scores are")),
        ((), ("no rule is given",)),
    ],
)
def test_a_bad_rule_is_one_sentence(source, tmp_path, rule, words):
    assert_refused(rlassay("curate", source, *rule, "-o", tmp_path / "out.hdf5"), *words)
    assert [path.name for path in tmp_path.iterdir()] == ["data.hdf5"]


def test_one_episode_is_one_sentence(tmp_path):
    save(made_dataset(lengths=(20,), terminal=()), tmp_path / "one.npz")
    done = rlassay("curate", tmp_path / "one.npz", "--keep", "0.5", "-o", tmp_path / "out.npz")
    assert_refused(done, "one episode")
    assert [path.name for path in tmp_path.iterdir()] == ["one.npz"]


def test_equal_scores_are_one_sentence(tmp_path):
    data = made_dataset(lengths=(5, 5), terminal=()).select([0, 0, 0])
    save(data, tmp_path / "same.npz")
    done = rlassay(
        "curate", tmp_path / "same.npz", "--keep", "0.5", "--by", "return", "-o", tmp_path / "o.npz"
    )
    assert_refused(done, "all 3 episodes have the same score by return")
    assert [path.name for path in tmp_path.iterdir()] == ["same.npz"]


def test_an_existing_target_is_refused_without_force(source, tmp_path):
    out = tmp_path / "out.hdf5"
    out.write_bytes(b"precious")
    rule = ("--keep", "0.5", "--by", "return")
    assert_refused(rlassay("curate", source, *rule, "-o", out), "exists", "--force")
    assert out.read_bytes() == b"precious"
    assert rlassay("curate", source, *rule, "-o", out, "--force").returncode == 0
    assert out.read_bytes()[1:4] == b"HDF"


def test_the_source_itself_is_never_the_target(source):
    before = source.read_bytes()
    done = rlassay("curate", source, "--keep", "0.5", "--by", "return", "-o", source, "--force")
    assert_refused(done, "the source itself")
    assert source.read_bytes() == before


@pytest.mark.parametrize("name", ["data.hdf5", "data.npz", "data-v0"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, name):
    source, target = tmp_path / name, tmp_path / "out" / f"best-{name}"
    save(large_dataset(), source)
    target.parent.mkdir()
    before = bytes_of(source)
    done = rlassay(
        "curate", source, "--keep", "0.5", "--by", "return", "-o", target, file_limit=FILE_LIMIT
    )
    assert_refused(done, "cannot write", "nothing was changed")
    assert list(target.parent.iterdir()) == [] and bytes_of(source) == before


def test_a_full_disk_keeps_the_old_target(source, tmp_path):
    out = tmp_path / "out.hdf5"
    save(made_dataset(), out)
    before = out.read_bytes()
    rule = ("--keep", "0.5", "--by", "return", "--force")
    assert_refused(
        rlassay("curate", source, *rule, "-o", out, file_limit=FILE_LIMIT), "cannot write"
    )
    assert out.read_bytes() == before and len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_leaves_a_masked_source_as_it_was(tmp_path):
    source = tmp_path / "demos.hdf5"
    write_robomimic(source)
    before = source.read_bytes()
    done = rlassay(
        "curate", source, "--keep", "0.5", "--by", "return", "--mask-in-place", file_limit=5_000
    )
    assert_refused(done, "cannot write")
    assert source.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["demos.hdf5"]


def test_a_full_disk_leaves_no_weights(source, tmp_path):
    done = rlassay(
        "curate",
        source,
        "--weights",
        tmp_path / "w.npz",
        "--weight-by",
        "return",
        "--temperature",
        "1",
        file_limit=100,
    )
    assert_refused(done, "cannot write")
    assert not (tmp_path / "w.npz").exists()


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 kB; needs the right to mount."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(
            "mounting a tmpfs is not allowed here; the file size limit above stands in for it"
        )
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("name", ["best.hdf5", "best.npz", "best-v0"])
def test_a_really_full_disk(source, tiny_disk: Path, name):
    done = rlassay("curate", source, "--keep", "0.5", "--by", "return", "-o", tiny_disk / name)
    assert_refused(done, "cannot write", "No space left")
    assert list(tiny_disk.iterdir()) == []
