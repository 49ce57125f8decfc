"""Valid input: crashes, refusals with a message of the tool's own, and unknown keys."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from toolhop_sandbox.outcome import (
    JSON,
    NotJson,
    Outcome,
    Raised,
    Returned,
    TooLarge,
)
from toolhop_tools.batch import Arguments
from toolhop_tools.failures import result_value, tells_of_error
from toolhop_tools.pairing import property_names
from toolhop_tools.properties import words
from toolhop_tools.properties.case import Case, CaseFailure
from toolhop_tools.properties.model import (
    OWN_MESSAGE,
    UNKNOWN_KEY,
    CounterExample,
    PropertyVerdict,
    judged,
)
from toolhop_tools.properties.own_words import known_keys, raise_sites


def valid_input(case: Case) -> PropertyVerdict:
    """Check that every run ends with a result or an intentional error.

    A result counts even if JSON cannot hold it. An intentional error is raised by a `raise` in the
    source, or returned as a result that reports an error. Suspects are grouped by message, so that
    a crash is not mistaken for an intentional error of the same type: only a separate call knows
    the line.
    """
    sites = raise_sites(case.program.source)
    runs = case.made
    suspects: dict[str, list[Arguments]] = defaultdict(list)
    for arguments, run in runs:
        if not isinstance(run.outcome, Returned | NotJson | TooLarge):
            suspects[_sort(run.outcome)].append(arguments)
    own: dict[str, tuple[Arguments, Outcome]] = {}

    def classify(arguments: Arguments, /) -> CaseFailure | None:
        outcome = case.alone(arguments)
        if isinstance(outcome, Raised) and any(site.made(outcome) for site in sites):
            own.setdefault(_sort(outcome), (arguments, outcome))
            return None
        return _no_result(outcome)

    found = case.settle("valid-input", suspects, classify)
    remarks = [*_raised_messages(own, suspects, len(runs)), *_returned_messages(case)]
    return judged("valid-input", len(runs), found, [*remarks, *_unknown_keys(case)])


def _no_result(outcome: Outcome) -> CaseFailure | None:
    if isinstance(outcome, Returned | NotJson | TooLarge):
        return None
    return CaseFailure(words.kind_of(outcome), words.reported(outcome))


def _sort(outcome: Outcome) -> str:
    """Return the class of an outcome, and an exception's message without quotes and numbers."""
    text = outcome.message if isinstance(outcome, Raised) else ""
    return f"{words.kind_of(outcome)} {_PARTICULAR.sub('', text)[:SORT_CHARS]}"


_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
SORT_CHARS = 60


def _raised_messages(
    own: Mapping[str, tuple[Arguments, Outcome]],
    suspects: Mapping[str, Sequence[Arguments]],
    number: int,
) -> Iterator[CounterExample]:
    """Yield a remark for each type of exception that the tool raises intentionally."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for sort, (_, outcome) in own.items():
        if sort in suspects:  # not if the message was only seen while shrinking
            by_kind[words.kind_of(outcome)].append(sort)
    for kind, sorts in by_kind.items():
        arguments, outcome = own[sorts[0]]
        count = sum(len(suspects[sort]) for sort in sorts)
        yield _own_message(kind, count, number, outcome, arguments)


def _returned_messages(case: Case) -> Iterator[CounterExample]:
    """Yield a remark if the tool returns a result that reports an error."""
    failing = [arguments for arguments, run in case.made if _returns_error(run.outcome)]
    for arguments in failing[:1]:
        outcome = case.alone(arguments)
        if _returns_error(outcome):
            yield _own_message("returns an error", len(failing), len(case.made), outcome, arguments)


def _returns_error(outcome: Outcome) -> bool:
    return isinstance(outcome, Returned) and tells_of_error(result_value(outcome))


def _own_message(
    kind: str, count: int, number: int, outcome: Outcome, arguments: Arguments
) -> CounterExample:
    reported = f"{count} of {number} examples; the first {words.reported(outcome)}"
    return CounterExample("valid-input", f"{OWN_MESSAGE}: {kind}", reported, arguments)


NO_KEYS = ("Xqzvkj Wuphlo", "Xqzvkj", "Xq")
"""Texts that no record has as its key; the first one that the schema allows is tried."""
MOST_PROBED = 10
"""Calls with a known key, for each parameter, that are repeated with an unknown key."""


def _unknown_keys(case: Case) -> Iterator[CounterExample]:
    """Yield a warning if unknown keys of a parameter return null or an empty text.

    A key is a text that the code knows and that gives another result in some call.
    """
    keys = known_keys(case.program.source)
    answered = [arguments for arguments, run in case.made if _answers(run.outcome)]
    for name in property_names(case.subject.tool.schema.parameters):
        known = [one for one in answered if _is_key(one.get(name), keys)]
        for arguments in known[:MOST_PROBED]:
            probes = ({**arguments, name: text} for text in NO_KEYS)
            probe = next(filter(case.examples.fit, probes), None)
            if probe is None:
                break
            outcome = case.alone(probe)
            if isinstance(outcome, Returned) and _is_empty(result_value(outcome)):
                given = words.shown(arguments[name])
                reported = (
                    f"`{name}`: {words.reported(outcome)} for a text that is no key, as {given} is"
                )
                yield CounterExample("valid-input", UNKNOWN_KEY, reported, probe)
                return


def _is_key(value: JSON, keys: Collection[str]) -> bool:
    return isinstance(value, str) and value.casefold() in keys


def _answers(outcome: Outcome) -> bool:
    return isinstance(outcome, Returned) and not (
        _is_empty(result_value(outcome)) or _returns_error(outcome)
    )


def _is_empty(value: JSON) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
