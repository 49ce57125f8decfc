"""What each mechanism catches of planted faults, by kind of fault: an upper bound, given readers.

    python -m studies.faults                          the table, from the verdicts that are kept
    python -m studies.faults run [--out FOLDER]       the verdicts, computed anew (minutes)
    python -m studies.faults list                     each kind with its verdicts

Each kind is planted in every reply of the honest constructor, in three items, and put to what is
executed. A second implementation and readers are players: they use the right function and the right
plan, written by the fault's author, and err in a share of cases, each on its own or all alike. A
player who errs makes the author's own mistake; of a right item, another one.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from studies.constructor import honest
from studies.constructor.atlas import journey
from studies.constructor.honest import LOOKUPS
from studies.constructor.kinds import PLANTS
from studies.constructor.plants import Plant, Reads, Sort, planted
from studies.constructor.serving import BASES, plant_of
from studies.running import fresh, interval, markdown, rows, run, scripts
from toolhop_agents.construct.session import basis_of
from toolhop_agents.construct.settings import Settings
from toolhop_agents.construct.workshop import Tools, here
from toolhop_tools.blind.votes import Ballot, ReadStatus, Vote, decide
from toolhop_tools.construct.code import program
from toolhop_tools.construct.contract import schema_of
from toolhop_tools.construct.replies import Code, Pairs, Records, RefinedTool
from toolhop_tools.construct.second import call_set, differences, invented
from toolhop_tools.construct.stages import Stage
from toolhop_tools.construct.text import resolved
from toolhop_tools.construct.verify import Verifier

KEPT = Path(__file__).parent / "data" / "faults.json"
READ = Path(__file__).parent / "data" / "plants_read.json"
DRAWS = 400
RATES = (0.0, 0.1, 0.3)
READERS = 3
BEFORE = Path(__file__).parent / "data" / "deleted_rules.json"
"""Of each kind that the deleted rules were written for, whether they caught it in every reply."""
STRANGERS = "377 of 564, 58 of 93, 31 of 120, 24 of 96 and 55 of 96"
"""What the deleted rules caught of five sets by people who had not read them, when first driven."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one kind of fault in one item."""

    kind: str
    base: str
    executed: bool
    """Whether what is executed refuses the item."""
    why: str
    second: bool
    """Whether a right second implementation differs from the tool's code."""
    reads: str
    """A value of `Reads`."""


def kept() -> list[Verdict]:
    """The verdicts that are kept."""
    return [Verdict(**row) for row in json.loads(KEPT.read_text(encoding="utf-8"))]


# -- verdicts --------------------------------------------------------------------------------------


def compute(out: Path, sandbox: str) -> None:
    """Plant all kinds, and keep what came of them."""
    count = len(PLANTS) * len(BASES)
    if len(rows(out, "item")) < count:
        _make(fresh(out), count, sandbox)
    finished = {row["item"]: row for row in rows(out, "item")}
    seconds = anyio.run(_seconds)
    verdicts = []
    for item, row in finished.items():
        kind, (base, domain) = plant_of(item)
        if not _planted_here(PLANTS[kind], base, domain):
            continue
        reads = PLANTS[kind].reads.value
        why = "" if row["accepted"] else f"{row['place'][0]}: {row['why']}"[:200]
        verdicts.append(
            Verdict(kind, base, not row["accepted"], why, seconds.get((kind, base), False), reads)
        )
    order = [*PLANTS]
    verdicts.sort(key=lambda verdict: (order.index(verdict.kind), verdict.base))
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(asdict(verdict)) for verdict in verdicts)
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _make(folder: Path, count: int, sandbox: str) -> None:
    with scripts() as address:
        run("construct", "from-domain", "General", "--items", str(count), "--model",
            "openai/planted", "--base-url", address, "--out", str(folder), "--least-yield", "0",
            "--repairs", "1", "--second", "off", "--sandbox", sandbox)  # fmt: skip


def _planted_here(plant: Plant, base: str, domain: str) -> bool:
    """Whether the fault is one in this item: half of a name of one word is the whole name."""
    stage, hop = plant.place
    inputs = {"stage": stage.value, "hop": hop, "item": base, "domain": domain, "call": _call(base)}
    plain = json.dumps(honest.reply(inputs), ensure_ascii=False)
    return planted(plant, inputs, now=True) != plain


def _call(base: str, hop: int = LOOKUPS + 1) -> dict[str, object]:
    """The call of a hop, with answers in place."""
    [domain] = [domain for item, domain in BASES if item == base]
    plan = journey(base, domain)
    [row] = [row for row in plan.first if row[plan.theme.first] == plan.start]
    answers = [str(row[plan.theme.second]), *plan.values(row)]
    document = honest.reply({"stage": "refine", "hop": hop, "item": base, "domain": domain})
    first = honest.reply({"stage": "tool", "hop": hop, "item": base, "domain": domain})
    made = resolved(first["arguments"], answers, document["tool"]["parameters"])
    return dict(made) if isinstance(made, dict) else {}


async def _seconds() -> dict[tuple[str, str], bool]:
    """By kind and item: whether a right second implementation differs from the tool's code."""
    settings = Settings(model="none", repairs=0, sandbox="process")
    tools = Tools("process", basis_of(settings), settings.examples, settings.seed, 2)
    async with here(tools) as shop:
        return {
            (kind, base): await _differs(shop.verifier, plant, base, domain)
            for kind, plant in PLANTS.items()
            for base, domain in BASES
            if _has_function(plant) and _planted_here(plant, base, domain)
        }


def _has_function(plant: Plant) -> bool:
    in_code = plant.place[0] is Stage.CODE and plant.sort is not Sort.REPLY
    return in_code or plant.right is not None


async def _differs(verifier: Verifier, plant: Plant, base: str, domain: str) -> bool:
    hop = plant.place[1]
    inputs = {"hop": hop, "item": base, "domain": domain, "call": _call(base, hop)}

    def reply(stage: Stage) -> str:
        return planted(plant, {**inputs, "stage": stage.value}, now=True)

    refined = RefinedTool.read(reply(Stage.REFINE))
    facts = (Records if hop <= LOOKUPS else Pairs).read(reply(Stage.FACTS))
    code = Code.read(reply(Stage.CODE))
    assert isinstance(refined, RefinedTool)  # noqa: S101 -- only plants whose replies parse are drawn here; another is a fault of the study
    assert isinstance(facts, Records | Pairs)  # noqa: S101 -- as above
    assert isinstance(code, Code)  # noqa: S101 -- as above
    schema = schema_of(refined.tool, refined.contract)
    second = honest.second_code(journey(base, domain), hop)
    right = plant.right(second) if plant.right else second
    calls = call_set(schema, facts, verifier.basis.seed)
    for table, own in enumerate(invented(facts)):
        results = [
            await verifier.results(program(schema, source, own), calls)
            for source in (code.code, right)
        ]
        if differences(calls, results[0], results[1], table):
            return True
    return False


# -- players ---------------------------------------------------------------------------------------


def caught_by_readers(verdict: Verdict, errs: Sequence[bool]) -> bool:
    """Whether readers dispute an item; one who errs plans the chain, as its author meant it."""
    votes = {
        Reads.AS_MEANT: Vote.AGREES, Reads.OTHERWISE: Vote.DIFFERS, Reads.DOUBTS: Vote.DOUBTS,
    }  # fmt: skip
    right = votes[Reads(verdict.reads)]
    return _disputed([Vote.AGREES if wrong else right for wrong in errs])


def _disputed(votes: Sequence[Vote]) -> bool:
    ballots = [Ballot(f"reader-{at}", 1, vote) for at, vote in enumerate(votes)]
    return decide(ballots, len(ballots)) is ReadStatus.DISPUTED


@dataclass
class Shares:
    """Shares of draws in which something is caught."""

    second: float = 0.0
    readers: float = 0.0
    together: float = 0.0


def drawn(verdicts: Sequence[Verdict], rate: float, *, alike: bool, seed: int) -> Shares:
    """What is caught of these, over many draws of who errs.

    Args:
        verdicts: one an item.
        rate: share of cases in which a player errs.
        alike: whether all players err in the same cases.
        seed: of the draws.
    """
    rng, shares = random.Random(f"{seed}/{rate}/{alike}"), Shares()
    draws = 1 if rate == 0 else DRAWS
    for _ in range(draws):
        for verdict in verdicts:
            errs = [rng.random() < rate for _ in range(READERS + 1)]
            errs = [errs[0]] * len(errs) if alike else errs
            by_second = verdict.second and not errs[0]
            by_readers = caught_by_readers(verdict, errs[1:])
            shares.second += by_second
            shares.readers += by_readers
            shares.together += verdict.executed or by_second or by_readers
    count = draws * len(verdicts)
    return Shares(shares.second / count, shares.readers / count, shares.together / count)


def refused_right(rate: float, *, alike: bool) -> float:
    """Share of right items that readers dispute: one who errs comes to another answer."""
    return rate if alike else 1 - (1 - rate) ** READERS


# -- tables ----------------------------------------------------------------------------------------

WAYS = [(rate, alike) for rate in RATES for alike in ((False, True) if rate else (False,))]


def table(verdicts: Sequence[Verdict], seed: int = 0) -> str:
    """One row a kind of fault, one column a mechanism."""
    before: dict[str, bool] = json.loads(BEFORE.read_text(encoding="utf-8"))
    head = ["kind of fault", "kinds", "planted", "deleted rules", "executed"]
    head += [f"second, {_way(*way)}" for way in WAYS if not way[1]]
    head += [f"readers, {_way(*way)}" for way in WAYS]
    head += [f"all, {_way(*way)}" for way in WAYS]
    lines = []
    for sort in [*Sort, None]:
        own = [row for row in verdicts if sort is None or PLANTS[row.kind].sort is sort]
        kinds = {row.kind for row in own}
        shares = {way: drawn(own, way[0], alike=way[1], seed=seed) for way in WAYS}
        line = [sort or "all", str(len(kinds)), str(len(own))]
        known = [before[kind] for kind in kinds if kind in before]
        line.append(f"{sum(known)} of {len(known)} kinds")
        line.append(_share(sum(row.executed for row in own) / len(own)))
        line += [_share(shares[way].second) for way in WAYS if not way[1]]
        line += [_share(shares[way].readers) for way in WAYS]
        line += [_share(shares[way].together) for way in WAYS]
        lines.append(line)
    return markdown(head, lines)


def _way(rate: float, alike: bool) -> str:
    return f"{100 * rate:.0f} %" + (" alike" if alike else "")


def _share(share: float) -> str:
    return f"{100 * share:.0f}"


def notes(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What stands under the table."""
    yield "Per cent caught; a player errs in that share of cases, on its own or all alike."
    executed = sum(row.executed for row in verdicts)
    yield f"Executed alone: {interval(executed, len(verdicts))}, items of a kind are alike."
    refused = ", ".join(
        f"{_share(refused_right(rate, alike=alike))} % ({_way(rate, alike)})"
        for rate, alike in WAYS
    )
    yield f"Right items that three readers dispute, before any repair of the question: {refused}."
    before: dict[str, bool] = json.loads(BEFORE.read_text(encoding="utf-8"))
    dropped = [kind for kind in before if kind not in PLANTS]
    yield (
        f"Deleted rules: the kinds that they were written for, {sum(before.values())} of "
        f"{len(before)}; of strangers' faults {STRANGERS}."
    )
    yield f"Kinds left out, as nothing reads prose any more: {', '.join(dropped)}."
    yield (
        "Wording and closed book come after readers and catch none of these kinds: a right reader "
        "notices each change of a chain, and all entities are invented."
    )
    left = sorted({row.kind for row in verdicts if not _caught(row)})
    yield f"Caught by none, though nobody errs: {', '.join(left) or 'none'}."


def _caught(row: Verdict) -> bool:
    return row.executed or row.second or row.reads != Reads.AS_MEANT


def by_real_readers(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What three copies of a language model, who saw requests alone, said of one item of each kind
    that nothing executed catches. Their replies are kept.
    """
    rows = json.loads(READ.read_text(encoding="utf-8"))
    expected = {row.kind: row.reads != Reads.AS_MEANT for row in verdicts}
    for wanted, title in ((True, "players dispute"), (False, "players read as meant")):
        own = [row for row in rows if expected[row["kind"]] is wanted]
        disputed = [row for row in own if row["disputed"]]
        odd = [row["kind"] for row in own if row["disputed"] is not wanted]
        says = f"{interval(len(disputed), len(own))} disputed by real readers"
        yield f"Kinds that {title}: {says}; otherwise than expected: {', '.join(odd) or 'none'}."


def listed(verdicts: Sequence[Verdict]) -> Iterator[str]:
    by_kind: Mapping[str, list[Verdict]] = {
        kind: [row for row in verdicts if row.kind == kind] for kind in PLANTS
    }
    for kind, own in by_kind.items():
        plant = PLANTS[kind]
        by = ", ".join(
            f"{row.base}: {row.why or 'accepted'}{'; second' if row.second else ''}" for row in own
        )
        yield f"{plant.sort} | {kind} | {plant.fault} | reader {plant.reads} | {by}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["table", "run", "list"], default="table")
    parser.add_argument("--out", type=Path, default=Path("studies-faults"))
    parser.add_argument("--sandbox", default="process")
    given = parser.parse_args()
    if given.what == "run":
        compute(given.out, given.sandbox)
    verdicts = kept()
    if given.what == "list":
        print("\n".join(listed(verdicts)))
        return
    print("What is caught: an upper bound, given readers\n")
    print(table(verdicts), "\n")
    print("\n".join([*notes(verdicts), *by_real_readers(verdicts)]))


if __name__ == "__main__":
    main()
