"""Commands that judge datasets: score, compare, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlassay.cli.options import JsonOption, SeedOption, SeedsOption, SetOption, emit_json

if TYPE_CHECKING:
    from rlassay.results.card import Scorecard

PresetOption = Annotated[
    str, typer.Option("--preset", help="default, paper (Algorithm 1 as printed) or fast.")
]
ScoresOption = Annotated[
    str | None,
    typer.Option("--scores", metavar="A,B", help="Only these scores; all without it."),
]
ReferenceOption = Annotated[
    str | None,
    typer.Option(
        "--reference", metavar="LOW,HIGH", help="Returns that count as 0 and 1 in `relative`."
    ),
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the report page.")
]
EnvOption = Annotated[
    str | None,
    typer.Option("--env", metavar="ID", help="The environment, where the file names none."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
    app.command("score")(score_command)
    app.command("compare")(compare_command)
    app.command("report")(report_command)


def score_command(
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
    episodes: Annotated[
        Path | None,
        typer.Option(
            "--episodes", metavar="FILE", help="Write scores of every episode: .parquet or .csv."
        ),
    ] = None,
    env: EnvOption = None,
) -> None:
    """Score datasets: how good are they, before anyone trains on them?"""
    import rlassay

    options = _options(preset, seeds, seed, scores, reference, set)
    sources = paths or _samples()
    _refuse_one_table_of_many(episodes, sources)
    cards = []
    for source in sources:
        cards.append(rlassay.score(source, env_id=env, show_progress=True, **options))
        if episodes is not None:
            _write_episodes(rlassay.load(source, env_id=env), episodes, options)
    _show(cards, json, html)


def compare_command(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Datasets, or cards written by --json.")
    ],
    preset: PresetOption = "default",
    seeds: SeedsOption = 1,
    seed: SeedOption = 0,
    scores: ScoresOption = None,
    reference: ReferenceOption = None,
    set: SetOption = None,
    json: JsonOption = None,
    html: HtmlOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare although environments or rules differ.")
    ] = False,
    env: EnvOption = None,
) -> None:
    """Rank datasets of one task, with pooled statistics."""
    import rlassay

    options = _options(preset, seeds, seed, scores, reference, set)
    sources = [source for path in paths for source in _cards_or_data(path, env)]
    comparison = rlassay.compare(sources, force=force, show_progress=True, **options)
    _show(list(comparison.cards), json, html, comparison.to_dict())


def _options(preset, seeds, seed, scores, reference, pairs) -> dict[str, Any]:
    """Arguments that `score` and `compare` share; scores of third parties are made known first."""
    from rlassay.runtime import compute_where_called, load_plugins
    from rlassay.settings import parse_pairs

    compute_where_called()
    load_plugins()
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


def _samples() -> list[str]:
    from rlassay.errors import DatasetError
    from rlassay.samples import paths

    found = [str(path) for path in paths()]
    if not found:
        raise DatasetError("this installation carries no samples", remedy="name a dataset")
    return found


def _cards_or_data(path: str, env: str | None) -> list[Any]:
    """A .json file holds cards; anything else is a dataset."""
    import rlassay
    from rlassay.results.card import read_cards

    if path.endswith(".json"):
        return read_cards(Path(path))
    return [rlassay.load(path, env_id=env)]


def _refuse_one_table_of_many(episodes: Path | None, sources: list[str]) -> None:
    from rlassay.errors import SettingsError

    if episodes is not None and len(sources) > 1:
        raise SettingsError(
            "--episodes writes the table of one dataset", got=f"{len(sources)} paths"
        )


def _write_episodes(data, path: Path, options: dict[str, Any]) -> None:
    import rlassay
    from rlassay.curation.table import write_episode_table

    chosen = {name: options[name] for name in ("preset", "seed", "settings")}
    write_episode_table(path, rlassay.episode_scores(data, **chosen))
    typer.echo(f"wrote {path}", err=True)


def _show(
    cards: list[Scorecard],
    json: str | None,
    html: Path | None,
    comparison: dict[str, Any] | None = None,
) -> None:
    """JSON where asked, the page where asked, and a table unless stdout carries the JSON."""
    from rlassay.results.card import cards_to_dict

    quiet = emit_json(comparison or cards_to_dict(cards), json)
    if html is not None:
        from rlassay.report.page import write_page

        write_page(cards, html, comparison)
        typer.echo(f"wrote {html}", err=True)
    if quiet:
        return
    from rich.console import Console

    from rlassay.report.terminal import show_cards, show_comparison

    if comparison is None:
        show_cards(cards, Console())
    else:
        show_comparison(comparison, Console())


def report_command(
    cards: Annotated[
        list[Path], typer.Argument(metavar="CARD.json...", help="Files written by --json.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The page to write.")
    ] = Path("report.html"),
) -> None:
    """Render saved scorecards, or a saved comparison, as one HTML page."""
    from rlassay.report.page import write_page
    from rlassay.report.saved import read_saved

    found, comparison = read_saved(cards)
    write_page(found, out, comparison)
    typer.echo(f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB)", err=True)
