"""Where a result comes from."""

import subprocess

from rlassay.results import provenance


def test_the_commit_of_a_checkout_and_of_nothing_else(tmp_path, monkeypatch):
    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(provenance, "PACKAGE", package)
    commit = provenance.source_commit.__wrapped__
    git("init", "-q")
    assert commit() is None  # somebody else's repository does not track the package
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert len(commit()) == 12
    (package / "__init__.py").write_text("x = 1")
    assert commit().endswith("+changes")
