from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.env.made import called, finished, started
from toolhop_env.feedback import Level
from toolhop_env.messages import (
    AssistantMessage,
    RawCall,
    Reply,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolhop_env.reading import CallFormat
from toolhop_env.trace import (
    FORMAT,
    Called,
    Ended,
    Ending,
    Event,
    FeedbackSet,
    Replied,
    Started,
    Trace,
    TraceError,
    from_lines,
    to_line,
)
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected, Repair
from toolhop_sandbox.outcome import (
    Died,
    NotJson,
    OutOfMemory,
    Raised,
    Refused,
    Returned,
    TimedOut,
    TooLarge,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COUNT = st.integers(0, 10**6)
SECONDS = st.floats(0, 1e6)
NUMBERS = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(TEXT, VALUES, max_size=3)
CODES = st.sampled_from(ErrorCode)
RAW = st.builds(RawCall, TEXT, TEXT, TEXT)
USAGE = st.builds(Usage, COUNT, COUNT, st.none() | SECONDS)
REPLIES = st.builds(
    Reply, TEXT, st.lists(RAW, max_size=2).map(tuple), USAGE, SECONDS, TEXT, TEXT, COUNT
)
PROBLEMS = st.lists(st.builds(Problem, CODES, TEXT, TEXT, TEXT), min_size=1, max_size=2).map(tuple)
REPAIRS = st.none() | st.builds(Repair, TEXT, ARGUMENTS, st.lists(TEXT, max_size=2).map(tuple))
VERDICTS = st.builds(Call, TEXT, ARGUMENTS) | st.builds(Rejected, PROBLEMS, REPAIRS)
LINES = st.none() | COUNT
OUTCOMES = st.one_of(
    st.none(),
    st.builds(Returned, VALUES.map(json.dumps)),
    st.builds(Raised, TEXT, TEXT, LINES),
    st.builds(TimedOut, SECONDS),
    st.builds(OutOfMemory, COUNT),
    st.builds(Refused, TEXT, LINES),
    st.builds(TooLarge, COUNT, COUNT),
    st.builds(NotJson, TEXT),
    st.builds(Died, TEXT),
)
NAMES = st.lists(TEXT, max_size=2).map(tuple)
PROMPTS = st.lists(st.builds(SystemMessage, TEXT) | st.builds(UserMessage, TEXT), max_size=2)
LEVELS = st.sampled_from(Level)
STARTED = st.builds(
    Started,
    *(TEXT, TEXT, TEXT, TEXT, VALUES, TEXT, TEXT),
    *(st.sampled_from(CallFormat), LEVELS, COUNT, COUNT, PROMPTS.map(tuple), NAMES, TEXT),
    *(COUNT, TEXT, COUNT, TEXT, TEXT),
)
LATER = st.one_of(
    st.builds(Replied, COUNT, REPLIES),
    st.builds(
        Called,
        *(COUNT, RAW, VERDICTS, OUTCOMES, LEVELS, TEXT, st.none() | CODES, LINES, SECONDS),
    ),
    st.builds(FeedbackSet, LEVELS),
    st.builds(Ended, st.sampled_from(Ending), SECONDS, TEXT),
)


@given(STARTED, st.lists(LATER, max_size=4))
@settings(max_examples=60)
def test_every_event_is_read_as_it_was_written(first: Started, later: list[Event]) -> None:
    events = (first, *later)
    lines = [to_line(event) for event in events]
    assert all(line.count(b"\n") == 1 for line in lines)
    read = from_lines(lines)
    assert read.events == events
    # 5 and 5.0 are equal, but not the same argument to a tool.
    assert repr(read.events) == repr(events)


TRACE = finished(called("born", {"é": 1815}), called("minus", 36, error=ErrorCode.RAISED))
FILE = b"".join(map(to_line, TRACE.events))


def test_a_file_cut_anywhere_gives_what_was_complete() -> None:
    for end in range(len(FILE) + 1):
        part = FILE[:end]
        events = from_lines(part.splitlines(keepends=True)).events
        assert events == TRACE.events[: len(events)]
        # A last line that lacks nothing but its end is complete.
        assert part.count(b"\n") <= len(events) <= part.count(b"\n") + 1


def test_a_trace_of_nothing_is_empty() -> None:
    assert from_lines([]) == Trace()
    assert from_lines([b"\n", b"  \n"]) == Trace()
    with pytest.raises(TraceError, match="does not begin"):
        _ = Trace().started


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


LINES_OF_TRACE = FILE.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [LINES_OF_TRACE[0], b"garbage\n", *LINES_OF_TRACE[1:]],
            f"line 2 is not an event of format {FORMAT}",
        ),
        ([LINES_OF_TRACE[0], b"\n", b"\n", b"{}\n", LINES_OF_TRACE[1]], "line 4 is not an event"),
        ([LINES_OF_TRACE[0], LINES_OF_TRACE[1][:20] + b"\n"], "line 2 is not an event"),
        ([LINES_OF_TRACE[0], line(kind="danced")], "line 2 is not an event"),
        ([LINES_OF_TRACE[0], b"\xff\xfe\n"], "line 2 is not an event"),
        ([b"garbage\n"], "line 1 is not an event"),
        ([b"[]\n"], "line 1 is not an event"),
        ([LINES_OF_TRACE[1]], "line 1 is `replied`; a trace begins with `started`"),
        (
            [line(kind="started", format=FORMAT + 1, new="x")],
            f"format {FORMAT + 1}, .* upgrade toolhop-env",
        ),
        ([line(kind="started", format=0)], "formats are numbers from 1 on"),
        ([line(kind="started", format="2")], "format '2'; formats are numbers"),
        ([to_line(started(format=99))], f"format 99, this version reads up to {FORMAT}"),
        ([line(format=FORMAT + 1, kind="opened"), b"garbage\n"], "upgrade toolhop-env"),
    ],
)
def test_what_cannot_be_read_says_where(lines: list[bytes], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        from_lines(lines)


def test_unknown_fields_of_this_format_are_passed_over() -> None:
    fields = json.loads(LINES_OF_TRACE[0])
    assert from_lines([line(**fields, remark="x")]).started == TRACE.started


def test_the_conversation_is_what_the_agent_was_shown() -> None:
    shown = TRACE.conversation()
    assert [type(message) for message in shown] == [
        *(UserMessage, AssistantMessage, ToolMessage, ToolMessage, AssistantMessage)
    ]
    assert isinstance(shown[2], ToolMessage)
    assert (shown[2].name, shown[2].content) == ("born", json.dumps({"é": 1815}))


@pytest.mark.parametrize("ending", Ending)
def test_only_an_answer_has_a_final_text(ending: Ending) -> None:
    trace = Trace((started(), Replied(1, Reply("5")), Ended(ending, 1.0)))
    assert trace.final_text == ("5" if ending is Ending.ANSWERED else None)


def test_the_level_in_force() -> None:
    trace = Trace((started(feedback=Level.MINIMAL),))
    assert trace.level is Level.MINIMAL
    assert trace.after(FeedbackSet(Level.DETAILED)).level is Level.DETAILED
    assert trace.level is Level.MINIMAL


def test_cutting_before_a_turn() -> None:
    assert TRACE.before_turn(1).events == TRACE.events[:1]
    assert TRACE.before_turn(2).events == TRACE.events[:4]
    assert TRACE.before_turn(3).events == TRACE.events[:-1]
    for turn in (0, -1, 4):
        with pytest.raises(ValueError, match="it must be from 1 to 3"):
            TRACE.before_turn(turn)
