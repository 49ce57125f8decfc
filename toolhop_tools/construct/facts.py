"""Facts of a tool: the table of a lookup tool, or sample pairs of a computing tool. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.contract import EXACT, choices, table_findings
from toolhop_tools.construct.documents import invalid_call
from toolhop_tools.construct.replies import Contract, Pair, Pairs, Records
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import as_json, same
from toolhop_tools.construct.trials import Call, plain_calls, record_call
from toolhop_tools.model import canonical
from toolhop_tools.words import as_text, bare

LEAST = 8
"""Fewest records of a table, or fewest pairs."""
LEAST_DISTINCT = 0.9
"""Smallest share of a table's records whose answer is unique."""
TABLE = "RECORDS"
"""Name of the table in the code."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requirements on a hop's facts."""

    arguments: Mapping[str, JSON]
    """The gold call with earlier answers filled in."""
    others: tuple[str, ...] = ()
    """Answers of the previous hop for its other records; the table must cover at least one."""
    uses: tuple[str, ...] = ()
    """Parameters that take the previous hop's answers."""
    answer: str = ""
    """The answer stated by the seed; empty if it states none."""
    allowed: tuple[Mapping[str, JSON], ...] = ()
    """Records of the seed; if there are any, no others may be used."""


def as_pairs(facts: Records | Pairs) -> list[Pair]:
    """Return the calls that the facts cover, with their results: for a table, one per record."""
    if isinstance(facts, Pairs):
        return facts.pairs
    answer = facts.lookup.answer
    return [
        Pair(arguments=record_call(facts, record), result=record[answer])
        for record in facts.records
        if answer in record
    ]


def by_choice(facts: Records, parameters: Mapping[str, JSON]) -> list[Pair]:
    """Return the expected results of calls that select a field through an enumerated parameter."""
    return [
        Pair(arguments={**record_call(facts, record), name: field}, result=record[field])
        for name, field in choices(parameters)
        for record in facts.records
        if name not in facts.lookup.parameters and isinstance(field, str) and field in record
    ]


def table(records: Sequence[Mapping[str, JSON]]) -> str:
    """Return source text that assigns the records to `TABLE`."""
    rows = ",\n".join(f"    {dict(record)!r}" for record in records)
    return f"{TABLE} = [\n{rows},\n]\n"


def moved(facts: Records) -> Records:
    """Return the table with each record's values moved to the next key."""
    keys = {*facts.lookup.parameters.values()}
    rest = [{f: v for f, v in record.items() if f not in keys} for record in facts.records]
    rows = zip(facts.records, [*rest[1:], *rest[:1]], strict=True)
    records = [{**{f: v for f, v in own.items() if f in keys}, **other} for own, other in rows]
    return facts.model_copy(update={"records": records})


def expected(facts: Records | Pairs, arguments: Mapping[str, JSON]) -> JSON:
    """Return the result stated by the facts for a call, or None if they do not cover it."""
    for pair in as_pairs(facts):
        if isinstance(facts, Pairs) and pair.arguments.keys() != arguments.keys():
            continue
        if all(_equal(arguments.get(name), value) for name, value in pair.arguments.items()):
            return pair.result
    return None


def facts_findings(
    facts: Records | Pairs, parameters: Mapping[str, JSON], contract: Contract, wanted: Wanted
) -> Findings:
    """Check facts against the refined document, its contract and the hop's call."""
    findings = judged("enough", _few(facts)) + judged("calls", _invalid(facts, parameters))
    if isinstance(facts, Pairs):
        findings += judged("distinct", _constant(facts))
        return findings + judged("gold", _no_call(facts, wanted))
    findings += judged("fields", _fields(facts))
    if "fields" in findings.failed:
        return findings
    return (
        findings
        + table_findings(contract, facts)
        + judged("values", _unfit(facts))
        + judged("keys", _shared_keys(facts))
        + judged("distinct", _shared_answers(facts))
        + judged("gold", _gold(facts, wanted))
        + judged("others", _others(facts, wanted))
        + judged("allowed", _foreign(facts, wanted))
    )


def _few(facts: Records | Pairs) -> Iterator[str]:
    if (count := len(plain_calls(facts))) < LEAST:
        what = "records" if isinstance(facts, Records) else "pairs"
        yield f"There are {count} {what}; at least {LEAST} are wanted."


def _invalid(facts: Records | Pairs, parameters: Mapping[str, JSON]) -> Iterator[str]:
    for call in plain_calls(facts):
        yield from list(invalid_call(parameters, call, ()))[:1]


def _constant(facts: Pairs) -> Iterator[str]:
    calls = [canonical(pair.arguments) for pair in facts.pairs]
    if len({*calls}) < len(calls):
        yield "Two pairs have the same arguments."
    if len({canonical(pair.result) for pair in facts.pairs}) < 2:
        yield "All pairs have the same result: they do not show what the tool does."


def _no_call(facts: Pairs, wanted: Wanted) -> Iterator[str]:
    """Check that a pair covers the gold call, whose result must be worked out without the code."""
    call = canonical(dict(wanted.arguments))
    if not any(canonical(pair.arguments) == call for pair in facts.pairs):
        text = as_json({**wanted.arguments})
        yield f"No pair has the arguments of the call itself, {text}: say what it gives as well."


def _unfit(facts: Records) -> Iterator[str]:
    for record in facts.records:
        for field, value in record.items():
            if isinstance(value, str) and (value != value.strip() or not value):
                yield f"A record's {field} is {value!r}: no text is empty or ends in spaces."
            elif isinstance(value, int) and abs(value) > EXACT:
                yield f"A record's {field} is above 2**53, where JSON loses digits: write a text."


def _fields(facts: Records) -> Iterator[str]:
    lookup = facts.lookup
    for field in (*lookup.parameters.values(), lookup.answer):
        if lacking := sum(field not in record for record in facts.records):
            yield f"{lacking} records have no field {field!r}, which the lookup names."
    if lookup.answer in lookup.parameters.values():
        yield f"The field {lookup.answer!r} is both key and answer."
    if not lookup.parameters:
        yield "lookup.parameters is empty: say which parameter is given which field."


def _shared_keys(facts: Records) -> Iterator[str]:
    fields = facts.lookup.parameters.values()
    keys = Counter(
        tuple(bare(as_text(record[field])) for field in fields) for record in facts.records
    )
    for key, count in keys.items():
        if count > 1:
            yield f"{count} records have the key {', '.join(key)}."


def _answers(facts: Records) -> list[str]:
    return [as_text(record[facts.lookup.answer]) for record in facts.records]


def _shared_answers(facts: Records) -> Iterator[str]:
    counts = Counter(map(bare, _answers(facts)))
    alone, records = [*counts.values()].count(1), len(facts.records)
    if alone < LEAST_DISTINCT * records:
        yield (
            f"{alone} of {records} records have an answer of their own; at least "
            f"{LEAST_DISTINCT:.0%} have to."
        )


def _gold(facts: Records, wanted: Wanted) -> Iterator[str]:
    gold = expected(facts, wanted.arguments)
    if gold is None:
        text = as_json({**wanted.arguments})
        yield f"No record is found by the sub-question's own call, {text}."
        return
    times = sum(same(as_text(gold), answer) for answer in _answers(facts))
    if times > 1:
        yield f"{times} records have the answer {as_text(gold)!r}; the one asked for has it alone."
    if wanted.answer and not same(wanted.answer, as_text(gold)):
        yield f"The record asked for says {as_text(gold)!r}; the answer is {wanted.answer!r}."


def _others(facts: Records, wanted: Wanted) -> Iterator[str]:
    lookup = facts.lookup.parameters
    fields = [lookup[name] for name in wanted.uses if name in lookup]
    keys = {bare(as_text(record[field])) for record in facts.records for field in fields}
    if wanted.others and fields and not any(bare(other) in keys for other in wanted.others):
        yield (
            "The table has no record for any other answer of the hop before; have some of "
            f"{', '.join(wanted.others[:8])} in it."
        )


def _foreign(facts: Records, wanted: Wanted) -> Iterator[str]:
    allowed = [{(name, canonical(value)) for name, value in whole.items()}
               for whole in wanted.allowed]  # fmt: skip
    for record in facts.records if allowed else ():
        own = {(name, canonical(value)) for name, value in record.items()}
        if not any(own <= whole for whole in allowed):
            yield f"The record {as_json({**record})} is not among the facts that may be used."


def _equal(given: JSON, known: JSON) -> bool:
    if isinstance(given, str) and isinstance(known, str):
        return bare(given) == bare(known)
    return canonical(given) == canonical(known)


def other_calls(
    facts: Records | Pairs, arguments: Mapping[str, JSON], most: int = LEAST
) -> Sequence[Call]:
    """Return at most `most` calls that ask the same thing about other records or inputs."""
    fixed = facts.lookup.fixed if isinstance(facts, Records) else {}
    made = (
        {**arguments, **{n: v for n, v in pair.arguments.items() if n not in fixed}}
        for pair in as_pairs(facts)
    )
    return [call for call in made if canonical(call) != canonical({**arguments})][:most]
