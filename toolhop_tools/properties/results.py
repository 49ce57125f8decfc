"""Properties of results: each looks at all runs, and confirms suspicions by separate calls."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from toolhop_sandbox.outcome import (
    JSON,
    Died,
    NotJson,
    Outcome,
    OutOfMemory,
    Raised,
    Refused,
    Returned,
    TimedOut,
    TooLarge,
)
from toolhop_tools.batch import Arguments
from toolhop_tools.properties import words
from toolhop_tools.properties.case import Case, CaseFailure
from toolhop_tools.properties.harness import fact
from toolhop_tools.properties.model import (
    BASE,
    FREE,
    OTHER_SEEDS,
    CounterExample,
    Fails,
    NotApplicable,
    PropertyVerdict,
    SandboxSetting,
    judged,
)


def loads(case: Case) -> PropertyVerdict:
    """Check that the module level runs and the function exists."""
    fault = case.base_fault
    if fault is None:
        return judged("loads", 1, ())
    found = CounterExample(
        "loads", load_kind(fault, case.program.function), words.reported(fault), case.some_arguments
    )
    return Fails(1, (found,))


def load_kind(fault: Outcome, function: str) -> str:
    """Return the failure class of a tool that cannot be called."""
    match fault:
        case Raised("SyntaxError" | "IndentationError" | "TabError"):
            return "does not compile"
        case Raised("ModuleNotFoundError" | "ImportError"):
            return "module missing"
        case Raised("NameError", message) if f"'{function}'" in message:
            return "no entry function"
        case Raised():
            return f"{words.kind_of(fault)} before any call"
        case _:
            return words.kind_of(fault)


def json_result(case: Case) -> PropertyVerdict:
    """Check that every result is JSON that all readers interpret in the same way."""
    results = [
        (arguments, run.outcome)
        for arguments, run in case.made
        if isinstance(run.outcome, Returned | NotJson | TooLarge)
    ]
    if not results and case.made:
        return NotApplicable("no call gives a result; valid-input tells why")
    suspects: dict[str, list[Arguments]] = defaultdict(list)
    for arguments, outcome in results:
        if failure := _no_json(outcome):
            suspects[failure.kind].append(arguments)
    found = case.settle("json-result", suspects, lambda one: _no_json(case.alone(one)))
    return judged("json-result", len(results), found)


def _no_json(outcome: Outcome) -> CaseFailure | None:
    if isinstance(outcome, NotJson | TooLarge):
        return CaseFailure(words.kind_of(outcome), words.reported(outcome))
    if not isinstance(outcome, Returned):
        return None
    twice: list[str] = []

    def unique(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        made = dict(pairs)
        if len(made) != len(pairs):
            twice.append(next(key for key, _ in pairs if sum(key == k for k, _ in pairs) > 1))
        return made

    try:
        value = json.loads(outcome.json_text, object_pairs_hook=unique)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return CaseFailure("returns half a character", "returns half of a surrogate pair")
    except RecursionError:
        return CaseFailure("returns no JSON", "returns what is nested too deeply to be read")
    if twice:
        return CaseFailure("returns a key twice", f"returns an object that has {twice[0]!r} twice")
    return None


def same_result(case: Case) -> PropertyVerdict:
    """Check that two calls agree, in separate processes and with other hash seeds."""
    suspects: dict[str, list[Arguments]] = defaultdict(list)
    compared: set[int] = set()
    for setting in OTHER_SEEDS:
        for at, first, other in case.at(setting):
            compared.add(at)
            if not agree(first.outcome, other.outcome):
                suspects["differs"].append(case.valid[at])

    def classify(arguments: Arguments, /) -> CaseFailure | None:
        first = case.alone(arguments)
        again = case.alone(arguments)
        if not agree(first, again):
            return _differs("differs from call to call", first, again, (BASE, BASE))
        for setting in OTHER_SEEDS:
            other = case.alone(arguments, setting)
            if not agree(first, other):
                return _differs("depends on the hash seed", first, other, (BASE, setting))
        return None

    found = case.settle("same-result", suspects, classify)
    return _compared("same-result", case, len(compared), found)


def _compared(
    property_: str, case: Case, executed: int, found: Iterable[CounterExample]
) -> PropertyVerdict:
    """Return the verdict on a property that compares outcomes: JSON results and exceptions."""
    if not case.steady and case.made:
        return NotApplicable("no outcome can be compared; valid-input or json-result tells why")
    return judged(property_, executed, found)


def agree(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes agree.

    A call that was cut off agrees with anything: near its limits a call may end either way, which
    the property valid-input reports.
    """
    if any(isinstance(outcome, TimedOut | OutOfMemory | Died) for outcome in (one, other)):
        return True
    return fact(one) == fact(other)


def _differs(
    kind: str, one: Outcome, other: Outcome, settings: tuple[SandboxSetting, ...]
) -> CaseFailure:
    if isinstance(one, Returned) and isinstance(other, Returned) and _same_value(one, other):
        kind = f"order of keys {kind}"
    return CaseFailure(kind, f"{words.reported(one)}, and then {words.reported(other)}", settings)


def _same_value(one: Returned, other: Returned) -> bool:
    try:
        return bool(json.loads(one.json_text) == json.loads(other.json_text))
    except RecursionError:
        return False


def policy(case: Case) -> PropertyVerdict:
    """Check that calls with and without the policy agree."""
    if isinstance(case.base_fault, Refused):
        if case.load_fault(FREE) is not None:
            return judged("policy", 0, ())
        kind, reported = words.kind_of(case.base_fault), words.reported(case.base_fault)
        found = CounterExample("policy", kind, reported, case.some_arguments, settings=(BASE, FREE))
        return Fails(1, (found,))
    suspects: dict[str, list[Arguments]] = defaultdict(list)
    compared = case.at(FREE)
    for at, first, other in compared:
        if not agree(first.outcome, other.outcome):
            suspects[words.kind_of(first.outcome)].append(case.valid[at])

    def classify(arguments: Arguments, /) -> CaseFailure | None:
        under, free = case.alone(arguments), case.alone(arguments, FREE)
        if agree(under, free):
            return None
        steady = fact(case.alone(arguments)) == fact(under)
        if not steady or fact(case.alone(arguments, FREE)) != fact(free):
            # The result differs from call to call, so the policy is not to blame.
            return None
        kind = "result differs" if isinstance(under, Returned) else words.kind_of(under)
        return _differs(f"{kind} under the policy", under, free, (BASE, FREE))

    return _compared("policy", case, len(compared), case.settle("policy", suspects, classify))


def arguments_kept(case: Case) -> PropertyVerdict:
    """Check that a call leaves its arguments unchanged."""
    suspects: dict[str, list[Arguments]] = defaultdict(list)
    looked = 0
    for arguments, run in case.made:
        kept = run.kept
        if kept is None and isinstance(run.outcome, Returned | Raised | NotJson | TooLarge):
            kept = _changed(case.after(arguments), arguments) is None
        looked += kept is not None
        if kept is False:
            suspects["changed"].append(arguments)
    found = case.settle("arguments-kept", suspects, lambda a: _changed(case.after(a), a))
    return judged("arguments-kept", looked, found)


def _changed(after: Outcome, before: Arguments) -> CaseFailure | None:
    kind = "changes its arguments"
    if isinstance(after, NotJson):
        return CaseFailure(kind, "puts into its arguments what is no JSON")
    if not isinstance(after, Returned):
        return None
    left = json.loads(after.json_text)
    if json.dumps(left) == json.dumps(dict(before)):
        return None
    names = [name for name in before if json.dumps(left.get(name)) != json.dumps(before[name])]
    name = names[0] if names else "the arguments"
    changed = left.get(name) if names else left
    return CaseFailure(kind, f"leaves `{name}` as {words.shown(changed)}")


def independent(case: Case) -> PropertyVerdict:
    """Check that the order of calls in one process makes no difference."""
    compared = case.reversed()
    doubted = [at for at, first, other in compared if not agree(first.outcome, other.outcome)]
    doubted += [
        at
        for at in case.steady
        if (run := case.raw[at]) is not None
        and (base := case.base[at]) is not None
        and fact(run.outcome) != fact(base.outcome)
    ]
    suspects = {"differs": [case.valid[at] for at in dict.fromkeys(doubted)]}
    found = case.settle("independent", suspects, lambda a: _depends(case, [a], a))
    found = found or [*_as_stored(case), *_after_others(case, suspects["differs"])][:1]
    return _compared("independent", case, len(compared), found)


def _as_stored(case: Case) -> Iterable[CounterExample]:
    """Try the sequences of calls stored by earlier runs."""
    for one in case.stored:
        if one.property == "independent" and all(map(case.examples.fit, one.earlier)):
            failure = _depends(case, one.earlier, one.arguments)
            if failure is not None:
                yield CounterExample(
                    "independent", _LEFT, failure.reported, one.arguments, one.earlier, shrunk=True
                )


_LEFT = "depends on earlier calls"
MOST_HUNTED = 5


def _after_others(case: Case, suspects: Sequence[Arguments]) -> Iterable[CounterExample]:
    """Find a call whose result is changed by earlier calls, and as few of these as possible."""
    steady = [case.valid[at] for at in case.steady]
    for arguments in suspects[:MOST_HUNTED]:
        place = steady.index(arguments)
        for earlier in (steady[:place], steady[:place:-1]):
            if _depends(case, earlier, arguments) is None:
                continue
            while len(earlier) > 1:
                half = len(earlier) // 2
                parts = (earlier[:half], earlier[half:])
                smaller = next((p for p in parts if _depends(case, p, arguments)), None)
                if smaller is None:
                    break
                earlier = smaller
            failure = _depends(case, earlier, arguments)
            if failure is not None:
                yield CounterExample(
                    "independent", _LEFT, failure.reported, arguments, tuple(earlier), shrunk=True
                )
                return


def _depends(case: Case, earlier: Sequence[Arguments], arguments: Arguments) -> CaseFailure | None:
    """Return how earlier calls change a call's result, confirmed by a second attempt, or None."""
    alone = case.alone(arguments)
    later = case.last_of(earlier, arguments)
    if fact(alone) == fact(later) or not isinstance(later, Returned | Raised | NotJson):
        return None
    if fact(case.alone(arguments)) != fact(alone):
        return None
    if fact(case.last_of(earlier, arguments)) != fact(later):
        return None
    calls = "the same call" if list(earlier) == [arguments] else f"{len(earlier)} other"
    reported = f"{words.reported(alone)}; after {calls} in the same process {words.reported(later)}"
    return CaseFailure(_LEFT, reported, earlier=tuple(earlier))
