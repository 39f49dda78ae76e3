"""Datasets by name from a hub, through the projects' own clients and their own caches.

`minari://D4RL/door/human-v2` goes through `minari`, `hf://lerobot/pusht[@revision]` through `huggingface_hub`. What is
in the cache is read without a network. The revision that was read is kept with the data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rlassay.errors import DatasetError

SCHEMES = ("minari", "hf")
REPOSITORY = re.compile(r"[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*")
# never fetched: pictures, films and weights are not read
SKIPPED = [
    "*.mp4",
    "*.avi",
    "*.mkv",
    "*.png",
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.safetensors",
    "*.bin",
    "*.pt",
]


@dataclass(frozen=True)
class Fetched:
    """Where a dataset of a hub lies now, and what exactly it is."""

    path: Path
    source: str  # the name with its revision, which reads the same data again
    pinned: dict[str, str]  # hub, repository, revision


def is_hub(source: str) -> bool:
    return source.partition("://")[0] in SCHEMES and "://" in source


def fetch(source: str) -> Fetched:
    """The dataset of a hub's name, from the client's cache or from the network."""
    scheme, _, name = source.partition("://")
    return _minari(name, source) if scheme == "minari" else _huggingface(name, source)


def _minari(name: str, source: str) -> Fetched:
    from rlassay.formats.minari_format import DATASET_ID, local_dataset

    if not DATASET_ID.fullmatch(name):
        raise DatasetError(
            f"{source} names no Minari dataset", allowed="minari://NAMESPACE/NAME-vN"
        )
    path = local_dataset(name)
    if path is None:
        _client("huggingface_hub", source)
        import minari

        with _network(source):
            minari.download_dataset(name)
        path = local_dataset(name)
    if path is None:
        raise DatasetError(f"{source} is not in Minari's folder after its download")
    revision = _minari_revision(path, name)
    return Fetched(path, source, {"hub": "minari", "repository": name, "revision": revision})


def _minari_revision(path: Path, name: str) -> str:
    """The client notes the commit of each file beside it; a dataset that came another way has none."""
    below = name.partition("/")[2]
    root = path if not below else path.parents[below.count("/")]
    note = root / ".cache/huggingface/download" / below / "data/metadata.json.metadata"
    try:
        first = note.read_text().splitlines()[0].strip()
    except (OSError, ValueError, IndexError):
        return "unknown"
    return first if re.fullmatch(r"[0-9a-f]{40}", first) else "unknown"


def _huggingface(name: str, source: str) -> Fetched:
    repository, _, revision = name.partition("@")
    if not REPOSITORY.fullmatch(repository):
        raise DatasetError(
            f"{source} names no dataset repository",
            allowed="hf://OWNER/NAME or hf://OWNER/NAME@REVISION",
        )
    _client("huggingface_hub", source)
    from huggingface_hub import snapshot_download

    with _network(source):
        folder = snapshot_download(
            repository, repo_type="dataset", revision=revision or None, ignore_patterns=SKIPPED
        )
    path = Path(folder)
    pinned = {"hub": "hf", "repository": repository, "revision": path.name}
    return Fetched(path, f"hf://{repository}@{path.name}", pinned)


def _client(module: str, source: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise DatasetError(
            f"{source} needs the client {module}, which is not installed",
            remedy="pip install 'rl-assay[hub]', or fetch the dataset yourself and name its folder",
        )


@contextmanager
def _network(source: str) -> Iterator[None]:
    """One sentence for everything that a client raises."""
    try:
        yield
    except DatasetError:
        raise
    except Exception as error:
        what, remedy = _reason(error)
        raise DatasetError(f"{source} {what}", remedy=remedy) from error


def _reason(error: Exception) -> tuple[str, str]:
    kind = type(error).__name__
    endpoint = os.environ.get("HF_ENDPOINT") or "the hub"
    if kind in ("RepositoryNotFoundError", "EntryNotFoundError", "RemoteEntryNotFoundError"):
        return "is not on the hub, or is private", "check the name; log in with `hf auth login`"
    if kind == "RevisionNotFoundError":
        return "has no such revision", "name a branch, a tag or a commit of the repository"
    if kind in ("GatedRepoError", "DisabledRepoError"):
        return "is not open to you", "ask for access on its page, then log in with `hf auth login`"
    if isinstance(error, OSError) or "Connect" in kind or "Timeout" in kind or "LocalEntry" in kind:
        return (
            f"is not in the cache and {endpoint} cannot be reached",
            "check the network, or fetch the dataset elsewhere and name its folder",
        )
    text = (str(error).strip().splitlines() or [kind])[0][:200]
    return f"cannot be fetched ({kind}: {text})", "check the name and the network"
