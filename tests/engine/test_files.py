"""Writing: links stay links, pipes and devices are never replaced, modes are kept, leftovers go, one writer at a time."""

import errno
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rlassay.engine import files, parts, targets
from rlassay.engine.files import (
    quarantine,
    read_bounded,
    read_or_set_aside,
    replacing,
    replacing_folder,
    require_writable,
    write_atomically,
    write_json,
)
from rlassay.errors import DatasetError


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "card.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real/card.json")
    write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real" / "card.json").read_text() == '{\n "a": 1\n}\n'
    (tmp_path / "dangling").symlink_to("real/new")
    write_atomically(tmp_path / "dangling", "x")
    assert (tmp_path / "dangling").is_symlink() and (tmp_path / "real/new").read_text() == "x"


def test_a_pipe_is_written_through(tmp_path):
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "text")
    reader.join()
    assert heard == ["text"] and stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_needs_a_rename_refuses_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.hdf5")
    with pytest.raises(DatasetError, match="is a pipe, and this can only be written to a file"):
        with replacing(tmp_path / "pipe.hdf5"):
            raise AssertionError("the block must not run")
    with pytest.raises(DatasetError, match="is a pipe"):
        require_writable(tmp_path / "pipe.hdf5", streams=False)
    require_writable(tmp_path / "pipe.hdf5")
    assert hidden(tmp_path) == []


class DeviceStatus:
    st_mode = stat.S_IFCHR | 0o666


def test_a_device_is_never_replaced(tmp_path, monkeypatch):
    """With a stubbed `stat`: no test opens a device."""
    target = tmp_path / "device"
    target.write_text("old")
    monkeypatch.setattr(targets, "status_of", lambda path: DeviceStatus())
    with pytest.raises(DatasetError, match="is a device"):
        with replacing(target):
            pass
    node = target.stat().st_ino
    write_atomically(target, "new")  # streamed into what stands there
    assert target.stat().st_ino == node and target.read_text() == "oldnew"


def test_the_file_behind_stdout_is_appended_to_and_not_replaced(tmp_path):
    code = (
        "import sys; from rlassay.engine.files import write_json\n"
        "print('before', flush=True); write_json('/dev/stdout', 1); print('after')"
    )
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\n1\nafter\n"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_outputs_keep_the_mode_of_their_source(tmp_path, mode):
    source = tmp_path / "source"
    source.write_text("x")
    source.chmod(mode)
    write_atomically(tmp_path / "copy", "x", like=source)
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == mode
    with replacing_folder(tmp_path / "folder", like=source) as folder:
        (folder / "x").write_text("x")
    others = stat.S_IMODE((tmp_path / "folder").stat().st_mode)
    assert others & 0o044 == mode & 0o044 and others & 0o700 == 0o700


def test_a_replaced_file_keeps_its_mode_and_never_opens_up(tmp_path):
    target, source = tmp_path / "target", tmp_path / "source"
    for path, mode in ((target, 0o600), (source, 0o644)):
        path.write_text("x")
        path.chmod(mode)
    write_atomically(target, "y", like=source)
    write_atomically(target, "z")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    write_atomically(tmp_path / "fresh", "x")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o666 & ~umask


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_outputs_keep_the_owner_of_their_source(tmp_path):
    source = tmp_path / "source"
    source.write_text("x")
    os.chown(source, 1234, 1235)
    write_atomically(tmp_path / "copy", "x", like=source)
    found = (tmp_path / "copy").stat()
    assert (found.st_uid, found.st_gid) == (1234, 1235)


LEAVE_A_PART = """
import os, sys
from pathlib import Path
from rlassay.engine.files import replacing
with replacing(Path(sys.argv[1])) as part:
    part.write_text("half")
    print(part, flush=True)
    sys.stdin.read() if len(sys.argv) > 2 else os._exit(9)
"""


def test_leftovers_of_the_dead_go_with_the_next_write_and_those_of_the_living_stay(tmp_path):
    target = tmp_path / "target"
    subprocess.run([sys.executable, "-c", LEAVE_A_PART, target], capture_output=True)
    assert len(hidden(tmp_path)) == 1
    command = [sys.executable, "-c", LEAVE_A_PART, target, "stay"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as living:
        part = Path(living.stdout.readline().decode().strip())
        write_atomically(tmp_path / "other", "x")
        assert part.name in hidden(tmp_path)
        write_atomically(target, "whole")
        assert hidden(tmp_path) == [part.name] and target.read_text() == "whole"
        living.stdin.close()
        assert living.wait() == 0
    assert hidden(tmp_path) == [] and target.read_text() == "half"


def test_a_part_of_an_unknown_writer_stays_for_a_day(tmp_path):
    fresh, old = tmp_path / ".target.abc123.part", tmp_path / ".target.def456.part"
    for path, age in ((fresh, 0), (old, parts.OLD + 60)):
        path.write_text("x")
        os.utime(path, (time.time() - age,) * 2)
    write_atomically(tmp_path / "target", "x")
    assert hidden(tmp_path) == [fresh.name]


def test_names_as_long_as_the_file_system_allows(tmp_path):
    target = tmp_path / ("é" * 127)
    write_atomically(target, "x")
    assert target.read_text() == "x" and hidden(tmp_path) == []
    with pytest.raises(DatasetError, match="File name too long"):
        write_atomically(tmp_path / ("x" * 256), "x")
    with pytest.raises(DatasetError, match="File name too long"):
        require_writable(tmp_path / ("x" * 256))


@pytest.mark.parametrize("way", [replacing, replacing_folder])
def test_a_second_writer_is_told(tmp_path, way):
    target = tmp_path / "target"
    with way(target, alone=True):
        with pytest.raises(DatasetError, match="another process is writing"):
            with way(target, alone=True):
                raise AssertionError("both may write")
        with way(tmp_path / "other", alone=True):
            pass
    with way(target, alone=True):
        pass
    assert hidden(tmp_path) == []


def test_an_unwritable_place_is_noticed_and_nothing_is_made(tmp_path):
    (tmp_path / "file").write_text("x")
    for path, message in (
        (tmp_path / "file" / "card.json", "cannot write .*card.json"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(DatasetError, match=message):
            require_writable(path)
    require_writable(tmp_path / "new" / "deep" / "card.json")
    require_writable(tmp_path, folder=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_without_permission_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(DatasetError, match=r"is not writable\); nothing was changed"):
        require_writable(tmp_path / "x")


def test_folders_are_swapped_in_one_step(tmp_path, monkeypatch):
    target = tmp_path / "data-v0"
    for content in ("one", "two"):
        with replacing_folder(target) as folder:
            (folder / "x").write_text(content)
    monkeypatch.setattr(files, "_exchanged", lambda one, other: False)  # systems without it
    with replacing_folder(target) as folder:
        (folder / "x").write_text("three")
    assert (target / "x").read_text() == "three" and hidden(tmp_path) == []


def test_a_damaged_file_is_set_aside_and_named(tmp_path, capsys):
    path = tmp_path / "result.json"
    for number, content in enumerate((b"", b"{", b"\xff\xfe", b"[" * 100_000), 1):
        path.write_bytes(content)
        assert read_or_set_aside(path, lambda p: __import__("json").loads(p.read_text())) is None
        assert (tmp_path / f"result.json.damaged-{number}").read_bytes() == content
    assert capsys.readouterr().err.count("result.json is damaged (") == 4
    assert read_or_set_aside(path, lambda p: p.read_text()) is None  # absent: nothing to set aside
    assert len(list(tmp_path.iterdir())) == 4


def test_what_cannot_be_set_aside_is_said(tmp_path):
    with pytest.raises(DatasetError, match="cannot be set aside"):
        quarantine(tmp_path / "absent", "no reason")


def test_reading_ends(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def pour() -> None:
        with pytest.raises(BrokenPipeError), open(pipe, "wb", buffering=0) as file:
            while True:
                file.write(bytes(65_536))

    writer = threading.Thread(target=pour)
    writer.start()
    with pytest.raises(DatasetError, match="too long"):
        read_bounded(pipe, 1_000_000)
    writer.join()


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "target"
    target.write_text("old")
    monkeypatch.setattr("rlassay.engine.faults._counted", 0)
    monkeypatch.setenv("RLASSAY_FAULT", "enospc@2")
    with pytest.raises(DatasetError, match=os.strerror(errno.ENOSPC)):
        write_atomically(target, "new")
    assert target.read_text() == "old" and hidden(tmp_path) == []
