"""Write the verdicts of the bundled samples and of four odd files, as a terminal of 80 columns shows them.

python scripts/verdict_examples.py        (results/verdict/examples.md; then python scripts/fill_docs.py)
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

import rlassay
from rlassay.data.dataset import Dataset, Origin
from rlassay.report.terminal import show_cards
from rlassay.samples import paths

OUT = Path(__file__).parent.parent / "results" / "verdict" / "examples.md"


def noise(episodes: int, length: int, dims: tuple[int, int], **changes) -> Dataset:
    """Episodes of noise whose returns lie around 50."""
    rng = np.random.default_rng(0)
    rows = episodes * length
    columns = {
        "observations": rng.normal(size=(rows, dims[0])).astype(np.float32),
        "actions": rng.uniform(-1, 1, (rows, dims[1])).astype(np.float32),
        "rewards": np.repeat(rng.normal(50, 5, episodes) / length, length).astype(np.float32),
        "terminals": np.zeros(rows, bool),
        "timeouts": np.arange(1, rows + 1) % length == 0,
    }
    return Dataset.from_columns(**{**columns, **changes})


def odd_files() -> dict[str, Dataset]:
    """A tiny file, one reward throughout, no rewards, discrete actions."""
    hopper = Origin(env_id="Hopper-v5")
    rows = 60 * 100
    discrete = np.random.default_rng(1).integers(0, 4, (rows, 1))
    return {
        "tiny": noise(4, 10, (11, 3), origin=hopper),
        "constant": noise(60, 100, (11, 3), rewards=np.ones(rows, np.float32), origin=hopper),
        "demonstrations": noise(60, 100, (11, 3), rewards=None, origin=hopper),
        "discrete": noise(60, 100, (4, 1), actions=discrete, origin=Origin(env_id="CartPole-v1")),
    }


def verdict_lines(path: Path) -> str:
    """What `rlassay score FILE` shows of the verdict."""
    card = rlassay.score(path, scores=["return", "saco"])
    console = Console(width=80, record=True, file=open(os.devnull, "w"), legacy_windows=False)  # noqa: SIM115
    show_cards([card], console)
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    first = next(k for k, line in enumerate(lines) if line.startswith("verdict"))
    last = lines.index("", first)
    return "\n".join(lines[first:last])


def main() -> None:
    text = ""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for sample in paths():
            Path(sample.name).write_bytes(sample.read_bytes())
        for name, data in odd_files().items():
            rlassay.save(data, f"{name}.npz")
        for path in sorted(Path().iterdir(), key=lambda path: (path.suffix, path.name)):
            text += f"`rlassay score {path}`\n\n```text\n{verdict_lines(path)}\n```\n\n"
    OUT.write_text(text)


if __name__ == "__main__":
    main()
