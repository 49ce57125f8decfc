"""What the generator of worlds keeps, checked apart from its own refusals.

    python -m studies.worlds items [--blocks 1] [--out FILE]
    python -m studies.worlds pin SPEC

`items` makes blocks of each cell of knobs and writes a line a block to FILE, from which it goes on
where it was stopped. Gold calls are run in the sandbox's process, from the tools' own sources; the
meaning is valued by both engines; a search ten times as deep as the generator's looks for
shortcuts, and each is played again in worlds of the same names: one that never comes out right
there is chance. `pin` prints one digest over the digests of a series' items.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio

from studies.running import interval, markdown
from toolhop_sandbox.base import Limits
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import Returned
from toolhop_tools.model import Item
from toolhop_tools.readers.worlds import item_at
from toolhop_tools.reading import answer_at, leaf_text, read_result
from toolhop_tools.worlds.expression import Expression, Undefined, evaluate
from toolhop_tools.worlds.items import BLOCK, Making, seed_of
from toolhop_tools.worlds.search import MOST_CALLS, Explorer, again, named_values
from toolhop_tools.worlds.spec import parse
from toolhop_tools.worlds.tools import toolbox

CELLS = (
    "hops=2,joins=none", "hops=3", "hops=4", "hops=5", "hops=3-5,styles=records",
    "hops=3-5,styles=values", "hops=3-5,styles=service", "hops=3-5,styles=tables",
    "hops=3-5,tools=30", "hops=3-5,listing=yes", "hops=3-5,near=twins,tools=20",
    "hops=3-5,units=yes,codes=yes", "hops=3-5,size=3,page=20", "tier=4", "tier=5",
)  # fmt: skip


async def executed(items: list[Item]) -> int:
    """Items whose gold calls give each hop's answer and the item's."""
    right = 0
    async with (
        await open_sandbox("process", limits=Limits(), max_workers=1) as sandbox,
        sandbox.session() as session,
    ):
        for item in items:
            answers = []
            for hop in item.hops:
                gold = hop.gold
                if gold is None or gold.reading is None:
                    break
                outcome = await session.call(hop.tool.program, gold.arguments)
                if isinstance(outcome, Returned):
                    answers.append(answer_at(read_result(outcome.json_text), gold.reading))
            wanted = [hop.answer for hop in item.hops]
            right += answers == wanted and wanted[-1] == item.answer
    return right


def engines_agree(making: Making, asked: Expression, answer: str) -> bool:
    """Whether both engines give one answer, the item's."""
    try:
        values = (evaluate(asked, making.world), making.database.value(asked))
    except Undefined:
        return False
    return all(leaf_text(value) == answer for value in values)


def shortcut(making: Making, asked: Expression, item: Item) -> str:
    """``structure`` or ``chance`` where fewer calls give the answer too; else empty."""
    reached = Explorer(making.tools).search(
        item.tools, named_values(asked, making.world),
        (item.answer_type, evaluate(asked, making.world)), len(item.hops), 10 * MOST_CALLS,
    ).shortcut  # fmt: skip
    if reached is None:
        return ""
    for world in making.elsewhere:
        tools = toolbox(world, making.tools.surface.style, making.knobs, making.seed)
        try:
            if again(reached, tools) == evaluate(asked, world):
                return "structure"
        except Undefined:
            continue
    return "chance"


def block_row(cell: str, number: int) -> dict[str, Any]:
    """A block's figures."""
    (spec,) = parse(f"seed={CELLS.index(cell)},{cell}").specs
    refused, start = Counter[str](), time.process_time()
    making = Making(spec.knobs, seed_of(spec, number), refused)
    kept: list[tuple[Expression, Item]] = []
    for pair in making.kept():
        if all(item.question != pair[1].question for _, item in kept):
            kept.append(pair)
        if len(kept) == BLOCK:
            break
    seconds = time.process_time() - start
    found = [(item.answer_type, shortcut(making, asked, item)) for asked, item in kept]
    return {
        "cell": cell, "block": number, "items": len(kept), "seconds": seconds,
        "refused": sum(refused.values()), "executed": anyio.run(executed, [i for _, i in kept]),
        "agree": sum(engines_agree(making, asked, item.answer) for asked, item in kept),
        "shortcuts": [pair for pair in found if pair[1]],
        "questions": [hashlib.sha256(i.question.encode()).hexdigest()[:16] for _, i in kept],
    }  # fmt: skip


def report(rows: list[dict[str, Any]]) -> str:
    """A table of the cells, and the totals over all of them."""
    lines = []
    for cell in dict.fromkeys(row["cell"] for row in rows):
        own = [row for row in rows if row["cell"] == cell]
        items, refused, seconds = (
            sum(r[key] for r in own) for key in ("items", "refused", "seconds")
        )
        lines.append([cell, str(items), f"{100 * items / max(1, items + refused):.1f} %",
                      f"{items / seconds:.1f}"])  # fmt: skip
    total = sum(row["items"] for row in rows)
    kinds = Counter(tuple(pair) for row in rows for pair in row["shortcuts"])
    questions = [question for row in rows for question in row["questions"]]
    return "\n".join([
        markdown(["cell", "items", "kept of drawn", "items a CPU second"], lines),
        f"gold executed: {interval(sum(row['executed'] for row in rows), total)}",
        f"equal in both engines: {interval(sum(row['agree'] for row in rows), total)}",
        f"shortcuts by type of answer: {dict(kinds)}",
        f"duplicates: {len(questions) - len(set(questions))}",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    items = commands.add_parser("items")
    items.add_argument("--blocks", type=int, default=1, help="of each cell")
    items.add_argument("--out", type=Path, default=Path("studies-worlds.jsonl"))
    commands.add_parser("pin").add_argument("spec")
    given = parser.parse_args()
    if given.command == "pin":
        digest = hashlib.sha256()
        series = parse(given.spec)
        for index in range(len(series)):
            digest.update(bytes.fromhex(item_at(*series.place(index)).digest))
        print(digest.hexdigest())
        return
    lines = given.out.read_text("utf-8").splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(row["cell"], row["block"]) for row in rows}
    for number in range(given.blocks):
        for cell in CELLS:
            if (cell, number) not in done:
                rows.append(block_row(cell, number))
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print(report(rows))


if __name__ == "__main__":
    main()
