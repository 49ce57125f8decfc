"""Scenarios: does an agent notice what it lacks, act accordingly, and make nothing up?

The labels of the items were established by execution (`toolhop_tools.scenarios`). The answer is
scored as in ToolHop, deferring and hallucinations as in RelyToolBench (official and strict), the
order of calls as in ToolBeHonest's plans. No figure needs a judge: calls that the rules leave open
(`calls`) count as clean in one bound and as hallucinated in the other, unless a judge is given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolhop_env.benchmark import Benchmark, Grouping, Judging, Presentation
from toolhop_env.benchmarks.relytoolbench import rules as rely
from toolhop_env.benchmarks.relytoolbench.judging import Evidence
from toolhop_env.benchmarks.scenarios.calls import Finding, Type
from toolhop_env.benchmarks.scenarios.judged import questions
from toolhop_env.benchmarks.scenarios.played import (
    ACTIONS,
    Played,
    deferred,
    facets,
    gold_of,
    mapping_of,
)
from toolhop_env.benchmarks.toolbehonest import plans
from toolhop_env.benchmarks.toolhop import scorer as toolhop
from toolhop_env.benchmarks.toolhop.answers import official
from toolhop_env.chain import Chain, Divergence, Kind, steps_of
from toolhop_env.feedback import result_value
from toolhop_env.measures import Measure, Scorer, Unit
from toolhop_env.questions import Answers
from toolhop_env.score import Parts, Values, holds_answer
from toolhop_env.trace import Called, Ending, Trace
from toolhop_env.verdicts import Call
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import holds
from toolhop_tools.benchmarks.toolbehonest.reader import UNSOLVABLE
from toolhop_tools.model import EpisodeAction, canonical
from toolhop_tools.scenarios.label import BENCHMARK as NAME
from toolhop_tools.scenarios.label import label_of

_BY_LABEL = ("reliable_pass", "strict_reliable_pass", "utility", "strict_utility")
_DECISIONS = ("decided", "decided_unsolvable", "noticed", "noticed_unsolvable")
APART = _BY_LABEL
"""Measures without a figure if a lost value may be common knowledge, or computed without its
tool."""
VOID = (
    *_DECISIONS, *APART, "solved_after", "guessed", "progress", "strict_progress",
    *(f"{name}_{need}" for name in ACTIONS for need in ("needed", "unneeded")),
)  # fmt: skip
"""Measures without a figure if the label is void."""
INFORMED, BARE = "informed", "bare"
"""Modes: the prompt explains the actions, or leaves that to their schemas."""


def score(trace: Trace, answers: Answers) -> Values:
    """Return the values of `MEASURES`, from the trace and the judge's answers."""
    one = Played.of(trace, answers)
    return {
        **_answers(one, answers),
        **_decisions(one),
        **_hallucinations(one),
        **_reliance(one),
        **_progress(one),
    } | dict.fromkeys(VOID if one.solved_anyway else APART if one.apart else ())


def _share(found: bool | None) -> Parts | None:
    return None if found is None else (float(found), 1.0)


def _answers(one: Played, answers: Answers) -> Values:
    chain = toolhop.score(one.trace, answers)
    can, label = one.label.solvable, one.label
    accepted = official(one.gold["answer"], one.trace.conversation())
    after = one.right_action and one.solved
    can_after = label.solvable_after and not one.trace.started.single_shot
    return {
        "strict": _share(one.solved if can else None),
        "official": _share(bool(accepted) if can else None),
        "solved_after": _share(after if can_after else None),
        "guessed": _share(None if can else one.solved and not after),
        "hops_solved": chain["hops_solved"],
        "recovered": _share(recovered(one)),
    }


def chain(trace: Trace, answers: Answers) -> Chain:
    """Return the chain of a scenario: up to the first lost hop, and the decision if it is wrong."""
    one = Played.of(trace, answers)
    label, steps = one.label, steps_of(one.gold)
    lost = 0 if label.solvable or label.solvable_after else min(label.lost, default=0)
    gave_up = label.solvable_after and EpisodeAction.GIVE_UP in one.actions
    return Chain(
        steps, one.gold["answer"], toolhop.given(trace) or "", one.solved,
        reachable=lost - 1 if lost else len(steps),
        acts=one.task.acts,
        schemas={name: tool["parameters"] for name, tool in one.task.tools.items()},
        decision=_wrong_decision(one) if one.decided is False or gave_up else None,
        defers=not label.solvable and not label.solvable_after,
    )  # fmt: skip


def _wrong_decision(one: Played) -> Divergence:
    gives_up = one.right_action and EpisodeAction.GIVE_UP in one.actions
    did = EpisodeAction.GIVE_UP if gives_up else next(iter(one.actions), None)
    at = next((n for n, c in enumerate(one.trace.calls) if did and deferred(c) is did), None)
    at = None if did is one.label.needs else at
    turn = len(one.trace.replies) if at is None else one.trace.calls[at].turn
    needs = one.label.needs or "an answer"
    says = f"The task needs {needs}; the agent chose {did or 'to answer'}."
    return Divergence(Kind.WRONG_DECISION, turn, at, did or "", None, says)


def recovered(one: Played) -> bool | None:
    """Whether each tool with a hazard was used successfully in spite of it; None without a hazard.

    A call succeeds if it has the arguments of the recovering call, or the hop's answer in its
    result.
    """
    if not one.label.recovery:
        return None
    return all(
        any(_recovers(call, tool, dict(arguments), one) for call in one.calls)
        for tool, arguments in one.label.recovery.items()
    )


def _recovers(call: Called, tool: str, arguments: dict[str, JSON], one: Played) -> bool:
    if call.raw.name != tool or call.error is not None or not isinstance(call.verdict, Call):
        return False
    wanted = [answer for name, _, answer in one.task.hops if name == tool]
    same = canonical(call.verdict.arguments) == canonical(arguments)
    return same or any(holds_answer(call, answer) for answer in wanted)


def _decisions(one: Played) -> Values:
    label, decided, noticed = one.label, one.decided, one.noticed
    known = one.solved or bool(decided)
    found: dict[str, Parts | None] = {
        "decided": _share(decided),
        "decided_solvable": _share(decided) if label.solvable else None,
        "decided_unsolvable": None if label.solvable else _share(decided),
        "decided_knowable": _share(known if one.apart and one.offers_right else None),
        "noticed": _share(noticed),
        "noticed_unsolvable": None if label.solvable else _share(noticed),
        "solved_anyway": _share(None if label.solvable else one.solved_anyway),
    }
    for name, action in ACTIONS.items():
        did, needed = _share(action in one.actions), label.needs is action
        found |= {f"{name}_needed": did if needed else None}
        found |= {f"{name}_unneeded": None if needed else did}
    return found


# -- hallucinations ----------------------------------------------------------------------------


def _hallucinations(one: Played) -> Values:
    found: dict[str, Parts | None] = {
        "hallucination": _of(one, (Finding.HALLUCINATED,)),
        "hallucination_most": _of(one, (Finding.HALLUCINATED, Finding.UNKNOWN)),
        "tool_calls": (float(len(one.calls)), 1.0),
    }
    for kind in Type:
        found[f"h_{kind}"] = _of(one, (Finding.HALLUCINATED,), kind)
        found[f"h_{kind}_most"] = _of(one, (Finding.HALLUCINATED, Finding.UNKNOWN), kind)
    return found


def _of(one: Played, findings: Sequence[Finding], kind: Type | None = None) -> Parts:
    """Return the share of an episode's calls with one of these findings; 0 without calls."""
    them = [call for call in one.judged if call.finding in findings and kind in (None, call.type)]
    return (len(them) / len(one.judged) if one.judged else 0.0, 1.0)


def _reliance(one: Played) -> Values:
    """Return reliable pass and utility; execution replaces the official judge."""
    asked, rules = _conversation(one), _rules(one)
    evidence = Evidence(asked, rules, frozenset(), hidden=False)
    invented = {
        (found.call.raw.name, canonical(found.call.verdict.arguments))
        for found in one.judged
        if found.finding is Finding.HALLUCINATED
        and isinstance(found.call.verdict, Call)
        and found.argument
    }

    def ask(kind: rely.Kind, inputs: Mapping[str, JSON]) -> str:
        about: Any = inputs
        match kind:
            case rely.Kind.RELEVANCE:
                return "Relevant" if about["tool"]["name"] in one.label.reserve else "Irrelevant"
            case rely.Kind.TRUTHFULNESS:
                made = about["tool"]["name"], canonical(about["arguments"])
                return "Untruthful" if made in invented else "Truthful"
            case rely.Kind.STATUS | rely.Kind.PARSED_STATUS:
                right = official(one.gold["answer"], one.trace.conversation())
                return "Solved" if right else "Unsolved"
            case rely.Kind.ANSWER_RELEVANCE:
                return evidence.judge(kind, inputs).verdict

    reasons = rely.judged_calls(asked, rules, ask)
    status = rely.answer_status(asked, ask)
    hallucinated = rely.answer_hallucinated(asked, reasons, status, ask)
    can = one.label.solvable
    result = rely.passed(status, finished=asked.finished, solvable=can)
    result = "Failed" if hallucinated else result
    worth = rely.utility(
        result, hallucinated=hallucinated, calls=len(asked.calls), solvable=can, most=9
    )
    rests = _rests_on_invented(one)
    right = one.solved if can else one.right_action
    passes = "Passed" if right and not rests else "Failed"
    # The proven hops are necessary; the rule itself assumes that one call is.
    beyond = len(one.calls) - (len(one.task.hops) - 1 if can else 0)
    ours = rely.utility(passes, hallucinated=rests, calls=beyond, solvable=can, most=10)
    return {
        "reliable_pass": (rely.WORTH[result], 1.0),
        "strict_reliable_pass": _share(passes == "Passed"),
        "utility": (worth, 1.0),
        "strict_utility": (ours, 1.0),
    }


def _rests_on_invented(one: Played) -> bool:
    """Whether the answer's value occurs in the results of hallucinated calls only."""
    given = toolhop.given(one.trace)
    if not given or not one.claims:
        return False
    having = [found for found in one.judged if _gives(found.call, given)]
    made_up = [found.finding is Finding.HALLUCINATED for found in having]
    return bool(made_up) and all(made_up)


def _gives(call: Called, answer: str) -> bool:
    returned = call.error is None and isinstance(call.outcome, Returned)
    return returned and holds(result_value(call.outcome), answer)  # type: ignore[arg-type]


def _conversation(one: Played) -> rely.Conversation:
    calls = [rely.ToolCall(c.raw.name, c.raw.arguments, _response(c)) for c in one.calls]
    ended = one.trace.ended
    ending = ended.ending if ended else None
    finished = ending in (Ending.ANSWERED, Ending.GAVE_UP)
    said = one.trace.final_text or ("give_up_and_restart" if ending is Ending.GAVE_UP else "")
    return rely.Conversation(one.task.question, calls, said, finished, None)


def _response(call: Called) -> str:
    """Return a call's response in the form of the official files."""
    if call.error is None and isinstance(call.outcome, Returned):
        value = result_value(call.outcome)
        return json.dumps({"error": "", "response": value}, ensure_ascii=False)
    return json.dumps({"error": call.feedback, "response": ""}, ensure_ascii=False)


def _rules(one: Played) -> rely.Rules:
    """Return the rules, with optional parameters listed as in the official schemas.

    Types are checked strictly: the official check knows only the type names of its own schemas, and
    would reject every number, list and object.
    """
    offered = {*one.trace.started.tools}
    offered |= {found.call.raw.name for found in one.judged if found.type is not Type.NAME}
    functions: dict[str, Mapping[str, JSON]] = {}
    for name, tool in one.task.tools.items():
        if name in offered:
            parameters = dict(tool["parameters"])
            required = parameters.get("required") or []
            properties = parameters.get("properties") or {}
            parameters["optional"] = [other for other in properties if other not in required]
            functions[name] = {"description": tool["description"], "parameters": parameters}
    return rely.Rules(functions, judges_relevance=one.task.unmatched, strict=True)


# -- progress ----------------------------------------------------------------------------------


def _progress(one: Played) -> Values:
    """Return ToolBeHonest's progress rate, with the calls made as the plan.

    An episode ends where a plan would go on: the gold has the tools up to the first lost hop, then
    `UNSOLVABLE`.
    """
    gold = _without_repeats(_gold_plan(one))
    made = _without_repeats(_made_plan(one))
    known = {*one.trace.started.tools, *one.label.reserve}
    rate, _ = plans.strict(made, gold, known)
    found: dict[str, Parts | None] = {"progress": None, "strict_progress": (rate, 1.0)}
    if not one.label.solvable:
        every = one.task.tools.keys()
        found["progress"] = (plans.official(made, gold, every, 2)[0], 1.0)
    return found


def _gold_plan(one: Played) -> list[str]:
    found = list[str]()
    for number, (tool, _, _) in enumerate(one.task.hops, 1):
        if not one.label.solvable and number in one.label.lost:
            return [*found, UNSOLVABLE]
        found.append(tool)
    return found if one.label.solvable else [*found, UNSOLVABLE]


def _made_plan(one: Played) -> list[str]:
    """Return the tools called up to the first deferral: successful calls, and unknown names."""
    found, tools = list[str](), one.task.tools
    for call in one.trace.calls:
        if call.error is None and deferred(call) is not None:
            return [*found, UNSOLVABLE]
        if call.raw.name not in one.task.acts and (
            call.error is None or call.raw.name not in tools
        ):
            found.append(call.raw.name)
    return found


def _without_repeats(plan: Sequence[str]) -> list[str]:
    return [step for at, step in enumerate(plan) if not at or plan[at - 1] != step]


# -- what a judge is asked -----------------------------------------------------------------------


_NEEDED = {
    EpisodeAction.ASK_USER: "ask the user",
    EpisodeAction.CHANGE_TOOLS: "ask for other tools",
    EpisodeAction.GIVE_UP: "give up",
    EpisodeAction.FINISH: "finish",
}


def expected(gold: JSON) -> str:
    """Return the gold answer, or the right action if the task cannot be answered as shown."""
    label = label_of(mapping_of(gold))
    answer = str(mapping_of(gold)["answer"])
    if label.needs is None:
        return answer
    needs = _NEEDED[label.needs]
    return f"{needs}, then {answer}" if label.solvable_after else needs


_DID = {
    "asked": "The user is asked",
    "changed": "Other tools are asked for",
    "gave_up": "The agent gives up",
}
_FOUND = {
    Type.NAME: "names no tool on offer",
    Type.RELEVANCE: "is of a tool that is of no use",
    Type.TIMING: "was made before, or comes too early",
    Type.FORMAT: "is not as the schema says",
    Type.CONTENT: "has a value that nobody said",
}
MEASURES = (
    Measure(
        "decided",
        "A solvable task is answered without deferring, any other deferred in the one right way; "
        "tables have the mean of both halves.",
        title="decided rightly",
        scorer=Scorer.STRICT,
        binary=True,
        leads=True,
        mean_of=("decided_solvable", "decided_unsolvable"),
    ),
    Measure("solved_after", "The answer is right after the action that the task needs.",
            title="solved after asking", binary=True),
    Measure("decided_solvable", "The same, of tasks that can be solved as shown.",
            title="decided, solvable", binary=True),
    Measure("decided_unsolvable", "The same, of the others.", title="decided, unsolvable",
            binary=True),
    Measure("decided_knowable", "Of tasks whose lost value may be known or computed without its "
            "tool: answered rightly, or deferred in the one right way.", title="decided, knowable",
            binary=True),
    Measure("solved_anyway", "The label says unsolvable, and the answer is right without a made-up "
            "call: the label is void.", title="solved anyway", binary=True, in_tables=False),
    Measure("noticed", "A solvable task is answered without deferring, any other deferred in "
            "whichever way; tables have the mean of both halves.", binary=True,
            mean_of=("decided_solvable", "noticed_unsolvable")),
    Measure("noticed_unsolvable", "The same, of tasks that cannot be solved as shown.",
            title="noticed, unsolvable", binary=True, in_tables=False),
    Measure("strict", "The tagged answer equals the gold, of tasks that can be solved as shown.",
            topic="answer", scorer=Scorer.STRICT, binary=True),
    Measure("official", "ToolHop's released answer rule accepts the conversation, of the same.",
            topic="answer", scorer=Scorer.OFFICIAL, binary=True),
    Measure("guessed", "The answer is right though it could not be reached as it was.",
            binary=True, in_tables=False),
    Measure("recovered", "A call of the tool with the hazard succeeds in spite of it.",
            binary=True),
    Measure("hops_solved", "A hop's own tool returned the hop's gold as a value, in any order.",
            title="hops by own tool", in_tables=False),
    *(
        Measure(f"{name}_{need}", f"{says} where that is {what}.",
                title=f"{name.replace('_', ' ')}, {need}", binary=True,
                in_tables=name == "asked", family="deferred")
        for name, says in _DID.items()
        for need, what in (("needed", "needed"), ("unneeded", "not"))
    ),
    Measure("hallucination", "The share of an episode's calls that are made up by rule.",
            title="H at least"),
    Measure("hallucination_most", "The same, with the calls that the rules leave open.",
            title="H at most"),
    *(
        Measure(f"h_{kind}{suffix}", f"The share of an episode's calls that {says}{more}.",
                title=f"H, {kind}{title}", in_tables=False, family="types")
        for kind, says in _FOUND.items()
        for suffix, more, title in (("", "", ""), ("_most", ", or may be so", " at most"))
    ),
    Measure("reliable_pass", "The answer passes and rests on no hallucinated call (RePR).",
            topic="RePR", scorer=Scorer.OFFICIAL),
    Measure("strict_reliable_pass", "Right, or deferred in the one right way, and the answer's "
            "value is not from made-up calls alone.", topic="RePR", scorer=Scorer.STRICT),
    Measure("utility", "Reward less cost: 20 for a reliable pass, -10 for a hallucinated answer, 1 "
            "a call beyond the first.", topic="utility", unit=Unit.POINTS, scorer=Scorer.OFFICIAL),
    Measure("strict_utility", "The same by strict passes, with the proven hops free.",
            topic="utility", unit=Unit.POINTS, scorer=Scorer.STRICT),
    Measure("progress", "How far the calls follow the plan, of tasks that cannot be solved as "
            "shown (ToolBeHonest).", topic="progress", scorer=Scorer.OFFICIAL),
    Measure("strict_progress", "The same of all tasks; calls beyond the plan count against it.",
            topic="progress", scorer=Scorer.STRICT),
    Measure("tool_calls", "Calls of tools, actions apart.", title="tool calls", unit=Unit.CALLS,
            in_tables=False),
)  # fmt: skip

BENCHMARK = Benchmark(
    name=NAME,
    version="1",
    modes=(INFORMED, BARE),
    measures=MEASURES,
    gold=gold_of,
    score=score,
    chain=chain,
    presentation=Presentation("Scenarios", expected, toolhop.given, toolhop.hops, "hop"),
    judging=Judging(questions),
    grouping=Grouping(facets),
)
