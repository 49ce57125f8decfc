"""Memory while 10,000 scenarios are made.

    python -m benchmarks.scenarios [--items 10000]

Makes items of copies of the built-in set, whose own tools run in this process (isolation is not the
point), writes them, and reports the process's largest size after each tenth.

Exit code 0: done, 1: the second half adds more than 32 MiB to the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio

from tests.canned import CannedSandbox
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.certify.model import VERSION, Basis, Certificate
from toolhop_tools.certify.prove import certify
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.readers.native import to_row
from toolhop_tools.scenarios.label import Scenario
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=10_000)
    return anyio.run(memory, parser.parse_args().items)


if __name__ == "__main__":
    sys.exit(main())
