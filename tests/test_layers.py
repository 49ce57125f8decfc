"""The rooms import only rooms to their left, and import without effects."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolhop_agents.cli import COMMANDS
from toolhop_env.benchmarks.nestools.scorer import BENCHMARK as NESTOOLS
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK as TOOLHOP
from toolhop_tools.benchmarks import OWN

ROOT = Path(__file__).parents[1]
ROOMS = {
    "toolhop_sandbox": ROOT / "sandbox",
    "toolhop_tools": ROOT,
    "toolhop_env": ROOT / "env",
    "toolhop_agents": ROOT / "agents",
    "toolhop": ROOT / "agents",
}
"""The packages in their order, each with the folder that it is found in."""
ORDER = tuple(ROOMS)
CLIENTS = {"openai_model.py", "litellm_model.py"}
"""Imported only when such a model is opened; see tests/agents/test_clients.py."""
PEERS = {
    "inspect_model.py",
    "gymnasium_env.py",
    "inspect_task.py",
    "openenv_server.py",
    "verifiers_taskset.py",
    "verifiers_tools.py",
}
"""Adapters that import a harness: nothing does but that harness, or a command for it."""
WITHIN_AGENTS = (
    {"models", "call_formats", "prompts"},
    {"cluster"},
    {"scripted"},
    {"react"},
    {"approval", "benchmarks", "blind", "judge", "simulator"},
    {"runs"},
    {"ablate", "compare", "construct", "environment", "export", "serve", "play", "why"},
    {"adapters", "align"},
    {
        "card",
        "report",
        "review",
        "stacked",
        "table_forms",
        "table",
        "plain_summary",
        "terminal",
        "trace_view",
        "data_view",
        "tool_tests",
        "pytest_plugin",
    },
    {"certify", "check", "cli", "data", "facade", "profile", "worlds"},
    {"__main__"},
)
"""Parts of `toolhop_agents`, each importing none of a later group. What shows figures (`table`,
`terminal`, `trace_view`) is imported by whatever shows some: it is bound by what it imports."""
WITH_CLI = next(parts for parts in WITHIN_AGENTS if "cli" in parts)
"""Parts that are commands and nothing else."""
SHARED_CLI = {
    "__init__", "arms", "faults", "flags", "json_output", "options", "progress", "stored_addresses",
}  # fmt: skip
"""What the commands of all features share."""
SHOWS = {"stacked", "table_forms", "table", "plain_summary", "terminal", "trace_view", "data_view"}
WORKER_MAY = {"RestrictedPython", "toolhop_sandbox", *sys.stdlib_module_names}


NAMES_OF_BENCHMARKS = {
    ("toolhop_tools.model", "TOOLHOP"),
    ("toolhop_tools.scenarios.label", "BENCHMARK"),
}
"""Names of two benchmarks as constants: as texts they are words of the product, too."""
MAY_NAME_A_BENCHMARK = {
    "toolhop_tools/benchmarks/__init__.py": "the list of them",
    # Items of chains are kept as ToolHop's rows, whoever made them.
    "toolhop_tools/load.py": "a file without a sign of its own is of such rows",
    "toolhop_tools/worlds/items.py": "makes chains",
    "toolhop_env/runs/store.py": "keeps the items of a run",
    "toolhop_agents/construct/item.py": "makes chains",
    "toolhop_agents/construct/session.py": "makes chains",
    "toolhop_agents/data/command.py": "writes such rows, and scenarios for other benchmarks",
    "toolhop_agents/data/made.py": "writes such rows",
    # Features that make items for a benchmark.
    "toolhop_tools/construct/nested": "makes items of NesTools",
    "toolhop_agents/construct/nested": "makes items of NesTools",
    "toolhop_agents/construct/reviews.py": "reads the folder in which they are made",
    "toolhop_agents/cli/perturb.py": "makes scenarios, with actions as RelyToolBench has them",
    "toolhop_agents/runs/job.py": "plays scenarios made on the spot",
    "toolhop_agents/data/export_as.py": "writes scenarios for other benchmarks",
    "toolhop_agents/align": "makes training data of scenarios",
    # What people see of items depends on their kind.
    "toolhop_tools/review.py": "findings of a data set",
    "toolhop_agents/card": "counts of a data set",
    "toolhop_agents/review": "the page on which a person solves an item",
    "toolhop_agents/runs/settings.py": "help on scripted agents, without importing them",
    "toolhop_agents/judge/command.py": "an error's example",
    "toolhop_agents/adapters/inspect_task.py": "Inspect finds tasks by reading this file",
}
"""Product files outside of a benchmark's folders that name one, and why."""


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Those of a file's syntax tree that the tests below ask about; each file is read once."""
    walked = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    docstrings = {node.value for node in walked if isinstance(node, ast.Expr)}
    asked = (ast.Import, ast.ImportFrom, ast.Constant, ast.Attribute)
    return tuple(node for node in walked if isinstance(node, asked) and node not in docstrings)


def imported(path: Path) -> set[str]:
    """Top-level names of everything that a file imports, wherever in the file."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_both_forms_of_an_import_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("import json.decoder\ndef f():\n    from toolhop_agents.react import play\n")
    assert imported(path) == {"json", "toolhop_agents"}
    assert parts_imported(path) == {"react"}


@pytest.mark.parametrize("layer", ORDER)
def test_layer_imports_only_earlier_layers(layer: str) -> None:
    later = {*ORDER[ORDER.index(layer) + 1 :], "tests", "benchmarks", "studies"}
    files = list((ROOMS[layer] / layer).rglob("*.py"))
    wrong = {str(path): imported(path) & later for path in files}
    assert files
    assert {path: names for path, names in wrong.items() if names} == {}


def is_command(path: Path) -> bool:
    """Whether a file holds a command, by its name: it is of the part `cli`, wherever it stands."""
    return path.stem.endswith("command")


def parts_imported(path: Path) -> set[str]:
    """The parts of `toolhop_agents` that a file imports."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = node.module.split(".")
            if names[0] == "toolhop_agents":
                found |= {names[1]} if len(names) > 1 else {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("place", range(len(WITHIN_AGENTS)))
def test_parts_of_agents_import_only_earlier_parts(place: int) -> None:
    root = ROOMS["toolhop_agents"] / "toolhop_agents"
    later = set().union(*WITHIN_AGENTS[place + 1 :]) - SHOWS
    wrong: dict[str, set[str]] = {}
    for part in WITHIN_AGENTS[place]:
        files = list((root / part).rglob("*.py")) or [root / f"{part}.py"]
        if part not in WITH_CLI:
            files = [path for path in files if not is_command(path)]
        wrong |= {str(path): parts_imported(path) & later for path in files}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_every_part_of_agents_has_its_place() -> None:
    root = ROOMS["toolhop_agents"] / "toolhop_agents"
    parts = {path.stem for path in root.iterdir() if path.suffix == ".py" or path.is_dir()}
    known = set().union(*WITHIN_AGENTS)
    assert parts - {"__init__", "__pycache__", "templates", "py"} == known


def test_a_command_stands_beside_its_feature() -> None:
    """`cli` has what all share, and the commands whose feature has no folder among the agents."""
    root = ROOMS["toolhop_agents"] / "toolhop_agents"
    files = {root / f"{module.replace('.', '/')}.py" for module, _ in COMMANDS.values()}
    in_cli = {path.stem for path in files if path.parent == root / "cli"}
    assert all(map(is_command, (path for path in files if path.stem not in in_cli)))
    assert not in_cli & {path.name for path in root.iterdir()}
    assert {path.stem for path in (root / "cli").glob("*.py")} == SHARED_CLI | in_cli


def test_nothing_but_commands_knows_the_command_line() -> None:
    root = ROOMS["toolhop_agents"] / "toolhop_agents"
    others = [
        path for path in root.rglob("*.py")
        # The façade takes the options of `toolhop run`, and refuses them in the same words.
        if path.relative_to(root).parts[0] not in {*WITH_CLI, "__main__.py", "facade.py"}
        and not is_command(path)
    ]  # fmt: skip
    modules = {path: [node.module or "" for node in nodes(path) if isinstance(node, ast.ImportFrom)]
               for path in others}  # fmt: skip
    assert others
    assert [
        path for path, names in modules.items()
        if any(f"{name}.".startswith("toolhop_agents.cli.") or name.endswith("command")
               for name in names)
    ] == []  # fmt: skip


MEASURES = {one.name for one in TOOLHOP.measures} | {
    one.name for one in NESTOOLS.measures if "_" in one.name
}
MAY_NAME_MEASURES = {
    "toolhop_env/benchmarks",
    "toolhop_env/measures.py",
    "toolhop_agents/models/exchange.py",
    "toolhop_agents/models/wire_responses.py",
}
"""The scorers name their benchmark's own measures; `measures` names the kinds of scorers, which
ToolHop's two leading measures are named after. OpenAI's protocol has a field ``strict``."""


@pytest.mark.parametrize("layer", ORDER)
def test_no_file_but_a_scorer_names_a_benchmarks_measures(layer: str) -> None:
    """A measure's name is a text; the same word elsewhere (`zip(..., strict=True)`) is none."""
    wrong: dict[str, set[str]] = {}
    for path in (ROOMS[layer] / layer).rglob("*.py"):
        place = path.relative_to(ROOMS[layer]).as_posix()
        if any(place.startswith(folder) for folder in MAY_NAME_MEASURES):
            continue
        constants = [n.value for n in nodes(path) if isinstance(n, ast.Constant)]
        texts = {value for value in constants if isinstance(value, str)}
        names = {n.attr for n in nodes(path) if isinstance(n, ast.Attribute)}
        found = (texts | names) & (MEASURES - {"strict", "official", "chain"})
        found |= {name for name in ("strict", "official") if name in texts}
        if found:
            wrong[place] = found
    assert wrong == {}


def benchmarks_named(path: Path) -> set[str]:
    """What a file imports of benchmarks' folders, and its texts that name a benchmark."""
    own = {name for name in OWN if name not in {"toolhop", "scenarios"}}
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names}
            home, _, rest = node.module.partition(".benchmarks")
            parts = {*rest.split("."), *names} if home in ROOMS else set()
            found |= {node.module for name in OWN if name in parts}
            found |= {name for name in names if (node.module, name) in NAMES_OF_BENCHMARKS}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {name for name in own if re.search(rf"\b{name}\b", node.value, re.IGNORECASE)}
    return found


def test_every_way_to_name_a_benchmark_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(
        "from toolhop_env.benchmarks.nestools.scorer import CALLS\n"
        "from toolhop_tools.benchmarks import toolhop\n"
        "from toolhop_tools.scenarios.label import BENCHMARK, label_of\n"
        "from toolhop_env.benchmarks import score\n"
        "WHICH = 'for RelyToolBench'\n"
        "'''As ToolBeHonest has it.'''\n"
    )
    modules = {"toolhop_env.benchmarks.nestools.scorer", "toolhop_tools.benchmarks"}
    assert benchmarks_named(path) == {*modules, "BENCHMARK", "relytoolbench"}


def test_a_benchmark_is_named_in_its_folders_alone() -> None:
    folders = [f"{room}/benchmarks/{name}/" for room in ORDER for name in OWN]
    naming = {
        place
        for layer in ORDER
        for path in (ROOMS[layer] / layer).rglob("*.py")
        if not (place := path.relative_to(ROOMS[layer]).as_posix()).startswith(
            (*folders, "toolhop_tools/scenarios/")
        )
        and benchmarks_named(path)
    }
    known = {place: next(filter(place.startswith, MAY_NAME_A_BENCHMARK), "") for place in naming}
    assert [place for place, listed in known.items() if not listed] == []
    assert {*known.values()} == MAY_NAME_A_BENCHMARK.keys()


def test_worker_imports_only_standard_library_and_restrictedpython() -> None:
    files = list((ROOMS["toolhop_sandbox"] / "toolhop_sandbox" / "worker").glob("*.py"))
    wrong = {str(path): imported(path) - WORKER_MAY for path in files}
    assert {path: names for path, names in wrong.items() if names} == {}
    sources = "\n".join(path.read_text(encoding="utf-8") for path in files)
    others = {line for line in sources.splitlines() if line.startswith("from toolhop_sandbox")}
    assert {line for line in others if not line.startswith("from toolhop_sandbox.worker")} == set()


@pytest.mark.parametrize("room", ORDER)
def test_package_is_ours_alone(room: str) -> None:
    spec = importlib.util.find_spec(room)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).parent == ROOMS[room] / room


def test_importing_everything_prints_nothing_and_loads_no_client() -> None:
    modules = [
        ".".join(path.relative_to(ROOMS[layer]).with_suffix("").parts)
        for layer in ORDER
        for path in sorted((ROOMS[layer] / layer).rglob("*.py"))
        if not {"builtin", "strategies"} & set(path.relative_to(ROOT).parts)
        and path.name not in {"__init__.py", *CLIENTS, *PEERS}
    ]
    heavy = "{'openai', 'litellm', 'docker', 'hypothesis'}"
    code = f"import sys, importlib\nfor m in {modules!r}: importlib.import_module(m)\n"
    code += f"assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_help_is_instant_because_it_imports_no_command() -> None:
    code = (
        "import sys, contextlib\nfrom toolhop_agents.cli import main\n"
        "sys.argv = ['toolhop', '--help']\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "assert not {'pydantic', 'rich', 'anyio', 'docker'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "Play many episodes" in done.stdout
