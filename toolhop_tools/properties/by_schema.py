"""Properties of a schema: what it forbids, requires, illustrates and promises."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import jsonschema_rs

from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.answers import holds
from toolhop_tools.batch import Arguments
from toolhop_tools.certify.judging import judge
from toolhop_tools.declared import required
from toolhop_tools.failures import result_value, tells_of_error
from toolhop_tools.pairing import (
    NO_LITERAL,
    default_nodes,
    literal_value,
    parse_source,
    property_names,
    top_functions,
)
from toolhop_tools.properties import words
from toolhop_tools.properties.case import Case, CaseFailure
from toolhop_tools.properties.described import Promise, promises, sample_values
from toolhop_tools.properties.model import (
    CounterExample,
    Gold,
    Miss,
    NotApplicable,
    PropertyVerdict,
    judged,
)
from toolhop_tools.reading import read_result
from toolhop_tools.review import tool_findings

# -- bad input ---------------------------------------------------------------------------------


def bad_input(case: Case) -> PropertyVerdict:
    """Check that invalid input leads to an error that names the parameter.

    The simulator refuses most such calls before the code runs; its message is then judged. Calls
    that it lets through must be refused by the tool, by raising or by returning an error. If
    requested, a text that violates its parameter's `format` is invalid too. A call that the tool
    refuses even without the fault is not judged.
    """
    schema = case.subject.tool.schema
    stored = [one for one in _stored_misses(case) if case.examples.formats or one.fault != "format"]
    misses = [*stored, *case.examples.misses]
    passed = [miss for miss in misses if case.reject(schema, miss.arguments) is None]
    runs = case.batched([miss.arguments for miss in passed])
    bases = case.batched([miss.base or miss.arguments for miss in passed])
    outcomes: dict[int, Outcome] = {}
    unread: set[int] = set()
    for miss, run, base in zip(passed, runs, bases, strict=True):
        if run is None or base is None or (miss.base is not None and refused(base.outcome)):
            unread.add(id(miss))
        else:
            outcomes[id(miss)] = run.outcome
    suspects: dict[str, list[Miss]] = defaultdict(list)
    for miss in misses:
        if id(miss) not in unread and (failure := _unanswered(case, miss, outcomes.get(id(miss)))):
            suspects[failure.kind].append(miss)

    def classify(miss: Miss, /) -> CaseFailure | None:
        if case.reject(schema, miss.arguments) is not None:
            return _unanswered(case, miss, None)
        if miss.base is not None and refused(case.alone(miss.base)):
            return None
        return _unanswered(case, miss, case.alone(miss.arguments))

    found = case.settle_misses("bad-input", suspects, classify)
    return judged("bad-input", len(misses) - len(unread), found)


def refused(outcome: Outcome) -> bool:
    """Whether the tool's own code refused a call."""
    return not isinstance(outcome, Returned) or tells_of_error(result_value(outcome))


def _stored_misses(case: Case) -> Iterator[Miss]:
    """Return the near misses stored by earlier runs."""
    for one in case.stored:
        if one.property == "bad-input":
            path, fault, parameter = (one.about.get(n, "") for n in ("path", "fault", "parameter"))
            base = _base(one.about.get("base", ""))
            yield Miss(one.arguments, path, fault, parameter, base)


def _base(text: str) -> dict[str, JSON] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _unanswered(case: Case, miss: Miss, outcome: Outcome | None) -> CaseFailure | None:
    """Return what is wrong with the answer to a near miss; `outcome` is None if no code ran."""
    if outcome is None:
        text = case.reject(case.subject.tool.schema, miss.arguments) or ""
        who = "the simulator"
    elif isinstance(outcome, Returned):
        text, who = outcome.json_text, "the tool"
        if not tells_of_error(result_value(outcome)):
            reported = f"{miss.fault} at `{miss.path}`: the tool {words.reported(outcome)}"
            return CaseFailure("takes invalid input", reported)
    elif isinstance(outcome, Raised):
        text, who = f"{outcome.error}: {outcome.message}", "the tool"
    else:
        reported = f"{miss.fault} at `{miss.path}`: the tool {words.reported(outcome)}"
        return CaseFailure("no answer to invalid input", reported)
    if not miss.parameter or names(miss.parameter, text):
        return None
    reported = f"{miss.fault} at `{miss.path}`: {who} says {words.cut(text)}"
    return CaseFailure("error without the parameter's name", reported)


SHORT_NAME = 2
"""Length up to which a name counts only if marked as a name: "a" occurs in most sentences."""


def names(parameter: str, text: str) -> bool:
    """Whether a text names a parameter: as a separate word, or marked as a name if short."""
    name = re.escape(parameter)
    marked = (
        rf"[`'\"]{name}[`'\".\[]|\b(?:argument|parameter)s?:?\s+{name}(?!\w)|(?<!\w){name}\s*[=:]"
    )
    if re.search(marked, text):
        return True
    word = rf"(?<!\w){name}(?!\w)"
    return len(parameter) > SHORT_NAME and re.search(word, text, re.IGNORECASE) is not None


# -- the gold call -----------------------------------------------------------------------------


def gold_call(case: Case) -> PropertyVerdict:
    """Check that each gold call is valid, and that a leaf of its result is the gold sub-answer.

    A call proven by a certificate is judged as in certification: dates in any notation, names
    without their accents and texts that contain the answer count as well.
    """
    golds = case.subject.golds
    if not golds:
        return NotApplicable(case.subject.no_gold)
    found: dict[str, CounterExample] = {}
    for gold in golds:
        if failure := _missed(case, gold):
            counter = CounterExample("gold-call", failure.kind, failure.reported, gold.arguments)
            found.setdefault(failure.kind, counter)
    return judged("gold-call", len(golds), found.values())


def _missed(case: Case, gold: Gold) -> CaseFailure | None:
    if (refusal := case.reject(case.subject.tool.schema, gold.arguments)) is not None:
        return CaseFailure("gold call is invalid", f"the simulator says {words.cut(refusal)}")
    outcome = case.alone(gold.arguments)
    wanted = words.shown(gold.answer)
    if not isinstance(outcome, Returned):
        reported = f"the gold call {words.reported(outcome)}; the gold is {wanted}"
        return CaseFailure(f"gold call: {words.kind_of(outcome)}", reported)
    if _gives(outcome, gold):
        return None
    return CaseFailure(
        "gold call gives another value", f"{words.reported(outcome)}; the gold is {wanted}"
    )


def _gives(outcome: Returned, gold: Gold) -> bool:
    if not gold.certified:
        return holds(result_value(outcome), gold.answer)
    value = read_result(outcome.json_text)
    return judge(gold.answer, value, dict(gold.arguments)) is not None


# -- the signature -----------------------------------------------------------------------------

_SIGNATURE_RULES = {
    "signature": "schema and signature differ",
    "required-unknown": "requires what it does not describe",
    "no-entry": "no entry function",
}


def signature(case: Case) -> PropertyVerdict:
    """Check that the function accepts what the schema allows, and that defaults agree."""
    tool = case.subject.tool
    tree = parse_source(tool.program.source)
    if tree is None:
        return NotApplicable("the source is not Python, so it has no signature")
    function = top_functions(tree).get(tool.program.function)
    found = [
        CounterExample("signature", _SIGNATURE_RULES[rule], f"expected {expected}; given {given}")
        for rule, expected, given in tool_findings(tool)
        if rule in _SIGNATURE_RULES
    ]
    names_ = set(property_names(tool.schema.parameters))
    if function is not None:
        found += _defaults(function.args, tool.schema.parameters)
        found += _needless(function.args, tool.schema.parameters)
        names_ |= default_nodes(function.args).keys()
    # Plus one for the lookup of the function itself.
    return judged("signature", len(names_) + 1, found)


def _needless(args: ast.arguments, schema: Mapping[str, JSON]) -> Iterator[CounterExample]:
    """Report parameters that the schema requires although the function has a default for them.

    The simulator refuses calls without them, which the function would accept.
    """
    stated = set(required(schema))
    names_ = [name for name, node in default_nodes(args).items() if node and name in stated]
    if names_:
        reported = f"expected required to leave out what has a default; given {', '.join(names_)}"
        yield CounterExample("signature", "requires what has a default", reported)


def _defaults(args: ast.arguments, schema: Mapping[str, JSON]) -> Iterator[CounterExample]:
    """Report parameters whose defaults in the schema and the signature differ."""
    stated = {name: value for name, _, value in sample_values(schema, keys=("default",))}
    for name, node in default_nodes(args).items():
        if node is None or name not in stated:
            continue
        try:
            value = literal_value(node)
        except NO_LITERAL:
            continue
        if value is not None and json.dumps(value) != json.dumps(stated[name]):
            given = f"{words.shown(stated[name])} in the schema, {words.shown(value)} in the code"
            yield CounterExample(
                "signature", "defaults differ", f"expected one default of `{name}`; given {given}"
            )


# -- the description's examples ----------------------------------------------------------------


def examples(case: Case) -> PropertyVerdict:
    """Check that calls in the description give the stated results, and sample values are valid."""
    tool = case.subject.tool
    shown = promises(tool)
    samples = [*sample_values(tool.schema.parameters)]
    if not shown and not samples:
        return NotApplicable("the description gives no example")
    found: dict[str, CounterExample] = {}
    for promise in shown:
        if failure := _broken(case, promise):
            counter = CounterExample(
                "examples", failure.kind, failure.reported, dict(promise.arguments)
            )
            found.setdefault(failure.kind, counter)
    for name, inner, value in samples:
        if not _valid_sample(tool.schema.parameters, inner, value):
            kind = "sample value is invalid"
            reported = f"`{name}`: {words.shown(value)} is not valid under its own schema"
            found.setdefault(kind, CounterExample("examples", kind, reported))
    return judged("examples", len(shown) + len(samples), found.values())


def _broken(case: Case, promise: Promise) -> CaseFailure | None:
    arguments: Arguments = promise.arguments
    if (refusal := case.reject(case.subject.tool.schema, arguments)) is not None:
        return CaseFailure("example is invalid", f"the simulator says {words.cut(refusal)}")
    outcome = case.alone(arguments)
    if not isinstance(outcome, Returned):
        return CaseFailure(f"example: {words.kind_of(outcome)}", words.reported(outcome))
    if promise.stated and result_value(outcome) != promise.result:
        wanted = words.shown(promise.result)
        return CaseFailure(
            "example gives another value", f"{words.reported(outcome)}; the text says {wanted}"
        )
    return None


def _valid_sample(root: Mapping[str, JSON], inner: Mapping[str, JSON], value: JSON) -> bool:
    shared = {key: root[key] for key in ("$defs", "definitions") if key in root}
    try:
        return jsonschema_rs.Draft202012Validator({**shared, **inner}, offline=True).is_valid(value)
    except (jsonschema_rs.ValidationError, ValueError, jsonschema_rs.ReferencingError):
        # A reference to elsewhere in the schema cannot be judged without the whole.
        return True
