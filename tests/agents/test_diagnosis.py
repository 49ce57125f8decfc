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

from agents.diagnosis.diagnose import CHECKS, diagnose
from agents.diagnosis.finding import Finding, Severity
from agents.diagnosis.rule_gaps import Gap, gap
from env.answers import official, strict
from env.messages import Reply, ToolMessage
from env.reading import Dialect
from env.trace import Called, Ended, Ending, Hops, Replied, Trace
from env.verdicts import ErrorCode, Problem, Rejected, Repair
from sandbox.outcome import Outcome, OutOfMemory, Raised, Refused, TimedOut
from tests.agents.items import small_item
from tests.agents.recorded import edited, invoked, recorded
from tests.env.made import called, finished, raw, started

ROOT = Path(__file__).parents[2]


def episode(
    number: int,
    *calls: Called,
    answer: str = "36",
    player: str = "m",
    text: str | None = None,
    **changes: object,
) -> Trace:
    """An episode of item `number` by `player`; the gold is 36, of the hops 1815 and 36."""
    names = {"episode": f"{player}-{number}", "item": f"i{number}", "item_digest": f"d{number}"}
    said = f"<answer>{answer}</answer>" if text is None else text
    return finished(*calls, text=said, **{**names, "player": player, **changes})


def right(number: int, **changes: Any) -> Trace:  # noqa: ANN401 -- fields of `started`
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


def rejected(tool: str, *, repaired: bool) -> Called:
    problem = Problem(ErrorCode.NOT_JSON, "", "text", "JSON")
    mended = Repair(tool, {}, ("quotes",)) if repaired else None
    return called(tool, rejected=Rejected((problem,), mended))


def test_a_run_without_faults_has_no_finding() -> None:
    assert diagnose({"run": [right(number, answer="36") for number in range(4)]}) == []


def test_runs_in_which_nothing_has_ended_are_told_apart_from_sound_ones() -> None:
    begun = Trace(right(1).events[:-1])
    assert only([begun], "nothing_ended").severity is Severity.WARNING
    assert found([begun, right(2)], "nothing_ended") is None


def test_void_episodes_are_told_by_cause() -> None:
    voids = [
        ended(right(n), Ending.VOID, f"the endpoint did not answer after {n}.5 s") for n in (1, 2)
    ]
    finding = only([right(0), *voids, ended(right(3), Ending.VOID, "disk full")], "void_episodes")
    assert finding.severity is Severity.ERROR
    assert finding.evidence["causes"] == {
        "the endpoint did not answer after #.# s": 2,
        "disk full": 1,
    }
    assert finding.episodes == ("m-1", "m-2", "m-3")


def test_void_attempts_that_were_made_good_are_a_note_and_branches_are_nothing() -> None:
    first = ended(right(1, episode="a1", attempt=1), Ending.VOID, "gone")
    again = right(1, episode="a2", attempt=2)
    assert found([first, again], "void_episodes") is None
    assert only([first, again], "void_attempts").severity is Severity.NOTE
    branch = right(1, episode="a2", attempt=2, parent="a1")
    assert found([first, branch], "void_attempts") is None
    assert found([Trace(right(2).events[:-1])], "void_episodes") is None


def test_tools_that_always_fail() -> None:
    finding = only([episode(1, *failing("born"))], "failing_tools")
    assert finding.severity is Severity.ERROR
    assert finding.evidence["i1 born"] == {"calls": 3, "codes": {"raised": 3}}
    same = [*failing("born", times=1)] * 5
    assert found([episode(1, *same)], "failing_tools") is None
    assert found([episode(1, *failing("born"), called("born", "1815"))], "failing_tools") is None
    assert found([episode(1, *failing("x", error=ErrorCode.UNKNOWN_TOOL))], "failing_tools") is None
    assert only([episode(1, *same[:1], player="oracle")], "failing_tools")
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
    finding = only([episode(1, *wrong)], "silent_hops")
    assert finding.evidence["i1 hop 1"] == {"tool": "born", "gold": "1815", "calls": 3}
    assert found([episode(1, *wrong[:2])], "silent_hops") is None
    assert found([episode(1, *[wrong[0]] * 3)], "silent_hops") is None
    elsewhere = called("minus", {"year": 1815})
    assert found([episode(1, *wrong), episode(1, elsewhere, player="n")], "silent_hops") is None
    assert only([episode(1, wrong[0], player="oracle")], "silent_hops")
    assert found([episode(1, *failing("born"))], "silent_hops") is None


def test_items_that_nobody_solves() -> None:
    tries = [episode(1, answer="7", epoch=epoch, episode=f"e{epoch}") for epoch in (1, 2, 3)]
    finding = only([*tries, right(2)], "unsolved_items")
    assert finding.severity is Severity.NOTE
    evidence = finding.evidence["i1"]
    assert isinstance(evidence, dict)
    assert (evidence["tries"], evidence["players"], evidence["hops"]) == (3, ["m"], 2)
    assert found(tries, "unsolved_items") is None  # they solved nothing at all
    assert found([*tries[:2], right(2)], "unsolved_items") is None
    assert found([*tries, right(1, player="n"), right(2)], "unsolved_items") is None
    lazy = [episode(1, answer="7", player="do-nothing", epoch=n) for n in (1, 2, 3)]
    assert found([*lazy, right(2)], "unsolved_items") is None
    by_oracle = only([episode(1, answer="7", player="oracle")], "unsolved_items")
    assert by_oracle.severity is Severity.WARNING


def test_items_are_looked_at_over_all_runs() -> None:
    runs = {name: [episode(1, answer="7", player=name), right(2, player=name)] for name in "abc"}
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
    ten = {"answer": "10", "hops": Hops(("f",), ("10",))}
    lazy = episode(1, player="do-nothing", text="I have no answer", hops=Hops((), ()))
    assert found([lazy], "scoring_baselines") is None
    holes = finished(text="I have no answer to this.", player="do-nothing", answer="0")
    finding = only([holes], "scoring_baselines")
    assert (finding.severity, finding.evidence["official"]) == (Severity.WARNING, 1)
    luck = finished(text="<answer>10</answer>", player="constant:10", **ten)
    assert only([luck], "scoring_baselines").severity is Severity.WARNING
    broken = finished(text="nothing", player="do-nothing", answer="nothing")
    assert only([broken], "scoring_baselines").severity is Severity.ERROR
    assert found([replace(right(1, player="constantin"))], "scoring_baselines") is None


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
    assert gap(trace) is why
    kinds = {one.kind for one in diagnose({"run": [trace]})} & {"official_only", "strict_only"}
    wanted = {"strict_only"} if why in {Gap.COMMA, Gap.FORM} else {"official_only"}
    assert kinds == (wanted if why else set())


def test_a_last_message_that_still_calls_is_no_answer() -> None:
    call = raw("f", "{}")
    events = (started(answer="Oslo"), Replied(1, Reply("Oslo?", (call,))))
    trace = Trace((*events, Ended(Ending.OUT_OF_CALLS, 1.0)))
    assert gap(trace) is Gap.NO_ANSWER


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
    why = gap(trace)
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


def test_answers_lost_between_the_last_result_and_the_message() -> None:
    lost = [episode(n, called("minus", 36), answer="37") for n in range(3)]
    finding = only(lost, "lost_answers")
    assert finding.severity is Severity.WARNING
    assert "gold '36', given '37'" in finding.text
    assert found([right(1)], "lost_answers") is None
    assert found([ended(lost[0], Ending.OUT_OF_TURNS)], "lost_answers") is None
    assert found([episode(1, called("minus", 35), answer="37")], "lost_answers") is None


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_replies_cut_by_their_tokens(reason: str) -> None:
    trace = right(1)
    cut = Replied(1, Reply("Let me thi", finish_reason=reason))
    assert only([Trace((trace.events[0], cut, *trace.events[2:]))], "cut_replies")
    for fine in ("stop", "tool_calls", ""):
        whole = Replied(1, Reply("Let me think", finish_reason=fine))
        assert found([Trace((trace.events[0], whole, *trace.events[2:]))], "cut_replies") is None


def test_calls_that_a_lenient_reader_would_have_run() -> None:
    mended, broken = rejected("born", repaired=True), rejected("born", repaired=False)
    trace = episode(1, mended, mended, broken, broken, broken, dialect=Dialect.TEXT)
    finding = only([trace], "repairable_calls")
    assert (finding.evidence["rejected"], finding.evidence["repairable"]) == (5, 2)
    assert "text dialect" in finding.text
    assert found([episode(1, mended, mended, broken, broken)], "repairable_calls") is None
    assert found([episode(1, mended, *[broken] * 4)], "repairable_calls") is None


def test_the_same_answer_to_all_items() -> None:
    golds = [{"answer": str(n), "hops": Hops((), ())} for n in range(5)]
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
        finished(text="<answer>I</answer>", player="constant:I", item=f"i{n}", **gold)
        for n, gold in enumerate(golds)
    ]
    assert found(constant, "same_answers") is None
    alike = [right(number) for number in range(6)]
    assert found(alike, "same_answers") is None


def test_findings_come_worst_first_and_each_kind_is_documented() -> None:
    voided = ended(right(9), Ending.VOID, "gone")
    traces = [*(episode(n, text="36 or 37") for n in range(3)), voided]
    severities = [one.severity for one in diagnose({"run": traces})]
    assert severities == sorted(severities, key=list(Severity).index)
    assert len(severities) > 1
    page = (ROOT / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    text = Path(__file__).read_text(encoding="utf-8")
    for check in CHECKS:
        kinds = ("official_only", "strict_only") if check.__name__ == "rule_gaps" else ()
        for kind in kinds or (check.__name__,):
            assert f"`{kind}`" in page
            assert kind in text


def test_the_command_prints_findings_and_ends_with_1_for_errors(tmp_path: Path) -> None:
    items = [small_item(f"small-{number}") for number in range(1, 5)]
    store = recorded(tmp_path, items)

    def run(*arguments: object) -> tuple[int, str]:
        code, out, err = invoked(*arguments)
        return code, out + err

    code, out = run("diagnose", store.folder)
    assert (code, out) == (0, "Nothing looks wrong with the harness.\n")
    edited(
        store,
        "small-1_mandatory_e1_a1",
        lambda events: events[-1].update(ending="void", reason="the disk \x1b[31m was full"),
    )
    code, out = run("diagnose", store.folder, "--json")
    assert code == 1
    (finding,) = [json.loads(line) for line in out.splitlines()]
    assert finding["kind"] == "void_episodes"
    assert finding["episodes"] == ["small-1_mandatory_e1_a1"]
    code, out = run("diagnose", store.folder)
    assert "error: void_episodes: 1 episodes are void" in out
    assert "\x1b" not in out
    assert "void_episodes" in run("show", store.folder)[1]
    assert "void_episodes" not in run("show", store.folder, "--failed")[1]
    assert run("diagnose", tmp_path)[0] == 2
