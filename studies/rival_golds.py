"""Whether certificates prove rival golds: each hop with its own gold, and with a wrong one.

    python -m studies.rival_golds FILE [RIVALS] [--sandbox docker]

FILE is what `toolhop certify` takes: a file of items, a folder, or `builtin`. RIVALS is a JSON file
with a rival gold by item and hop: `{"7": {"2": "Ida Marsh"}}`. Without it, a hop's rivals are all
other values that calls of its own search gave, 20 at most.

Exit code 0: done, 1: a hop has two proven golds, 2: the input is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from toolhop_env.statistics.wilson import wilson
from toolhop_sandbox.base import Limits, Session
from toolhop_sandbox.choose import KINDS, Kind, open_sandbox
from toolhop_tools.certify.answering import Answer, values
from toolhop_tools.certify.calls import KnownCalls
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import VERSION, Basis, HopProof, HopVerdict
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.search import Search
from toolhop_tools.errors import ToolsError
from toolhop_tools.load import load
from toolhop_tools.model import Hop, Item
from toolhop_tools.reading import leaf_text
from toolhop_tools.words import scalars

BASIS = Basis(VERSION, 0, 300, 20, 2.0, 256, "restricted")
MOST_RIVALS = 20
"""Rivals of one hop that are made where none are given."""
Rivals = Mapping[str, Mapping[str, str]]


@dataclass
class Counts:
    """What was proven; a line for each rival gold that was."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)

    def add(self, name: str, hop: Hop, right: HopProof, wrong: list[tuple[str, HopProof]]) -> None:
        """Count one hop."""
        is_right = right.verdict is HopVerdict.PROVEN
        proven = [(gold, proof) for gold, proof in wrong if proof.verdict is HopVerdict.PROVEN]
        reversed_ = sum(_is_reordered(proof, right) for _, proof in proven)
        self.counts.update(
            hops=1, right=is_right, rivals=len(wrong), rivals_proven=len(proven),
            with_rival=bool(wrong), reversed=reversed_, contradictory=is_right + len(proven) > 1,
        )  # fmt: skip
        for gold, proof in proven:
            self.lines.append(
                f"{name} {hop.question}\n  gold {hop.answer!r}: {right.verdict}\n"
                f"  rival {gold!r}: proven by {json.dumps(proof.arguments, ensure_ascii=False)}"
            )


def _is_reordered(proof: HopProof, right: HopProof) -> bool:
    """Whether a rival is proven by the right call's values in another order."""
    calls = [right.arguments] if right.arguments else [one.arguments for one in right.evidence]
    own = _leaves(proof.arguments or {})
    return any(call != proof.arguments and _leaves(call) == own for call in calls)


def _leaves(arguments: Mapping[str, object]) -> list[str]:
    return sorted(json.dumps(leaf) for _, leaf in scalars(json.loads(json.dumps(arguments))))


async def count(items: tuple[Item, ...], rivals: Rivals | None, sandbox_kind: Kind) -> Counts:
    """Certify each hop with its gold and with its rivals."""
    counts = Counts()
    limits = Limits(wall_s=BASIS.wall_s)
    async with await open_sandbox(sandbox_kind, limits=limits, max_workers=1) as sandbox:
        for item in items:
            async with sandbox.session() as session:
                returned: dict[int, str] = {}
                for at in range(len(item.hops)):
                    given = None if rivals is None else rivals.get(item.id, {}).get(str(at + 1))
                    proof = await _count_hop(
                        session, item, at, returned, rivals is None, given, counts
                    )
                    if proof.answer is not None and proof.answer != item.hops[at].answer:
                        returned[at] = proof.answer
    return counts


async def _count_hop(
    session: Session,
    item: Item,
    at: int,
    returned: dict[int, str],
    is_own: bool,
    given: str | None,
    counts: Counts,
) -> HopProof:
    hop, known = item.hops[at], KnownCalls()
    task = Task(hop, asked(item, at, returned))

    def search(gold: str) -> Search:
        other = Task(replace(hop, answer=gold), replace(task.asked, gold=gold))
        return Search(session, other, BASIS, f"{BASIS.seed}/{item.id}/{at}", run_batch=known)

    first = search(hop.answer)
    right = await first.prove()
    golds = list(_others(first, hop.answer)) if is_own else [given] if given is not None else []
    wrong = [(gold, await search(gold).prove()) for gold in golds]
    counts.add(f"{item.id}/{at + 1}", hop, right, wrong)
    return right


def _others(search: Search, gold: str) -> Iterator[str]:
    """The values that calls of a search gave and that are not the gold."""
    found = [Answer((), gold)]
    for tried in search.calls.tried:
        texts = [answer.text for answer in values(tried.value, {})]
        texts += [leaf_text(leaf) for _, leaf in scalars(tried.value)[:20]]
        for answer in (Answer((), text) for text in texts if tried.text and text.strip()):
            if len(found) <= MOST_RIVALS and not any(map(answer.same, found)):
                found.append(answer)
                yield answer.text


def _row(title: str, part: int, whole: int) -> str:
    if not whole:
        return f"{title:44}{part:6} of {whole}"
    low, high = wilson(part / whole, whole)
    return f"{title:44}{part:6} of {whole:5}  {part / whole:6.1%}  ({low:.1%} to {high:.1%})"


def _rivals(path: Path, items: tuple[Item, ...]) -> Rivals:
    try:
        plain = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ToolsError(f"{path} cannot be read: {error}\n  fix: name a JSON file") from None
    by_hop = plain if isinstance(plain, dict) else {"": plain}
    if not all(
        isinstance(hops, dict) and all(isinstance(gold, str) for gold in hops.values())
        for hops in by_hop.values()
    ):
        raise ToolsError(f'{path} is not of the form {{"item id": {{"hop": "rival gold"}}}}')
    if unknown := {*by_hop} - {item.id for item in items}:
        raise ToolsError(f"{path}: no item has the id {', '.join(sorted(unknown))}")
    return by_hop


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("rivals", nargs="?", type=Path)
    parser.add_argument("--sandbox", choices=KINDS, default="process")
    options = parser.parse_args()
    try:
        items = tuple(load(options.data).items)
        rivals = None if options.rivals is None else _rivals(options.rivals, items)
    except ToolsError as error:
        print(error, file=sys.stderr)
        return 2
    counts = anyio.run(count, items, rivals, options.sandbox)
    seen = counts.counts
    print(_row("hops proven with their own gold", seen["right"], seen["hops"]))
    print(_row("rival golds proven", seen["rivals_proven"], seen["rivals"]))
    print(_row("  by the right values in another order", seen["reversed"], seen["rivals"]))
    print(_row("hops with two proven golds", seen["contradictory"], seen["with_rival"]))
    print("\n".join(["", *counts.lines]))
    return int(seen["contradictory"] > 0)


if __name__ == "__main__":
    sys.exit(main())
