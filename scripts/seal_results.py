"""Write the hash of every table of the studies into the JSON beside it, for those written before tables had one.

    python scripts/seal_results.py

The long oracle's tables grow in a clone of their own and get theirs from what writes them next.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from rlassay.engine.files import write_json
from rlassay.study.grid.files import read_table

RESULTS = Path(__file__).parent.parent / "results"
STUDIES = ("table1", "fig1", "fig2", "table2", "confirm", "runtime", "curation")


def main() -> None:
    for beside in sorted(path for name in STUDIES for path in (RESULTS / name).glob("*.json")):
        table, about = beside.with_suffix(".csv"), json.loads(beside.read_text())
        if table.exists() and "sha256" not in about:
            read_table(table)  # refused where rows are missing
            digest = hashlib.sha256(table.read_bytes()).hexdigest()
            write_json(beside, {**about, "sha256": digest})
            print(f"sealed {table.relative_to(RESULTS.parent)}")


if __name__ == "__main__":
    main()
