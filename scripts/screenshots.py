"""Screenshots of the report page for the documentation.

    rlassay compare src/rlassay/samples/*.hdf5 --seeds 3 --json cards.json
    python scripts/screenshots.py cards.json --card 1

One picture shows the page of several datasets, the others the page of one: desktop, dark, the explorer at
work, phone. Each is at most 200 KB (a palette of 128 colours is enough for flat colours).
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from rlassay.report.page import write_page
from rlassay.report.saved import read_saved

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MAX_BYTES = 200_000
DESKTOP, PHONE = {"width": 1240, "height": 1080}, {"width": 390, "height": 844}
SELECT_BEST = (
    "document.querySelector(\"[data-best='0.25']\").click();"
    "document.querySelector('.explorer').scrollIntoView({behavior: 'instant', block: 'start'});"
    "scrollBy(0, -70)"
)


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
            "report-phone": (one, PHONE, "light", ""),
        }
        if len(cards) > 1:
            write_page(cards, several, comparison)
            shots["report-several"] = (several, DESKTOP, "light", "")
        for name, shot in shots.items():
            print(name, _save(_picture(browser, *shot), arguments.out / f"{name}.png"), "bytes")
        browser.close()


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
