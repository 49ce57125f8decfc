"""Output of certifying a data set: counts as tables or JSON, and one certificate as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from rich.console import Console, RenderableType
from rich.rule import Rule
from rich.text import Text

from toolhop_agents.certify.reading_view import ReadingTally, reading_parts
from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import plain
from toolhop_sandbox.outcome import JSON, OUTCOME
from toolhop_tools.blind.claims import Claim, claims_of, hop_is_read, item_claims, means, selection
from toolhop_tools.blind.file import ItemReading
from toolhop_tools.certify.candidates import Provenance
from toolhop_tools.certify.model import Certificate, Defect, Evidence, HopProof, HopVerdict
from toolhop_tools.errors import DataProblem, counted
from toolhop_tools.model import Hop, Item
from toolhop_tools.properties.words import reported


@dataclass
class Tally:
    """Counts over certificates; the certificates themselves are not stored."""

    items: tuple[Item, ...]
    broken: tuple[DataProblem, ...] = ()
    """Problems of rows that have no certificate."""
    verdicts: Counter[HopVerdict] = field(default_factory=Counter)
    hops: Counter[HopVerdict] = field(default_factory=Counter)
    searched: Counter[HopVerdict] = field(default_factory=Counter)
    """Search verdicts on hops of made items; they do not affect the items' own verdicts."""
    provenance: Counter[Provenance] = field(default_factory=Counter)
    defects: Counter[Defect] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    chance: Counter[str] = field(default_factory=Counter)
    """Numbers of audited gold calls, of random runs, and of random runs that hit."""
    official: int = 0
    """Proven hops whose result also contains the gold under ToolHop's containment rule."""
    executions: int = 0
    unproven: list[str] = field(default_factory=list)
    """Unproven hops, such as ``17/1``, with the reason."""
    claimed: dict[Claim, set[str]] = field(
        default_factory=lambda: {claim: set() for claim in Claim}
    )
    """Item ids by claim."""
    hop_claims: Counter[Claim] = field(default_factory=Counter)
    readings: ReadingTally = field(default_factory=ReadingTally)

    def add(self, certificate: Certificate, reading: ItemReading | None = None) -> None:
        """Count one certificate and its reading."""
        for claim in item_claims(certificate, reading):
            self.claimed[claim].add(certificate.item)
        for number, proof in enumerate(certificate.hops, 1):
            self.hop_claims.update(claims_of(proof))
            self.hop_claims[Claim.READ] += hop_is_read(reading, number)
        if reading is not None:
            self.readings.add(reading)
        self.verdicts[certificate.verdict] += 1
        self.shapes[certificate.shape] += 1
        if certificate.defect is not None:
            self.defects[certificate.defect] += 1
        for number, proof in enumerate(certificate.hops, 1):
            self._add_hop(f"{certificate.item}/{number}", proof)
        for proof in certificate.searched:
            self.searched[proof.verdict] += 1
            self.executions += proof.executions

    def _add_hop(self, name: str, proof: HopProof) -> None:
        self.hops[proof.verdict] += 1
        self.executions += proof.executions
        if proof.defect is not None:
            self.defects[proof.defect] += 1
        if not proof.verdict.is_proof:
            kind = proof.defect or proof.verdict
            seen = [
                f"; {_call(proof.tool, one.arguments)} {_outcome(one)}" for one in proof.evidence
            ]
            self.unproven.append(f"{name} {proof.tool}: {kind}: {proof.why}{''.join(seen[-1:])}")
        if proof.provenance is None:
            return
        self.provenance[proof.provenance] += 1
        self.official += bool(proof.official)
        if proof.chance is not None and proof.chance.runs:
            self.chance.update(calls=1, runs=proof.chance.runs, hits=proof.chance.hits)

    def chosen(self, claim: Claim) -> list[Item]:
        """Return the items for which a claim holds."""
        return [item for item in self.items if item.id in self.claimed[claim]]


def to_json(tally: Tally) -> dict[str, JSON]:
    """Return the counts as plain values."""
    return {
        "items": len(tally.items),
        "certified": sum(tally.verdicts.values()),
        "claims": {claim.value: _claim(tally, claim) for claim in Claim},
        "all": {**means(tally.items)},
        "readings": tally.readings.to_json(unread=_unread(tally)),
        "verdicts": {one.value: tally.verdicts[one] for one in HopVerdict},
        "hops": {one.value: tally.hops[one] for one in HopVerdict},
        "searched": {one.value: count for one, count in tally.searched.most_common()},
        "provenance": {one.value: tally.provenance[one] for one in Provenance},
        "chance": {name: tally.chance[name] for name in ("calls", "runs", "hits")},
        "official_containment": tally.official,
        "defects": {one.value: count for one, count in tally.defects.most_common()},
        "shapes": dict(tally.shapes.most_common()),
        "executions": tally.executions,
        "not_proven": list(tally.unproven),
        "broken": [problem.to_json() for problem in tally.broken],
    }


def _unread(tally: Tally) -> int:
    return sum(tally.verdicts.values()) - tally.readings.items


def _claim(tally: Tally, claim: Claim) -> dict[str, JSON]:
    """Return how many items and hops a claim covers, and the means of those items."""
    chosen = tally.chosen(claim)
    return {"items": len(chosen), "hops": tally.hop_claims[claim], "means": {**means(chosen)}}


class _Shares(StackedTable):
    """Counts of items and of hops, with their shares of all."""

    def __init__(self, header: str, tally: Tally, title: str) -> None:
        super().__init__(header, title=title)
        self.add_columns("items", "", "hops", "", right=True)
        self._all = sum(tally.verdicts.values()), sum(tally.hops.values())

    def add_counts(self, name: str, items: int, hops: int) -> None:
        """Add a row."""
        shares = [
            _share(count, whole) for count, whole in zip((items, hops), self._all, strict=True)
        ]
        self.add_row(name, str(items), shares[0], str(hops), shares[1])


def _claims_table(tally: Tally) -> StackedTable:
    table = _Shares("claim", tally, "Claims")
    for claim in Claim:
        if claim is Claim.READ and not tally.readings.items:
            table.add_row("read", "unread", "", "", "")
        else:
            table.add_counts(claim.value, len(tally.claimed[claim]), tally.hop_claims[claim])
    return table


def _print_claims(console: Console, tally: Tally) -> None:
    console.print(_claims_table(tally))
    for claim in Claim:
        if 0 < len(tally.claimed[claim]) < len(tally.items):
            differ = selection(tally.chosen(claim), tally.items)
            console.print(plain(f"{claim.value}: selected {differ}"), soft_wrap=True)
    for line in tally.readings.lines(_unread(tally)):
        console.print(plain(line), soft_wrap=True)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def print_tally(console: Console, tally: Tally) -> None:
    """Print the tables: verdicts, sources of gold calls, defects and shapes."""
    table = _Shares("", tally, "Certificates")
    for one in HopVerdict:
        none = not (tally.verdicts[one] or tally.hops[one])
        if none and (one is not HopVerdict.PROVEN or tally.verdicts[HopVerdict.CONSTRUCTED]):
            continue
        table.add_counts(one.value, tally.verdicts[one], tally.hops[one])
    console.print(table)
    if tally.searched:
        # Only made items have these; the search does not decide their verdict.
        listed = ", ".join(f"{one} {count:,}" for one, count in tally.searched.most_common())
        console.print(f"Beside it, the search that sees no gold, by hop: {listed}.")
    _print_claims(console, tally)
    if tally.provenance:
        sources = [(kind, tally.provenance[kind]) for kind in Provenance if tally.provenance[kind]]
        console.print(_hops_by("source", "Gold calls by where they come from", sources))
        _print_chance(console, tally)
    if tally.defects:
        console.print(_hops_by("defect", "Defects by class", tally.defects.most_common()))
    for line in tally.unproven[:50]:
        console.print(plain(f"  {line}"), soft_wrap=True)
    if len(tally.unproven) > 50:
        console.print(f"  and {len(tally.unproven) - 50} more; --json lists them")
    shapes = ", ".join(f"{name} {count}" for name, count in tally.shapes.most_common())
    console.print(f"Chains: {shapes or 'none'}. Calls made: {tally.executions:,}.")
    if left := len(tally.items) - sum(tally.verdicts.values()):
        console.print(f"{counted(left, 'item')} not certified yet.")
    if tally.broken:
        rows = len({problem.where for problem in tally.broken})
        console.print(f"{counted(rows, 'row')} cannot be used; `toolhop data validate` lists why.")


def _print_chance(console: Console, tally: Tally) -> None:
    runs, hits = tally.chance["runs"], tally.chance["hits"]
    if runs:
        share, give = _share(hits, runs), "gives" if hits == 1 else "give"
        console.print(
            f"Of {runs:,} calls with other values {hits:,} {give} the gold as well ({share})."
        )


def _hops_by(header: str, title: str, counts: Iterable[tuple[str, int]]) -> StackedTable:
    table = StackedTable(header, title=title)
    table.add_columns("hops", right=True)
    for name, count in counts:
        table.add_row(str(name), str(count))
    return table


def page(
    item: Item, certificate: Certificate, reading: ItemReading | None = None
) -> Iterator[RenderableType]:
    """Yield the parts of a page on one certificate and its reading."""
    yield Rule(plain(f"{item.id} · {certificate.verdict} · {certificate.shape}"), align="left")
    yield plain(item.question, "bold")
    yield plain(f"answer: {item.answer}")
    yield plain(f"why:    {certificate.why}")
    yield plain(f"claims: {_listed(item_claims(certificate, reading), reading)}")
    for number, (hop, proof) in enumerate(zip(item.hops, certificate.hops, strict=True), 1):
        yield Text()
        yield from _hop_lines(number, hop, proof)
        for beside in certificate.searched[number - 1 : number]:
            yield plain(f"  search:  {beside.verdict}: {beside.why}")
        read = {Claim.READ} if hop_is_read(reading, number) else set()
        share = "" if reading is None else f" ({reading.share(number):.0%} of plans come to it)"
        yield plain(f"  claims:  {_listed(claims_of(proof) | read, reading)}{share}")
    yield Text()
    yield from reading_parts(item, reading)
    basis = certificate.basis
    yield Text()
    yield plain(
        f"search version {basis.version}, seed {basis.seed}, at most {basis.executions} calls a "
        f"hop of {basis.wall_s:g} s, policy {basis.policy}; item {certificate.digest[:12]}",
        "dim",
    )


def _listed(claims: Set[Claim], reading: ItemReading | None) -> str:
    """List the claims that hold, and mark an item without readings as unread."""
    names = [claim.value for claim in Claim if claim in claims]
    return ", ".join([*names, *(["unread"] if reading is None else [])]) or "none"


def _hop_lines(number: int, hop: Hop, proof: HopProof) -> Iterator[RenderableType]:
    yield Text.assemble(f"hop {number}  ", plain(hop.question, "bold"))
    yield plain(f"  gold:    {hop.answer}")
    kind = f"{proof.verdict} ({proof.defect})" if proof.defect else f"{proof.verdict}"
    yield plain(f"  {kind}: {proof.why}")
    if proof.arguments is not None:
        yield plain(f"  call:    {_call(proof.tool, proof.arguments)}", "cyan")
        yield plain(f"  result:  {(proof.result or '')[:500]}")
    for edge in proof.edges:
        how = "is" if edge.equal else "is made of"
        where = edge.argument or "the question"
        yield plain(f"  nests:   {where} {how} the answer of hop {edge.hop}")
    if proof.chance is not None and proof.chance.runs:
        hits, runs = proof.chance.hits, proof.chance.runs
        give = "gives" if hits == 1 else "give"
        yield plain(f"  chance:  {hits} of {runs} calls with other values {give} the gold as well")
    for evidence in proof.evidence:
        yield plain(f"  seen:    {_call(proof.tool, evidence.arguments)}")
        yield plain(f"           {_outcome(evidence)}")


def _outcome(evidence: Evidence) -> str:
    return reported(OUTCOME.validate_python(evidence.outcome))


def _call(tool: str, arguments: dict[str, JSON]) -> str:
    shown: Sequence[str] = [
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()
    ]
    return f"{tool}({', '.join(shown)})"
