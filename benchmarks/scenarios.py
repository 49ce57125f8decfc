"""Scenarios: memory while 10,000 items are made, and labels searched for again.

    python -m benchmarks.scenarios memory [--items 10000]
    python -m benchmarks.scenarios again FILE [--sample 100] [--executions 1000]

`memory` makes items of copies of the built-in set, whose own tools run in this process (isolation
is not the point), writes them, and reports the process's largest size after each tenth. It fails
where the second half adds more than 32 MiB to the first.

`again` takes unsolvable items of a file that `toolhop perturb` wrote, and searches for each lost
hop with every tool on offer anew: with other random values, and longer than the certificates did.
It fails where one is proven or ambiguous.

Exit code 0: done, 1: a bar was missed, 3: no file.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from toolhop_sandbox.base import Limits, Program
from toolhop_sandbox.canned import CannedSandbox
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import VERSION, Basis, Certificate, HopVerdict
from toolhop_tools.certify.prove import asked, certify
from toolhop_tools.certify.search import Search
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.readers.native import to_row
from toolhop_tools.scenarios.label import Scenario, label_of
from toolhop_tools.scenarios.make import Family, FamilyMaker, Recipe, make_all

CHEAP = (Scenario.PLAIN, Scenario.FLAKY_TOOL)
"""Whose labels take a few calls and no search."""
MOST_MORE_MIB = 32
BASES = 20


def _here(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    names: dict[str, Any] = {}
    exec(program.source, names)
    try:
        return Returned(json.dumps(names[program.function](**arguments)))
    except Exception as error:  # noqa: BLE001 -- whatever a tool raises is its outcome
        return Raised(type(error).__name__, str(error))


def _size_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def memory(wanted: int, most_bases: int = BASES) -> int:
    """Make so many items of copies of a few; 1 where memory grows with them."""
    sandbox = CannedSandbox(_here)
    basis = Basis(VERSION, 0, 60, 8, 2.0, 256, "none")
    bases = load("builtin").items[:most_bases]
    proofs = [await certify(item, sandbox, basis) for item in bases]
    items, certificates = list[Item](), dict[str, Certificate]()
    for number in range(wanted // (len(CHEAP) * len(bases)) + 1):
        for item, proof in zip(bases, proofs, strict=True):
            copy = replace(item, id=f"{item.id}-copy-{number}")
            items.append(copy)
            certificates[copy.id] = replace(proof, item=copy.id, digest=copy.digest)
    made, written, sizes, began = 0, 0, list[float](), time.perf_counter()
    with tempfile.TemporaryFile() as file:

        def add(item: Item, family: Family | None) -> None:
            nonlocal made, written
            del item
            # It keeps what it was asked.
            sandbox.calls.clear()
            for one in family.items if family else ():
                made += 1
                written += file.write(json.dumps(to_row(one)).encode() + b"\n")
                if made % (wanted // 10) == 0:
                    sizes.append(_size_mib())
                    print(
                        f"{made:>7,} items  {sizes[-1]:6.0f} MiB  {written / 2**20:6.0f} MiB file"
                    )

        maker = FamilyMaker(items, certificates, sandbox, Recipe(CHEAP))
        await make_all(items, maker.family, at_a_time=4, on_family=add)
    more = sizes[-1] - sizes[len(sizes) // 2 - 1]
    print(f"{made:,} items in {time.perf_counter() - began:.0f} s; second half {more:+.1f} MiB")
    return int(more > MOST_MORE_MIB or made < wanted)


async def again(path: Path, sample: int, executions: int) -> int:
    """Search for lost hops anew; 1 where a tool on offer proves one."""
    rows = [
        item
        for item in load(path).items
        if not label_of(item.gold).solvable
        and label_of(item.gold).scenario is not Scenario.CALL_LIMIT
    ]
    chosen = random.Random(0).sample(rows, min(sample, len(rows)))
    basis, found = Basis(VERSION, 1, executions, 20, 2.0, 256, "restricted"), Counter[str]()
    limits = Limits(wall_s=basis.wall_s, memory_mib=basis.memory_mib)
    sandbox = await open_sandbox("process", limits=limits, policy="restricted", max_workers=2)
    async with sandbox, sandbox.session() as session:
        for item in chosen:
            for number in label_of(item.gold).lost:
                hop, question = item.hops[number - 1], asked(item, number - 1, {})
                for tool in item.tools.values():
                    if not isinstance(tool.body, Program):
                        continue
                    task = Task(replace(hop, tool=tool, gold=None), question)
                    proof = await Search(session, task, basis, f"again {item.id}").prove()
                    found[proof.verdict] += 1
                    if proof.verdict in {HopVerdict.PROVEN, HopVerdict.AMBIGUOUS}:
                        print(f"{item.id}, hop {number}: {tool.name}: {proof.verdict}: {proof.why}")
    print(
        f"{len(chosen)} of {len(rows)} unsolvable items; pairs of lost hop and tool: {dict(found)}"
    )
    return int(bool(found[HopVerdict.PROVEN] + found[HopVerdict.AMBIGUOUS]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["memory", "again"])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--executions", type=int, default=1000)
    options = parser.parse_args()
    if options.what == "memory":
        return anyio.run(memory, options.items)
    if options.file is None or not options.file.exists():
        print(f"no file at {options.file}", file=sys.stderr)
        return 3
    return anyio.run(again, options.file, options.sample, options.executions)


if __name__ == "__main__":
    sys.exit(main())
