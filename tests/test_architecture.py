"""The shape of the house: who may import whom, and what must start without JAX."""

import ast
import statistics
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rlassay
from rlassay import rendering

ROOT = Path(rlassay.__file__).parent
sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import measure_code  # noqa: E402

AGENTS = {"bc", "awac", "onestep", "td3bc", "cql", "iql", "xql"}
# Each row may import rows above it, never below.
FOUNDATION = {"errors", "settings", "runtime", "progress", "stats", "words", "gate", "rendering"}
LAYERS = [
    {"data", "results", "engine"},
    {"formats"},
    {"inspection", "kernel", "policy", "rollout", "published"},
    {"critic", "transport", "repair", "motion", "verdict"},
    {"scoring", "agents"},
    {"curation", "collect", "oracle"},
    {"study"},
    {"report", "samples"},  # report reads results; they reach it through `rendering`
    {"cli"},
    {"__main__"},
]


def modules() -> dict[str, Path]:
    paths = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    return {str(path.relative_to(ROOT).with_suffix("")).replace("/", "."): path for path in paths}


def top_level_imports(path: Path) -> set[str]:
    """Modules of rlassay that are imported when `path` is imported."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "rlassay":
                found |= {alias.name for alias in node.names}
            elif node.module.startswith("rlassay."):
                found.add(node.module.removeprefix("rlassay."))
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
            found |= {n.removeprefix("rlassay.") for n in names if n.startswith("rlassay.")}
    return found - {"__version__"}


def layer_of(module: str) -> int:
    top = module.split(".")[0]
    if top in FOUNDATION:
        return -1
    return next(depth for depth, names in enumerate(LAYERS) if top in names)


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_upwards(name):
    for imported in top_level_imports(modules()[name]):
        same_package = imported.split(".")[0] == name.split(".")[0]
        assert same_package or layer_of(imported) <= layer_of(name), f"{name} imports {imported}"


def test_no_import_cycle():
    """Imports inside functions count: what is loaded later is still needed."""
    assert measure_code.cycles(measure_code.import_graph()) == []


def test_only_commands_import_the_report_room():
    graph = measure_code.import_graph()
    users = {name for name, used in graph.items() if any(u.split(".")[0] == "report" for u in used)}
    assert {name.split(".")[0] for name in users} == {"report", "cli"}


def test_every_drawing_of_a_result_is_made_by_the_report_room():
    called = {
        node.args[0].value
        for path in modules().values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "draw"
        if isinstance(node.args[0], ast.Constant)
    }
    assert called == set(rendering.DRAWINGS)
    for module, function in rendering.DRAWINGS.values():
        assert module.startswith("rlassay.report.")
        assert callable(getattr(import_module(module), function))


def test_the_house_keeps_its_measures():
    files = {path: len(path.read_text().splitlines()) for path in measure_code.modules().values()}
    functions: dict[str, int] = {}
    for path in files:
        functions |= measure_code.function_lengths(path)
    assert {path.name: lines for path, lines in files.items() if lines > 400} == {}
    assert statistics.median(files.values()) <= 130
    assert {name: lines for name, lines in functions.items() if lines > 60} == {}
    assert sorted(functions.values())[int(0.9 * len(functions))] <= 25
    assert len(measure_code.unformatted()) <= 10


def test_a_cycle_is_seen():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert measure_code.cycles(graph) == [["a", "b", "c"]]


def test_agents_do_not_import_each_other():
    for agent in AGENTS:
        imported = {i.split(".")[-1] for i in top_level_imports(ROOT / "agents" / f"{agent}.py")}
        assert not imported & (AGENTS - {agent}), agent


@pytest.mark.parametrize(
    "name",
    [
        "results.card",
        "report",
        "formats",
        "inspection",
        "repair",
        "curation",
        "motion",
        "cli",
        "settings",
    ],
)
def test_starts_without_jax_or_simulator(name):
    heavy = "{'jax', 'mujoco', 'torch', 'ott'}"
    code = f"import sys, rlassay.{name}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_only_scan_is_in_the_loop():
    users = [name for name, path in modules().items() if "lax.scan" in path.read_text()]
    assert users == ["kernel.fitting"]


def test_no_verb_is_hidden_by_a_module():
    """Importing a submodule sets an attribute of the package, which would replace a verb of the same name."""
    names = {name.split(".")[0] for name in modules()}
    assert not set(rlassay._PUBLIC) & names
    for verb in rlassay._PUBLIC:
        assert callable(getattr(rlassay, verb)), verb
