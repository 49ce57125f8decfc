"""Every kind of finding, where it is found and where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.items import small_item
from tests.agents.recorded import edited, invoked, recorded
from tests.env.graded import answered, graded, marked
from tests.env.made import called, finished, raw, started
from tests.inline import inline_sandbox
from toolhop_env.benchmarks.toolhop.answers import official, strict
from toolhop_env.benchmarks.toolhop.gaps import Gap
from toolhop_env.benchmarks.toolhop.scorer import explain_gap
from toolhop_env.diagnosis.diagnose import CHECKS, diagnose
from toolhop_env.diagnosis.finding import Finding, Severity
from toolhop_env.messages import Reply, ToolMessage, Usage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.trace import Called, Ended, Ending, Replied, Trace
from toolhop_env.verdicts import ErrorCode, Problem, Rejected, Repair
from toolhop_sandbox.outcome import Outcome, OutOfMemory, Raised, Refused, TimedOut

ROOT = Path(__file__).parents[2]
__all__ = ["graded"]  # a fixture, found by its name


def episode(
    number: int,
    *calls: Called,
    answer: str = "36",
    agent: str = "m",
    text: str | None = None,
    **changes: object,
) -> Trace:
    """An episode of item `number` by `agent`; the gold is 36, of the hops 1815 and 36."""
    names = {"episode": f"{agent}-{number}", "item": f"i{number}", "item_digest": f"d{number}"}
    said = f"<answer>{answer}</answer>" if text is None else text
    return finished(*calls, text=said, **{**names, "agent": agent, **changes})


def right(number: int, **changes: Any) -> Trace:
    """Solved as it should be."""
    return episode(number, called("born", "1815"), called("minus", 36), **changes)


def found(traces: Sequence[Trace], kind: str) -> Finding | None:
    matching = [one for one in diagnose({"run": traces}) if one.kind == kind]
    assert len(matching) <= 1
    return matching[0] if matching else None


def only(traces: Sequence[Trace], kind: str) -> Finding:
    finding = found(traces, kind)
    assert finding is not None
    return finding


def ended(trace: Trace, ending: Ending, reason: str = "") -> Trace:
    return Trace((*trace.events[:-1], Ended(ending, 1.0, reason)))


def asked(one: Called, text: str) -> Called:
    """The same call with other arguments."""
    return replace(one, raw=raw(one.raw.name, text))


def failing(tool: str, *, error: ErrorCode = ErrorCode.RAISED, times: int = 3) -> Iterator[Called]:
    outcomes: dict[ErrorCode, Outcome] = {
        ErrorCode.TIMED_OUT: TimedOut(10.0),
        ErrorCode.OUT_OF_MEMORY: OutOfMemory(256),
        ErrorCode.REFUSED: Refused("no"),
    }
    outcome = outcomes.get(error, Raised("KeyError", "x"))
    for number in range(times):
        yield asked(called(tool, outcome=outcome, error=error), f'{{"n": {number}}}')


def rejected(tool: str, *, repaired: bool = False, error: ErrorCode = ErrorCode.NOT_JSON) -> Called:
    problem = Problem(error, "", "text", "JSON")
    repair = Repair(tool, {}, ("quotes",)) if repaired else None
    return called(tool, rejected=Rejected((problem,), repair))


def test_a_run_without_faults_has_no_finding() -> None:
    assert diagnose({"run": [right(number, answer="36") for number in range(4)]}) == []


def test_runs_in_which_nothing_has_ended_are_told_apart_from_sound_ones() -> None:
    begun = Trace(right(1).events[:-1])
    assert only([begun], "nothing_ended").severity is Severity.WARNING
    assert found([begun, right(2)], "nothing_ended") is None


def test_errored_episodes_are_told_by_cause() -> None:
    errored_attempts = [
        ended(right(n), Ending.ERRORED, f"the endpoint did not answer after {n}.5 s")
        for n in (1, 2)
    ]
    finding = only(
        [right(0), *errored_attempts, ended(right(3), Ending.ERRORED, "disk full")],
        "errored_episodes",
    )
    assert finding.severity is Severity.ERROR
    assert finding.evidence["causes"] == {
        "the endpoint did not answer after 1.5 s": 2,
        "disk full": 1,
    }
    assert finding.episodes == ("m-1", "m-2", "m-3")


def test_errored_attempts_that_were_made_good_are_a_note_and_branches_are_nothing() -> None:
    first = ended(right(1, episode="a1", attempt=1), Ending.ERRORED, "gone")
    again = right(1, episode="a2", attempt=2)
    assert found([first, again], "errored_episodes") is None
    assert only([first, again], "errored_attempts").severity is Severity.NOTE
    branch = right(1, episode="a2", attempt=2, parent="a1")
    assert found([first, branch], "errored_attempts") is None
    assert found([Trace(right(2).events[:-1])], "errored_episodes") is None


def test_tools_that_always_fail() -> None:
    finding = only([episode(1, *failing("born"))], "failing_tools")
    assert finding.severity is Severity.ERROR
    assert finding.evidence["i1 born"] == {"calls": 3, "codes": {"raised": 3}}
    same = [*failing("born", times=1)] * 5
    assert found([episode(1, *same)], "failing_tools") is None
    assert found([episode(1, *failing("born"), called("born", "1815"))], "failing_tools") is None
    assert found([episode(1, *failing("x", error=ErrorCode.UNKNOWN_TOOL))], "failing_tools") is None
    assert only([episode(1, *same[:1], agent="oracle")], "failing_tools")
    twice = [asked(rejected("born", repaired=False), str(n)) for n in range(3)]
    assert only([episode(1, *twice)], "failing_tools").severity is Severity.WARNING


def test_refused_tools() -> None:
    refused = failing("born", error=ErrorCode.REFUSED, times=1)
    finding = only([episode(1, *refused), right(2)], "refused_tools")
    assert (finding.severity, finding.evidence["tools"]) == (Severity.WARNING, {"born of i1": 1})
    assert found([episode(1, *failing("born"))], "refused_tools") is None


@pytest.mark.parametrize("error", [ErrorCode.TIMED_OUT, ErrorCode.OUT_OF_MEMORY])
def test_tools_at_limits(error: ErrorCode) -> None:
    one = episode(1, *failing("born", error=error, times=1))
    three = episode(1, *failing("born", error=error, times=3))
    assert only([one], "tools_at_limits").severity is Severity.NOTE
    assert only([three], "tools_at_limits").severity is Severity.WARNING
    many = [right(number) for number in range(2, 200)]
    assert only([three, *many], "tools_at_limits").severity is Severity.NOTE
    assert found(many, "tools_at_limits") is None


def test_hops_that_never_give_their_answer() -> None:
    wrong = [asked(called("born", str(n)), str(n)) for n in (1, 2, 3)]
    finding = only([episode(1, *wrong)], "silent_milestones")
    assert finding.evidence["i1 hop 1"] == {"tool": "born", "gold": "1815", "calls": 3}
    assert found([episode(1, *wrong[:2])], "silent_milestones") is None
    assert found([episode(1, *[wrong[0]] * 3)], "silent_milestones") is None
    elsewhere = called("minus", {"year": 1815})
    other = episode(1, elsewhere, agent="n")
    assert found([episode(1, *wrong), other], "silent_milestones") is None
    assert only([episode(1, wrong[0], agent="oracle")], "silent_milestones")
    assert found([episode(1, *failing("born"))], "silent_milestones") is None


def test_items_that_nobody_solves() -> None:
    tries = [episode(1, answer="7", epoch=epoch, episode=f"e{epoch}") for epoch in (1, 2, 3)]
    finding = only([*tries, right(2)], "unsolved_items")
    assert finding.severity is Severity.NOTE
    evidence = finding.evidence["i1"]
    assert isinstance(evidence, dict)
    assert (evidence["tries"], evidence["agents"], evidence["official"]) == (3, ["m"], 0)
    assert (evidence["most_milestones"], evidence["milestones"]) == (0, 2)
    assert found(tries, "unsolved_items") is None  # they solved nothing at all
    assert found([*tries[:2], right(2)], "unsolved_items") is None
    assert found([*tries, right(1, agent="n"), right(2)], "unsolved_items") is None
    lazy = [episode(1, answer="7", agent="do-nothing", epoch=n) for n in (1, 2, 3)]
    assert found([*lazy, right(2)], "unsolved_items") is None
    by_oracle = only([episode(1, answer="7", agent="oracle")], "unsolved_items")
    assert by_oracle.severity is Severity.WARNING


def test_items_are_looked_at_over_all_runs() -> None:
    runs = {name: [episode(1, answer="7", agent=name), right(2, agent=name)] for name in "abc"}
    (finding,) = [one for one in diagnose(runs) if one.kind == "unsolved_items"]
    assert finding.episodes == ("a/a-1", "b/b-1", "c/c-1")
    assert not [one for one in diagnose({"a": runs["a"]}) if one.kind == "unsolved_items"]


def test_two_versions_of_an_item_are_two_items() -> None:
    tries = [episode(1, answer="7", epoch=n, episode=f"e{n}", item_digest="a1") for n in (1, 2, 3)]
    again = {"epoch": 4, "episode": "other"}
    other = right(1, item_digest="b2", **again)
    finding = only([*tries, other], "unsolved_items")
    assert list(finding.evidence) == ["i1 (a1)"]
    assert found([*tries, right(1, item_digest="a1", **again)], "unsolved_items") is None


def test_baselines_that_score() -> None:
    ten = {"answer": "10", "hops": (("f", "10"),)}
    lazy = episode(1, agent="do-nothing", text="I have no answer", hops=())
    assert found([lazy], "scoring_baselines") is None
    holes = finished(text="I have no answer to this.", agent="do-nothing", answer="0")
    finding = only([holes], "scoring_baselines")
    assert (finding.severity, finding.evidence["official"]) == (Severity.WARNING, 1)
    luck = finished(text="<answer>10</answer>", agent="constant:10", **ten)
    assert only([luck], "scoring_baselines").severity is Severity.WARNING
    broken = finished(text="nothing", agent="do-nothing", answer="nothing")
    assert only([broken], "scoring_baselines").severity is Severity.ERROR
    assert found([replace(right(1, agent="constantin"))], "scoring_baselines") is None


GAPS = [
    ("0", "I do not know", None, Gap.ANY_TEXT),
    ("Oslo", "<answer>unknown</answer>", '"Oslo"', Gap.TOOL_MESSAGE),
    ("10", "<answer>21</answer>", None, Gap.ZEROS_CUT),
    ("s", "<answer>unknown</answer>", None, Gap.TAG_LETTERS),
    ("Oslo", "Not Oslo: <answer>Bergen</answer>", None, Gap.BESIDE_THE_ANSWER),
    ("Oslo", "<answer>Oslo or Bergen</answer>", None, Gap.CONTAINMENT),
    ("Oslo", "It is Oslo, I think", None, Gap.CONTAINMENT),
    ("1,000", "<answer>1000</answer>", None, Gap.COMMA),
    ("7", "<answer>seven</answer>", None, None),
    ("1.50", "<answer>+1.5</answer>", None, None),
    ("+7", "<answer>7</answer>", None, Gap.FORM),
    ("Oslo", "<answer>Oslo</answer>", None, None),
    ("Oslo", "<answer>Bergen</answer>", None, None),
]


@pytest.mark.parametrize(("gold", "text", "tool", "why"), GAPS, ids=str)
def test_rules_that_differ_and_why(gold: str, text: str, tool: str | None, why: Gap | None) -> None:
    calls = [] if tool is None else [called("f", json.loads(tool))]
    trace = finished(*calls, text=text, answer=gold)
    assert explain_gap(trace) is why
    found = {one.kind: one.evidence for one in diagnose({"run": [trace]}) if "_only" in one.kind}
    wanted = "strict_only" if why in {Gap.COMMA, Gap.FORM} else "official_only"
    assert found == ({wanted: {"reasons": {why.value: 1}}} if why else {})


def test_a_last_message_that_still_calls_is_no_answer() -> None:
    call = raw("f", "{}")
    events = (started(answer="Oslo"), Replied(1, Reply("Oslo?", (call,))))
    trace = Trace((*events, Ended(Ending.OUT_OF_CALLS, 1.0)))
    assert explain_gap(trace) is Gap.NO_ANSWER


@given(
    st.text(st.sampled_from("0.1,aO \"'-+"), min_size=1, max_size=6),
    st.text(st.sampled_from("0.1,aO \"'-+"), max_size=8),
    st.booleans(),
    st.none() | st.text(st.sampled_from("0.1,aO"), max_size=6),
)
def test_a_reason_is_given_exactly_where_the_rules_differ(
    gold: str, text: str, tagged: bool, tool: str | None
) -> None:
    said = f"<answer>{text}</answer>" if tagged else text
    trace = finished(*([] if tool is None else [called("f", tool)]), text=said, answer=gold)
    one = official(gold, trace.conversation()) is True
    other = strict(gold, said)
    why = explain_gap(trace)
    assert (why is None) == (one == other)
    assert (why in {Gap.COMMA, Gap.FORM}) == (other and not one)
    if why is Gap.TOOL_MESSAGE:
        assert isinstance(trace.conversation()[-2], ToolMessage)


def test_rule_gaps_are_a_warning_from_a_share_on() -> None:
    loose = [episode(n, text="36 or 37") for n in range(3)]
    assert only(loose, "official_only").severity is Severity.WARNING
    assert only(loose[:2], "official_only").severity is Severity.NOTE
    many = [right(n) for n in range(3, 100)]
    assert only([*loose, *many], "official_only").severity is Severity.NOTE


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_replies_cut_by_their_tokens(reason: str) -> None:
    trace = right(1)
    cut = Replied(1, Reply("Let me thi", finish_reason=reason))
    assert only([Trace((trace.events[0], cut, *trace.events[2:]))], "cut_replies")
    for fine in ("stop", "tool_calls", ""):
        whole = Replied(1, Reply("Let me think", finish_reason=fine))
        assert found([Trace((trace.events[0], whole, *trace.events[2:]))], "cut_replies") is None


def with_prompt(trace: Trace, tool_chars: int, tokens: int, text: str = "x" * 600) -> Trace:
    """The trace with a prompt and tools of so many characters, and its tokens as counted."""
    start = replace(trace.started, messages=(UserMessage(text),), tool_chars=tool_chars)
    first = trace.replies[0]
    reply = replace(first.reply, usage=Usage(input_tokens=tokens))
    rest = [replace(one, reply=reply) if one == first else one for one in trace.events[1:]]
    return Trace((start, *rest))


def counted_alike(trace: Trace) -> Trace:
    """The trace with one more reply, of whose longer prompt as many tokens were counted."""
    again = replace(trace.replies[0], turn=2)
    return Trace((*trace.events[:2], again, *trace.events[2:]))


def test_tools_that_never_reached_the_model() -> None:
    lost = [with_prompt(episode(n), 2400, 170) for n in range(2)]
    finding = only(lost, "tools_unseen")
    assert finding.severity is Severity.ERROR
    assert len(finding.episodes) == 2
    for trace in (
        with_prompt(episode(1), 2400, 700),  # they are in it
        with_prompt(episode(1), 2400, 0),  # nobody counted
        with_prompt(episode(1), 0, 170),  # none were sent beside the text
        with_prompt(episode(1), 200, 170),  # too small to tell
        with_prompt(episode(1), 2400, 1),  # cannot hold the messages: a wrong count
        with_prompt(right(1), 2400, 170),  # a tool was called by its name
        counted_alike(with_prompt(episode(1), 2400, 170)),
    ):
        assert found([trace], "tools_unseen") is None


def test_calls_that_a_lenient_reader_would_have_run() -> None:
    repaired, broken = rejected("born", repaired=True), rejected("born", repaired=False)
    trace = episode(1, repaired, repaired, broken, broken, broken, call_format=CallFormat.TEXT)
    finding = only([trace], "repairable_calls")
    assert (finding.evidence["rejected"], finding.evidence["repairable"]) == (5, 2)
    assert "text tool-call format" in finding.text
    assert found([episode(1, repaired, repaired, broken, broken)], "repairable_calls") is None
    assert found([episode(1, repaired, *[broken] * 4)], "repairable_calls") is None


def test_the_same_answer_to_all_items() -> None:
    golds = [{"answer": str(n), "hops": ()} for n in range(5)]
    same = [
        finished(text="<answer>I  cannot</answer>", item=f"i{n}", item_digest=f"d{n}", **gold)
        for n, gold in enumerate(golds)
    ]
    finding = only(same, "same_answers")
    assert (finding.evidence["episodes"], finding.evidence["of"]) == (5, 5)
    assert found(same[:4], "same_answers") is None
    others = [finished(text=f"<answer>x{n}</answer>", item=f"j{n}") for n in range(2)]
    assert found([*same, *others], "same_answers") is None
    constant = [
        finished(text="<answer>I</answer>", agent="constant:I", item=f"i{n}", **gold)
        for n, gold in enumerate(golds)
    ]
    assert found(constant, "same_answers") is None
    alike = [right(number) for number in range(6)]
    assert found(alike, "same_answers") is None


@pytest.mark.usefixtures("graded")
def test_a_benchmark_without_hops_or_reasons_is_looked_at_by_its_own_measures() -> None:
    tries = [
        answered("It is Oslo", *failing("find"), item=f"i{n}", item_digest=f"d{n}", episode=f"e{n}")
        for n in range(3)
    ]
    marks = marked(*((trace, 0.5) for trace in tries))
    kinds = {one.kind: one for one in diagnose({"run": tries}, {"run": marks})}
    assert set(kinds) == {"failing_tools", "official_only"}
    assert kinds["official_only"].evidence["reasons"] == {"unexplained": 3}
    assert "right by official and wrong by strict" in kinds["official_only"].text


@pytest.mark.usefixtures("graded")
def test_a_judges_marks_say_what_is_solved() -> None:
    names = [("a", "i1"), ("b", "i1"), ("c", "i1"), ("d", "i2")]
    tries = [answered(f"It is {name}", item=i, episode=name, epoch=n)
             for n, (name, i) in enumerate(names, start=1)]  # fmt: skip
    marks = marked(*((trace, 0.0) for trace in tries[:3]), (tries[3], 1.0))
    kinds = {one.kind for one in diagnose({"run": tries}, {"run": marks})}
    assert "unsolved_items" in kinds
    assert "unsolved_items" not in {one.kind for one in diagnose({"run": tries})}
    lazy = [answered("no", agent="do-nothing", episode="lazy")]
    (finding,) = diagnose({"run": lazy}, {"run": marked((lazy[0], 2.0))})
    assert (finding.kind, finding.severity) == ("scoring_baselines", Severity.WARNING)
    assert finding.evidence == {"mark": 1, "strict": 0, "official": 0, "episodes": 1}


def test_findings_come_worst_first_and_each_kind_is_documented() -> None:
    errored = ended(right(9), Ending.ERRORED, "gone")
    traces = [*(episode(n, text="36 or 37") for n in range(3)), errored]
    severities = [one.severity for one in diagnose({"run": traces})]
    assert severities == sorted(severities, key=list(Severity).index)
    assert len(severities) > 1
    page = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    text = Path(__file__).read_text(encoding="utf-8")
    for check in CHECKS:
        kinds = ("official_only", "strict_only") if check.__name__ == "scorer_gaps" else ()
        for kind in kinds or (check.__name__,):
            assert f"`{kind}`" in page
            assert kind in text


def test_the_command_prints_findings_and_ends_with_1_for_errors(tmp_path: Path) -> None:
    items = [small_item(f"small-{number}") for number in range(1, 5)]
    store = recorded(tmp_path, items, sandbox=inline_sandbox())

    def run(*arguments: object) -> tuple[int, str]:
        code, out, err = invoked(*arguments)
        return code, out + err

    code, out = run("diagnose", store.folder)
    assert (code, out) == (0, "Nothing looks wrong with the harness.\n")
    edited(
        store,
        "small-1_mandatory_e1_a1",
        lambda events: events[-1].update(ending="errored", reason="the disk \x1b[31m was full"),
    )
    code, out = run("diagnose", store.folder, "--json")
    assert code == 1
    (finding,) = [json.loads(line) for line in out.splitlines()]
    assert finding["kind"] == "errored_episodes"
    assert finding["episodes"] == ["small-1_mandatory_e1_a1"]
    code, out = run("diagnose", store.folder)
    assert "error: errored_episodes: 1 episode errored" in out
    assert "\x1b" not in out
    assert "errored_episodes" in run("show", store.folder)[1]
    assert "errored_episodes" not in run("show", store.folder, "--failed")[1]
    assert run("diagnose", tmp_path)[0] == 2
