"""A hub on loopback that speaks as much of HuggingFace's protocol as a download of a dataset needs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Repositories (`owner/name` -> folder) behind a local address; `requests` lists what was asked."""

    def __init__(self, repositories: dict[str, Path]):
        self.repositories = repositories
        self.requests: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_) -> None:  # the base class's name
                pass

            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        path, _, query = request.path.partition("?")
        self.requests.append(f"{request.command} {request.path}")
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "datasets"]:
            self._describe(request, parts[2:], query, body)
        elif parts[:1] == ["datasets"] and parts[3:4] == ["resolve"]:
            self._file(request, "/".join(parts[1:3]), parts[4], "/".join(parts[5:]), body)
        else:
            _send(request, 404, b"{}", {}, body)

    def _describe(self, request, parts: list[str], query: str, body: bool) -> None:
        if len(parts) < 2:
            listed = [_info(name, folder) for name, folder in self.repositories.items()]
            _send_json(request, 200, listed, body)
            return
        name = "/".join(parts[:2])
        folder = self.repositories.get(name)
        if folder is None:
            _missing(request, "RepoNotFound", body)
        elif parts[2:3] == ["revision"] and parts[3] not in ("main", COMMIT):
            _missing(request, "RevisionNotFound", body)
        elif parts[2:3] == ["tree"]:
            _send_json(request, 200, [_entry(folder, file) for file in _files(folder)], body)
        else:
            _send_json(request, 200, _info(name, folder), body)

    def _file(self, request, name: str, revision: str, place: str, body: bool) -> None:
        folder = self.repositories.get(name)
        if folder is None:
            _missing(request, "RepoNotFound", body)
        elif not (folder / place).is_file():
            _missing(request, "EntryNotFound", body)
        else:
            content = (folder / place).read_bytes()
            tag = hashlib.sha1(content).hexdigest()
            _send(request, 200, content, {"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT}, body)


def _files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def _entry(folder: Path, file: str) -> dict:
    content = (folder / file).read_bytes()
    return {
        "type": "file",
        "path": file,
        "size": len(content),
        "oid": hashlib.sha1(content).hexdigest(),
    }


def _info(name: str, folder: Path) -> dict:
    return {
        "id": name,
        "sha": COMMIT,
        "private": False,
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": [{"rfilename": file} for file in _files(folder)],
    }


def _missing(request, code: str, body: bool) -> None:
    _send(request, 404, b"{}", {"X-Error-Code": code, "X-Error-Message": code}, body)


def _send_json(request, status: int, value, body: bool) -> None:
    _send(request, status, json.dumps(value).encode(), {"Content-Type": "application/json"}, body)


def _send(request, status: int, content: bytes, headers: dict[str, str], body: bool) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    if body:
        request.wfile.write(content)


@contextmanager
def serving(repositories: dict[str, Path]) -> Iterator[Hub]:
    hub = Hub(repositories)
    thread = threading.Thread(target=hub.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.server.shutdown()
        hub.server.server_close()
        thread.join()
