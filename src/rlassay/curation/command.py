"""A curation from file to file: read, choose, weigh, write, and tell what it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlassay.curation import output
from rlassay.curation.effect import compared, counted
from rlassay.curation.facade import apply_rule
from rlassay.curation.request import Request
from rlassay.curation.result import Curation, provenance_text
from rlassay.curation.rule import Rule
from rlassay.curation.sidecar import check_place, make_sidecar, write_sidecar
from rlassay.curation.weights import TEMPERATURES, Weights, weigh, write_weights
from rlassay.data.dataset import Dataset
from rlassay.engine.files import require_writable
from rlassay.errors import DatasetError, SettingsError

WORTH = {"advantage": "advantage", "value-gap": "value_gap"}  # kind of weights -> score of a row


def curate_file(request: Request) -> dict[str, Any]:
    """Do it, and return the JSON of `rlassay.curation/1`. Whatever can be refused is refused before scoring."""
    from rlassay.formats import load

    _check_weights(request)
    _check_sidecar(request)
    data = load(request.source, extras=True, **request.read)
    source = Path(data.origin.source)
    target = None
    if not request.dry_run and (not request.rule.empty or request.out is not None):
        target = _planned(request, data, source)
    curation = _curation(request, data)
    weights = _weights(request, curation.data)
    after = curation.data if len(curation.dropped) or curation.idle_rows else data
    effect = _effect(request, data, after)
    more: dict[str, Any] = {
        "dry_run": request.dry_run,
        **_command(data, source, request, target, curation),
    }
    if target is not None:
        told = provenance_text(curation)
        lost = output.write(curation.data, curation.kept, source, target, told, data.episode_count)
        more["lost"] = [note.message for note in lost]
    if weights is not None and request.weights is not None:
        if not request.dry_run:
            write_weights(request.weights, weights, like=source)
        more["weights"] = _told(request.weights, weights)
    if request.sidecar is not None:
        more["sidecar"] = _write_sidecar(request, data, curation)
    out = None if target is None or target.kind == "command" else str(target.path)
    return curation.to_dict(*effect, out, **more)


def _check_weights(request: Request) -> None:
    if request.weights is None:
        return
    if request.weight_by not in TEMPERATURES:
        raise SettingsError(
            "unknown kind of weights", allowed=list(TEMPERATURES), got=request.weight_by
        )
    if request.weights.suffix != ".npz":
        raise SettingsError("weights are written as .npz", got=request.weights)
    if request.weights.exists() and not request.force and not request.dry_run:
        raise DatasetError(
            f"{request.weights} exists", remedy="name another place, or replace it with --force"
        )
    require_writable(request.weights, streams=False)


def _check_sidecar(request: Request) -> None:
    if request.sidecar is not None and not request.dry_run:
        check_place(request.sidecar, request.force)
        require_writable(request.sidecar, folder=True, streams=False)


def _write_sidecar(request: Request, data: Dataset, curation: Curation) -> str:
    """Scores are of the data as it was read; `kept` says what the rule chose."""
    if not request.dry_run and request.sidecar is not None:
        rule = None if request.rule.empty else curation.provenance()
        write_sidecar(request.sidecar, make_sidecar(data, curation.kept, rule))
    return str(request.sidecar)


def _planned(request: Request, data: Dataset, source: Path) -> output.Target:
    target = output.plan(
        data,
        source,
        request.out,
        format=request.to,
        mask=request.mask,
        in_place=request.mask_in_place,
        force=request.force,
    )
    if request.rule.trim_idle and target.kind != "dataset":
        raise SettingsError(
            "trimmed episodes need a dataset to be written to",
            allowed="--to d4rl, minari or npz",
            got=f"a {target.kind}",
        )
    return target


def _curation(request: Request, data: Dataset) -> Curation:
    """Without a rule everything stays: `--weights` or `--sidecar` alone is a legitimate wish."""
    rule = request.rule
    if rule.empty and request.sidecar is not None and request.out is None:
        rule = Rule(only=tuple(range(data.episode_count)))
    if rule.empty and request.weights is not None and request.out is None:
        rule = Rule(keep=1.0)
    return apply_rule(data, rule, seed=request.seed, scoring=dict(request.scoring))


def _weights(request: Request, data: Dataset) -> Weights | None:
    if request.weights is None:
        return None
    worth = None
    if request.weight_by in WORTH:
        from rlassay import transition_scores

        name = WORTH[request.weight_by]
        worth = transition_scores(data, scores=[name], seed=request.seed, **request.scoring)[name]
    return weigh(data, request.weight_by, worth, request.temperature)


def _effect(request: Request, before: Dataset, after: Dataset) -> tuple[dict, dict]:
    if not request.dry_run:
        return counted(before), counted(after)
    return compared(before, after, request.scores, seed=request.seed, **request.scoring)


def _command(
    data: Dataset, source: Path, request: Request, target: output.Target | None, curation: Curation
) -> dict[str, str]:
    """For LeRobot a command that deletes what was not chosen."""
    plain = not request.rule.trim_idle and len(curation.dropped) > 0
    if data.origin.format != "lerobot" or not plain or (target and target.kind == "dataset"):
        return {}
    from rlassay.formats.episode_lists import lerobot_delete_command, lerobot_episodes

    named = lerobot_episodes(data, source)[curation.dropped]
    out = target.path if target and target.kind == "command" and request.out else None
    return {"delete_command": lerobot_delete_command(source, out, named)}


def _told(path: Path, weights: Weights) -> dict[str, Any]:
    return {
        "file": str(path),
        "kind": weights.kind,
        "temperature": weights.temperature,
        "effective_share": weights.effective_share,
    }
