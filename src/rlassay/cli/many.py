"""`score --out DIR`: one card a file, of as many files as there are, continued where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlassay.cli import gating
from rlassay.cli.options import emit_json, say, say_written

if TYPE_CHECKING:
    from rlassay.scoring.many import Scored

OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="One card a dataset into this folder, in several processes; the same command continues.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="With --out: processes; default: what cores and memory allow."
    ),
]


def score_into(
    out: Path,
    paths: Sequence[str],
    options: dict[str, Any],
    gate: gating.Gate,
    *,
    engine: Any,
    json: str | None,
    html: Path | None,
) -> None:
    """Score every dataset that the paths name, write its card, then the index over all cards of the folder."""
    from rlassay.engine.files import require_writable
    from rlassay.formats.trees import find_datasets
    from rlassay.report.index import write_index
    from rlassay.report.live import Tally, live_tally
    from rlassay.results.card import SCHEMA_OF_FOLDER, read_cards
    from rlassay.runtime import on_interrupt
    from rlassay.scoring.many import score_files

    require_writable(out, folder=True, streams=False)
    files = find_datasets(paths)
    gate.several = True
    on_interrupt("finished cards are kept, and the same command continues")
    tally = Tally(len(files))
    with live_tally(tally) as show:

        def on_scored(scored: Scored) -> None:
            label = ""
            if scored.card is None:
                gate.refused(scored.found.source, scored.failure or "")
            else:
                [card] = read_cards(scored.card)
                label = str((card.verdict or {}).get("label") or "")
                gating.judge_card(gate, scored.found.source, card)
            failed = scored.card is None
            news = "failed" if failed else label
            tally.add(scored.found.name, news, failed=failed, cached=scored.cached)
            show()

        scored = score_files(files, out, options, engine=engine, on_scored=on_scored)
    index = html or out / "index.html"
    total = write_index(out, index, [(e["source"], e["error"]) for e in gate.errors])
    say_written(index)
    told = {
        "schema": SCHEMA_OF_FOLDER,
        "out": str(out),
        "cards": [
            {"source": each.found.source, "card": str(each.card)}
            for each in scored
            if each.card is not None
        ],
        "errors": gate.errors,
    }
    if not emit_json(told, json):
        say(
            f"{tally.told()}; {total:,} cards in {out}. Rank those of one task: rlassay compare {out}"
        )
    gate.finish()


def engine_for(
    name: str, address: str | None, workers: int | None, out: Path | None, no_store: bool
) -> Any:
    """Processes that stay, or a Ray cluster; None leaves the number of processes to cores and memory."""
    from rlassay.engine.choice import engine_named
    from rlassay.engine.standing import StandingEngine
    from rlassay.errors import SettingsError

    engine = engine_named(name, address, workers)
    if out is None:
        if name != "local" or workers is not None:
            raise SettingsError(
                "--engine and --workers are for many datasets", remedy="add --out DIR"
            )
        return None
    if no_store:
        raise SettingsError("--out continues from the run store", remedy="leave out --no-store")
    if name != "local":
        return engine
    return None if workers is None else StandingEngine(workers)
