"""The house in numbers: lengths of files and functions, `# fmt: skip`, and import cycles, lazy imports counted.

    python scripts/measure_code.py

An import inside a function counts as one at the top of its module; one under `if TYPE_CHECKING` is never executed and
does not count. A package's own `__init__` is not counted as imported by its members.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rlassay"
FOLDERS = ("src", "tests", "scripts", "benchmarks")
Graph = dict[str, set[str]]


def modules(source: Path = SOURCE) -> dict[str, Path]:
    """Every module by its dotted name; a package goes by the name of its folder."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def import_graph(source: Path = SOURCE) -> Graph:
    """Who imports whom inside the package, at the top or inside a function."""
    known = modules(source)
    return {name: set(_imported(path, known)) - {name} for name, path in known.items()}


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in _executed(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module != "rlassay" and not node.module.startswith("rlassay."):
                continue
            base = node.module.removeprefix("rlassay").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                yield inner if inner in known else base
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("rlassay."):
                    yield alias.name.removeprefix("rlassay.")


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _executed(node)


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of modules that reach each other, the largest first."""
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach.get(other, ())))
        for name in graph
        if name in reach[name]
    }
    return sorted((list(group) for group in groups), key=len, reverse=True)


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph.get(name, ())
    return seen


def function_lengths(path: Path) -> dict[str, int]:
    """Lines of every function of a file, its decorators apart."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        f"{path.relative_to(SOURCE)}:{node.name}": (node.end_lineno or node.lineno)
        - node.lineno
        + 1
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, kinds)
    }


def unformatted(root: Path = ROOT) -> list[str]:
    """Places in sources, tests and scripts whose layout is kept from the formatter."""
    return [
        f"{path.relative_to(root)}:{number}"
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"#\s*fmt:\s*(skip|off)\s*$", line)
    ]


def main() -> None:
    """Print one table."""
    files = {path: len(path.read_text().splitlines()) for path in modules().values()}
    functions: dict[str, int] = {}
    for path in files:
        functions |= function_lengths(path)
    lengths = sorted(functions.values())
    longest_file, longest = max(files, key=files.__getitem__), max(functions, key=functions.get)  # type: ignore[arg-type]
    skips = len(unformatted())
    found = cycles(import_graph())
    rows = [
        ("files", len(files), "<= 130 lines at the median"),
        ("file, median", statistics.median(files.values()), "<= 130"),
        ("file, max", files[longest_file], f"<= 400; {longest_file.relative_to(SOURCE)}"),
        ("function, p90", lengths[int(0.9 * len(lengths))], "<= 25"),
        ("function, max", functions[longest], f"<= 60; {longest}"),
        ("functions over 60", sum(length > 60 for length in lengths), "0"),
        ("# fmt: skip", skips, "<= 10"),
        ("import cycles", len(found), "0"),
    ]
    for name, value, wanted in rows:
        print(f"{name:20s} {value:>7g}   {wanted}")
    for group in found:
        print(f"  cycle of {len(group)}: {', '.join(group)}")


if __name__ == "__main__":
    main()
