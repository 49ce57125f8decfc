"""What a tool's document says of itself, held against its schema and its results. Pure.

The rules answer faults that passed when somebody who had not read the checks planted them:
docs/construct.md, Measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.text import SHORT, says, share
from toolhop_tools.construct.vocabulary import like, senses, spoken
from toolhop_tools.declared import declared, required
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, bare, parts_of, words

_SET = re.compile(
    r"\b[Ss]et [`'\"]?([a-z]\w*)[`'\"]? to\b|(?<![\w.])([a-z]\w*) ?=(?![=>])"
    r"|\b(?:parameter|option|argument|flag) [`'\"](\w+)[`'\"]"
    r"|[`'\"](\w+)[`'\"] (?:parameter|option|argument|flag)\b"
)
"""Forms in which a text names a parameter."""
_DEFAULT = re.compile(
    r"\bdefault(?:s to|ing to|:| is| value is| value:| =)? *[`'\"]?(.+)", re.IGNORECASE
)
_OFFERED = re.compile(
    r"\b(?:such as|e\.g\.,?|for example,?|for instance,?) "
    r"(?:[\"'`]([^\"'`]{1,60})[\"'`]"
    r"|([A-Z]\w*(?: (?:(?:of|the|de|and|in|on) )*[A-Z]\w*)*|\d[\w.:/-]*\w|\d))"
)
"""A value that a text offers: in quotes, or with a capital or digit in front."""
_PART_OF_VALUE = re.compile(
    r"\b(?:prefix(?:es)?|suffix(?:es)?|titles?|endings?|words?|letters?|signs?|parts?) $"
)
_RETURNED = re.compile(
    r"\b(?i:returns?|gives?|yields?|(?:result|output) is|as) (?:an? |the )?(?:\w+ )?"
    r"(object|dictionary|dict|mapping|list|array|null|None|string|boolean|integer)\b"
)
_ANY_CASE = re.compile(
    r"case[- ]insensitive|(?:any|either|regardless of|ignor\w+(?: the)?) (?:letter )?case\b"
    r"|case (?:is ignored|does(?: not|n't) matter)",
    re.IGNORECASE,
)
_TYPES: Mapping[str, type | None] = {
    "object": dict, "dictionary": dict, "dict": dict, "mapping": dict,
    "list": list, "array": list, "null": type(None), "None": type(None),
    "string": str, "boolean": bool, "integer": int,
}  # fmt: skip


def disagreements(document: ToolSchema) -> Iterator[str]:
    """Where a document's texts and its schema say different things, or nothing."""
    own = _properties(document)
    notes = {name: str(schema.get("description", "")) for name, schema in own.items()}
    known = {*declared(document.parameters), *map(bare, _names(dict(document.parameters)))}
    for text in (document.description, *notes.values()):
        for found in _SET.finditer(text):
            if (name := next(filter(None, found.groups()))) not in known:
                yield f"The document speaks of a parameter {name!r}, which the schema has not."
    for name, schema in own.items():
        yield from _other_default(name, schema, notes[name])
        yield from _unexplained(name, schema, f"{document.description} {notes[name]}")
        yield from _of_another(name, notes)
        yield from _other_choices(name, schema, notes[name])
        yield from _other_limits(name, schema, needed=name in required(document.parameters))


def _properties(document: ToolSchema) -> dict[str, Mapping[str, JSON]]:
    found = document.parameters.get("properties")
    known = found if isinstance(found, dict) else {}
    return {name: one for name, one in known.items() if isinstance(one, dict)}


def _names(schema: JSON) -> Iterator[str]:
    """Names and choices at every depth."""
    if isinstance(schema, dict):
        for key, one in schema.items():
            if key == "enum" and isinstance(one, list):
                yield from map(as_text, one)
            elif isinstance(one, dict):
                yield from one if key == "properties" else ()
            yield from _names(one)


def _choices(schema: Mapping[str, JSON]) -> list[str]:
    listed = schema.get("enum", [True, False] if schema.get("type") == "boolean" else None)
    return [as_text(one) for one in listed] if isinstance(listed, list) else []


def _other_default(name: str, schema: Mapping[str, JSON], text: str) -> Iterator[str]:
    found = _DEFAULT.search(text)
    if found is None or "default" not in schema:
        return
    said, real = bare(found[1]), bare(as_text(schema["default"]))
    others = [one for one in map(bare, _choices(schema)) if one != real]
    number = re.match(r"-?\d+(?:\.\d+)?", said)
    if number and schema.get("type") in {"integer", "number"} and real:
        differs = float(number[0]) != float(as_text(schema["default"]))
    else:
        differs = not _begins(said, real) and any(_begins(said, one) for one in others)
    if differs:
        yield f"Of {name} the text says the default is {found[1]!r}; the schema has {real!r}."


_ONE_OF = re.compile(
    r"\b(?:one of|either) [\"'`]?([\w-]+[\"'`]?(?:, [\"'`]?[\w-]+[\"'`]?)*,? or [\"'`]?[\w-]+)",
    re.IGNORECASE,
)


def _other_choices(name: str, schema: Mapping[str, JSON], text: str) -> Iterator[str]:
    """Choices that a description lists, and the schema has others."""
    listed = {bare(one).replace("_", " ") for one in _choices(schema)}
    found = _ONE_OF.search(text) if "enum" in schema else None
    said = re.split(r",? or |, ", found[1]) if found else []
    for one in (bare(part.strip("\"'`")).replace("_", " ") for part in said):
        if not any(one in choice for choice in listed):
            yield f"The description of {name} lists {one!r}, which the schema does not."


_BETWEEN = re.compile(r"\b(?:between|from) (-?\d+) (?:and|to) (-?\d+)\b", re.IGNORECASE)
_LENGTH = re.compile(r"\b(?:at most|up to|no more than) (\d+) (?:characters|letters|signs)\b")


def _other_limits(name: str, schema: Mapping[str, JSON], *, needed: bool) -> Iterator[str]:
    """Limits that a description states, and the schema has others; the same of being optional."""
    text = str(schema.get("description", ""))
    ends = [schema.get("minimum"), schema.get("maximum")]
    numbers = all(isinstance(one, int | float) for one in ends)
    for low, high in _BETWEEN.findall(text) if numbers else ():
        if [float(low), float(high)] != ends:
            yield f"Of {name} the text says {low} to {high}; the schema has {ends[0]} to {ends[1]}."
    most = schema.get("maxLength")
    for length in _LENGTH.findall(text) if isinstance(most, int) else ():
        if int(length) != most:
            yield f"Of {name} the text says {length} characters; the schema has {most}."
    if needed and re.match(r"optional\b|[^.]*\(optional\)", text, re.IGNORECASE):
        yield f"The description of {name} says that it is optional, and it is required."
    if not needed and re.match(r"required\b|[^.]*\(required\)", text, re.IGNORECASE):
        yield f"The description of {name} says that it is required, and it is optional."


def _of_another(name: str, notes: Mapping[str, str]) -> Iterator[str]:
    """A description that names another parameter, and neither names its own."""
    for other in notes:
        own, its = _parts(name), _parts(other)
        if (
            own and its and notes[other]
            and all(share([one], words(notes[name])) for one in its)
            and not share(own, words(notes[name]))
            and not share(its, words(notes[other]))
        ):  # fmt: skip
            yield (
                f"The description of {name}, {notes[name]!r}, is of {other}, whose own does not "
                "name it: say in each what the parameter is."
            )


def _parts(name: str) -> list[str]:
    return [one for one in parts_of(name) if len(one) > SHORT]


def _begins(text: str, value: str) -> bool:
    return re.match(rf"{re.escape(value)}(?!\w)", text) is not None


def _unexplained(name: str, schema: Mapping[str, JSON], text: str) -> Iterator[str]:
    """Choices that are codes, and no text says what for."""
    listed = schema.get("enum")
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        return
    parts = {choice: {*parts_of(choice)} for choice in map(as_text, listed)}
    shared = set[str]().union(*parts.values()).intersection(*parts.values())
    shared = shared if len(parts) > 1 else set()
    for choice, words_of in parts.items():
        letters = [sum(map(str.isalpha, one)) for one in words_of - shared]
        if letters and max(letters) < (2 if shared else 1) and not says(text, choice):
            yield f"Nothing says what the choice {choice!r} of {name} means: describe each choice."


def misnamed(document: ToolSchema, question: str) -> Iterator[str]:
    """A name of which no word is in the document, or in what is asked; glue says nothing."""
    notes = " ".join(str(one.get("description", "")) for one in _properties(document).values())
    names = " ".join(declared(document.parameters)).replace("_", " ")
    text = f"{document.description} {notes} {names} {question}"
    said = [one for one in words(text) if len(one) > SHORT and one not in _SMALL]
    own = [one for one in _parts(document.name) if one not in _GLUE]
    begun = any(one.startswith(word) or word.startswith(one) for one in own for word in said)
    initials = "".join(one[0] for one in words(text))
    begun = begun or any(one in initials for one in own)
    meant = not senses(" ".join(own)).keys().isdisjoint(spoken(text))
    if own and not begun and not meant and not share(own, said) and not like(own, said):
        yield (
            f"The name {document.name} has no word of what the document says: rename the tool "
            "with a word of its description, or say in the description what the name says."
        )


_GLUE = frozenset(
    words("get find look lookup search query fetch compute calculate return give tool info data")
)
"""Words of a name that say nothing of the work."""
_SMALL = frozenset(words("the and for not its has was any all one are his her per"))
"""Words with which others begin that are not of them."""


def offered(document: ToolSchema) -> list[tuple[str, JSON]]:
    """Values that a document offers for a parameter, as an example: each has to work."""
    found: list[tuple[str, JSON]] = []
    for name, schema in _properties(document).items():
        listed = schema.get("examples")
        found += [(name, one) for one in (listed if isinstance(listed, list) else [])]
        if schema.get("type") == "string" and "enum" not in schema:
            text = str(schema.get("description", ""))
            for one in _OFFERED.finditer(text):
                if not _PART_OF_VALUE.search(text[: one.start()]):
                    found.append((name, one[1] or one[2]))
    return found


def recased(document: ToolSchema, arguments: Mapping[str, JSON]) -> list[dict[str, JSON]]:
    """The call in other cases, where the document says that case does not count."""
    if not _ANY_CASE.search(document.description):
        names = {
            name for name, one in _properties(document).items()
            if _ANY_CASE.search(str(one.get("description", "")))
        }  # fmt: skip
    else:
        names = {*_properties(document)}
    return [
        {**arguments, name: other}
        for name, value in arguments.items()
        if name in names and isinstance(value, str) and "enum" not in _properties(document)[name]
        for other in (value.upper(), value.lower())
        if other != value
    ]


def _is(result: JSON, kind: type) -> bool:
    return isinstance(result, kind) and (kind is bool or not isinstance(result, bool))


_RAISES = re.compile(
    r"\b(?:raises?|throws?)\b[^.;]*\b(?:\w*Error|\w*[Ee]xception|error)\b|\bHTTP \d{3}\b"
)
_UNKNOWN = re.compile(
    r"\b(?:unknown|missing|not (?:known|found|in the table|listed)|no (?:match|such|record|entry)"
    r")\b"
)
_INSTEAD = re.compile(
    r"\b(?:gives?|returns?|yields?|answers?)(?: with)? (?:an? |the )?"
    r"(empty (?:text|string|list|object)|null|none|false|-1|0|[\"'`][^\"'`]*[\"'`])",
    re.IGNORECASE,
)


def other_failures(document: ToolSchema, *, lookup: bool) -> Iterator[str]:
    """What a document says of failures that no made tool does: each gives an `error`."""
    for sentence in re.split(r"(?<=\w)[.;] |\n", document.description):
        found = _RAISES.search(sentence)
        if found is None and lookup and _UNKNOWN.search(sentence) and "error" not in sentence:
            found = _INSTEAD.search(sentence)
        if found is not None:
            yield (
                f"The document says {found[0]!r} ({sentence.strip()!r}); what is not known gives "
                '{"error": "..."}.'
            )


def other_shape(document: ToolSchema, results: Sequence[JSON]) -> Iterator[str]:
    """A kind of result that the document promises and no call gave; errors are not spoken of."""
    for sentence in re.split(r"[.;\n]", document.description):
        found = None if "error" in sentence.casefold() else _RETURNED.search(sentence)
        if found is None:
            continue
        kind = _TYPES[found[1]]
        if kind is not None and results and not any(_is(one, kind) for one in results):
            yield f"The document promises {found[1]!r} ({sentence.strip()!r}); no call gives that."
