"""Certificates, scenarios and checks on nodes are those of one machine, also where one is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studies.constructor.serving import respond
from tests.adapters.nodes import Nodes, cluster, processes, until
from tests.agents.items import small_item
from toolhop_agents.construct.folder import BOOKS, CERTIFICATES, FUNNEL, ITEMS
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet

pytest.importorskip("ray", reason="what is tried here")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
COMMAND = str(Path(sys.executable).parent / "toolhop")
LIMIT = "8"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster() as found:
        found.have(2)
        yield found


def there(nodes: Nodes) -> tuple[str, ...]:
    return ("--executor", "ray", "--ray-address", nodes.address)


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    folder.mkdir(parents=True, exist_ok=True)
    own = {name: text for name, text in os.environ.items() if name != "TOOLHOP_RUN_MODEL"}
    return subprocess.Popen(
        [COMMAND, *arguments, "--sandbox", "process"], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"OPENAI_API_KEY": "none", **own},
    )  # fmt: skip


def ended(run: subprocess.Popen[str], *codes: int) -> str:
    out, err = run.communicate(timeout=200)
    assert run.returncode in (codes or (0,)), err
    assert "Traceback" not in err
    return out


def called(folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    return ended(started(folder, *arguments), *codes)


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if not k.endswith("_s") and k != "file"}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def certificates(path: Path) -> list[Any]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda one: one["item"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what one machine makes."""
    folder = tmp_path_factory.mktemp("made")
    called(
        folder, "certify", "--data", "builtin", "--limit", LIMIT, "--out", "c.jsonl", "--exit-zero"
    )
    return folder


def test_certificates(nodes: Nodes, made: Path, tmp_path: Path) -> None:
    """One node is lost in between, and what it was at is done again."""
    nodes.have(2)
    flags = (
        "certify",
        "--data",
        "builtin",
        "--limit",
        LIMIT,
        "--out",
        "c.jsonl",
        "--exit-zero",
        "--max-samples",
        "2",
    )
    run = started(tmp_path, *flags, *there(nodes))
    until(lambda: (tmp_path / "c.jsonl").exists() and (tmp_path / "c.jsonl").stat().st_size, "one")
    nodes.lose(nodes.nodes[0])
    ended(run)
    assert certificates(tmp_path / "c.jsonl") == certificates(made / "c.jsonl")
    assert len(certificates(made / "c.jsonl")) == int(LIMIT)


def test_scenarios(nodes: Nodes, made: Path, tmp_path: Path) -> None:
    nodes.have(2)
    own = f"perturb --data builtin --limit {LIMIT} --into missing-parameter,flaky-tool --json"
    flags = (*own.split(), "--certificates", str(made / "c.jsonl"), "--out", "p.jsonl")
    here = called(made, *flags, "--overwrite")
    spread = called(tmp_path, *flags, "--max-samples", "2", *there(nodes))
    assert (tmp_path / "p.jsonl").read_bytes() == (made / "p.jsonl").read_bytes()
    assert timeless(json.loads(spread)) == timeless(json.loads(here))
    assert not processes("ray::Host")


def test_checks(nodes: Nodes, tmp_path: Path) -> None:
    """Verdicts and counter-examples; the store is written by the driver, and read by it."""
    nodes.have(2)
    data = tmp_path / "items.json"
    data.write_text(json.dumps(to_rows(DataSet("small", str(data), (small_item(),)))))
    flags = ("check", "--data", str(data), "--examples", "40", "--json", "--store", "kept")
    again = ("check", "--data", str(data), "--examples", "1", "--json", "--store", "kept")
    found: list[Any] = []
    kept: list[dict[str, bytes]] = []
    for name in ("here", "there"):
        more: tuple[str, ...] = there(nodes) if name == "there" else ()
        folder = tmp_path / name
        found.append(timeless(json.loads(called(folder, *flags, *more, codes=(1,)))))
        files = (folder / "kept").rglob("*.json")
        kept.append({path.name: path.read_bytes() for path in files})
        # What was kept is called first, so that it is found though hardly anything is drawn.
        found.append(timeless(json.loads(called(folder, *again, *more, codes=(1,)))))
    assert found[:2] == found[2:]
    assert kept[0] == kept[1]
    assert kept[0]


def test_items_by_a_model(nodes: Nodes, tmp_path: Path) -> None:
    """Files are the same byte by byte; a node is lost in between."""
    nodes.have(2)
    own = "Geography --model openai/clumsy --readers openai/honest --items 3"
    own += " --least-yield 0 --seed 1"
    with LoopbackServer(respond) as server:
        asked = ("--base-url", server.base_url, "--reader-base-url", server.base_url)
        flags = ("construct", "from-domain", *own.split(), *asked, "--out", "made")
        ended(started(tmp_path / "here", *flags))
        run = started(tmp_path / "there", *flags, *there(nodes))
        ledger = tmp_path / "there" / "made" / "ledger.jsonl"
        until(lambda: ledger.exists() and ledger.read_text().count("verdict") > 3, "verdicts")
        nodes.lose(nodes.nodes[0])
        ended(run)
    one, other = tmp_path / "here" / "made", tmp_path / "there" / "made"
    assert (one / ITEMS).stat().st_size > 0
    for name in (ITEMS, CERTIFICATES, BOOKS, FUNNEL):
        assert (other / name).read_bytes() == (one / name).read_bytes()


def test_a_signal_ends_it(nodes: Nodes, tmp_path: Path) -> None:
    nodes.have(2)
    run = started(tmp_path, "check", "--data", "builtin", "--examples", "400", *there(nodes))
    until(lambda: len(processes("ray::Host")) == 2, "actors")
    time.sleep(3)
    run.terminate()
    ended(run, 130)
    until(lambda: not processes("ray::Host"), "end of the actors")
