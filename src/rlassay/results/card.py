"""Result types of scoring and their JSON (schema `rlassay.scorecard/1`). No numerics live here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from rlassay.errors import DatasetError, SettingsError
from rlassay.rendering import draw

Direction = Literal["higher", "lower"]  # which end of a score is the good one
# The order in which a reader meets the scores; those of third parties come behind, by name.
READING_ORDER = (
    *("return", "return_by_step", "return_top10", "reward", "q", "advantage", "pd"),
    *("bwd", "bwd.dual", "bwd.exact", "bwd.tail", "bwd.sinkhorn"),
    *("tq", "saco", "eri", "eas", "rpsv", "bc_error", "extractable", "knn_entropy"),
)
SCHEMA = "rlassay.scorecard/1"
SCHEMA_OF_SEVERAL = "rlassay.scorecards/1"
SCHEMA_OF_COMPARISON = "rlassay.comparison/1"
SCHEMA_OF_FOLDER = "rlassay.cards/1"  # what `score --out` did


@dataclass(frozen=True, repr=False)
class Score:
    """One number with its meaning: value, 95 % interval, direction, unit and how it was made."""

    value: float
    interval: tuple[float, float] | None
    per_seed: tuple[float, ...]
    direction: Direction
    unit: str
    n: int
    converged: bool | None = None
    relative: float | None = None
    title: str = ""  # the name a person would use; empty in cards of version 0.1
    meaning: str = ""  # one sentence on what the number says

    def __repr__(self) -> str:
        span = f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]" if self.interval else ""
        doubt = ", not converged" if self.converged is False else ""
        return f"<Score {self.value:.4g}{span} {self.unit}, {self.direction} is better{doubt}>"


def in_reading_order(names: Iterable[str]) -> list[str]:
    """Names as a reader meets them: returns, values, distances, baselines, then others."""
    place = {name: k for k, name in enumerate(READING_ORDER)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


@dataclass(frozen=True)
class Caution:
    """Something the reader of a scorecard must know, and what to do about it."""

    code: str
    message: str
    remedy: str


@dataclass(frozen=True, repr=False)
class Scorecard(Mapping[str, Score]):
    """Everything known about one dataset; `card["bwd"].value` reads a score.

    A card is made by `rlassay.score` or read back from JSON:

    >>> import rlassay, rlassay.samples
    >>> card = rlassay.score(rlassay.samples.paths()[2], scores=["return", "bc_error"])
    >>> sorted(card)
    ['bc_error', 'return']
    >>> card["return"].direction
    'higher'
    >>> rlassay.Scorecard.from_dict(card.to_dict())["return"] == card["return"]
    True
    """

    dataset: Mapping[str, Any]
    settings: Mapping[str, Any]
    scores: Mapping[str, Score]
    diagnosis: Mapping[str, Any] = field(default_factory=dict[str, Any])
    series: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inspection: Mapping[str, Any] = field(default_factory=dict[str, Any])
    command: str = ""
    software: Mapping[str, Any] = field(default_factory=dict[str, Any])
    warnings: tuple[Caution, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    # empty: none was asked for; None: nothing can be said, and a warning says why
    verdict: Mapping[str, Any] | None = field(default_factory=dict[str, Any])
    demonstrations: Mapping[str, Any] = field(
        default_factory=dict[str, Any]
    )  # of data without rewards: `rlassay.demonstrations/1`, timelines, next steps

    def __getitem__(self, name: str) -> Score:
        try:
            return self.scores[name]
        except KeyError:
            raise KeyError(f"no score {name!r}; this card has {', '.join(self.scores)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def expected(self) -> Score | None:
        """The better of both forecasts of the verdict with its 80 % interval; None where nothing is forecast."""
        verdict = self.verdict or {}
        both = [verdict[part] for part in ("cloning", "offline_rl") if verdict.get(part)]
        if not both:
            return None
        best = max(both, key=lambda part: part["value"])
        low, high = best["interval"]
        known = best["value"], (low, high), (best["value"],), "higher", best["unit"], 1
        return Score(*known, title="Score to expect, with its 80 % interval")

    def __repr__(self) -> str:
        label = f", {self.verdict.get('label')}" if self.verdict else ""
        size = ", ".join(
            f"{self.dataset[part]:,} {part}"
            for part in ("episodes", "transitions")
            if self.dataset.get(part) is not None
        )
        return f"<Scorecard of {self.dataset.get('source')}{label}: {len(self)} scores, {size}>"

    def _repr_html_(self) -> str:
        return draw("card_html", self)

    def to_frame(self) -> Any:
        """The scores as a table of pandas, or of polars where only that is installed: one row a score."""
        from rlassay.results.frames import scores_frame

        return scores_frame(self)

    def episodes_to_frame(self) -> Any:
        """The episodes that the card holds, one row an episode: number, first row, length, return, scores."""
        from rlassay.results.frames import episodes_frame

        return episodes_frame(self)

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON values; a number that is not finite is an error here, never in a file."""
        card: dict[str, Any] = {
            "schema": SCHEMA,
            "dataset": dict(self.dataset),
            "settings": dict(self.settings),
            "scores": {name: _score_dict(score) for name, score in self.scores.items()},
            "diagnosis": self.diagnosis,
            "series": self.series,
            "inspection": self.inspection,
            "command": self.command,
            "software": dict(self.software),
            "warnings": [asdict(warning) for warning in self.warnings],
            "seconds": dict(self.seconds),
        }
        if self.verdict is None or self.verdict:
            card["verdict"] = self.verdict
        if self.demonstrations:
            card["demonstrations"] = self.demonstrations
        return json_values(card)

    def to_json(self, indent: int | None = 1) -> str:
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_html(self, path: str | Path) -> None:
        """Write the report page of this card."""
        draw("write_page", [self], Path(path))

    def plot(self, figure: str = "scores", path: str | Path | None = None) -> Any:
        """A figure of the card with matplotlib; saved when `path` ends in .png or .svg."""
        return draw("plot_card", self, figure, path)

    @classmethod
    def from_dict(cls, card: Mapping[str, Any]) -> Scorecard:
        """Read a card back from its JSON values."""
        if card.get("schema") != SCHEMA:
            raise DatasetError(
                "this is not a scorecard that this version reads",
                allowed=SCHEMA,
                got=str(card.get("schema")),
                remedy="score the dataset again, or install the version that wrote the card",
            )
        try:
            scores = {name: _score(value) for name, value in card["scores"].items()}
            warnings = tuple(Caution(**warning) for warning in card["warnings"])
            rest = {name: card[name] for name in _PLAIN_FIELDS}
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise DatasetError(
                f"the scorecard is damaged ({error})", remedy="score the dataset again"
            ) from None
        told = {
            "verdict": card.get("verdict", {}),
            "demonstrations": card.get("demonstrations", {}),
        }
        return cls(scores=scores, warnings=warnings, **told, **rest)


@dataclass(frozen=True)
class Rank:
    """The place of one dataset by one score; `tied_with` names those it cannot be told apart from."""

    source: str
    rank: int
    value: float
    interval: tuple[float, float] | None
    tied_with: list[str]


@dataclass(frozen=True, repr=False)
class Comparison:
    """Cards of one task and their order by every score, best first.

    >>> import rlassay, rlassay.samples
    >>> comparison = rlassay.compare(rlassay.samples.paths(), scores=["return"])
    >>> [rank.source.rpartition("/")[2] for rank in comparison.ranking["return"]]
    ['hopper-expert-v5.hdf5', 'hopper-medium-v5.hdf5', 'hopper-random-v5.hdf5']
    """

    cards: tuple[Scorecard, ...]
    ranking: Mapping[str, list[Rank]]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON values, schema `rlassay.comparison/1`."""
        ranking = {name: [asdict(rank) for rank in ranks] for name, ranks in self.ranking.items()}
        return {
            "schema": SCHEMA_OF_COMPARISON,
            "cards": [card.to_dict() for card in self.cards],
            "ranking": json_values(ranking),
        }

    def to_json(self, indent: int | None = 1) -> str:
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_html(self, path: str | Path) -> None:
        """Write the report page of this comparison."""
        draw("write_page", list(self.cards), Path(path), self.to_dict())

    def to_frame(self) -> Any:
        """The ranking as a table of pandas, or of polars: one row a score and dataset, best first."""
        from rlassay.results.frames import ranking_frame

        return ranking_frame(self)

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.cards)} datasets by {len(self.ranking)} scores>"

    def _repr_html_(self) -> str:
        return draw("comparison_html", self)


_PLAIN_FIELDS = (
    *("dataset", "settings", "diagnosis", "series"),
    *("inspection", "command", "software", "seconds"),
)


def cards_to_dict(cards: list[Scorecard]) -> dict[str, Any]:
    """One card as itself, several as `rlassay.scorecards/1`."""
    if len(cards) == 1:
        return cards[0].to_dict()
    return {"schema": SCHEMA_OF_SEVERAL, "cards": [card.to_dict() for card in cards]}


def read_cards(path: Path) -> list[Scorecard]:
    """Cards from a JSON file that holds one or several."""
    try:
        content = json.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DatasetError(
            f"{path} is not a JSON file ({error})",
            remedy="name a file written by `rlassay score --json`",
        ) from None
    if not isinstance(content, dict):
        raise DatasetError(
            f"{path} holds no scorecard", remedy="name a file written by `rlassay score --json`"
        )
    content = cast("dict[str, Any]", content)
    if content.get("schema") in (SCHEMA_OF_SEVERAL, SCHEMA_OF_COMPARISON):
        return [Scorecard.from_dict(card) for card in content.get("cards", [])]
    return [Scorecard.from_dict(content)]


def card_files(folder: Path) -> list[Path]:
    """The files of a folder of cards, as `score --out` writes them, by name."""
    return sorted(path for path in Path(folder).rglob("*.json") if path.is_file())


def is_card_folder(folder: Path) -> bool:
    """Whether the first JSON file below a folder is a card."""
    return Path(folder).is_dir() and any(holds_cards(path) for path in card_files(folder)[:1])


def holds_cards(path: Path) -> bool:
    """Whether a JSON file is a card or several; datasets may be JSON files, too."""
    with open(path, errors="replace") as file:
        return any('"rlassay.' in line for line in file)


def json_values(value: Any) -> Any:
    """NumPy numbers and arrays as Python's; floats that are not finite are refused."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {str(key): json_values(item) for key, item in entries}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_values(item) for item in cast("list[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError("a result is not a finite number", remedy="report this as a defect")
    return value


def _score_dict(score: Score) -> dict[str, Any]:
    return {**asdict(score), "interval": None if score.interval is None else list(score.interval)}


def _score(value: Mapping[str, Any]) -> Score:
    interval = value["interval"]
    parts: dict[str, Any] = {
        **value,
        "interval": None if interval is None else (interval[0], interval[1]),
        "per_seed": tuple(value["per_seed"]),
    }
    return Score(**parts)
