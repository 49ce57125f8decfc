"""Tools and items put to the product's own proofs: properties, certificates, and plain calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio
import anyio.to_thread

from toolhop_sandbox.base import Program, Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, OUTCOME, Outcome, Returned
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import Basis, HopProof
from toolhop_tools.certify.prove import MOST_LOST
from toolhop_tools.certify.search import Search
from toolhop_tools.construct.claims import unlike_arguments
from toolhop_tools.construct.code import choices
from toolhop_tools.construct.facts import as_pairs, by_choice, moved, table
from toolhop_tools.construct.promised import said_of_records, trials
from toolhop_tools.construct.promises import other_failures, other_shape
from toolhop_tools.construct.replies import Pairs, Records
from toolhop_tools.construct.stages import Findings, Problem, judged
from toolhop_tools.construct.trials import FAILED, STRANGE, near_keys, numbers, twisted
from toolhop_tools.construct.unknown import other_columns, wrong_error
from toolhop_tools.declared import compiled, fits, required
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Tool, canonical
from toolhop_tools.properties.lanes import Lane, wait_for
from toolhop_tools.properties.model import (
    PROPERTIES,
    UNKNOWN_KEY,
    CounterExample,
    Fails,
    Gold,
    NotApplicable,
    PropertyVerdict,
    Subject,
)
from toolhop_tools.properties.store import REPLAYED, Stored
from toolhop_tools.reading import leaf_text, read_result
from toolhop_tools.words import as_text, bare

FEW = 5
"""Calls with other numbers that have to be made before all of them failing says something."""
TOLD_CHARS = 600
MOST = 4
"""Broken promises that one repair prompt lists."""
AS_PROMISED = "as-promised"
"""The check of a document by calls: a repair may change either."""


@dataclass
class Verifier:
    """Open sandboxes, and how thoroughly they are used. Its seeds are shown to no model."""

    sandbox: Sandbox
    lane: Lane
    """Where properties are checked, a tool at a time."""
    basis: Basis
    _serial: int = 0
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)

    async def call(self, program: Program, sets: Sequence[Mapping[str, JSON]]) -> list[Outcome]:
        """Calls of their own, in one session.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`; so do the other methods.
        """
        async with self.sandbox.session() as session:
            return [await session.call(program, dict(one)) for one in sets]

    async def outcomes(
        self, program: Program, sets: Sequence[Mapping[str, JSON]]
    ) -> list[Outcome | None]:
        """Calls in batches."""
        async with self.sandbox.session() as session:
            runs = await run_batch(session, program, [dict(one) for one in sets])
        return [None if run is None else run.outcome for run in runs]

    async def properties(
        self,
        tool: Tool,
        golds: Iterable[Gold],
        before: Sequence[Problem] = (),
        *,
        only: Sequence[str] = tuple(PROPERTIES),
    ) -> Findings:
        """The properties of a tool, what failed before called first."""
        subject = Subject("made", tool, tuple(golds))
        stored = [
            Stored(one.check, "", dict(one.arguments), tuple(map(dict, one.earlier)), one.about)
            for one in before
            if one.arguments is not None and one.check in REPLAYED
        ]
        async with self._one_at_a_time:
            verdicts = await anyio.to_thread.run_sync(partial(self._checked, subject, stored, only))
        return tool_findings(tool, verdicts)

    def _checked(
        self, subject: Subject, stored: Sequence[Stored], only: Sequence[str]
    ) -> dict[str, PropertyVerdict]:
        """In the lane's process: examples are drawn there, and what hangs is ended."""
        self._serial += 1
        self.lane.give(self._serial, subject, only, stored)
        while not self.lane.idle:
            wait_for([self.lane])
            self.lane.look()
        return dict(self.lane.verdicts)

    async def prove(self, task: Task, name: str) -> HopProof:
        """See `prove`."""
        return await prove(self.sandbox, self.basis, task, name)

    async def facts_hold(self, tool: Tool, facts: Records | Pairs) -> Findings:
        """Whether the code gives what table or pairs say, and speaks of what it does not know."""
        pairs = as_pairs(facts)
        if isinstance(facts, Records):
            pairs = [*pairs, *by_choice(facts, tool.schema.parameters)]
        found = await self.outcomes(tool.program, [pair.arguments for pair in pairs])
        problems = [
            Problem("pairs", _wanted(tool.name, pair.arguments, pair.result, outcome),
                    dict(pair.arguments))
            for pair, outcome in zip(pairs, found, strict=True)
            if not _gives(outcome, pair.result, pair.arguments)
        ][:3]  # fmt: skip
        held: frozenset[str] = frozenset() if problems else frozenset({"pairs"})
        noted = Findings(held, tuple(problems))
        if isinstance(facts, Records):
            noted = noted + judged("unknown-key", await self._silent(tool, facts))
            noted = noted + judged("table-alone", await self._elsewhere(tool, facts))
        else:
            noted = noted + judged("other-inputs", await self._memorised(tool, facts))
        return (
            noted
            + judged("choices", await self._dead(tool, facts))
            + judged("options-matter", await self._idle(tool, facts))
        )

    async def as_promised(self, tool: Tool, facts: Records | Pairs) -> Findings:
        """Whether calls bear out what the document says of values, choices and results."""
        schema = tool.schema
        plain = [dict(pair.arguments) for pair in as_pairs(facts)]
        chosen = [{**plain[0], name: one} for name, one in choices(schema.parameters)]
        computes = not isinstance(facts, Records)
        tried = [*trials(schema, plain, partial(called, tool.name), computes=computes)]
        sets = {canonical(one): one for one in [*plain, *chosen]}
        sets |= {canonical(call): call for trial in tried for call in trial.calls}
        outcomes = await self.outcomes(tool.program, [*sets.values()])
        found = dict(zip(sets, map(_result, outcomes), strict=True))
        results = [found[canonical(one)] for one in [*plain, *chosen]]
        results = [one for one in results if not tells_of_error(one)]
        noted = [*other_shape(schema, results)]
        lookup = isinstance(facts, Records)
        noted += other_failures(schema, lookup=lookup)
        noted += unlike_arguments(schema, plain, all_of=lookup)
        if isinstance(facts, Records):
            keys = [*facts.lookup.parameters, *facts.lookup.parameters.values()]
            noted += said_of_records(schema, facts.records, keys, results)
        by_code: list[str] = []
        for trial in tried:
            said = trial.wrong([found[canonical(call)] for call in trial.calls])
            (by_code if trial.of_code else noted).extend([said] if said else [])
        return judged(AS_PROMISED, noted[:MOST]) + judged("as-documented", by_code[:MOST])

    async def _silent(self, tool: Tool, facts: Records) -> list[str]:
        """What is wrong with the answer to keys that no record has."""
        calls, noted = [pair.arguments for pair in as_pairs(facts)], []
        answers = [as_text(pair.result) for pair in as_pairs(facts)]
        answers = [one for one in answers if len(one) > 1]
        for parameter in facts.lookup.parameters:
            if not isinstance(calls[0][parameter], str):
                continue
            arguments = {**calls[0], parameter: STRANGE}
            [outcome] = await self.call(tool.program, [arguments])
            value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
            if said := wrong_error(tool.schema, parameter, value, calls, answers):
                noted.append(f"{called(tool.name, arguments)} gives {came(outcome)}{said}")
            known = [as_text(call[parameter]) for call in calls]
            fields = facts.lookup.parameters
            others = other_columns(tool.schema, parameter, facts.records, fields)
            noted += await self._near(tool, arguments, parameter, known, others)
        return noted

    async def _elsewhere(self, tool: Tool, facts: Records) -> list[str]:
        """What a tool says that is not out of its table: shown by a table with other answers."""
        other = moved(facts)
        source = tool.program.source.replace(table(facts), table(other), 1)
        changed = Program(source, tool.program.function)
        pairs = [*as_pairs(other), *by_choice(other, tool.schema.parameters)]
        found = await self.outcomes(changed, [pair.arguments for pair in pairs])
        for pair, outcome in zip(pairs, found, strict=True):
            if not _gives(outcome, pair.result, pair.arguments):
                told = _wanted(tool.name, pair.arguments, pair.result, outcome)
                return [f"With other values in the table, {told}: all has to come from the table."]
        first = pairs[0].arguments
        strange = [{**first, name: STRANGE} for name in facts.lookup.parameters
                   if isinstance(first[name], str)]  # fmt: skip
        before = map(_seen, await self.outcomes(tool.program, strange))
        after = map(_seen, await self.outcomes(changed, strange))
        for call, one, two in zip(strange, before, after, strict=True):
            if one != two:
                return [f"{called(tool.name, call)} gives {one[:TOLD_CHARS]}, and another error "
                        "with other answers in the table: it gives answers away."]  # fmt: skip
        return []

    async def _near(
        self,
        tool: Tool,
        arguments: Mapping[str, JSON],
        parameter: str,
        known: Sequence[str],
        others: Sequence[str],
    ) -> list[str]:
        """A key that is like one of the table, or a value of it, and none, and is answered."""
        held = {bare(one) for one in known}
        validator, parameters = compiled(tool.schema.parameters), tool.schema.parameters
        sets = [
            made
            for key in (parameter, *near_keys(known), *others)
            if bare(key) not in held
            and fits(validator, parameters, made := {**arguments, parameter: key})
        ]
        found = await self.outcomes(tool.program, sets)
        for made, outcome in zip(sets, found, strict=True):
            if not isinstance(outcome, Returned) or not _fails(outcome):
                call = called(tool.name, made)
                return [f"{call} gives {came(outcome)}; no record has that key, so it is an error"]
        return []

    async def _dead(self, tool: Tool, facts: Records | Pairs) -> list[str]:
        """Choices of the document with which every call ends in an error."""
        noted = []
        calls = [dict(pair.arguments) for pair in as_pairs(facts)]
        if isinstance(facts, Records):
            own = [*facts.lookup.parameters]
            calls += [
                {**calls[0], name: value}
                for record in facts.records[:3]
                for value in record.values()
                for name in own
                if isinstance(value, str)
            ]
        listed = [*choices(tool.schema.parameters)]
        sets = [{**call, name: value} for name, value in listed for call in calls]
        found = iter(await self.outcomes(tool.program, sets))
        for name, value in listed:
            outcomes = [next(found) for _ in calls]
            if all(map(_fails, outcomes)):
                text = json.dumps(value, ensure_ascii=False)
                call = called(tool.name, {**calls[0], name: value})
                what = came(outcomes[0])
                noted.append(f"Every call with {name}={text} fails, as {call}, which gives {what}")
        return noted

    async def _idle(self, tool: Tool, facts: Records | Pairs) -> list[str]:
        """Options of the document that no call takes notice of."""
        values: dict[str, list[JSON]] = {}
        for name, value in choices(tool.schema.parameters):
            values.setdefault(name, []).append(value)
        properties = tool.schema.parameters.get("properties")
        schema = properties if isinstance(properties, dict) else {}
        values |= {name: numbers(own) for name, own in schema.items() if name not in values}
        values = {name: listed for name, listed in values.items() if len(listed) > 1}
        plain = [dict(pair.arguments) for pair in as_pairs(facts)]
        for calls in (plain, twisted(plain, values, schema)):
            for name in [*values]:
                sets = [{**call, name: value} for call in calls for value in values[name]]
                found = [_seen(one) for one in await self.outcomes(tool.program, sets)]
                many = len(values[name])
                groups = (found[at : at + many] for at in range(0, len(found), many))
                if any(len({*group}) > 1 for group in groups):
                    del values[name]
        return [
            f"No call was found in which {name} makes a difference: let it do what the document "
            "says of it."
            for name in values
        ]

    async def _memorised(self, tool: Tool, facts: Pairs) -> list[str]:
        """A tool that computes, and knows no number but those of its pairs."""
        validator, parameters = compiled(tool.schema.parameters), tool.schema.parameters
        known = {canonical(pair.arguments) for pair in facts.pairs}
        sets = [
            made
            for pair in facts.pairs
            for name, value in pair.arguments.items()
            if name in required(parameters)
            if isinstance(value, int | float) and not isinstance(value, bool)
            if canonical(made := {**pair.arguments, name: value + 1}) not in known
            and fits(validator, parameters, made)
        ]
        found = await self.outcomes(tool.program, sets)
        if len(sets) < FEW or not all(map(_fails, found)):
            return []
        call = called(tool.name, sets[0])
        return [f"It knows the pairs alone: {call} gives {came(found[0])}; compute the result."]


def _seen(outcome: Outcome | None) -> str:
    return outcome.json_text if isinstance(outcome, Returned) else repr(type(outcome))


async def prove(sandbox: Sandbox, basis: Basis, task: Task, name: str) -> HopProof:
    """Search for a call that proves a hop; `name` tells its random values from others'.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    for left in reversed(range(MOST_LOST + 1)):
        try:
            async with sandbox.session() as session:
                return await Search(session, task, basis, f"{basis.seed}/{name}").prove()
        except SandboxFault:
            if not left:
                raise
    raise AssertionError


def _result(outcome: Outcome | None) -> JSON:
    """What came of a call, as a value; an error where nothing came."""
    if not isinstance(outcome, Returned):
        return FAILED
    value = read_result(outcome.json_text)
    return FAILED if tells_of_error(value) else value


def _fails(outcome: Outcome | None) -> bool:
    if not isinstance(outcome, Returned):
        return True
    return tells_of_error(read_result(outcome.json_text))


def _gives(outcome: Outcome | None, wanted: JSON, arguments: dict[str, JSON]) -> bool:
    if not isinstance(outcome, Returned):
        return False
    value = read_result(outcome.json_text)
    if canonical(value) == canonical(wanted):
        return True
    if isinstance(wanted, dict | list):
        # Whoever writes a pair does not know the words of an error.
        return tells_of_error(wanted) and tells_of_error(value)
    return judge(leaf_text(wanted), value, arguments) is not None


def _wanted(name: str, arguments: dict[str, JSON], wanted: JSON, outcome: Outcome | None) -> str:
    text = json.dumps(wanted, ensure_ascii=False)
    return f"{called(name, arguments)} has to give {text}, and gives {came(outcome)}"


def called(name: str, arguments: Mapping[str, JSON]) -> str:
    """A call as Python writes it."""
    given = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in arguments.items())
    return f"{name}({given})"


def came(outcome: Outcome | None) -> str:
    """What came of a call, in words."""
    if isinstance(outcome, Returned):
        return outcome.json_text[:TOLD_CHARS]
    if outcome is None:
        return "nothing, as calls before it were cut off"
    plain: dict[str, JSON] = OUTCOME.dump_python(outcome, mode="json")
    return ", ".join(f"{key}: {value}" for key, value in plain.items() if value is not None)


def tool_findings(tool: Tool, verdicts: Mapping[str, PropertyVerdict]) -> Findings:
    """A tool's verdicts as findings: what fails, and what is no answer to an unknown key."""
    held, problems = set[str](), list[Problem]()
    for name, verdict in verdicts.items():
        if isinstance(verdict, Fails):
            problems += [_problem(tool, one) for one in verdict.found]
        elif isinstance(verdict, NotApplicable) and name != "examples":
            # Without a gold call there is none to judge yet.
            if name != "gold-call":
                problems.append(Problem(name, f"{name} cannot be judged: {verdict.reason}"))
        else:
            held.add(name)
            remarks = () if isinstance(verdict, NotApplicable) else verdict.remarks
            problems += [_problem(tool, one) for one in remarks if one.kind == UNKNOWN_KEY]
    return Findings(frozenset(held) - {one.check for one in problems}, tuple(problems))


def _problem(tool: Tool, found: CounterExample) -> Problem:
    call = "" if found.arguments is None else f"{called(tool.name, found.arguments)}: "
    noted = f"{found.property} ({PROPERTIES[found.property]}) {call}{found.reported}"
    arguments = None if found.arguments is None else dict(found.arguments)
    earlier = tuple(dict(one) for one in found.earlier)
    return Problem(found.property, noted[:1500], arguments, earlier, dict(found.about))
