"""What the leak audit finds: planted leaks, and nothing in clean messages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.env.made import started
from toolhop_env.feedback import render
from toolhop_env.leaks import Leak, leaks
from toolhop_env.levels import Level, Template, Verbosity
from toolhop_env.messages import RawCall, Reply, UserMessage
from toolhop_env.trace import Called, Replied, Trace
from toolhop_env.validation import Validator
from toolhop_env.verdicts import Call, Rejected
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import Died, Outcome, OutOfMemory, Raised, Returned, TimedOut
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema


def tool(name: str, **properties: Any) -> Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": [*properties]}
    return Tool(ToolSchema(name, f"The {name} tool.", schema), Program(f"def {name}(): ...", name))


TEXT = {"type": "string"}
FIRST = tool("architect", building=TEXT, style={"type": "string", "enum": ["full", "short"]})
SECOND = tool("born", person=TEXT, places={"type": "array"})
ITEM = Item(
    id="i1",
    question="When was the architect of the Sydney Opera House born?",
    answer="1,918",
    hops=(
        Hop("Who?", "Jørn Utzon", FIRST,
            GoldCall({"building": "Sydney Opera House", "style": "full"}, "written")),
        Hop("When?", "1918-04-09", SECOND,
            GoldCall({"person": "Jørn Utzon", "places": ["Hellebæk", "Ålborg"], "n": 7}, "")),
    ),
    domain="x",
    answer_type="number",
)  # fmt: skip
GIVEN = '{"building": "Sidney 1973", "style": "full"}'


def audited(
    outcome: Outcome | None,
    level: Verbosity = Level.DETAILED,
    *,
    arguments: str = GIVEN,
    name: str = "architect",
    before: str = "",
) -> frozenset[Leak]:
    """What the feedback to one call leaks; `before` is what the model wrote beside it."""
    verdict = Validator([FIRST.schema, SECOND.schema]).check(name, arguments)
    assert isinstance(verdict, Rejected) == (outcome is None)
    said = render(level, name, verdict, outcome)
    raw = RawCall("c1", name, arguments)
    trace = Trace(
        (
            replace(started(), tools=("architect", "born"), messages=(UserMessage(ITEM.question),)),
            Replied(1, Reply(before, (raw,))),
            Called(1, raw, verdict, outcome, level, said.text, said.error, 0, 0.0),
        )
    )
    ((_, found),) = leaks(trace, ITEM)
    return found


def returned(value: object, **json_options: bool) -> Returned:
    return Returned(json.dumps(value, **json_options))  # type: ignore[arg-type]  # options of many types


ARGUMENT, RESULT, VALUE = Leak
BOTH = {ARGUMENT, RESULT}
PLANTED: dict[str, tuple[frozenset[Leak], set[Leak]]] = {
    "a result in a sentence": (audited(Raised("E", "unlike Jørn Utzon, it is gone")), BOTH),
    "another case": (audited(Raised("E", "unlike JØRN UTZON")), BOTH),
    "no accents": (audited(Raised("E", "unlike Jorn Utzon")), BOTH),
    "beside marks": (audited(Raised("E", "known: (Jørn Utzon),Gehry")), BOTH),
    "escaped": (audited(returned({"error": "not Jørn Utzon"}, ensure_ascii=True)), BOTH),
    "escaped twice": (audited(returned({"error": json.dumps("Jørn\nUtzon")})), {*BOTH, VALUE}),
    "in a list of an object": (audited(returned({"error": "gone", "allowed": ["Jørn Utzon"]})),
                               {*BOTH, VALUE}),
    "a date": (audited(Raised("E", "it is 1918-04-09")), {RESULT, VALUE}),
    "the answer": (audited(Raised("E", "it is from 1918")), {RESULT, VALUE}),
    "with a comma": (audited(Raised("E", "it is from 1,918")), {RESULT, VALUE}),
    "as a decimal": (audited(returned({"error": "gone", "year": 1918.0})), {RESULT, VALUE}),
    "an argument of a later call": (audited(Raised("E", "seen near Hellebæk")), {ARGUMENT}),
    "an element": (audited(Raised("E", "ask for Ålborg or so")), {ARGUMENT}),
    "a number as argument": (audited(Raised("E", "there are 7 of them")), {ARGUMENT, VALUE}),
    "another number": (audited(Raised("E", "wait for 41 days")), {VALUE}),
    "a quoted name": (audited(Raised("E", "use 'Bennelong Point'")), {VALUE}),
    "a field": (audited(returned({"error": "gone", "nearest": "Opera Bar"})), {VALUE}),
    "what is allowed, as a code": (
        audited(returned({"error": "gone", "allowed": ["Opera Bar"]}), Level.ALLOWED), {VALUE}),
    "in a template": (audited(TimedOut(2), Template("t", "{code}: try Hellebæk")), {ARGUMENT}),
    "in a template of a rejected call": (
        audited(None, Template("t", "it is Jørn Utzon"), arguments="{}"), BOTH),
}  # fmt: skip
CLEAN = {
    "a sentence": audited(Raised("E", "there is no such building on record")),
    "what was given": audited(Raised("E", "'Sidney 1973' is unknown, and 1973 too")),
    "the question": audited(Raised("E", "it is 'Sydney Opera House'")),
    "a schema's choices": audited(None, arguments='{"building": "x", "style": "long"}'),
    "a missing argument": audited(None, arguments="{}"),
    "no JSON": audited(None, arguments='{"building": '),
    "an unknown tool": audited(None, name="architects"),
    "limits": audited(OutOfMemory(64)),
    "seconds": audited(TimedOut(2.5)),
    "a crash": audited(Died("signal 9")),
    "a code": audited(returned({"error": "gone", "code": 404})),
    "a flag": audited(returned({"error": "gone", "retry": True, "hint": None, "success": False})),
    "said by the model": audited(Raised("E", "not Jørn Utzon"), before="Is it jorn utzon?"),
    "part of a word": audited(Raised("E", "Utzonian, 19180 no")) - {VALUE},
    "one of two words": audited(Raised("E", "Utzon is not a building")),
    "minimal": audited(Raised("E", "not Jørn Utzon"), Level.MINIMAL),
    "placebo": audited(Raised("E", "not Jørn Utzon" * 30), Level.PLACEBO),
    "cut off": audited(Raised("E", "word " * 15 + "Jørn Utzon"), Level.SHORTENED),
    "code alone": audited(Raised("E", "not Jørn Utzon"), Level.CODE),
    "an own failure is not repaired": audited(Raised("E", "not Jørn Utzon"), Level.SUGGESTION),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_leaks_are_found(name: str) -> None:
    found, wanted = PLANTED[name]
    assert len(PLANTED) == 20
    assert found == wanted


@pytest.mark.parametrize("name", CLEAN)
def test_clean_messages_are_clean(name: str) -> None:
    assert CLEAN[name] == frozenset()


def test_a_suggestion_repairs_what_the_model_wrote_and_gives_nothing_away() -> None:
    call = '{"building": "Sidney 1973", "style": "FULL"}'
    verdict = Validator([FIRST.schema]).check("architect", call)
    assert not isinstance(verdict, Call)
    assert audited(None, Level.SUGGESTION, arguments=call) == frozenset()


def test_what_an_earlier_message_gave_away_is_no_leak_again() -> None:
    raw = RawCall("c1", "architect", GIVEN)
    verdict = Call("architect", json.loads(GIVEN))
    outcome = Raised("E", "not Jørn Utzon")
    said = render(Level.DETAILED, "architect", verdict, outcome)
    call = Called(1, raw, verdict, outcome, Level.DETAILED, said.text, said.error, 0, 0.0)
    start = replace(started(), tools=("architect",), messages=(UserMessage("Who?"),))
    events = (start, Replied(1, Reply("", (raw,))), call, Replied(2, Reply("", (raw,))))
    trace = Trace((*events, replace(call, turn=2)))
    assert [bool(found) for _, found in leaks(trace, ITEM)] == [True, False]
