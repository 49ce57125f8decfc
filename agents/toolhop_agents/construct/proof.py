"""Puts a whole item to the proof: every criterion that can be judged by running it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from toolhop_agents.construct.ask import Asker
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.table import Built
from toolhop_agents.prompts import Mode, prompt, shipped
from toolhop_agents.react import play as play_episode
from toolhop_agents.scripted.model import Play, ScriptedModel, constant, do_nothing, oracle
from toolhop_env.benchmarks import named, score
from toolhop_env.episode import Episode
from toolhop_env.measures import Scorer
from toolhop_env.messages import Reply
from toolhop_env.reading import CallFormat
from toolhop_env.score import Score
from toolhop_env.setting import Setting
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.outcome import JSON, OUTCOME
from toolhop_tools.blind.siblings import replaced_by
from toolhop_tools.certify.model import Certificate
from toolhop_tools.certify.model import to_json as certificate_json
from toolhop_tools.certify.prove import certify
from toolhop_tools.construct.accept import (
    CONSTANTS,
    Criterion,
    attempts,
    hazards,
    lucky,
    past,
    solved,
    tells_ahead,
    with_numbers,
)
from toolhop_tools.construct.calls import walked
from toolhop_tools.construct.contract import choices
from toolhop_tools.construct.documents import given_away
from toolhop_tools.construct.facts import other_calls
from toolhop_tools.construct.seeds import Seed, World, forbids
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.construct.text import called, same, texts
from toolhop_tools.construct.trials import Call
from toolhop_tools.construct.verify import result_of
from toolhop_tools.declared import compiled, fits
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Item

SIBLINGS = 3
"""Other records that an option is tried with."""


def _leaves(result: JSON) -> list[str]:
    """The scalars of a result; none of an error, which may list what is known."""
    return [] if tells_of_error(result) else texts(result)


@dataclass
class Proof:
    """One item and what it is made of. Use it once."""

    context: Context
    sandboxes: Mapping[str, Sandbox]
    built: Sequence[Built]
    official_safe: bool
    _findings: Findings = field(default_factory=Findings)
    _rows: list[JSON] = field(default_factory=list)

    def _add(
        self, criterion: Criterion, noted: Sequence[str], figure: JSON, place: Place | None = None
    ) -> None:
        """A criterion's verdict: it holds where nothing is noted; else `place` is at fault."""
        self._rows.append(criterion.row(figure, holds=not noted))
        self._findings += judged(criterion.value, noted, place)

    async def findings(self, item: Item) -> Findings:
        """Judge all criteria; the figures are in `Findings.figures`, with the certificate.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        verifier = self.context.verifier
        certificate = await certify(item, verifier.sandbox, verifier.basis)
        # Shown when each hop was built: a tool is not changed after that.
        self._add(Criterion.PROPERTIES, (), {"tools": len(item.hops), "properties": "all hold"})
        self._hops_proven(item, certificate)
        outcome = await played(item, self.sandboxes)
        wrong = [f"the oracle is wrong in {k}" for k, right in outcome.oracle.items() if not right]
        wrong += [f"{name} is right without a call" for name in outcome.by_luck]
        self._add(Criterion.STRICT, wrong, {"oracle": dict(outcome.oracle)})
        noted = [] if outcome.replayed else ["the same calls gave other results"]
        self._add(Criterion.REPLAY, noted, {"sandboxes": [*outcome.oracle]})
        await self._shortcuts(item)
        await self._sibling(item)
        if self.official_safe:
            hazard = hazards(item.answer, item.question)
            self._add(Criterion.OFFICIAL_SAFE, hazard, [*hazard])
        licence = self.context.seed.licence
        noted = [f"the licence is {licence}"] if forbids(licence) else []
        self._add(Criterion.LICENCE, noted, licence)
        proof = certificate_json(certificate)
        return self._findings + Findings(figures={"criteria": self._rows, "certificate": proof})

    def _hops_proven(self, item: Item, certificate: Certificate) -> None:
        """Each gold call was run when its hop was built; chance is looked at once more here.

        What else a certificate says is recorded: its search may not read what a reader reads.
        """
        by_luck = [
            number
            for number, (hop, proof) in enumerate(zip(item.hops, certificate.hops, strict=True), 1)
            if lucky(hop.answer, proof)
        ]
        verdicts: list[JSON] = [proof.verdict.value for proof in certificate.hops]
        chances: list[JSON] = [proof.chance.hits if proof.chance else None
                               for proof in certificate.hops]  # fmt: skip
        self._add(
            Criterion.PROVEN,
            [f"Too many calls with other values give the answer of hop {k}." for k in by_luck],
            {"certificate": certificate.verdict.value, "hops": verdicts, "chance_hits": chances},
            Place(Stage.CODE, by_luck[0]) if by_luck else None,
        )

    async def _shortcuts(self, item: Item) -> None:
        """Searches that must prove nothing. That a later gold call takes each answer is seen to
        where plan and calls are made.
        """
        noted: dict[Criterion, list[tuple[str, int]]] = {
            Criterion.NEEDED: [], Criterion.NO_JUMP: [], Criterion.NO_TWIN: [],
        }  # fmt: skip
        tried = dict.fromkeys(noted, 0)
        needs = [hop.depends_on for hop in self.built]
        for attempt in attempts(item, needs, [hop.question for hop in self.built]):
            name = f"{attempt.criterion}/{attempt.about}"
            proof = await self.context.verifier.prove(attempt.task, name)
            tried[attempt.criterion] += 1
            if solved(proof):
                call = proof.arguments if proof.arguments is not None else (
                    proof.evidence[0].arguments if proof.evidence else {})  # fmt: skip
                text = f"{attempt.about} gives {attempt.task.hop.answer!r} by the call {call}"
                shortcut = f"A shortcut is open: {text}; close it."
                noted[attempt.criterion].append((shortcut, attempt.hop))
        for at in range(1, len(self.built)):
            noted[Criterion.NO_TWIN] += [(text, at) for text in await self._ahead(at)]
        leaks = [
            (text, at)
            for at, hop in enumerate(self.built, 1)
            for k, other in enumerate(self.built, 1)
            for text in given_away(hop.schema, other.answer, of_keys=k != at)
        ]
        for criterion, shortcuts in noted.items():
            stage = Stage.REFINE if criterion is Criterion.NO_TWIN else Stage.CODE
            if criterion is Criterion.NEEDED and leaks:
                shortcuts, stage = leaks, Stage.REFINE
            place = Place(stage, shortcuts[0][1]) if shortcuts else None
            texts = [text for text, _ in shortcuts]
            self._add(criterion, texts, {"searches": tried[criterion]}, place)

    async def _ahead(self, at: int) -> list[str]:
        """Options with which a hop's tool gives what a later hop is to find.

        What other records lead to says whether it is one: short answers are often the same.
        """
        hop = self.built[at - 1]
        starts = [hop.arguments, *other_calls(hop.facts, hop.arguments, SIBLINGS)]
        chains = [await self._chain(at - 1, start) for start in starts]
        known = [(start, chain) for start, chain in zip(starts, chains, strict=True) if chain]
        several = len(known) > 1
        if several and (shortcut := await self._past(at, known)):
            return shortcut
        options: list[Call] = [{}]
        options += [{name: value} for name, value in choices(hop.schema.parameters)]
        calls = [later.arguments for later in self.built[at:]]
        options += with_numbers(hop.schema.parameters, calls) if several else ()
        sets = [{**start, **option} for option in options for start, _ in known]
        results = map(_leaves, await self.context.verifier.results(hop.tool.program, sets))
        for option in options if known else ():
            leaves = [next(results) for _ in known]
            for later in range(at, len(self.built)):
                answers = [chain[later] for _, chain in known]
                if tells_ahead(leaves, answers):
                    call = called(hop.tool.name, {**known[0][0], **option})
                    return [
                        f"A shortcut is open: {call} gives {answers[0]!r}, or a text that says "
                        f"it, the answer of hop {later + 1}; leave that to its own tool."
                    ]
        return []

    async def _past(self, at: int, known: Sequence[tuple[Call, list[str]]]) -> list[str]:
        """Later tools that answer to what this hop was given: its own answer is not needed.

        Args:
            at: the hop, from 1.
            known: its calls for several records, each with the answers of the chain.
        """
        for number, later in enumerate(self.built[at:], at + 1):
            hops, schema = {*range(at, number)}, later.schema.parameters
            made = [
                [*past(later.call.arguments, later.call.call(schema, chain), hops, start)]
                for start, chain in known
            ]
            answers = [chain[number - 1] for _, chain in known]
            for option in ({}, *({name: value} for name, value in choices(schema))):
                for calls in zip(*made, strict=False):
                    sets: list[Call] = [{**call, **option} for call in calls]
                    if not all(fits(compiled(schema), schema, call) for call in sets):
                        continue
                    outcomes = await self.context.verifier.call(later.tool.program, sets)
                    if tells_ahead([_leaves(result_of(outcome)) for outcome in outcomes], answers):
                        return [
                            f"A shortcut is open: {called(later.tool.name, sets[0])} gives "
                            f"{answers[0]!r} without the answer of hop {at}; close it."
                        ]
        return []

    async def _sibling(self, item: Item) -> None:
        """Walk the chain from other records of the hops that it begins with."""
        ended: list[str] = []
        for at, start in enumerate(self.built):
            if start.depends_on:
                continue
            for arguments in other_calls(start.facts, start.arguments):
                chain = await self._chain(at, arguments)
                answer = chain[-1] if chain else None
                if answer is not None:
                    ended.append(answer)
                if answer is not None and not same(answer, item.answer):
                    figure: JSON = {
                        "hop": at + 1, "arguments": arguments, "answer": answer,
                        "answers": [*chain],
                        "replaced": {**replaced_by(start.arguments, arguments)},
                    }  # fmt: skip
                    self._add(Criterion.SIBLING, (), figure, None)
                    return
        noted = (
            f"All {len(ended)} other records that lead to the end give {item.answer!r} too."
            if ended
            else "No other record leads to the end: later tables lack what earlier ones give."
        )
        last = len(self.built)
        place = Place(Stage.CODE if ended else Stage.FACTS, last)
        self._add(Criterion.SIBLING, [noted], {"walked": len(ended)}, place)

    async def _chain(self, start: int, arguments: dict[str, JSON]) -> list[str]:
        """All answers with another call at one hop; none where the chain breaks off."""
        hops = [(hop.tool, hop.call) for hop in self.built]
        own = self.built[start]
        hops[start] = own.tool, own.call.model_copy(update={"arguments": arguments})
        known = [hop.answer for hop in self.built[:start]]
        return await walked(hops, self.context.verifier.once, known)


# -- an item played -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Played:
    """What scripted agents make of an item."""

    oracle: Mapping[str, bool]
    """By sandbox: whether the oracle is right under the strict rule."""
    replayed: bool
    """Whether the oracle's calls gave the same, byte by byte, in each of them and once more."""
    by_luck: tuple[str, ...]
    """Agents that know nothing and are right."""


async def played(item: Item, sandboxes: Mapping[str, Sandbox]) -> Played:
    """Play an item with the oracle in each sandbox, and without tools by those who know nothing.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    right, results = dict[str, bool](), list[tuple[object, ...]]()
    for name, sandbox in sandboxes.items():
        for _ in range(2):
            trace = await _play(item, sandbox, oracle, "oracle")
            right[name] = right.get(name, True) and _right(item, trace)
            results.append(
                tuple(OUTCOME.dump_json(c.outcome) for c in trace.tool_calls if c.outcome)
            )
    sandbox = next(iter(sandboxes.values()))
    agents = {f"constant:{text}": constant(text) for text in CONSTANTS} | {"do-nothing": do_nothing}
    lucky = [
        name
        for name, play in agents.items()
        if _right(item, await _play(item, sandbox, play, name))
    ]
    return Played(right, len(set(results)) == 1, tuple(lucky))


def _saying(text: str) -> Callable[..., Reply]:
    """An agent that gives one reply, whatever it is asked."""
    return lambda *_: Reply(text)


async def closed_book(
    asker: Asker, samples: int, seed: Seed, item: Item, number: Callable[[], int], sandbox: Sandbox
) -> tuple[bool, dict[str, JSON]]:
    """Ask a model in ToolHop's direct mode: whether the criterion holds, and its figure.

    In a closed world no reply may be right: there is nothing to know; of the real world the share
    is recorded.

    Args:
        asker: the model that is asked without tools.
        samples: how often.
        seed: what the item is made from.
        item: the whole item.
        number: of the next reply within the item.
        sandbox: an entered one; nothing runs in it.

    Raises:
        RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
    """
    messages = prompt(Mode.DIRECT, CallFormat.NATIVE, item.question, ())
    version = hashlib.sha256(shipped(Mode.DIRECT.value, "toolhop").encode()).hexdigest()[:12]
    setting = Setting(agent="direct", mode="direct", messages=messages, offer_tools=False)
    right = 0
    for _ in range(samples):
        text = await asker.ask(seed, Place(Stage.ACCEPT), number(), version, messages)
        trace = await _play(item, sandbox, _saying(text), "direct", setting)
        right += _right(item, trace)
    figure: dict[str, JSON] = {
        "model": asker.model.name, "asked": samples, "right": right, "share": right / samples,
    }  # fmt: skip
    return not right or seed.world is not World.CLOSED, figure


async def _play(
    item: Item, sandbox: Sandbox, play: Play, name: str, setting: Setting | None = None
) -> Trace:
    async with Episode(item, sandbox, setting or Setting(agent=name)) as episode:
        await play_episode(episode, ScriptedModel(name, play, item))
    return episode.trace


def _right(item: Item, trace: Trace) -> bool:
    own = score(trace)
    measures = [m for m in named(item.benchmark).measures if m.scorer is Scorer.STRICT and m.leads]
    return isinstance(own, Score) and all(measure.holds(own) for measure in measures)
