"""What `toolhop certify` proves of hops whose gold is wrong: planted defects, counted by kind.

    python -m benchmarks.planted [DATA] [--sandbox process] [--seed 0] [--list]

DATA is the 60 real items beside the project if they are there, else builtin. Each plant changes one
hop that is proven as it is, so that its gold is not what the call that is asked for gives, or so
that a call which gives it proves nothing. At most `MOST` of a kind are drawn by the seed from all
that it has room for. None may be proven.

Exit code 0: done, 1: more than 2 % are proven, or an order that was reversed is, 3: no data here.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from benchmarks.plants import IN_TOOLS, Spot, another_choice, reversed_order
from benchmarks.plants_later import LATER
from benchmarks.plants_own import OWN
from toolhop_sandbox.base import Limits, Session
from toolhop_sandbox.choose import KINDS as SANDBOXES
from toolhop_sandbox.choose import Kind as SandboxKind
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import VERSION, Basis, Certificate, HopProof, HopVerdict
from toolhop_tools.certify.prove import asked, certify
from toolhop_tools.certify.search import Search
from toolhop_tools.load import load
from toolhop_tools.model import Hop, Item
from toolhop_tools.reading import read_result
from toolhop_tools.words import as_text

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "toolhop" / "ToolHop-60.json"
MOST = 15
"""Plants of one kind."""
MOST_PROVEN = 0.02
BASIS = Basis(VERSION, 0, 300, 20, 2.0, 256, "restricted")


KINDS = {**IN_TOOLS, **OWN, **LATER}
LAST = frozenset(LATER)
"""Kinds that were written last. Rules were changed after them as well: all kinds are in-sample."""


async def spots(items: list[Item], sandbox_kind: SandboxKind) -> list[tuple[Spot, str, Hop]]:
    """The plants: each a spot, the kind, and the changed hop."""
    found: list[tuple[Spot, str, Hop]] = []
    limits = Limits(wall_s=BASIS.wall_s)
    async with await open_sandbox(sandbox_kind, limits=limits, max_workers=2) as sandbox:
        for item in items:
            certificate = await certify(item, sandbox, BASIS)
            async with sandbox.session() as session:
                for at, proof in enumerate(certificate.hops):
                    if proof.verdict is not HopVerdict.PROVEN:
                        continue
                    hop = item.hops[at]
                    results: dict[str, JSON] = {}
                    spot = Spot(
                        item, at, proof, _returned(item, certificate, at), partial(_held, results)
                    )
                    # The calls that the kinds ask for are made first, as the kinds are plain code.
                    for arguments in _calls(spot):
                        await _fill(session, hop, arguments, results)
                    for kind, make in KINDS.items():
                        found += [(spot, kind, made) for made in list(make(spot))[:1]]
    return found


def _held(results: dict[str, JSON], arguments: dict[str, JSON]) -> JSON:
    return results.get(json.dumps(arguments, sort_keys=True))


def _calls(spot: Spot) -> list[dict[str, JSON]]:
    made: list[dict[str, JSON]] = []

    def note(arguments: dict[str, JSON]) -> JSON:
        made.append(arguments)
        return None

    for make in (reversed_order, another_choice):
        list(make(replace(spot, call=note)))
    return made


async def _fill(
    session: Session, hop: Hop, arguments: dict[str, JSON], results: dict[str, JSON]
) -> None:
    outcome = await session.call(hop.tool.program, arguments)
    if isinstance(outcome, Returned):
        results[json.dumps(arguments, sort_keys=True)] = read_result(outcome.json_text)


def _returned(item: Item, certificate: Certificate, at: int) -> dict[int, str]:
    pairs = enumerate(zip(item.hops[:at], certificate.hops, strict=False))
    return {n: p.answer for n, (h, p) in pairs if p.answer is not None and p.answer != h.answer}


def chosen(every: list[tuple[Spot, str, Hop]], seed: int) -> list[tuple[Spot, str, Hop]]:
    """At most `MOST` of each kind, drawn at random."""
    rng = random.Random(seed)
    kept: list[tuple[Spot, str, Hop]] = []
    for kind in KINDS:
        own = [one for one in every if one[1] == kind]
        kept += rng.sample(own, min(MOST, len(own)))
    return kept


async def judged(
    plants: list[tuple[Spot, str, Hop]], sandbox_kind: SandboxKind, seed: int
) -> list[tuple[Spot, str, Hop, HopProof]]:
    """The plants with what certifying makes of them."""
    found = []
    limits = Limits(wall_s=BASIS.wall_s)
    async with await open_sandbox(sandbox_kind, limits=limits, max_workers=2) as sandbox:
        for spot, kind, hop in plants:
            hops = (*spot.item.hops[: spot.at], hop, *spot.item.hops[spot.at + 1 :])
            item = replace(spot.item, hops=hops)
            task = Task(hop, asked(item, spot.at, spot.returned))
            async with sandbox.session() as session:
                drawn = f"{seed}/{item.id}/{spot.at}"
                proof = await Search(session, task, BASIS, drawn).prove()
            found.append((spot, kind, hop, proof))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=str(DATA) if DATA.exists() else "builtin")
    parser.add_argument("--sandbox", choices=SANDBOXES, default="process")
    parser.add_argument("--seed", type=int, default=0, help="of the plants and the random calls")
    parser.add_argument("--list", action="store_true", help="every plant, not only those proven")
    parser.add_argument("--kind", action="append", choices=KINDS, help="this kind alone")
    options = parser.parse_args()
    if options.data != "builtin" and not Path(options.data).exists():
        print(f"no data at {options.data}", file=sys.stderr)
        return 3
    items = list(load(options.data).items)
    plants = chosen(anyio.run(spots, items, options.sandbox), options.seed)
    if options.kind:
        plants = [one for one in plants if one[1] in options.kind]
    found = anyio.run(judged, plants, options.sandbox, options.seed)
    verdicts = list(HopVerdict)
    print(f"{'planted':30}{'hops':>6}" + "".join(f"{one.split(' ')[0]:>12}" for one in verdicts))
    for title, kinds in (
        ("together", frozenset(KINDS)),
        ("kinds written last", LAST),
    ):
        for kind in (*(KINDS if title == "together" else ()), title):
            wanted = set(kinds) if kind == title else {kind}
            own = Counter(proof.verdict for _, one, _, proof in found if one in wanted)
            counts = "".join(f"{own[one]:>12}" for one in verdicts)
            print(f"{kind:30}{own.total():>6}{counts}")
    for spot, kind, hop, proof in found:
        if options.list or proof.verdict is HopVerdict.PROVEN:
            print(f"\n{kind}: {spot.item.id}/{spot.at + 1} {hop.tool.name}: {hop.question}")
            print(f"  gold {hop.answer!r}: {proof.verdict} {proof.defect or ''}: {proof.why}")
            for arguments, result in (
                [(proof.arguments, proof.result)]
                if proof.arguments
                else [(one.arguments, one.outcome.get("json_text")) for one in proof.evidence]
            ):
                print(f"  {json.dumps(arguments, ensure_ascii=False)} -> {as_text(result)[:200]}")
    proven = [kind for _, kind, _, proof in found if proof.verdict is HopVerdict.PROVEN]
    return int(len(proven) > MOST_PROVEN * len(found) or any("reversed" in kind for kind in proven))


if __name__ == "__main__":
    sys.exit(main())
