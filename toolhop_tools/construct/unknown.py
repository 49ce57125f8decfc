"""What is wrong with the answer to a key that no record has. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.claims import notes_of, properties_of, sentences_of
from toolhop_tools.construct.giveaway import gives_away
from toolhop_tools.construct.text import says
from toolhop_tools.construct.trials import STRANGE
from toolhop_tools.model import ToolSchema
from toolhop_tools.words import as_text, bare, letters, parts_of, words


def wrong_error(
    schema: ToolSchema,
    parameter: str,
    value: JSON,
    calls: Sequence[Mapping[str, JSON]],
    answers: Sequence[str],
) -> str:
    """What is wrong with what a tool gives for `STRANGE`, in words that follow the result.

    Args:
        schema: the tool's document.
        parameter: what was given `STRANGE` in the first call.
        value: what came.
        calls: by record.
        answers: by record.
    """
    text = value.get("error") if isinstance(value, dict) else None
    known = [as_text(call[parameter]) for call in calls]
    if (
        not isinstance(text, str)
        or parameter not in text
        or STRANGE.lower() not in text.lower()
        or not any(says(text, one) for one in known)
    ):
        rule = f'{{"error": "{parameter}: GIVEN is not known; known are ..."}}'
        return f"; without a record it gives {rule}"
    if isinstance(value, dict) and len(value) > 1:
        return ": an error is its message alone."
    if lacking := cut_off(text, known):
        return f": {lacking!r} is known as well; list all, or say that there are more."
    # With other parameters that find a record, such as a year, the others are not known here.
    beside = [call for call in calls if {**call, parameter: None} == {**calls[0], parameter: None}]
    promise = lists_all(schema, parameter)
    held = [as_text(call[parameter]) for call in beside]
    if promise and (lacking := cut_off(text, held, promised=True)):
        return f", without {lacking!r}; the document says {promise!r}: list all that is known."
    if given := [one for one in answers if one not in known and gives_away(text, one)]:
        return f": it gives the answer {given[0]!r} away."
    return ""


_OTHERWISE = re.compile(
    r"\b(?:or|either|also|alias\w*|synonyms?|nicknames?|abbreviat\w+|other names?"
    r"|any (?:field|value|column|spelling|form|name|language)s?)\b",
    re.IGNORECASE,
)
_CASES = re.compile(
    r"\b(?:upper|lower|small|capital)s?(?:[- ]?(?:case|letters))?"
    r"(?: (?:or|and) (?:upper|lower|small|capital)s?)?(?:[- ]?(?:case|letters))?\b",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\b(?:by|under|from|given|takes|accepts|either)\b(.*?)(?=\b(?:and|then) (?:returns?|gives?)\b"
    r"|\breturns?\b|[.;,]|$)"
)
FEW = 3
"""Values of another field that a tool is tried with."""


def other_columns(
    schema: ToolSchema,
    parameter: str,
    records: Sequence[Mapping[str, JSON]],
    fields: Mapping[str, str],
) -> list[str]:
    """Values of a table's other fields, none of which is a key.

    None of a field that the document names as what a record is found by.

    Args:
        schema: the tool's document.
        parameter: what they are to be given for.
        records: the table.
        fields: by parameter: the field with its keys.
    """
    note = _CASES.sub("", notes_of(properties_of(schema).get(parameter, {})))
    if _OTHERWISE.search(note):
        return []
    ways = " ".join([note, *_BY.findall(schema.description)])
    said = {form for one in words(ways) for form in (one, one.removesuffix("s"))}
    keys = {_plain(as_text(one[fields[parameter]])) for one in records if fields[parameter] in one}
    found: list[str] = []
    for field in {name: None for one in records for name in one}:
        if field in fields.values() or said.issuperset(parts_of(field)):
            continue
        values = dict.fromkeys(as_text(one[field]) for one in records if field in one)
        found += [one for one in values if not _is_key(_plain(one), keys)][:FEW]
    return found


def _plain(text: str) -> str:
    return letters(re.sub(r"^(?:the|an?) ", "", bare(text)))


def _is_key(text: str, keys: set[str]) -> bool:
    """Whether forgiveness may take a value for a key; a name may be in another one."""
    return not text or any(text in key or key in text for key in keys)


_LISTS = re.compile(
    r"\b(?:known (?:\w+ )?are|are known|valid (?:\w+ )?are|must be|one of|choose|allowed"
    r"|available)\b",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\.\.\.|…|\b(?:such as|for example|e\.g|for instance|among|including|include|some|others"
    r"|more|first|like|closest|similar|of \d+)\b",
    re.IGNORECASE,
)


_LISTING = re.compile(
    r"\berrors?\b[^.;\n]*\b(?:lists?|listing|names?|naming|says?|saying|shows?|gives?|giving|with"
    r"|contains?|includes?|enumerat\w+|tells?)\b (?:a list )?(?:of )?"
    r"(?:(?:all|every|each|the|which|what|those) ){1,2}(?:(?:\w+ )?(?:that )?(?:are|is) )?"
    r"(?:known|valid|available|existing|possible)\b(?: ([a-z]+))?",
    re.IGNORECASE,
)
_SOME = re.compile(
    r"\b(?:some|few|first|nearest|closest|similar|several|part|up to|at most|examples?|such as)\b",
    re.IGNORECASE,
)


def lists_all(document: ToolSchema, key: str) -> str:
    """The sentence that says that an error for an unknown key lists the known ones; or nothing."""
    own = properties_of(document)
    others = {"choices", "options", "parameters", "arguments"}
    others |= {f"{part}s" for name in own if name != key for part in parts_of(name)}
    for sentence in sentences_of(f"{document.description}\n{notes_of(own.get(key, {}))}"):
        found = _LISTING.search(sentence)
        if found and not _SOME.search(sentence) and found[1] not in others:
            return sentence.strip()
    return ""


def cut_off(error: str, known: Sequence[str], *, promised: bool = False) -> str:
    """The first key that an error leaves out of a list of all that is known; empty if none is.

    Args:
        error: the message.
        known: the keys.
        promised: whether the document says that all are listed; else a list that says that it is
            a part is one.
    """
    held = [one for one in known if says(error, one)]
    if not promised and (not held or not _LISTS.search(error) or _PART.search(error)):
        return ""
    return next((one for one in known if one not in held), "")
