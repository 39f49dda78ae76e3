"""The command that judges datasets: score; its options and output serve `compare`, too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlassay.cli import completing, gating, many
from rlassay.cli.many import OutOption, WorkersOption
from rlassay.cli.options import (
    AddressOption,
    EngineOption,
    JsonOption,
    Reading,
    SeedOption,
    SeedsOption,
    SetOption,
    emit_json,
    in_existing_folder,
    reads_data,
    require_outputs,
    say_written,
)

if TYPE_CHECKING:
    from rlassay.gate import Condition
    from rlassay.results.card import Scorecard

PresetOption = Annotated[
    str,
    typer.Option(
        "--preset",
        help="default, paper (Algorithm 1 as printed) or fast.",
        autocompletion=completing.among(completing.presets),
    ),
]
ScoresOption = Annotated[
    str | None,
    typer.Option(
        "--scores",
        metavar="A,B",
        help="Only these scores.",
        autocompletion=completing.among(completing.scores),
    ),
]
ReferenceOption = Annotated[
    str | None,
    typer.Option(
        "--reference", metavar="LOW,HIGH", help="Returns that count as 0 and 1 in `relative`."
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", callback=in_existing_folder, help="Write the report page."
    ),
]
NoStoreOption = Annotated[
    bool,
    typer.Option(
        "--no-store", help="Neither look for a card of this file in the run store nor keep one."
    ),
]
AllOption = Annotated[
    bool, typer.Option("--all", help="Show every score and every warning on the terminal.")
]


def scoring_options(preset, seeds, seed, scores, reference, pairs) -> dict[str, Any]:
    """Arguments that `score` and `compare` share."""
    from rlassay.runtime import compute_where_called
    from rlassay.settings import parse_pairs

    compute_where_called()
    return {
        "preset": preset,
        "seeds": seeds,
        "seed": seed,
        "scores": scores.split(",") if scores else None,
        "reference": _reference(reference),
        "settings": parse_pairs(pairs or []),
    }


def _reference(text: str | None) -> tuple[float, float] | None:
    from rlassay.errors import SettingsError

    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(
            "--reference cannot be read", allowed="LOW,HIGH, two numbers", got=text
        ) from None
    return low, high


def show_cards(
    cards: list[Scorecard],
    json: str | None,
    html: Path | None,
    comparison: dict[str, Any] | None = None,
    everything: bool = False,
) -> None:
    """JSON where asked, the page where asked, and a table unless stdout carries the JSON."""
    from rlassay.results.card import cards_to_dict

    quiet = emit_json(comparison or cards_to_dict(cards), json)
    if html is not None:
        from rlassay.report.page import write_page

        write_page(cards, html, comparison)
        say_written(html)
    if quiet:
        return
    from rich.console import Console

    from rlassay.report.terminal import show_cards as show_each
    from rlassay.report.terminal import show_comparison

    if comparison is None:
        show_each(cards, Console(), everything)
    else:
        show_comparison(comparison, Console(), everything)


EveryScoreOption = Annotated[
    bool,
    typer.Option("--all", help="Compute and show every score, and show every warning."),
]
EpisodesOption = Annotated[
    Path | None,
    typer.Option(
        "--episodes",
        metavar="FILE",
        callback=in_existing_folder,
        help="Write scores of every episode: .parquet or .csv.",
    ),
]
RefineOption = Annotated[
    bool,
    typer.Option(
        "--refine", help="Also roll a clone out in a world learned from the data; takes longer."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the app."""
    app.command("score")(score_command)


@reads_data
def score_command(
    read: Reading,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="Datasets; without one, the bundled samples."),
    ] = None,
    preset: PresetOption = "default",
    seeds: SeedsOption = 1,
    seed: SeedOption = 0,
    scores: ScoresOption = None,
    reference: ReferenceOption = None,
    set: SetOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    episodes: EpisodesOption = None,
    strict: gating.StrictOption = False,
    fail_if: gating.FailIfOption = None,
    junit: gating.JunitOption = None,
    github: gating.GithubOption = False,
    everything: EveryScoreOption = False,
    refine: RefineOption = False,
    no_store: NoStoreOption = False,
    out: OutOption = None,
    workers: WorkersOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
) -> None:
    """Score datasets: how good are they, before anyone trains on them?"""
    import rlassay

    require_outputs(json, html, episodes, junit)
    options = scoring_options(preset, seeds, seed, scores, reference, set)
    sources = gating.expanded(paths) if paths else _samples()
    _refuse_one_table_of_many(episodes, sources, out)
    gate = gating.opened(sources, gating.score_names, strict, fail_if, junit, github)
    options |= {"read": read.options, "refine": refine}
    if everything and scores is None:
        options["scores"] = "all"
    options["scores"] = _with_conditions(options["scores"], preset, gate.conditions)
    chosen = many.engine_for(engine, address, workers, out, no_store)
    if out is not None:
        many.score_into(out, paths or sources, options, gate, engine=chosen, json=json, html=html)
        return
    cards, options["show_progress"] = [], True
    for source in sources:
        with gate.reading(source):
            if episodes is None:
                cards.append(rlassay.score(source, **options, store=not no_store))
            else:
                cards.append(_score_and_write(source, episodes, options))
            gating.judge_card(gate, source, cards[-1])
    show_cards(cards, json, html, everything=everything or scores is not None)
    gate.finish()


def _with_conditions(
    scores: Sequence[str] | None, preset: str, conditions: Sequence[Condition]
) -> Sequence[str] | None:
    """What `--fail-if` asks for is computed, too, where nothing was named."""
    from rlassay.scoring import SCORES
    from rlassay.scoring.registry import FIRST_ASKED

    asked = [each.name for each in conditions if each.name in SCORES]
    if scores is not None or preset != "default" or not set(asked) - set(FIRST_ASKED):
        return scores
    return list(dict.fromkeys([*FIRST_ASKED, *asked]))


def _samples() -> list[str]:
    from rlassay.errors import DatasetError
    from rlassay.samples import paths

    found = [str(path) for path in paths()]
    if not found:
        raise DatasetError("this installation carries no samples", remedy="name a dataset")
    return found


def _refuse_one_table_of_many(episodes: Path | None, sources: list[str], out: Path | None) -> None:
    from rlassay.errors import SettingsError

    if episodes is not None and (len(sources) > 1 or out is not None):
        got = "--out" if out is not None else f"{len(sources)} paths"
        raise SettingsError("--episodes writes the table of one dataset", got=got)


def _score_and_write(source: str, path: Path, options: dict[str, Any]) -> Scorecard:
    from rlassay.results.episodes import write_episode_table
    from rlassay.scoring import score_with_episodes

    card, table = score_with_episodes(source, **options)
    write_episode_table(path, table)
    say_written(path)
    return card
