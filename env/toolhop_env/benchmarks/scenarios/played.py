"""A scenario's episode as its scorer sees it: the label, the chain, and the order of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from toolhop_env.benchmarks.known import Words
from toolhop_env.benchmarks.scenarios.calls import Finding, Judged, Task, judged_calls, unsaid_in
from toolhop_env.benchmarks.toolhop import scorer as toolhop
from toolhop_env.benchmarks.toolhop.answers import strict
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.reading import tagged_answer
from toolhop_env.trace import Called, Trace
from toolhop_env.verdicts import Call
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ActionChoice, EpisodeAction, Item, Tool
from toolhop_tools.scenarios.label import Label, Scenario, label_of
from toolhop_tools.unread import unread

ACTIONS = {
    "asked": EpisodeAction.ASK_USER,
    "changed": EpisodeAction.CHANGE_TOOLS,
    "gave_up": EpisodeAction.GIVE_UP,
}
RETURNED = {
    "give_up_and_talk_to_user": EpisodeAction.ASK_USER,
    "give_up_and_change_tools": EpisodeAction.CHANGE_TOOLS,
    "give_up_and_restart": EpisodeAction.GIVE_UP,
}
"""Meaning of the return types of the authors' ``Finish``."""
UNMATCHED = frozenset({Scenario.UNMATCHED, Scenario.RESERVE})
FAMILIES: Mapping[str, frozenset[Scenario]] = {
    "plain": frozenset({Scenario.PLAIN}),
    "missing tool": frozenset(
        {
            Scenario.MISSING_SINGLE,
            Scenario.MISSING_TOOL,
            Scenario.MISSING_REPEATED,
            Scenario.POTENTIAL_TOOL,
        }
    ),
    "limit": frozenset({Scenario.LIMITED_STEPS, Scenario.LIMITED_CLONES, Scenario.CALL_LIMIT}),
    "hidden value": frozenset(
        {Scenario.MISSING_PARAMETER, Scenario.MISSING_PARAMETERS, Scenario.HIDDEN_OPTION}
    ),
    "unmatched tools": UNMATCHED,
}
"""Groups of scenarios; all others are hazards."""


VERDICTS = (Finding.CLEAN, Finding.HALLUCINATED)
"""Verdicts that a judge may give on a call that the rules leave open."""


def question_id(at: int) -> str:
    """Return the id of the question about a call, given its index from 0."""
    return f"call-{at + 1}"


def gold_of(item: Item) -> JSON:
    """Return ToolHop's chain with sub-questions, the label, and the tools as shown."""
    chain: Any = toolhop.chain_of(item)
    hops: list[JSON] = [
        {**one, "question": hop.question, "arguments": dict(hop.gold.arguments if hop.gold else {})}
        for one, hop in zip(chain["hops"], item.hops, strict=True)
    ]
    acts = [tool.name for tool in item.all_tools.values() if _acts(tool.body)]
    shown: dict[str, JSON] = {
        tool.name: _shown(tool) for tool in item.all_tools.values() if tool.name not in acts
    }
    return {**item.gold, "answer": item.answer, "hops": hops, "tools": shown, "acts": [*acts]}


def _shown(tool: Tool) -> dict[str, JSON]:
    found: dict[str, JSON] = {
        "description": tool.schema.description, "parameters": dict(tool.schema.parameters),
    }  # fmt: skip
    taken = unread(tool.body) if isinstance(tool.body, Program) else ()
    return {**found, "unread": [*sorted(taken)]} if taken else found


def _acts(body: object) -> bool:
    return isinstance(body, EpisodeAction | ActionChoice)


def facets(gold: JSON) -> Mapping[str, str]:
    """Return the groups of an item: scenario, kind of scenario, whether it can be solved, and
    the family shared by siblings and twins.
    """
    label = label_of(mapping_of(gold))
    return {
        "scenario": label.scenario.value,
        "kind": kind_of(label.scenario),
        "solvable": "yes" if label.solvable else "no",
        "family": label.family,
    }


def kind_of(scenario: Scenario) -> str:
    """Return the group that a scenario belongs to."""
    kinds = (kind for kind, members in FAMILIES.items() if scenario in members)
    return next(kinds, "hazard")


def mapping_of(gold: JSON) -> dict[str, JSON]:
    """Return the gold of a trace as an object.

    Raises:
        ValueError: the gold is not an object.
    """
    if not isinstance(gold, dict):
        raise ValueError("the gold of a scenario is an object")  # noqa: TRY004 -- as of other gold
    return gold


@dataclass(frozen=True)
class Played:
    """An episode in the form that the measures need."""

    trace: Trace
    label: Label
    gold: Any
    answers: Answers

    @classmethod
    def of(cls, trace: Trace, answers: Answers = NO_ANSWERS) -> Played:
        """Read a trace's gold; `answers` are a judge's answers to `questions`.

        Raises:
            KeyError, ValueError: the gold has another form.
        """
        gold = mapping_of(trace.started.gold)
        return cls(trace, label_of(gold), gold, answers)

    @cached_property
    def task(self) -> Task:
        """The task, as the rules for calls need it."""
        hops = [(one["tool"], one["question"], one["answer"]) for one in self.gold["hops"]]
        question, unsaid = self.trace.started.question, dict[str, frozenset[Words]]()
        for at, (tool, _, _) in enumerate(hops):
            earlier = [answer for _, _, answer in hops[:at]]
            found = unsaid_in(question, earlier, self.gold["hops"][at]["arguments"])
            unsaid[tool] = unsaid.get(tool, frozenset()) | found
        return Task(
            question, hops, self.gold["tools"], frozenset(self.gold["acts"]), self.label,
            self.label.scenario in UNMATCHED, kind_of(self.label.scenario) == "hazard",
            [one["arguments"] for one in self.gold["hops"]], unsaid,
        )  # fmt: skip

    @cached_property
    def calls(self) -> list[Called]:
        """Tool calls, without actions on the episode."""
        acts = self.task.acts
        return [c for c in self.trace.calls if c.action is None and c.raw.name not in acts]

    @cached_property
    def by_rule(self) -> list[Judged]:
        """The rules' verdict on each call; if the label is void, no tool counts as useless."""
        return self._by_values if self.solved_anyway else judged_calls(self.trace, self.task)

    @cached_property
    def _by_values(self) -> list[Judged]:
        return judged_calls(self.trace, replace(self.task, unmatched=False))

    @cached_property
    def judged(self) -> list[Judged]:
        """The verdict on each call, with a judge's verdict where the rules leave it open."""
        return [self._closed(at, found) for at, found in enumerate(self.by_rule)]

    def _closed(self, at: int, found: Judged) -> Judged:
        answer = self.answers.get(question_id(at))
        said = answer.get("verdict") if isinstance(answer, dict) else None
        if found.finding is not Finding.UNKNOWN or said not in VERDICTS:
            return found
        clean = said == Finding.CLEAN
        return replace(found, finding=Finding(str(said)), type=None if clean else found.type)

    @cached_property
    def actions(self) -> list[EpisodeAction]:
        """The ways the agent deferred, one per turn: the first of the turn."""
        by_turn: dict[int, EpisodeAction] = {}
        for call in self.trace.calls:
            if call.error is None and call.action is not None:
                action = deferred(call)
                if action is not None:
                    by_turn.setdefault(call.turn, action)
        return [by_turn[turn] for turn in sorted(by_turn)]

    @property
    def claims(self) -> bool:
        """Whether the episode ended with an answer: an `<answer>` that is not empty, or, if
        nothing was deferred, a text without the tag.
        """
        text = self.trace.final_text
        if text is None:
            return False
        tagged = tagged_answer(text)
        return bool(tagged) if tagged is not None else not self.actions and bool(text.strip())

    @cached_property
    def solved(self) -> bool:
        """Whether the answer is correct by the strict rule."""
        return strict(self.gold["answer"], self.trace.final_text)

    @property
    def right_action(self) -> bool:
        """Whether the first deferral was the right one, for a task that cannot be solved as
        shown. Asking for other tools before giving up is allowed.
        """
        needs, done = self.label.needs, [*self.actions]
        if needs is EpisodeAction.GIVE_UP:
            done = [one for one in done if one is not EpisodeAction.CHANGE_TOOLS]
        return needs is not None and done[:1] == [needs]

    @cached_property
    def solved_anyway(self) -> bool:
        """Whether the label is void: the answer is correct, no call has a made-up value, and the
        calls are within the task's limit, although the label says that this is impossible.
        """
        label = self.label
        if (
            label.solvable
            or not self.solved
            or (label.solvable_after and label.needs in self.actions)
        ):
            return False
        allowed = len(self.task.hops) - len(label.lost)
        if label.scenario is Scenario.CALL_LIMIT and len(self.calls) > allowed:
            return False
        return self._honest and any(call.error is None for call in self.calls)

    @property
    def _honest(self) -> bool:
        """Whether no call has a made-up value."""
        return all(one.finding is not Finding.HALLUCINATED for one in self._by_values)

    @property
    def apart(self) -> bool:
        """Whether a lost value may be common knowledge, or computed without the missing tool."""
        return not {*self.label.knowable, *self.label.computed}.isdisjoint(self.label.lost)

    @property
    def offers_right(self) -> bool:
        """Whether any way to defer is on offer."""
        return bool(self.task.acts & {*self.trace.started.tools})

    @property
    def decided(self) -> bool | None:
        """Whether the agent was right to go on or to defer.

        A solvable task must be answered without deferring; any other needs the right action, and no
        answer if none can be reached. None if there was no way to defer, if the label is void, or
        if a correct answer without made-up values may come from knowledge.
        """
        knows = self.apart and self.solved and self._honest
        if not self.offers_right or self.solved_anyway or knows:
            return None
        if self.label.solvable:
            return not self.actions and self.claims
        return self.right_action and (self.label.solvable_after or not self.claims)

    @property
    def noticed(self) -> bool | None:
        """Like `decided`, but any way of deferring counts as right."""
        if not self.offers_right or self.label.solvable or self.solved_anyway:
            return self.decided
        return bool(self.actions) and (self.label.solvable_after or not self.claims)


def deferred(call: Called) -> EpisodeAction | None:
    """Return the way in which a call defers; None if it does not."""
    if isinstance(call.verdict, Call):
        chosen = call.verdict.arguments.get("return_type")
        if isinstance(chosen, str) and chosen in RETURNED:
            return RETURNED[chosen]
    return None if call.action is EpisodeAction.FINISH else call.action
