"""Trial calls that test each promise of a tool's contract, and their expected results. Pure."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.contract import FORGIVEN, choices, is_text
from toolhop_tools.construct.replies import Contract, Forgives, Pair, Pairs, Records
from toolhop_tools.construct.text import as_json, called
from toolhop_tools.declared import compiled, fits
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import ToolSchema, canonical
from toolhop_tools.words import as_text, bare

Call: TypeAlias = dict[str, JSON]
FAILED: JSON = {"error": "failed"}
"""Placeholder result of a call that raised or was ended."""
UNKNOWN_KEY = "Qqxvarmunde"
"""A key that no table contains."""
_FEW = 3
"""Number of records whose keys are tried in other spellings."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Trial calls, and what a promise requires of their results."""

    promise: str
    """Name of the tested field of the contract."""
    calls: Sequence[Call]
    wrong: Callable[[Sequence[JSON]], str]
    """Function that returns how the results break the promise, or an empty text if they keep it.
    The result of a failed call is `FAILED`."""


def trials(
    schema: ToolSchema, contract: Contract, facts: Records | Pairs, literals: Sequence[str] = ()
) -> Iterator[Trial]:
    """Yield all trials of a contract, omitting calls that the schema refuses.

    `literals` are texts in the code, which could be the keys of hidden records.
    """
    plain = plain_calls(facts)
    yield from _example_trials(schema, contract)
    yield _form_trial(schema, contract, plain)
    yield from _limit_trials(schema, contract, plain)
    if isinstance(facts, Records):
        yield from _error_trials(schema, contract, facts, plain, literals)
    yield from _spelling_trials(schema, contract, facts, plain)


def plain_calls(facts: Records | Pairs) -> list[Call]:
    """Return the call of each record or pair."""
    if isinstance(facts, Pairs):
        return [dict(pair.arguments) for pair in facts.pairs]
    return [record_call(facts, record) for record in facts.records]


def record_call(facts: Records, record: Mapping[str, JSON]) -> Call:
    """Return the call that finds a record."""
    found_by = {name: record.get(field) for name, field in facts.lookup.parameters.items()}
    return {**found_by, **facts.lookup.fixed}


def _example_trials(schema: ToolSchema, contract: Contract) -> Iterator[Trial]:
    for example in contract.examples:

        def wrong(results: Sequence[JSON], example: Pair = example) -> str:
            if equal(results[0], example.result):
                return ""
            call = called(schema.name, example.arguments)
            return (
                f"{call} gives {as_json(results[0])}; the document says {as_json(example.result)}"
            )

        yield Trial("examples", [dict(example.arguments)], wrong)


def _form_trial(schema: ToolSchema, contract: Contract, plain: Sequence[Call]) -> Trial:
    form = compiled(contract.result_form)
    chosen = [{**call, name: value} for call in plain[:_FEW]
              for name, value in choices(schema.parameters)]  # fmt: skip
    calls = [*plain, *(call for call in chosen if takes(schema, call))]

    def wrong(results: Sequence[JSON]) -> str:
        for call, result in zip(calls, results, strict=True):
            if not tells_of_error(result) and form is not None and not form.is_valid(result):
                return f"{called(schema.name, call)} gives {as_json(result)}, not of result_form"
        return ""

    return Trial("result_form", calls, wrong)


def _limit_trials(schema: ToolSchema, contract: Contract, plain: Sequence[Call]) -> Iterator[Trial]:
    keys = contract.covers.key if contract.covers else []
    for limit in contract.limits:
        for edge, step in ((limit.least, -1), (limit.most, 1)):
            if edge is None:
                continue
            beyond = (edge + step * by for by in (1, 10, 0.5))
            outside = [{**plain[0], limit.parameter: value} for value in beyond]
            outside = [call for call in outside if takes(schema, call)]
            # A record need not have a key at the limit. Limits may depend on each other.
            within = [] if limit.parameter in keys else plain
            inside = [{**call, limit.parameter: edge} for call in within]
            inside = [call for call in inside if takes(schema, call)]
            if inside or outside:
                yield _limit_trial(schema, limit.parameter, inside, outside)


def _limit_trial(
    schema: ToolSchema, parameter: str, inside: Sequence[Call], outside: Sequence[Call]
) -> Trial:
    def wrong(results: Sequence[JSON]) -> str:
        if inside and all(map(tells_of_error, results[: len(inside)])):
            return f"{called(schema.name, inside[0])} gives an error, with {parameter} in its limit"
        for call, result in zip(outside, results[len(inside) :], strict=True):
            if not tells_of_error(result):
                return f"{called(schema.name, call)} gives no error, outside its limit"
        return ""

    return Trial("limits", [*inside, *outside], wrong)


def _error_trials(
    schema: ToolSchema,
    contract: Contract,
    facts: Records,
    plain: Sequence[Call],
    literals: Sequence[str],
) -> Iterator[Trial]:
    for parameter, message in contract.errors.items():
        field = facts.lookup.parameters.get(parameter)
        listed = [as_text(record[field]) for record in facts.records if field in record]
        known = [*dict.fromkeys(listed)]
        taken, first = {*map(_squeezed, known)}, known[0]
        # Keys that differ slightly from a key of the table.
        near = (first[:-1], first[1:], first[:3], f"{first}x", f"{first} {known[-1]}")
        others = [key for key in (*near, *literals) if _squeezed(key) not in taken]
        for key in (UNKNOWN_KEY, *dict.fromkeys(others)):
            call = {**plain[0], parameter: key}
            wanted = [
                {"error": message.replace("{given}", key).replace("{known}", ", ".join(order))}
                for order in (known, sorted(known), listed)
            ]
            if takes(schema, call):
                yield _error_trial(schema, call, wanted)


def _error_trial(schema: ToolSchema, call: Call, wanted: Sequence[dict[str, str]]) -> Trial:
    def wrong(results: Sequence[JSON]) -> str:
        if results[0] in wanted:
            return ""
        return (
            f"{called(schema.name, call)} gives {as_json(results[0])[:600]}; the document says "
            f"{as_json({**wanted[0]})[:600]}"
        )

    return Trial("errors", [call], wrong)


def _squeezed(text: str) -> str:
    """Return a key without any of the differences that a tool may ignore."""
    return "".join(letter for letter in bare(text) if letter.isalnum()).removeprefix("the")


def _spelling_trials(
    schema: ToolSchema, contract: Contract, facts: Records | Pairs, plain: Sequence[Call]
) -> Iterator[Trial]:
    """Test that ignored spelling differences keep the result, and that a lookup refuses others."""
    lookup = isinstance(facts, Records)
    keys = [*facts.lookup.parameters] if isinstance(facts, Records) else [*plain[0]]
    for parameter in (name for name in keys if is_text(schema.parameters, name)):
        taken = {call.get(parameter) for call in plain}
        for call in plain[:_FEW]:
            text = call.get(parameter)
            if not isinstance(text, str):
                continue
            spelled = [(variant, kind, kind in contract.forgives)
                       for kind in Forgives for variant in _variants(text, kind)]  # fmt: skip
            spelled += [(variant, Forgives.HYPHENS if "-" in variant else Forgives.SPACES, False)
                        for variant in _broken(text, contract)]  # fmt: skip
            for variant, kind, forgiven in spelled:
                varied = {**call, parameter: variant}
                tried = (lookup or forgiven) and variant not in taken
                if tried and takes(schema, varied):
                    yield _spelling_trial(schema, call, varied, kind, forgiven=forgiven)


def _spelling_trial(
    schema: ToolSchema, call: Call, varied: Call, kind: Forgives, *, forgiven: bool
) -> Trial:
    def wrong(results: Sequence[JSON]) -> str:
        plain, other = results
        if forgiven and not equal(plain, other):
            return (
                f"{called(schema.name, varied)} gives {as_json(other)[:300]}, and "
                f"{called(schema.name, call)} gives {as_json(plain)[:300]}; the document forgives "
                f"{FORGIVEN[kind]}"
            )
        if not forgiven and not tells_of_error(other):
            return (
                f"{called(schema.name, varied)} is answered; the document does not forgive "
                f"{FORGIVEN[kind]}: say so in forgives, or give the error"
            )
        return ""

    return Trial("forgives", [call, varied], wrong)


def _broken(text: str, contract: Contract) -> list[str]:
    """Return the text with a separator inserted, one for each that the contract does not ignore."""
    signs = {".": None, "-": Forgives.HYPHENS, " ": Forgives.SPACES}
    return [f"{text[:2]}{sign}{text[2:]}" for sign, kind in signs.items()
            if len(text) > 3 and kind not in contract.forgives and text[1:3].isalpha()]  # fmt: skip


_ACCENTED = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "ú"}


def _variants(text: str, kind: Forgives) -> Iterator[str]:
    """Return other spellings of the text that differ in one way."""
    match kind:
        case Forgives.CASE:
            # Some letters have no single-letter counterpart in the other case.
            made = [other for other in (text.upper(), text.lower()) if len(other) == len(text)]
        case Forgives.ACCENTS:
            apart = unicodedata.normalize("NFD", text)
            plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
            vowel = next((letter for letter in text if letter in _ACCENTED), "")
            made = [plain, text.replace(vowel, _ACCENTED[vowel], 1) if vowel else text]
        case Forgives.ARTICLES:
            without = text[len("the ") :] if text.casefold().startswith("the ") else ""
            made = [without] if without else [f"the {text}"]
        case Forgives.HYPHENS:
            made = [text.replace(" ", "-"), text.replace("-", " ")]
        case Forgives.SPACES:
            made = [f" {text} "]
    return (variant for variant in dict.fromkeys(made) if variant != text)


def takes(schema: ToolSchema, call: Mapping[str, JSON]) -> bool:
    """Whether the simulator accepts the arguments of a call."""
    return fits(compiled(schema.parameters), schema.parameters, call)


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(one: JSON, other: JSON) -> bool:
    """Whether two results are equal: numbers by value, and all errors alike."""
    if tells_of_error(one) or tells_of_error(other):
        return tells_of_error(one) and tells_of_error(other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(equal(a, b) for a, b in pairs)
    if _is_number(one) and _is_number(other) and float in {type(one), type(other)}:
        # The order of operations affects the last digits of floats.
        return math.isclose(cast("float", one), cast("float", other), rel_tol=1e-9, abs_tol=1e-9)
    return canonical(one) == canonical(other)
