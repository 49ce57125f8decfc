"""What blind readers catch of faults that people planted who had not read the product.

    python -m studies.readers                                     replays what is kept
    python -m studies.readers FILE.jsonl ... --base-url URL ...   asks one reader at each address
    python -m studies.readers ... --list                          each ballot, with the fault

Items are kept in ``--keep`` with the readers' replies, by the digest of each request, so that a
replay asks nobody. What executes is tried on the same items: the function that a document describes
against the tool's own, where the author of a fault wrote it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

import anyio

from studies.authored import SORTS, Authored, load_items
from studies.blind_replies import Asked, Kept, read_all, second_differs
from studies.running import interval
from toolhop_agents.models.base import NoKey, NoSuchModel
from toolhop_env.statistics.effective import effective
from toolhop_tools.blind.votes import Ballot, ReadStatus, Vote, decide

FOLDER = Path(__file__).parent / "data" / "readers"
Ballots = Mapping[str, Sequence[Ballot]]


def table(items: Sequence[Authored], ballots: Ballots, readers: Sequence[str]) -> list[str]:
    """The table of what is disputed, a row a sort of item.

    Args:
        items: all that were read.
        ballots: by item, one of each reader, in the readers' order.
        readers: their names.
    """
    lines = ["| sort | items | " + " | ".join([*readers, "all together"]) + " |"]
    lines.append("|---|---:|" + "---|" * (len(readers) + 1))
    faulty = [item for item in items if item.sort != "right"]
    groups = [(sort, [item for item in items if item.sort == sort]) for sort in SORTS]
    for sort, group in [*groups, ("all faults", faulty)]:
        disputed = [
            sum(decide([ballots[item.id][at]], 1) is ReadStatus.DISPUTED for item in group)
            for at in range(len(readers))
        ]
        disputed.append(sum(_disputed(ballots[item.id]) for item in group))
        shares = [interval(count, len(group)) for count in disputed]
        name = SORTS.get(sort, sort)
        lines.append(f"| {name} | {len(group)} | " + " | ".join(shares) + " |")
    return lines


def _disputed(ballots: Sequence[Ballot]) -> bool:
    return decide(ballots, len(ballots)) is ReadStatus.DISPUTED


def more(items: Sequence[Authored], ballots: Ballots) -> list[str]:
    """Votes by sort, and the effective number of readers."""
    lines = []
    for sort in SORTS:
        own = Counter(
            ballot.vote for item in items if item.sort == sort for ballot in ballots[item.id]
        )
        listed = ", ".join(f"{vote} {own[vote]}" for vote in Vote if own[vote])
        lines.append(f"votes, {SORTS[sort]}: {listed}")
    for title, sorts in (("right items", {"right"}), ("faults", {*SORTS} - {"right"})):
        votes: list[dict[Hashable, bool]] = [
            {ballot.model: ballot.vote is Vote.AGREES for ballot in ballots[item.id]}
            for item in items
            if item.sort in sorts
        ]
        lines.append(f"{title}: {effective(votes)}")
    return lines


def listed(items: Sequence[Authored], ballots: Ballots) -> list[str]:
    """Each item whose ballots are not what its sort asks for."""
    lines = []
    for item in items:
        status = "disputed" if _disputed(ballots[item.id]) else "read"
        if (status == "read") == (item.sort == "right"):
            continue
        lines.append(f"{item.id}, {SORTS[item.sort]}: {status}. {item.fault}")
        lines.append(f"    question: {item.question}")
        for ballot in ballots[item.id]:
            calls = "; ".join(
                f"{step['tool']}({json.dumps(step['arguments'], ensure_ascii=False)})"
                for step in ballot.steps
            )
            lines.append(f"    {ballot.model}: {ballot.vote}. {ballot.words} {calls}")
    return lines


async def executed(items: Sequence[Authored]) -> list[str]:
    """What a second implementation says, where the author of a fault wrote the right function."""
    own = [item for item in items if item.disputed_hop]
    found = {item.id: await second_differs(item) for item in own}
    caught = [item for item in own if found[item.id]]
    lines = [f"{SORTS['A']}, by a right second implementation: {interval(len(caught), len(own))}"]
    for item in own:
        row = found[item.id]
        shown = "no difference" if row is None else f"{row.call}: {row.first!r}, not {row.second!r}"
        lines.append(f"    {item.id}: {shown}")
    return lines


async def _run(given: argparse.Namespace) -> int:
    kept = Kept.open(given.keep)
    items = kept.items
    if given.files:
        items = [item for path in given.files for item in load_items(path)]
        kept.keep_items(given.files)
    if given.limit:
        items = items[: given.limit]
    asked = [
        Asked(f"reader-{number}", given.model, url) for number, url in enumerate(given.base_url, 1)
    ]
    if not items or not (asked or kept.readers):
        print("nothing is kept yet: give items, and --base-url once for each reader")
        return 2
    ballots = await read_all(items, asked, kept, timeout_s=given.timeout, at_a_time=given.at_a_time)
    readers = [reader.name for reader in asked] or kept.readers
    unread = [item.id for item in items if len(ballots[item.id]) < len(readers)]
    if unread:
        print(f"{len(unread)} of {len(items)} items are not read by all: {', '.join(unread[:9])}")
    whole = [item for item in items if item.id not in unread]
    if whole:
        print("\n".join([*table(whole, ballots, readers), "", *more(whole, ballots)]))
        by_author = {item.id: [item.author_ballot] for item in whole if item.author_ballot}
        if by_author:
            own = [item for item in whole if item.id in by_author]
            print("\nThe plan that each item's author holds right:")
            print("\n".join(table(own, by_author, ["author"])))
    print("\n" + "\n".join(await executed(items)))
    if given.list:
        print("\n".join(["", *listed(whole, ballots)]))
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--base-url", action="append", default=[], help="of one reader; repeat it")
    parser.add_argument("--model", default="openai/reader")
    parser.add_argument("--timeout", type=float, default=3500, help="seconds for one reply")
    parser.add_argument("--at-a-time", type=int, default=8, help="requests under way, a reader")
    parser.add_argument("--keep", type=Path, default=FOLDER, help="folder of items and replies")
    parser.add_argument("--limit", type=int, default=0, help="read the first N items only")
    parser.add_argument("--list", action="store_true", help="what readers missed or refused")
    try:
        raise SystemExit(anyio.run(_run, parser.parse_args()))
    except (OSError, ValueError, NoKey, NoSuchModel) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
