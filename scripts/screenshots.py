"""Screenshots of the report page and of the terminal for the documentation.

    rlassay compare src/rlassay/samples/*.hdf5 --seeds 3 --json cards.json
    python scripts/screenshots.py cards.json --card 1

One picture shows the page of several datasets, the others the page of one: desktop, tablet, dark, the explorer at
work, phone, print; two show the terminal. A card of data without rewards gives one picture: its episodes worth watching. Each is at most 200 KB (a palette of 128 colours is enough).
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from rlassay.report.page import write_page
from rlassay.report.saved import read_saved
from rlassay.report.terminal import show_cards
from rlassay.results.card import Scorecard

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MAX_BYTES = 200_000
DESKTOP, TABLET, PHONE = (
    {"width": 1280, "height": 1080},
    {"width": 820, "height": 1080},
    {"width": 390, "height": 844},
)
SELECT_BEST = (
    "document.querySelector(\"[data-best='0.25']\").click();"
    "document.querySelector('.explorer').scrollIntoView({behavior: 'instant', block: 'start'});"
    "scrollBy(0, -70)"
)
TALL = {"width": 1180, "height": 1560}
SHOW_MOVEMENT = "document.querySelector('.bar').remove(); document.querySelector('.movement').scrollIntoView({behavior: 'instant'})"
SHOW_TABLE = "document.querySelector('#side-by-side-title').scrollIntoView({behavior: 'instant'}); scrollBy(0, -60)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("cards", type=Path)
    parser.add_argument("-o", "--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--card", type=int, default=0, help="the card that is shown alone")
    arguments = parser.parse_args()
    cards, comparison = read_saved([arguments.cards])
    arguments.out.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit("no browser found; install one with: sudo apt-get install chromium")
    if shutil.which("pdftoppm") is None:  # draws what would be printed
        sys.exit("pdftoppm not found; install it with: sudo apt-get install poppler-utils")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        one, several = Path(folder) / "one.html", Path(folder) / "several.html"
        write_page([cards[arguments.card]], one)
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        shots: dict[str, Any] = {
            "report-one": (one, DESKTOP, "light", ""),
            "report-dark": (one, DESKTOP, "dark", ""),
            "report-explorer": (one, DESKTOP, "light", SELECT_BEST),
            "report-tablet": (one, TABLET, "light", ""),
            "report-phone": (one, PHONE, "light", ""),
        }
        if cards[arguments.card].demonstrations:  # data without rewards has a page of its own kind
            shot = _picture(browser, one, TALL, "light", SHOW_MOVEMENT)
            print(_save(shot, arguments.out / "report-demonstrations.png"), "bytes")
            browser.close()
            return
        if len(cards) > 1:
            write_page(cards, several, comparison)
            shots["report-several"] = (several, DESKTOP, "light", "")
            shots["report-several-phone"] = (several, PHONE, "light", SHOW_TABLE)
        pictures = {name: _picture(browser, *shot) for name, shot in shots.items()}
        pictures["report-print"] = _sheets(browser, one, Path(folder))
        for width in (80, 120):
            shown = cards if width > 80 else [cards[arguments.card]]
            pictures[f"terminal-{width}"] = _terminal(browser, shown, width)
        for name, picture in pictures.items():
            print(name, _save(picture, arguments.out / f"{name}.png"), "bytes")
        browser.close()


def _terminal(browser: Any, cards: list[Scorecard], width: int) -> bytes:
    """What the terminal shows, in a terminal's colours."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    show_cards(cards, console)
    form = "<pre style='background:#12151a;color:#e9ebee;padding:18px;margin:0;font:14px/1.35 monospace;display:inline-block'>{code}</pre>"
    text = console.export_html(inline_styles=True, code_format=form, theme=DIMMED_MONOKAI)
    opened = browser.new_page(device_scale_factor=1)
    opened.set_content(f"<body style='margin:0'>{text}</body>")
    picture = opened.locator("pre").screenshot()
    opened.close()
    return picture


def _sheets(browser: Any, page: Path, folder: Path) -> bytes:
    """The printed page, its sheets side by side."""
    from PIL import Image

    opened = browser.new_page()
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached")
    opened.pdf(path=folder / "sheets.pdf", format="A4")
    opened.close()
    command = ["pdftoppm", "-r", "55", "-png", str(folder / "sheets.pdf"), str(folder / "sheet")]
    subprocess.run(command, check=True)
    sheets = [Image.open(path) for path in sorted(folder.glob("sheet-*.png"))]
    width, height = sheets[0].size
    joined = Image.new("RGB", ((width + 6) * len(sheets), height), "#888888")
    for place, sheet in enumerate(sheets):
        joined.paste(sheet, (place * (width + 6), 0))
    kept = io.BytesIO()
    joined.save(kept, "PNG")
    return kept.getvalue()


def _picture(browser: Any, page: Path, size: dict[str, int], scheme: str, action: str) -> bytes:
    context = browser.new_context(viewport=size, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached")
    opened.evaluate(action)
    opened.wait_for_timeout(600)  # the last paint of the charts
    picture = opened.screenshot()
    context.close()
    return picture


def _save(picture: bytes, path: Path) -> int:
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128)
    image.save(path, optimize=True)
    size = path.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{path} has {size:,} bytes; allowed: {MAX_BYTES:,}")
    return size


if __name__ == "__main__":
    main()
