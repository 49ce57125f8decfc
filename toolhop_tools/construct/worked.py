"""Worked examples in a document's prose, as calls that have to give what they say. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.claims import listed, notes_of, properties_of
from toolhop_tools.construct.text import same, says, share
from toolhop_tools.construct.trials import Call, Results, Trial, allowed, failed, leaves
from toolhop_tools.declared import declared, required
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_number, as_text, bare, number_of, parts_of, words

MOST_CALLS = 64
"""Ways to read an example; one with more is left alone."""
_QUOTED = "[\"“`']([^\"”`']{1,60})[\"”`']"
_CODED = r"-?\d[\d,]*(?:\.\d+)?(?![\w:/-])|\d[\w:./-]*\w|[A-Za-z]+-?\d[\w-]*|[A-Za-z]+-\d+"
_NAMED = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*"
_VALUE = re.compile(rf"{_QUOTED}|(?<![\w-])({_CODED})|\b({_NAMED})")
_MARK = re.compile(
    r"\b(?:for example|for instance|examples?(?=:)|such as|thus|so)\b[,:]? *", re.IGNORECASE
)
_GIVES = re.compile(
    r" *(?:->|→|=>) *| (?:gives?|returns?|yields?|becomes?|makes?|results? in|turns? into|maps? to"
    r"|(?:it )?(?:is|are)(?: written(?: as)?)?) "
    r"(?:the (?:sum|value|result|total|number|code|text|date|answer) (?:of )?)?"
)
_CUT = re.compile(r"[,:]? (?:because|since|as|that is|namely|and|but|while)\b|[,:(]|$")
_OPEN = re.compile(
    r"\b(?:not|or|may|can|could|might|would|about|around|roughly|instead|never|any|every|each)\b"
    r"|n't\b"
)
_BACK = frozenset({"before", "earlier", "ago", "back", "minus", "less"})
_SMALL = frozenset(
    words("a an the in of to with for by at on and after from under it then when if using base")
) | {*_BACK}  # fmt: skip
_FOR = re.compile(
    rf"\b(?:for example|for instance|such as),? (?:{_QUOTED}|({_CODED})|({_NAMED})) for"
    rf" (?:{_QUOTED}|({_CODED})|({_NAMED})|([a-z]+))$"
)


@dataclass(frozen=True, slots=True)
class Example:
    """A result that a text states: the values that are given, in order, and what comes."""

    sentence: str
    given: tuple[str, ...]
    result: str
    of: str = ""
    """The option whose description has it."""
    named: Mapping[str, JSON] | None = None
    """The arguments, where they are written as a call's."""


def worked_examples(schema: ToolSchema) -> Iterator[Trial]:
    """What the examples of a document promise; none of one that can be read in too many ways."""
    texts = [(schema.description, "")]
    texts += [(notes_of(one), name) for name, one in properties_of(schema).items()]
    for text, name in texts:
        for one in [*_written_as_calls(schema, text), *_in_prose(schema, text, name)]:
            calls = [*_readings(schema, one)]
            if calls:
                yield _trial(one, calls)


def _trial(one: Example, calls: Sequence[Call]) -> Trial:
    def wrong(results: Results) -> str:
        came = [leaf for each in results if not failed(each) for leaf in leaves(each)]
        if any(_is(leaf, one.result) for leaf in came):
            return ""
        # A word in small letters, or of two, may be no value, but be about values.
        if not came and any(value.islower() or " " in value for value in one.given):
            return ""
        return (
            f"The document says {one.sentence!r}, and no call gives {one.result!r}: "
            f"{', '.join(one.given)} gives {', '.join(came[:1]) or 'an error'}; give an example "
            "that is so, or none."
        )

    return Trial(calls, wrong)


def _is(leaf: str, result: str) -> bool:
    """Whether a result is the one that is stated, as exactly as that is."""
    if same(leaf, result) or says(leaf, result):
        return True
    places, found, stated = len(result.partition(".")[2]), number_of(leaf), number_of(result)
    return bool(places) and found is not None and stated is not None and (
        abs(found - stated) * 10**places <= 1
    )  # fmt: skip


def _sentences(text: str) -> list[str]:
    plain = re.sub(r"\be\.g\.,?", "for example", text, flags=re.IGNORECASE)
    plain = re.sub(r"(?<!\w)\(([^()]*)\)", r"\n\1\n", plain)
    found = re.split(r"(?<=\S)[.;](?= |$)|\n[.;]?", plain)
    return [one.strip() for one in found if one.strip()]


def _value(found: re.Match[str]) -> str:
    return str(next(filter(None, found.groups())))


def _in_prose(schema: ToolSchema, text: str, name: str) -> Iterator[Example]:
    own = properties_of(schema)
    if name and name not in required(schema.parameters) and not listed(own[name]):
        return
    option = name if name and listed(own[name]) else ""
    for sentence in _sentences(text):
        if _OPEN.search(sentence) or re.search(r"\w\(", sentence):
            continue
        if not name and (found := _FOR.search(sentence)):
            groups = found.groups()
            result, given = (next(filter(None, part)) for part in (groups[:3], groups[3:]))
            before = words(sentence[: found.start()])[-1:]
            if not _is_of_the_schema(schema, result, given, *before) and given[-1:] != "s":
                yield Example(sentence, (given,), result)
            continue
        yield from _stated(schema, sentence, option)


def _is_of_the_schema(schema: ToolSchema, *some: str) -> bool:
    """Whether a text is a parameter's word, a choice or a default."""
    own = properties_of(schema)
    known = {part for name in own for part in parts_of(name)} | {*map(bare, own)}
    for one in own.values():
        known |= {bare(as_text(value)) for value in (*listed(one), one.get("default"))}
    return any(bare(one) in known for one in some)


def _stated(schema: ToolSchema, sentence: str, option: str) -> Iterator[Example]:
    """Of ``for example, 100 in base 7 is written 202``: the values before and after the verb."""
    verbs = [*_GIVES.finditer(sentence)]
    mark = next(iter(_MARK.finditer(sentence)), None)
    for at, verb in enumerate(verbs):
        start = verbs[at - 1].end() if at else 0
        marked = mark is not None and mark.end() <= verb.start()
        if marked and mark is not None and mark.start() >= start:
            start = mark.end()
        before = sentence[start : verb.start()]
        result = _VALUE.match(sentence, verb.end())
        if at:
            # What comes before it is the result of the verb before.
            _, _, before = before.partition(" and ")
        if result is None or not before:
            continue
        end = verbs[at + 1].start() if at + 1 < len(verbs) else len(sentence)
        tail = sentence[result.end() : end]
        tail = tail[: found.start()] if (found := _CUT.search(tail)) else tail
        values = [_value(one) for text in (before, tail) for one in _VALUE.finditer(text)]
        left = [one for text in (before, tail) for one in words(_VALUE.sub(" ", text))]
        if not marked and not at and re.match(rf" *{_NAMED}", before):
            # Every sentence begins with a capital.
            continue
        plain = verb[0].split()[:1] in (["is"], ["are"], ["makes"]) and "written" not in verb[0]
        units = share(words(tail), _choices(schema))
        if plain and (not marked or units or result[3]):
            # It may be said of units, or of what a name means.
            continue
        if values and all(_known(schema, word) for word in left):
            yield Example(sentence, tuple(values), _value(result), option)


def _known(schema: ToolSchema, word: str) -> bool:
    own = properties_of(schema)
    parts = [part for name in own for part in parts_of(name)]
    return word in _SMALL or share([word], [*parts, *_choices(schema)])


def _choices(schema: ToolSchema) -> list[str]:
    """The words of all choices."""
    own = properties_of(schema).values()
    return [part for one in own for c in listed(one) for part in parts_of(as_text(c))]


def _written_as_calls(schema: ToolSchema, text: str) -> Iterator[Example]:
    """Of ``f(3) = 9``; with an arrow the property `examples` has it."""
    call = re.compile(rf"\b(?:f|{re.escape(schema.name)})\(([^()]*)\) (?:=|is|equals) (\S.*)$")
    names = declared(schema.parameters)
    for sentence in _sentences(text):
        found = call.search(sentence)
        result = _VALUE.match(found[2]) if found else None
        if found is None or result is None:
            continue
        named: dict[str, JSON] = {}
        for at, part in enumerate(re.split(r", *", found[1])):
            name, sign, value = part.partition("=")
            key = name.strip() if sign else names[at] if at < len(names) else ""
            text_of = (value if sign else part).strip(" \"'`“”")
            named[key] = _as(properties_of(schema).get(key, {}), text_of)
        yield Example(sentence, tuple(map(as_text, named.values())), _value(result), "", named)


def _as(schema: Mapping[str, JSON], text: str) -> JSON:
    """A value as the parameter takes it; None where it takes no such value."""
    number = as_number(text.replace(",", ""))
    match schema.get("type"):
        case "integer" | "number":
            return number
        case "boolean":
            return {"true": True, "false": False}.get(text.lower())
        case "string":
            return text
        case _:
            return None


def _readings(schema: ToolSchema, one: Example) -> Iterator[Call]:
    """The calls that an example can mean: one value for each required parameter."""
    own = properties_of(schema)
    if one.named is not None:
        if None not in one.named.values() and allowed(schema, {**one.named}):
            yield {**one.named}
        return
    needed = required(schema.parameters)
    free = [name for name in needed if not listed(own.get(name, {}))]
    options = {name: listed(own.get(name, {})) for name in needed if name not in free}
    said = {*words(one.sentence)}
    for name, part in own.items():
        choices = listed(part)
        spoken = [*parts_of(name), *(p for c in choices for p in parts_of(as_text(c)))]
        if choices and name not in needed and (name == one.of or share(spoken, said)):
            options[name] = choices
    values = [one for one in one.given if not _chosen(one, options)]
    if len(values) != len(free):
        return
    found: list[Call] = []
    for order in permutations(values):
        made = {name: _as(own.get(name, {}), v) for name, v in zip(free, order, strict=True)}
        ways = [made]
        if _BACK & said:
            ways.append({n: -v if isinstance(v, int | float) else v for n, v in made.items()})
        for way, chosen in product(ways, product(*options.values())):
            call = {**way, **dict(zip(options, chosen, strict=True))}
            if None not in call.values() and allowed(schema, call):
                found.append(call)
    if len(found) <= MOST_CALLS:
        yield from islice(found, MOST_CALLS)


def _chosen(value: str, options: Mapping[str, Sequence[JSON]]) -> bool:
    return any(bare(value) == bare(as_text(one)) for each in options.values() for one in each)
