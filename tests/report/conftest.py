"""A real browser for the page, and a recorder of everything that must not happen in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = "no Chromium found; install it with: sudo apt-get install chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium. Missing in CI it is a failure, elsewhere a skip that says what to install."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(INSTALL)
        pytest.skip(INSTALL)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield instance
        instance.close()


class Visit:
    """A page opened from disk, with its complaints, requests and dialogs."""

    def __init__(self, page: Any):
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._asked)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def outside(self) -> list[str]:
        """Requests for anything that the file does not hold itself."""
        inside = ("file://", "data:", "blob:")
        return [url for url in self.requests if not url.startswith(inside)] + [
            url
            for url in self.requests
            if url.startswith("file://") and not url.endswith("/page.html")
        ]

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """`visit(html, **context)` opens the page and waits until its charts are drawn."""
    contexts = []

    def open_page(html: str, **options: Any) -> Visit:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        opened = Visit(context.new_page())
        opened.page.goto(file.as_uri())
        opened.page.wait_for_selector("html[data-ready]", state="attached")
        return opened

    yield open_page
    for context in contexts:
        context.close()
