"""Runs and their tables in terminals of several widths, as they are stored beside this file.

python -m tests.agents.tables          # the texts anew, from the stored runs
python -m tests.agents.tables --runs   # and the runs
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.agents.command import toolhop
from tests.env import scenes
from toolhop_tools.readers.native import to_row

WIDTHS = (80, 100, 160)
FOLDER = Path(__file__).parent / "tables"
RUNS = FOLDER / "runs.tar.xz"
GOLDEN = Path(__file__).parents[1] / "golden"
PLAYED = {
    "repairing": "run --agent repairing:0.3 --turn-limit 20 --limit 3 --mode all --epochs 2",
    "faulty": "run --agent faulty:0.3 --turn-limit 20 --limit 3 --mode all --epochs 2",
    "nestools": "run --data nestools/test_data.jsonl --agent renumbered --mode base,calls",
    "toolbehonest": "run --data toolbehonest:toolbehonest.json --agent gold --mode all",
    "relytoolbench": "run --data relytoolbench:relytoolbench --agent all-tools",
    "scenarios": "run --data scenarios.jsonl --agent goes-on",
    "ablation": "ablate --agent repairing:0.3 --turn-limit 20 --limit 5",
}
COMMANDS = (
    "runs runs",
    "score runs/repairing runs/faulty",
    "score runs/repairing --by hops",
    "score runs/nestools",
    "score runs/toolbehonest",
    "score runs/relytoolbench",
    "score runs/scenarios",
    "score runs/ablation",
    "compare runs/repairing runs/faulty --discordant 1",
    "show runs/faulty --mode free",
    "show runs/toolbehonest --mode level-2",
    "show runs/relytoolbench",
    "show runs/scenarios",
    "explain runs/faulty",
    "diagnose runs/faulty runs/relytoolbench",
    "data list --data builtin --limit 3",
    "ablate --show runs/ablation",
    "ablate --show runs/ablation --full --discordant 1",
    "certify --data builtin --limit 1 --sandbox process",
    "perturb --data builtin --limit 1 --into limited-steps,call-limit --out made.jsonl "
    "--sandbox process",
    "check --data builtin --limit 1 --examples 3 --sandbox process",
)


def play(folder: Path) -> None:
    """Play the runs anew, in `folder`, and pack them."""
    own = {name: json.loads((GOLDEN / f"{name}_own.json").read_text()) for name in PLAYED
           if (GOLDEN / f"{name}_own.json").exists()}  # fmt: skip
    for name in ("nestools", "relytoolbench"):
        (folder / name).mkdir()
    for name, rows in (("test_data", "rows"), ("test_api_ids", "ids")):
        text = "\n".join(map(json.dumps, own["nestools"][rows]))
        (folder / "nestools" / f"{name}.jsonl").write_text(text)
    (folder / "toolbehonest.json").write_text(json.dumps(own["toolbehonest"]["rows"]))
    for name, rows in own["relytoolbench"]["sets"].items():
        (folder / "relytoolbench" / f"{name}.json").write_text(json.dumps(rows))
    scenarios = (json.dumps(to_row(item)) + "\n" for item in scenes.family())
    (folder / "scenarios.jsonl").write_text("".join(scenarios))
    for name, command in PLAYED.items():
        done = toolhop(*command.split(), "--sandbox", "process", "--log-dir", name, cwd=folder)
        if done.returncode:
            raise SystemExit(f"{command}: {done.stderr}")
    with tarfile.open(RUNS, "w:xz") as packed:
        for name in PLAYED:
            (made,) = (folder / name).glob("20*")
            packed.add(made, f"runs/{name}")


def texts(folder: Path, width: int) -> Iterator[str]:
    """What each command prints in a terminal of `width`; the runs stand in `folder`."""
    with tarfile.open(RUNS) as packed:
        packed.extractall(folder, filter="data")
    for command in COMMANDS:
        done = toolhop(*command.split(), cwd=folder, env={"COLUMNS": str(width)})
        lines = (line.rstrip() for line in done.stdout.splitlines())
        yield "\n".join([f"$ toolhop {command}", *lines, ""])


def stored(width: int) -> Path:
    """Where the texts of a width are."""
    return FOLDER / f"{width}.txt"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if "--runs" in sys.argv:
        with TemporaryDirectory() as made:
            play(Path(made))
    for columns in WIDTHS:
        with TemporaryDirectory() as made:
            stored(columns).write_text("\n".join(texts(Path(made), columns)), encoding="utf-8")
