"""Manners of the command line: no foreign code, no obeyed escapes, sentences instead of tracebacks, modes kept."""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rlassay.cli.guarding import READER_GONE, sentence_of
from rlassay.engine.local import LocalEngine, worker_environment
from rlassay.engine.store import RunStore, Task
from rlassay.errors import DatasetError, RlassayError
from rlassay.formats import load, save
from rlassay.progress import notice
from rlassay.words import printable

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from fault_commands import TRAINING, settings, write_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.npz"
    write_data(path)
    return path


def run(*words, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "rlassay", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        errors="surrogateescape",
    )


def invoke(*words):
    """The command in this process, which costs a tenth of one of its own."""
    from rlassay.cli import app

    return CliRunner().invoke(app, [str(word) for word in words])


def refusal(*words) -> str:
    """The one sentence with which a command ends; `main` prints it, and its code is 2."""
    error = invoke(*words).exception
    assert isinstance(error, RlassayError) and error.exit_code == 2, repr(error)
    assert "\n" not in str(error)
    return str(error)


# -- point 3: whose code runs in a worker


def test_a_module_in_the_working_folder_does_not_run(data, tmp_path):
    for name in ("optax", "h5py", "json"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()")
    words = ("--env", "Pendulum-v1", "--agents", "bc", "--seeds", "1", *settings(TRAINING))
    done = run("oracle", data, *words, cwd=tmp_path, RLASSAY_STORE=str(tmp_path / "store"))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists()


def test_an_empty_entry_of_the_path_is_not_the_working_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "inner", "/elsewhere", ""]))
    assert worker_environment()["PYTHONPATH"] == f"{tmp_path}/inner{os.pathsep}/elsewhere"
    monkeypatch.setenv("PYTHONPATH", "")
    assert "PYTHONPATH" not in worker_environment()


def test_a_module_on_the_path_works_in_a_worker(monkeypatch, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "third_party.py").write_text("def work(s, d, f): return {'ran': True}")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    known = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["plugins", *map(os.path.abspath, known)]))
    [outcome] = LocalEngine(1).run([Task("t", "third_party:work", {})], RunStore(tmp_path / "s"))
    assert outcome.result == {"ran": True}


# -- escapes

EVIL = "a\x1b[31mb\x9bc\u202ed\re\udcff"
SHOWN = r"a\x1b[31mb\x9bc\u202ed\re\udcff"


def test_what_a_terminal_would_obey_is_shown(capsys):
    assert printable(EVIL) == SHOWN
    assert printable("one\ttwo\nthree é 日本", lines=True) == "one\ttwo\nthree é 日本"
    assert str(DatasetError(f"no {EVIL}", got=EVIL)) == f"no {SHOWN}; got: {SHOWN}"
    notice(EVIL)
    assert capsys.readouterr().err == f"rlassay: {SHOWN}\n"


@pytest.mark.parametrize(
    "words", [("inspect",), ("convert", "--to", "npz"), ("score", "--scores", "return")]
)
def test_escapes_in_a_file_reach_no_terminal(tmp_path, words):
    """In the file's name, its environment and its notes."""
    rows = 40
    columns = {
        "observations": np.zeros((rows, 2)),
        "actions": np.full((rows, 1), np.nan),
        "rewards": np.zeros(rows),
        "terminals": np.arange(rows) % 10 == 9,
    }
    path = tmp_path / "x\x1b[2Jy.npz"
    save(load(columns, env_id="Env\x1b]0;title\x07-v1"), path)
    command, *options = words
    out = [tmp_path / "out\x1b[2J.npz"] if command == "convert" else []
    done = run(command, path, *out, *options)
    assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_markup_in_a_name_is_no_markup(tmp_path):
    """A progress bar shows the name of the file; `[/x]` would end the command."""
    code = (
        "import io, sys; from rlassay import progress\n"
        "with progress._bar('odd [/x] name', 3) as advance: advance(1, 'news [/y]')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- sentences


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RecursionError(),
        EOFError(),
        OSError(12, "Cannot allocate memory"),
        OSError(36, "File name too long", "x" * 300),
        PermissionError(13, "Permission denied", "/secret"),
        UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"),
        RuntimeError("Could not determine home directory."),
    ],
)
def test_what_the_machine_refuses_is_a_sentence(error):
    found = sentence_of(error)
    assert isinstance(found, RlassayError) and found.exit_code == 2 and "\n" not in str(found)


def test_a_bug_keeps_its_traceback():
    assert sentence_of(RuntimeError("odd")) is None
    assert sentence_of(BrokenPipeError()).exit_code == READER_GONE


def test_not_enough_memory_is_a_users_error_and_not_a_failed_gate(data):
    code = (
        "import sys, rlassay.cli, rlassay.inspection as i\n"
        "def full(*a, **k): raise MemoryError\n"
        "i.inspect_loaded = full\n"
        "sys.argv = ['rlassay', 'inspect', sys.argv[1]]; rlassay.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code, data], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("rlassay: there is not enough memory")


@pytest.mark.parametrize("name", ["x" * 300, "y/" * 3000])
@pytest.mark.parametrize("where", ["--json", "--html", "--episodes"])
def test_impossible_targets_are_refused_before_the_work(data, name, where):
    assert "cannot write" in refusal("score", data, where, name + ".csv")


@pytest.mark.parametrize("name", ["~nosuchuser/x", "x" * 300])
def test_impossible_sources_are_one_sentence(name):
    for command in ("inspect", "score"):
        assert "unknown user" in (told := refusal(command, name)) or "too long" in told


def test_an_unknown_home_is_one_sentence(data):
    done = run("oracle", data, "--store", "~nosuchuser/x")
    assert done.returncode == 2 and "unknown user" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("score", "DATA", "--json", "BAD/card.json"),
        ("score", "DATA", "--html", "BAD/page.html"),
        ("convert", "DATA", "BAD/out.npz"),
        ("curate", "DATA", "--keep", "0.5", "--by", "return", "-o", "BAD/out.npz"),
        ("curate", "DATA", "--weights", "BAD/w.npz"),
        ("train", "bc", "DATA", "-o", "BAD/run"),
        ("collect", "Pendulum-v1", "-o", "BAD/data"),
        ("study", "fig1", "--run", "--results", "BAD/results"),
        ("inspect", "DATA", "--markdown", "BAD/page.md"),
    ],
    ids=lambda words: f"{words[0]} {words[-2]}",
)
def test_an_unwritable_target_is_noticed_before_the_work(data, tmp_path, monkeypatch, words):
    bad = tmp_path / "file"
    bad.write_text("not a folder")
    filled = [word.replace("DATA", str(data)).replace("BAD", str(bad)) for word in words]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLASSAY_STORE", str(tmp_path / "store"))
    assert "cannot write" in refusal(*filled)
    assert not (tmp_path / "store").exists()


def test_names_that_are_no_unicode(data, tmp_path):
    path = tmp_path / os.fsdecode(b"odd\xff.npz")
    path.write_bytes(data.read_bytes())
    done = run("score", path, "--scores", "return", "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    (tmp_path / "page.html").read_text(encoding="utf-8")


# -- outputs


def test_json_through_a_link_and_a_pipe(data, tmp_path):
    (tmp_path / "link.json").symlink_to("real.json")
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    for target in ("link.json", "pipe"):
        assert run("inspect", data, "--json", tmp_path / target).returncode == 0
    reader.join()
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(heard[0]) == json.loads((tmp_path / "real.json").read_text())


def test_a_dataset_is_not_written_into_a_pipe(data, tmp_path):
    os.mkfifo(tmp_path / "pipe.hdf5")
    assert "is a pipe" in refusal("convert", data, tmp_path / "pipe.hdf5", "--force")
    assert stat.S_ISFIFO((tmp_path / "pipe.hdf5").stat().st_mode)


def test_private_data_stays_private(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "private.npz"
    source.write_bytes(data.read_bytes())
    columns = dict(np.load(data))
    columns["rewards"][5] = np.nan  # so that what is repaired is not the source itself
    np.savez(tmp_path / "faulty.npz", **columns)
    for path in (source, tmp_path / "faulty.npz"):
        path.chmod(0o600)
    for words in (
        ("convert", source, "out.hdf5"),
        ("convert", source, "out-v0"),
        ("curate", source, "--keep", "0.5", "--by", "return", "-o", "better.npz"),
        ("curate", source, "--keep", "0.5", "--by", "return", "-o", "list.csv"),
        ("curate", source, "--weights", "w.npz", "--weight-by", "return"),
        ("repair", "faulty.npz", "-o", "mended.npz"),
    ):
        assert invoke(*words).exit_code == 0
    for name in ("out.hdf5", "out-v0", "better.npz", "list.csv", "w.npz", "mended.npz"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0, name


def test_of_two_writers_one_is_told(data, tmp_path):
    target = tmp_path / "out.npz"
    command = [sys.executable, "-m", "rlassay", "convert", data, target]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], told
    assert any("another process is writing" in text or "exists" in text for text in told)
    assert len(load(target)) == 600 and [p.name for p in tmp_path.iterdir()] == ["out.npz"]


def test_a_list_that_does_not_end_is_refused(data, tmp_path):
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(80 * 2**20)
    told = refusal("curate", data, "--only", tmp_path / "huge", "-o", tmp_path / "out.npz")
    assert "too long" in told


def test_a_list_may_come_through_a_pipe(data, tmp_path):
    pipe = tmp_path / "list"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("episode\n0\n2\n"))
    writer.start()
    done = run("curate", data, "--only", pipe, "-o", tmp_path / "out.npz")
    writer.join()
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "out.npz").episode_count == 2


# -- versions and completion


def test_version_is_enough_for_a_report():
    done = run("--version")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("rlassay ") and lines[1].startswith("python ")
    assert {"jax", "numpy"} <= {line.split()[0] for line in lines}
    code = "import sys, rlassay.cli.versions as v; v.version_lines(); print('jax' in sys.modules)"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert alone.stdout.strip() == "False"


def test_completion_prints_a_script():
    done = run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0 and "_RLASSAY_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("rlassay sco", ["score"]),
        ("rlassay score --fail", ["--fail-if"]),
        ("rlassay score --preset p", ["paper"]),
        ("rlassay score --scores q,return_t", ["q,return_top10"]),
        ("rlassay compare --scores bwd.d", ["bwd.dual"]),
        ("rlassay study tab", ["table1", "table2"]),
        ("rlassay train td", ["td3bc"]),
        ("rlassay curate --by bc_s", ["bc_surprise", "bc_surprise.adjusted"]),
        ("rlassay curate --by 0.5*bwd+0.5*retu", ["0.5*bwd+0.5*return"]),
    ],
)
def test_completion_knows_our_names(words, offered):
    count = str(len(words.split()) - 1)
    done = run(_RLASSAY_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)
    assert done.stdout.split() == offered, done.stderr


def test_help_names_every_study():
    from rlassay.study import STUDIES

    shown = run("study", "--help").stdout
    assert all(name in shown for name in STUDIES)
