"""Verification of tools and items: properties, contracts, facts, proofs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio
import anyio.to_thread

from toolhop_sandbox.base import Program, Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import Basis, HopProof
from toolhop_tools.certify.prove import MOST_LOST
from toolhop_tools.certify.search import Search
from toolhop_tools.construct.contract import choices
from toolhop_tools.construct.facts import as_pairs, by_choice, moved, table
from toolhop_tools.construct.replies import Contract, Pairs, Records
from toolhop_tools.construct.stages import Findings, Problem, judged
from toolhop_tools.construct.text import as_json, called
from toolhop_tools.construct.trials import FAILED, UNKNOWN_KEY, Call, equal, plain_calls, trials
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Tool, canonical
from toolhop_tools.properties.lanes import Lane, wait_for
from toolhop_tools.properties.model import (
    PROPERTIES,
    CounterExample,
    Fails,
    Gold,
    NotApplicable,
    PropertyVerdict,
    Subject,
)
from toolhop_tools.properties.model import UNKNOWN_KEY as UNKNOWN_KEY_REMARK
from toolhop_tools.properties.store import REPLAYED, Stored
from toolhop_tools.reading import read_result
from toolhop_tools.words import scalars

SHOWN_CHARS = 600
"""Length to which a result is cut in a repair prompt, in characters."""
LONGEST_KEY, MOST_KEYS = 80, 60
"""Maximum length, in characters, and number of texts in the code that are tried as keys."""
MOST = 4
"""Maximum number of broken promises or pairs in one repair prompt."""


@dataclass
class Verifier:
    """A verifier with open sandboxes and the settings of the search. No model sees its seeds."""

    sandbox: Sandbox
    lane: Lane
    """Lane that checks properties, one tool at a time."""
    basis: Basis
    _serial: int = 0
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)

    async def call(self, program: Program, calls: Sequence[Mapping[str, JSON]]) -> list[Outcome]:
        """Run each call in a process of its own.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`; so do the other methods.
        """
        async with self.sandbox.session() as session:
            return [await session.call(program, dict(call)) for call in calls]

    async def once(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """Run one call."""
        return (await self.call(program, [arguments]))[0]

    async def results(self, program: Program, calls: Sequence[Mapping[str, JSON]]) -> list[JSON]:
        """Return the results of calls run in batches; `FAILED` if a call raises or is ended."""
        async with self.sandbox.session() as session:
            runs = await run_batch(session, program, [dict(call) for call in calls])
        return [result_of(None if run is None else run.outcome) for run in runs]

    async def properties(
        self, tool: Tool, before: Sequence[Problem] = (), gold: Gold | None = None
    ) -> Findings:
        """Check the properties of a tool, beginning with calls that failed before.

        With a gold call, check only that call.
        """
        subject = Subject("made", tool, () if gold is None else (gold,))
        only = tuple(PROPERTIES) if gold is None else ("gold-call",)
        stored = [
            Stored(row.check, "", dict(row.arguments), tuple(map(dict, row.earlier)), row.about)
            for row in before
            if row.arguments is not None and row.check in REPLAYED
        ]
        async with self._one_at_a_time:
            verdicts = await anyio.to_thread.run_sync(partial(self._checked, subject, stored, only))
        return tool_findings(tool, verdicts)

    def _checked(
        self, subject: Subject, stored: Sequence[Stored], only: Sequence[str]
    ) -> dict[str, PropertyVerdict]:
        """Check in the lane's process, where examples are drawn and hanging code is ended."""
        self._serial += 1
        self.lane.give(self._serial, subject, only, stored)
        while not self.lane.idle:
            wait_for([self.lane])
            self.lane.look()
        return dict(self.lane.verdicts)

    async def prove(self, task: Task, name: str) -> HopProof:
        """Search for a call that proves a hop."""
        return await prove(self.sandbox, self.basis, task, name)

    async def kept(self, tool: Tool, contract: Contract, facts: Records | Pairs) -> Findings:
        """Check that the code keeps its contract, trial by trial."""
        tried = [*trials(tool.schema, contract, facts, _literals(tool.program.source))]
        calls = {canonical(call): call for trial in tried for call in trial.calls}
        results = await self.results(tool.program, [*calls.values()])
        by_call = dict(zip(calls, results, strict=True))
        problems = []
        for trial in tried:
            if why := trial.wrong([by_call[canonical(call)] for call in trial.calls]):
                message = f"The contract's {trial.promise}: {why}."
                problems.append(Problem("contract-kept", message, dict(trial.calls[-1])))
        if problems:
            return Findings(problems=tuple(_smallest(problems)[:MOST]))
        return judged("contract-kept", ())

    async def facts_hold(self, tool: Tool, facts: Records | Pairs) -> Findings:
        """Check that the code agrees with its facts.

        Results must equal those of the table or pairs and come from the table alone, and every
        option of the document must have an effect.
        """
        pairs = as_pairs(facts)
        if isinstance(facts, Records):
            pairs = [*pairs, *by_choice(facts, tool.schema.parameters)]
        results = await self.results(tool.program, [pair.arguments for pair in pairs])
        problems = [
            Problem("pairs", _differs(tool.name, pair.arguments, pair.result, result),
                    dict(pair.arguments))
            for pair, result in zip(pairs, results, strict=True)
            if not _gives(result, pair.result)
        ]  # fmt: skip
        findings = Findings(problems=tuple(problems[:MOST])) if problems else judged("pairs", ())
        if isinstance(facts, Records):
            findings += judged("table-alone", await self._elsewhere(tool, facts))
        return findings + judged("choices", await self._unusable(tool, facts))

    async def _elsewhere(self, tool: Tool, facts: Records) -> list[str]:
        """Report results that do not come from the table, found by changing its answers."""
        other = moved(facts)
        source = tool.program.source.replace(table(facts.records), table(other.records), 1)
        changed = Program(source, tool.program.function)
        pairs = [*as_pairs(other), *by_choice(other, tool.schema.parameters)]
        results = await self.results(changed, [pair.arguments for pair in pairs])
        for pair, result in zip(pairs, results, strict=True):
            if not _gives(result, pair.result):
                text = _differs(tool.name, pair.arguments, pair.result, result)
                return [f"With other values in the table, {text}: all has to come from the table."]
        first = pairs[0].arguments
        strange = [{**first, name: UNKNOWN_KEY} for name in facts.lookup.parameters
                   if isinstance(first[name], str)]  # fmt: skip
        before = await self.results(tool.program, strange)
        after = await self.results(changed, strange)
        for call, own, with_other in zip(strange, before, after, strict=True):
            if canonical(own) != canonical(with_other):
                text = f"{called(tool.name, call)} gives {as_json(own)[:SHOWN_CHARS]}"
                return [f"{text}, and another error with other answers in the table: it leaks."]
        return []

    async def _unusable(self, tool: Tool, facts: Records | Pairs) -> list[str]:
        """Report choices with which every call is an error, and options without any effect."""
        values: dict[str, list[JSON]] = {}
        for name, value in choices(tool.schema.parameters):
            values.setdefault(name, []).append(value)
        calls = _varied(plain_calls(facts), values)
        wrong, idle = [], {name for name, listed in values.items() if len(listed) > 1}
        for name, listed in values.items():
            sets = [{**call, name: value} for call in calls for value in listed]
            results = await self.results(tool.program, sets)
            rows = [results[at : at + len(listed)] for at in range(0, len(results), len(listed))]
            if any(len({*map(canonical, row)}) > 1 for row in rows):
                idle.discard(name)
            for at, value in enumerate(listed):
                if all(tells_of_error(row[at]) for row in rows):
                    call = called(tool.name, {**calls[0], name: value})
                    wrong.append(f"Every call with {name}={as_json(value)} is an error, as {call}.")
        wrong += [f"No call was found in which {name} makes a difference." for name in sorted(idle)]
        return wrong


def _varied(calls: Sequence[Call], values: Mapping[str, Sequence[JSON]]) -> list[Call]:
    """Return plain calls, and some with another option or spelling.

    An option may have an effect only in combination with another.
    """
    spelled = [
        {**call, name: spelling}
        for call in calls[:3]
        for name, value in call.items()
        if isinstance(value, str) and name not in values
        for spelling in (value.upper(), value.lower(), f" {value} ", UNKNOWN_KEY)
    ]
    chosen = [
        {**call, name: value} for call in calls[:3] for name in values for value in values[name]
    ]
    return [*calls, *chosen, *spelled]


def _literals(source: str) -> list[str]:
    """Return texts in a function that could be keys of records outside the table."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    texts = (node.value for function in functions for node in ast.walk(function)
             if isinstance(node, ast.Constant) and isinstance(node.value, str))  # fmt: skip
    keys = dict.fromkeys(text for text in texts if text.strip() and len(text) < LONGEST_KEY)
    return [*keys][:MOST_KEYS]


def _smallest(problems: Sequence[Problem]) -> list[Problem]:
    """Return one problem for each promise, the one with the shortest call."""
    by_size = sorted(problems, key=lambda problem: len(as_json(dict(problem.arguments or {}))))
    kinds = {problem.message.split(":", 1)[0]: problem for problem in reversed(by_size)}
    return [problem for problem in by_size if problem in kinds.values()]


def _gives(result: JSON, wanted: JSON) -> bool:
    """Whether a result equals the wanted value or contains it as a whole leaf."""
    if equal(result, wanted):
        return True
    if tells_of_error(result) or isinstance(wanted, dict | list):
        return False
    return any(equal(leaf, wanted) for _, leaf in scalars(result))


def result_of(outcome: Outcome | None) -> JSON:
    """Return the result of a call, or `FAILED` if it raised or was ended or refused."""
    return read_result(outcome.json_text) if isinstance(outcome, Returned) else FAILED


async def prove(sandbox: Sandbox, basis: Basis, task: Task, name: str) -> HopProof:
    """Search for a call that proves a hop; `name` selects its random values.

    Raises:
        SandboxFault: workers were lost repeatedly.
        SandboxUnavailable: as `Session.call`.
    """
    lost = 0
    while True:
        try:
            async with sandbox.session() as session:
                return await Search(session, task, basis, f"{basis.seed}/{name}").prove()
        except SandboxFault:
            lost += 1
            if lost > MOST_LOST:
                raise


def _differs(name: str, arguments: Mapping[str, JSON], wanted: JSON, result: JSON) -> str:
    text = as_json(result)[:SHOWN_CHARS]
    return f"{called(name, arguments)} has to give {as_json(wanted)}, and gives {text}"


def tool_findings(tool: Tool, verdicts: Mapping[str, PropertyVerdict]) -> Findings:
    """Convert verdicts on a tool to findings: failures, and null answers to unknown keys."""
    held, problems = set[str](), list[Problem]()
    for name, verdict in verdicts.items():
        if isinstance(verdict, Fails):
            problems += [_problem(tool, example) for example in verdict.found]
        elif isinstance(verdict, NotApplicable) and name != "examples":
            # There may be no gold call to judge yet.
            if name != "gold-call":
                problems.append(Problem(name, f"{name} cannot be judged: {verdict.reason}"))
        else:
            held.add(name)
            remarks = () if isinstance(verdict, NotApplicable) else verdict.remarks
            problems += [
                _problem(tool, remark) for remark in remarks if remark.kind == UNKNOWN_KEY_REMARK
            ]
    return Findings(frozenset(held) - {problem.check for problem in problems}, tuple(problems))


def _problem(tool: Tool, example: CounterExample) -> Problem:
    call = "" if example.arguments is None else f"{called(tool.name, example.arguments)}: "
    message = f"{example.property} ({PROPERTIES[example.property]}) {call}{example.reported}"
    arguments = None if example.arguments is None else dict(example.arguments)
    earlier = tuple(map(dict, example.earlier))
    return Problem(example.property, message[:1500], arguments, earlier, dict(example.about))
