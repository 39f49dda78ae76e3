"""Damage saved cards, comparisons and curations, and report them: no traceback, and no script of theirs in the page.

    python scripts/fuzz_cards.py --count 1000

Each case is a seed: a file, one to three places in it, and what is put there. Exit code 1 when any case is bad.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "report"), str(ROOT / "src")]

MARK = "rlx-evil"
ADDRESSES = ("href", "src", "action", "formaction", "data", "xlink:href", "srcdoc")
DEEP = "@deep@"  # replaced in the text: too deep for the encoder itself
NASTY = (
    *(float("nan"), float("inf"), -float("inf"), 1e400, 10**400, -1, 0, 1e308, 5e-324),
    *(None, True, "", "NaN", "12", "1e5", [], {}, [[]], [None], {"a": {"b": []}}, [1, "two"]),
    *("x" * 300_000, "\x00\x1b[2J\x07", "\ud800", "\u202e\u2066", DEEP, [DEEP]),
    f"<script>{MARK}()</script>",
    f"</script><script>{MARK}()</script>",
    f'"><img src=x onerror="{MARK}()">',
    f"' onmouseover='{MARK}()",
    f"javascript:{MARK}()",
    f"]]>--><svg onload={MARK}()>",
    {f"<script>{MARK}()</script>": f"<script>{MARK}()</script>"},
)


def originals() -> list[dict]:
    """Valid files of every kind that `report` reads."""
    from cards import make_card, make_comparison, make_curation, three_cards

    from rlassay.results.card import cards_to_dict

    verdict = {
        "label": "mixed",
        "sentence": "Some episodes are far better than the rest.",
        "advice": {"learner": "td3bc", "why": "the best tenth is far above the mean"},
        "cloning": {"value": 1.0, "interval": [0.5, 2.0]},
        "offline_rl": {"value": 2.0, "interval": [1.0, 3.0]},
    }
    return [
        make_card(episodes=20).to_dict() | {"verdict": verdict},
        cards_to_dict(three_cards()),
        make_comparison(three_cards()),
        make_curation(),
    ]


def places(value: Any, above: tuple = ()) -> Iterator[tuple]:
    """Every place below a JSON value; of long lists only the ends."""
    if isinstance(value, dict):
        for key in value:
            yield (*above, key)
            yield from places(value[key], (*above, key))
    elif isinstance(value, list):
        for index in {0, len(value) - 1} if value else ():
            yield (*above, index)
            yield from places(value[index], (*above, index))


def damaged(original: dict, rng: random.Random) -> str:
    """The text of a damaged file."""
    content = json.loads(json.dumps(original))
    for _ in range(rng.randint(1, 3)):
        *above, last = rng.choice(list(places(content)))
        inner = content
        for key in above:
            inner = inner[key]
        if rng.random() < 0.25:
            del inner[last]
        else:
            inner[last] = rng.choice(NASTY)
    text = json.dumps(content).replace(f'"{DEEP}"', "[" * 5_000 + "]" * 5_000)
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(("", "\x00", "}", '"', text[at:] * 2))
    return text


class Page(HTMLParser):
    """What a browser would run: scripts, and attributes that begin with `on` or hold `javascript:`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kinds = dict(attrs).get("type") or ""
        self._script = tag == "script" and "json" not in kinds
        for name, value in attrs:
            runs = name.startswith("on") or (name in ADDRESSES and "javascript:" in (value or ""))
            if runs and MARK in (value or ""):
                self.found.append(f"{tag} {name}")
        if MARK in tag:
            self.found.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script and MARK in data:
            self.found.append("script")


def would_run(page: str) -> list[str]:
    """Places of the page in which a browser would run what stood in the file."""
    parser = Page()
    parser.feed(page)
    return parser.found


def case(known: list[dict], seed: int, folder: Path) -> str:
    """What became of one damaged file."""
    from typer.testing import CliRunner

    from rlassay.cli import app
    from rlassay.errors import RlassayError

    rng = random.Random(seed)
    card, page = folder / "card.json", folder / "page.html"
    card.write_text(damaged(rng.choice(known), rng), errors="surrogatepass")
    page.unlink(missing_ok=True)
    words = ["report", str(card), "-o", str(page), *(["--history"] if rng.random() < 0.2 else [])]
    ended = CliRunner().invoke(app, words)
    error = ended.exception
    if isinstance(error, RlassayError) and error.exit_code == 2:
        return "refused" if "\n" not in str(error) and not page.exists() else "BAD refusal"
    if ended.exit_code != 0:
        return f"BAD {type(error).__name__}: {error}"[:200]
    found = would_run(page.read_text(encoding="utf-8"))
    return f"BAD runs in {found[0]}" if found else "reported"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--table", type=Path, help="write the counts here, as CSV")
    given = parser.parse_args()
    known = originals()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.first, given.first + given.count):
            outcome = case(known, seed, Path(folder))
            outcomes[outcome] += 1
            if outcome.startswith("BAD"):
                print(f"seed {seed}: {outcome}", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"{count:8,}  {outcome}")
    if given.table:
        lines = [f'"{outcome}",{count}' for outcome, count in outcomes.most_common()]
        given.table.parent.mkdir(parents=True, exist_ok=True)
        given.table.write_text("\n".join(["outcome,cases", *lines]) + "\n")
    sys.exit(any(outcome.startswith("BAD") for outcome in outcomes))


if __name__ == "__main__":
    main()
