"""Stage F: the table of a tool that looks up, or what a tool that computes gives. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.columns import implausible, mixed
from toolhop_tools.construct.documents import invalid_call
from toolhop_tools.construct.edges import unshown
from toolhop_tools.construct.orders import orders
from toolhop_tools.construct.replies import Pair, Pairs, Records
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import beside_the_value, same, share, texts
from toolhop_tools.declared import required
from toolhop_tools.model import canonical
from toolhop_tools.words import as_text, bare, letters, parts_of, words

LEAST = 8
"""Records of a table, or pairs."""
LEAST_DISTINCT = 0.9
"""Share of a table's records whose answer no other record has."""
NEAR_LIMIT, LONG = 10, 40
"""The share of what a schema allows that a pair has to reach, one in so many; and characters that
are enough of any text."""
ALIKE = 3
"""Records with keys of one form; letters that a key and its answer may have in common."""
EXACT = 2**53
"""Greatest whole number that every reader of JSON takes exactly."""
TABLE = "RECORDS"
"""Name that the code finds its table under."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a hop's facts have to hold."""

    arguments: Mapping[str, JSON]
    """The gold call, with earlier answers in place."""
    others: tuple[str, ...] = ()
    """Answers that the hop before gives for its other records. At least one has to be found."""
    uses: tuple[str, ...] = ()
    """Parameters that take them."""
    answer: str = ""
    """The seed's own, where it has one."""
    allowed: tuple[Mapping[str, JSON], ...] = ()
    """Records of the seed, where no others may be used."""
    said: str = ""
    """The sub-question, and what the document says in words."""


def call_of(reply: Records, record: Mapping[str, JSON]) -> dict[str, JSON]:
    """The call that finds a record."""
    lookup = reply.lookup
    return {**{p: record.get(f) for p, f in lookup.parameters.items()}, **lookup.fixed}


def as_pairs(reply: Records | Pairs) -> list[Pair]:
    """What calls have to give: of a table, each record's answer."""
    if isinstance(reply, Pairs):
        return reply.pairs
    answer = reply.lookup.answer
    return [
        Pair(arguments=call_of(reply, record), result=record[answer])
        for record in reply.records
        if answer in record
    ]


def by_choice(reply: Records, parameters: Mapping[str, JSON]) -> list[Pair]:
    """What calls have to give that choose a field, where a parameter lists fields."""
    found = []
    properties = parameters.get("properties")
    for name, schema in (properties if isinstance(properties, dict) else {}).items():
        listed = schema.get("enum") if isinstance(schema, dict) else None
        if not isinstance(listed, list) or name in reply.lookup.parameters:
            continue
        fields = [one for one in listed if isinstance(one, str)]
        known = {field for record in reply.records for field in record}
        if not fields or not known.intersection(fields):
            continue
        for record in reply.records:
            call = call_of(reply, record)
            found += [
                Pair(arguments={**call, name: field}, result=record[field])
                for field in fields
                if field in record
            ]
    return found


def table(reply: Records) -> str:
    """The table as source text."""
    return table_text(reply.records)


def table_text(records: Sequence[Mapping[str, JSON]]) -> str:
    """Records as source text."""
    rows = ",\n".join(f"    {dict(record)!r}" for record in records)
    return f"{TABLE} = [\n{rows},\n]\n"


def moved(reply: Records) -> Records:
    """The table with what each record says of its key moved on to the next record."""
    keys = {*reply.lookup.parameters.values()}
    rest = [{f: v for f, v in one.items() if f not in keys} for one in reply.records]
    rows = zip(reply.records, [*rest[1:], *rest[:1]], strict=True)
    records = [{**{f: v for f, v in one.items() if f in keys}, **other} for one, other in rows]
    return reply.model_copy(update={"records": records})


def expected(reply: Records | Pairs, arguments: Mapping[str, JSON]) -> JSON:
    """What the facts say of a call; None where they say nothing."""
    for pair in as_pairs(reply):
        if isinstance(reply, Pairs) and pair.arguments.keys() != arguments.keys():
            continue
        if all(_equal(arguments.get(name), value) for name, value in pair.arguments.items()):
            return pair.result
    return None


def facts_findings(
    reply: Records | Pairs, parameters: Mapping[str, JSON], wanted: Wanted
) -> Findings:
    """The checks of facts, against the refined document and the hop's call."""
    found = judged("enough", _few(reply)) + judged("calls", _invalid(reply, parameters))
    if isinstance(reply, Pairs):
        return (
            found
            + judged("distinct", _constant(reply))
            + judged("gold", _unsaid(reply, wanted))
            + judged("reaches-the-limits", _narrow(reply, parameters))
            + judged("shows-the-edges", unshown(reply.pairs, parameters))
            + judged("bare-answer", _remarked(reply, wanted))
        )
    fields = judged("fields", _fields(reply))
    if not fields.ok:
        return found + fields
    return (
        found
        + fields
        + judged("values", _unfit(reply))
        + judged(
            "no-order", orders((t for one in reply.records for t in texts(dict(one))), "A record")
        )
        + judged("one-form", mixed(reply.records))
        + judged("plausible", implausible(reply.records))
        + judged("keys", _shared_keys(reply))
        + judged("distinct", _shared_answers(reply))
        + judged("gold", _gold(reply, wanted))
        + judged("others", _others(reply, wanted))
        + judged("allowed", _foreign(reply, wanted))
        + judged("named-as-asked", _misnamed(reply, wanted))
        + judged("not-guessed", _guessed(reply, wanted))
        + judged("bare-answer", _remarked(reply, wanted))
    )


def _few(reply: Records | Pairs) -> Iterator[str]:
    given = reply.records if isinstance(reply, Records) else reply.pairs
    if len(given) < LEAST:
        what = "records" if isinstance(reply, Records) else "pairs"
        yield f"There are {len(given)} {what}; at least {LEAST} are wanted."


def _invalid(reply: Records | Pairs, parameters: Mapping[str, JSON]) -> Iterator[str]:
    for pair in as_pairs(reply):
        yield from list(invalid_call(parameters, pair.arguments, ()))[:1]


def _constant(reply: Pairs) -> Iterator[str]:
    calls = [canonical(pair.arguments) for pair in reply.pairs]
    if len({*calls}) < len(calls):
        yield "Two pairs have the same arguments."
    if len({canonical(pair.result) for pair in reply.pairs}) < 2:
        yield "All pairs have the same result: they do not show what the tool does."


def _unsaid(reply: Pairs, wanted: Wanted) -> Iterator[str]:
    """The call itself has to be worked out without the code, as no other pair speaks for it."""
    call = canonical(dict(wanted.arguments))
    if not any(canonical(pair.arguments) == call for pair in reply.pairs):
        text = json.dumps(dict(wanted.arguments), ensure_ascii=False)
        yield f"No pair has the arguments of the call itself, {text}: say what it gives as well."


def _narrow(reply: Pairs, parameters: Mapping[str, JSON]) -> Iterator[str]:
    """A document that allows far more than pairs show: code may be wrong there, unseen."""
    properties = parameters.get("properties")
    for name in required(parameters):
        schema = properties.get(name) if isinstance(properties, dict) else None
        if not isinstance(schema, dict):
            continue
        text = schema.get("type") == "string"
        ends = [schema.get(one) for one in (("maxLength",) if text else ("minimum", "maximum"))]
        limit = max((abs(one) for one in ends if isinstance(one, int | float)), default=0)
        wanted = min(limit / NEAR_LIMIT, LONG) if text else limit / NEAR_LIMIT
        sizes = [_size(pair.arguments.get(name)) for pair in reply.pairs]
        if max(sizes) < wanted:
            what = "length" if text else "size"
            yield (
                f"The document allows {name} up to {limit:g}, and the greatest {what} in a pair "
                f"is {max(sizes):g}: work out a pair with at least {wanted:g}."
            )


def _size(value: JSON) -> float:
    if isinstance(value, str):
        return len(value)
    return abs(value) if isinstance(value, int | float) else 0


def _misnamed(reply: Records, wanted: Wanted) -> Iterator[str]:
    """An answer out of a column of which neither question nor document speaks."""
    if wanted.said and not share(parts_of(reply.lookup.answer), words(wanted.said)):
        yield (
            f"The answer is in the field {reply.lookup.answer!r}, of which neither the "
            "sub-question nor the document speaks: name it for what it holds."
        )


def _guessed(reply: Records, wanted: Wanted) -> Iterator[str]:
    """Of invented records: an answer made of its key, or a key that stands out."""
    if wanted.allowed or wanted.answer:
        return
    keys = [" ".join(_key(reply, one)) for one in reply.records]
    asked = [key for key, one in zip(keys, reply.records, strict=True)
             if all(_equal(wanted.arguments.get(name), value)
                    for name, value in call_of(reply, one).items())]  # fmt: skip
    made = [key for key, answer in zip(keys, _answers(reply), strict=True)
            if _within(letters(key), letters(answer))]  # fmt: skip
    if 2 * len(made) >= len(keys) or {*made}.intersection(asked):
        yield f"The answer for {made[0]!r} is made of the key itself: who guesses needs no call."
    forms = [re.sub(r"\d+", "0", key) for key in keys]
    often = max(forms, key=forms.count)
    stands_out = all(re.sub(r"\d+", "0", key) != often for key in asked)
    if "0" in often and forms.count(often) >= ALIKE and stands_out:
        yield (
            f"{forms.count(often)} records have keys that differ by a number alone, and the one "
            "asked for has not: give all of them names of one kind."
        )


def _remarked(reply: Records | Pairs, wanted: Wanted) -> Iterator[str]:
    found = expected(reply, wanted.arguments)
    if isinstance(found, str) and not wanted.answer and beside_the_value(found):
        yield f"The answer is {found!r}: give one value, without a remark or a second form."


def _within(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) > ALIKE and not short.isdigit() and short in long


def _unfit(reply: Records) -> Iterator[str]:
    for record in reply.records:
        for field, value in record.items():
            if isinstance(value, str) and (value != value.strip() or not value):
                yield f"A record's {field} is {value!r}: no text is empty or ends in spaces."
            elif isinstance(value, int) and abs(value) > EXACT:
                yield f"A record's {field} is above 2**53, where JSON loses digits: write a text."


def _fields(reply: Records) -> Iterator[str]:
    lookup = reply.lookup
    for field in (*lookup.parameters.values(), lookup.answer):
        lacking = sum(field not in record for record in reply.records)
        if lacking:
            yield f"{lacking} records have no field {field!r}, which the lookup names."
    if lookup.answer in lookup.parameters.values():
        yield f"The field {lookup.answer!r} is both key and answer."
    if not lookup.parameters:
        yield "lookup.parameters is empty: say which parameter is given which field."


def _key(reply: Records, record: Mapping[str, JSON]) -> tuple[str, ...]:
    return tuple(bare(as_text(record[field])) for field in reply.lookup.parameters.values())


def _shared_keys(reply: Records) -> Iterator[str]:
    seen = set[tuple[str, ...]]()
    for record in reply.records:
        key = _key(reply, record)
        if key in seen:
            yield f"Two records have the key {', '.join(key)}."
        seen.add(key)


def _answers(reply: Records) -> list[str]:
    return [as_text(record[reply.lookup.answer]) for record in reply.records]


def _shared_answers(reply: Records) -> Iterator[str]:
    answers = [bare(one) for one in _answers(reply)]
    alone = sum(answers.count(one) == 1 for one in answers)
    if alone < LEAST_DISTINCT * len(answers):
        yield (
            f"{alone} of {len(answers)} records have an answer of their own; at least "
            f"{LEAST_DISTINCT:.0%} have to."
        )


def _gold(reply: Records, wanted: Wanted) -> Iterator[str]:
    found = expected(reply, wanted.arguments)
    if found is None:
        text = json.dumps(dict(wanted.arguments), ensure_ascii=False)
        yield f"No record is found by the sub-question's own call, {text}."
        return
    times = sum(same(as_text(found), one) for one in _answers(reply))
    if times > 1:
        yield f"{times} records have the answer {as_text(found)!r}; the one asked for has it alone."
    if wanted.answer and not same(wanted.answer, as_text(found)):
        yield f"The record asked for says {as_text(found)!r}; the answer is {wanted.answer!r}."


def _others(reply: Records, wanted: Wanted) -> Iterator[str]:
    fields = [reply.lookup.parameters[name] for name in wanted.uses if name in
              reply.lookup.parameters]  # fmt: skip
    keys = {bare(as_text(record[field])) for record in reply.records for field in fields}
    if wanted.others and fields and not any(bare(one) in keys for one in wanted.others):
        yield (
            "The table has no record for any other answer of the hop before; have some of "
            f"{', '.join(wanted.others[:8])} in it."
        )


def _foreign(reply: Records, wanted: Wanted) -> Iterator[str]:
    if not wanted.allowed:
        return
    for record in reply.records:
        if not any(_part(record, one) for one in wanted.allowed):
            text = json.dumps(record, ensure_ascii=False)
            yield f"The record {text} is not among the facts that may be used."


def _part(record: Mapping[str, JSON], whole: Mapping[str, JSON]) -> bool:
    return all(name in whole and canonical(whole[name]) == canonical(v) for name, v in
               record.items())  # fmt: skip


def _equal(one: JSON, other: JSON) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return bare(one) == bare(other)
    return canonical(one) == canonical(other)


def other_calls(
    reply: Records | Pairs, arguments: Mapping[str, JSON], most: int = LEAST
) -> Sequence[dict[str, JSON]]:
    """Calls that ask the same of other records, or of other inputs."""
    names = reply.lookup.parameters if isinstance(reply, Records) else None
    found = []
    for pair in as_pairs(reply):
        changed = {n: v for n, v in pair.arguments.items() if names is None or n in names}
        made = {**arguments, **changed}
        if canonical(made) != canonical(dict(arguments)):
            found.append(made)
    return found[:most]
