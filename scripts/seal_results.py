"""Write the hash of every table of results/ into the JSON beside it, for those written before tables had one.

    python scripts/seal_results.py

The long oracle's tables grow in a clone of their own and are sealed by what writes them next.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from rlassay.engine.files import write_json
from rlassay.study.grid.files import read_table

RESULTS = Path(__file__).parent.parent / "results"
GROWING = RESULTS / "long"


def main() -> None:
    for beside in sorted(RESULTS.rglob("*.json")):
        table = beside.with_suffix(".csv")
        if not table.exists() or GROWING in table.parents:
            continue
        about = json.loads(beside.read_text())
        if "rows" in about and "sha256" not in about:
            read_table(table)  # refused where rows are missing
            digest = hashlib.sha256(table.read_bytes()).hexdigest()
            write_json(beside, {**about, "sha256": digest})
            print(f"sealed {table.relative_to(RESULTS.parent)}")


if __name__ == "__main__":
    main()
