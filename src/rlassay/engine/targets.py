"""What stands at a path that is to be written: a file to replace, a link to follow, or something to write through."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from rlassay.errors import DatasetError

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


@dataclass(frozen=True)
class Destination:
    """`path` is where a finished file is renamed to, links followed. `stream` names what no rename may replace.

    `descriptor` is our own stdout or stderr, where the path leads to its file.
    """

    path: Path
    stream: str | None = None
    descriptor: int | None = None


def destination(path: Path) -> Destination:
    """Where content for `path` has to go; nothing is opened or made."""
    try:
        status = status_of(path)
    except FileNotFoundError:
        return Destination(_followed(path))
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            return Destination(path, name)
    descriptor = _our_output(status)
    if descriptor is not None:
        return Destination(path, "the output of this command", descriptor)
    return Destination(_followed(path))


def status_of(path: Path) -> os.stat_result:
    """What the path leads to."""
    return os.stat(path)


def _followed(path: Path) -> Path:
    """A link stays a link: what it points to is replaced."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _our_output(status: os.stat_result) -> int | None:
    """1 or 2 for the file that stdout or stderr goes to, as with `--json /dev/stdout > FILE`."""
    for descriptor in (1, 2):
        try:
            if os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
        except OSError:  # closed
            continue
    return None


def refuse_stream(path: Path, place: Destination) -> None:
    """Formats that are not written from beginning to end need a file that can be replaced."""
    if place.stream is not None:
        raise DatasetError(
            f"{path} is {place.stream}, and this can only be written to a file",
            remedy="name a file",
        )


def require_writable(
    path: str | os.PathLike[str], *, folder: bool = False, streams: bool = True
) -> None:
    """Refuse a target that cannot be written, before the work is done; nothing is made.

    `folder`: the target is a folder into which files go. `streams`: pipes and devices are fine.
    """
    path = Path(path)
    try:
        place = destination(path)
        if not streams:
            refuse_stream(path, place)
        if place.stream is None:
            _require_place(path, place.path, folder)
    except OSError as error:
        raise cannot_write(path, error) from None


def _require_place(named: Path, path: Path, folder: bool) -> None:
    if path.is_dir() and not folder:
        raise DatasetError(f"{named} is a folder", remedy="name a file")
    above = path if path.is_dir() else path.parent
    path.exists()  # raises where the name itself is impossible
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise DatasetError(f"cannot write {named} ({above} is no folder)", remedy=ELSEWHERE)
    if not os.access(above, os.W_OK | os.X_OK):
        raise DatasetError(f"cannot write {named} ({above} is not writable)", remedy=ELSEWHERE)


ELSEWHERE = "nothing was changed; name another place"


def cannot_write(path: Path, error: OSError) -> DatasetError:
    """The one sentence for a target that could not be written."""
    return DatasetError(
        f"cannot write {path} ({error.strerror or error})",
        remedy="nothing was changed; free some space or name another place and run the same command again",
    )


def keep_manners(part: Path, target: Path, like: str | os.PathLike | None) -> None:
    """Give a finished part the owner and mode of the data it derives from and of the file that it replaces.

    A private source never becomes a readable copy: of two modes what both allow is kept.
    """
    folder = part.is_dir()
    known = [_status(like), _status(target)]
    modes = [_mode_for(status, folder) for status in known if status is not None]
    mode = (0o777 if folder else 0o666) & ~_umask() if not modes else modes[0] & modes[-1]
    owner = next((status for status in reversed(known) if status is not None), None)
    own = part.stat()
    if owner is not None and (owner.st_uid, owner.st_gid) != (own.st_uid, own.st_gid):
        for path in (part, *part.rglob("*")) if folder else (part,):
            with contextlib.suppress(OSError):  # only a privileged user may give files away
                os.chown(path, owner.st_uid, owner.st_gid)
    os.chmod(part, mode | (0o700 if folder else 0))


def _status(path: str | os.PathLike | None) -> os.stat_result | None:
    try:
        return None if path is None else os.stat(path)
    except (OSError, ValueError):
        return None


def _mode_for(status: os.stat_result, folder: bool) -> int:
    """Permissions of a file turned into those of a folder, and the other way round."""
    mode = stat.S_IMODE(status.st_mode) & 0o777
    if stat.S_ISDIR(status.st_mode) == folder:
        return mode
    return mode | (mode & 0o444) >> 2 if folder else mode & 0o666


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
