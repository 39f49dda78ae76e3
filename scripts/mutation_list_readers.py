"""Mistakes in the readers of files: each is caught by the tests it names."""

from __future__ import annotations

MUTATIONS_READERS: list[tuple[str, str, str, str]] = []
