"""The command that keeps what is worth keeping: curate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlassay.cli.options import JsonOption, SeedOption, SetOption, emit_json, require_outputs
from rlassay.cli.reading import PathArgument, Reading, reads_data

Out = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", metavar="OUT", help="The curated copy, or LIST.csv for the episode numbers."
    ),
]
Keep = Annotated[
    float | None, typer.Option("--keep", help="Best share of the episodes, above 0 up to 1.")
]
KeepRows = Annotated[
    float | None,
    typer.Option("--keep-rows", help="Best episodes until this share of the transitions."),
]
TopK = Annotated[int | None, typer.Option("--top-k", help="Number of best episodes.")]
MinScore = Annotated[
    float | None, typer.Option("--min-score", help="Episodes at least as good as this.")
]
Only = Annotated[
    Path | None,
    typer.Option("--only", metavar="LIST", help="Exactly the episodes of this CSV or text file."),
]
By = Annotated[
    str, typer.Option("--by", metavar="SCORE", help="A score, or a sum such as 0.5*bwd+0.5*return.")
]
Dedupe = Annotated[bool, typer.Option("--dedupe", help="Drop exact repetitions of an episode.")]
TrimIdle = Annotated[
    bool, typer.Option("--trim-idle", help="Cut motionless rows at both ends of episodes.")
]
IdleTolerance = Annotated[
    float,
    typer.Option("--idle-tolerance", help="What counts as motionless, of a column's deviation."),
]
Diverse = Annotated[
    bool, typer.Option("--diverse", help="Keep the covered states while raising the score.")
]
Diversity = Annotated[
    float, typer.Option("--diversity", help="Weight of coverage against the score, 0 to 1.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show every score before and after, and write nothing.")
]
Scores = Annotated[
    str | None, typer.Option("--scores", metavar="A,B", help="Scores of a dry run; all by default.")
]
WeightsFile = Annotated[
    Path | None, typer.Option("--weights", metavar="F.npz", help="Write one weight a transition.")
]
WeightBy = Annotated[
    str, typer.Option("--weight-by", metavar="KIND", help="return, advantage or value-gap.")
]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", help="Of the weights; a low one follows the best rows alone."),
]
MaskKey = Annotated[
    str | None,
    typer.Option("--mask", metavar="KEY", help="robomimic: OUT is a copy with mask/KEY."),
]
MaskInPlace = Annotated[
    bool,
    typer.Option("--mask-in-place", help="robomimic: add the mask to PATH itself, after a backup."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what exists.")]
To = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="NAME", help="Write as d4rl, npz, minari, minari-arrow or minari-parquet."
    ),
]
Preset = Annotated[
    str, typer.Option("--preset", help="How scores are computed: default, paper or fast.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the app."""
    app.command("curate")(curate_command)


@reads_data(mask="--from-mask")
def curate_command(
    path: PathArgument,
    read: Reading,
    out: Out = None,
    keep: Keep = None,
    keep_rows: KeepRows = None,
    top_k: TopK = None,
    min_score: MinScore = None,
    only: Only = None,
    by: By = "bwd",
    dedupe: Dedupe = False,
    trim_idle: TrimIdle = False,
    idle_tolerance: IdleTolerance = 0.01,
    diverse: Diverse = False,
    diversity: Diversity = 0.5,
    dry_run: DryRun = False,
    scores: Scores = None,
    weights: WeightsFile = None,
    weight_by: WeightBy = "advantage",
    temperature: Temperature = None,
    mask: MaskKey = None,
    mask_in_place: MaskInPlace = False,
    force: Force = False,
    to: To = None,
    preset: Preset = "default",
    settings: SetOption = None,
    seed: SeedOption = 0,
    json: JsonOption = None,
) -> None:
    """Keep the episodes that are worth it: a filtered copy, a mask, a list, or weights."""
    from rlassay.curation.command import Request, Rule, curate_file, read_episode_list
    from rlassay.settings import parse_pairs

    require_outputs(json)
    named = None if only is None else read_episode_list(only)
    request = Request(
        source=path,
        rule=Rule(keep, keep_rows, top_k, min_score, named, by, dedupe, trim_idle, idle_tolerance, diverse, diversity),
        out=out, to=to, mask=mask, mask_in_place=mask_in_place, force=force, dry_run=dry_run,
        scores=tuple(scores.split(",")) if scores else None,
        weights=weights, weight_by=weight_by, temperature=temperature, seed=seed,
        read=read.options,
        scoring={"preset": preset, "settings": parse_pairs(settings or [])},
    )  # fmt: skip
    result = curate_file(request)
    if not emit_json(result, json):
        from rich.console import Console

        from rlassay.report.curation import show_curation

        show_curation(result, Console())
