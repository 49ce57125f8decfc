"""Prove a whole item: judge every criterion that can be judged by execution."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toolhop_agents.construct.ask import Asker, Context
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
    tells_ahead,
    with_numbers,
)
from toolhop_tools.construct.calls import walked
from toolhop_tools.construct.contract import choices
from toolhop_tools.construct.documents import given_away
from toolhop_tools.construct.facts import other_calls
from toolhop_tools.construct.seeds import World, forbids
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.construct.text import called, same, texts
from toolhop_tools.construct.trials import Call, takes
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Item, Tool

SIBLINGS = 3
"""Number of other records with which an option is tried."""


@dataclass
class Proof:
    """The proof of one item. Use it once."""

    context: Context
    sandboxes: Mapping[str, Sandbox]
    built: Sequence[Built]
    official_safe: bool
    _findings: Findings = field(default_factory=Findings)
    _rows: list[JSON] = field(default_factory=list)

    def _add(
        self, criterion: Criterion, noted: Sequence[str], figure: JSON, place: Place | None = None
    ) -> None:
        """Record a criterion's verdict: it holds if `noted` is empty; otherwise `place` is at
        fault.
        """
        self._rows.append(criterion.row(figure, holds=not noted))
        self._findings += judged(criterion.value, noted, place)

    async def findings(self, item: Item) -> Findings:
        """Judge all criteria; `Findings.figures` has their figures and the certificate.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        verifier = self.context.verifier
        certificate = await certify(item, verifier.sandbox, verifier.basis)
        # Checked when each hop was built; its tool has not changed since.
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
        """Check that few other calls give a hop's answer by chance.

        Each gold call was run when its hop was built. The certificate's other verdicts are only
        recorded, as its search may not understand what a reader understands.
        """
        pairs = zip(item.hops, certificate.hops, strict=True)
        by_luck = [at for at, (hop, proof) in enumerate(pairs, 1) if lucky(hop.answer, proof)]
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
        """Search for shortcuts, which must not exist.

        The checks of plan and calls ensure that a later gold call uses each answer.
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
            if proof.executed:
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
        """Find options with which a hop's tool returns the answer of a later hop.

        Several records tell a shortcut from coincidence, as short answers are often the same.
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
        results = await self._leaves(hop.tool, sets)
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
        """Find later tools that accept this hop's inputs and so make its answer unnecessary.

        `known` are this hop's calls for several records, each with the answers of the chain.
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
                    if not all(takes(later.schema, call) for call in sets):
                        continue
                    if tells_ahead([*await self._leaves(later.tool, sets)], answers):
                        return [
                            f"A shortcut is open: {called(later.tool.name, sets[0])} gives "
                            f"{answers[0]!r} without the answer of hop {at}; close it."
                        ]
        return []

    async def _leaves(self, tool: Tool, calls: Sequence[Call]) -> Iterator[list[str]]:
        """Return the scalars of each call's result; none for an error, as it may list valid
        values.
        """
        results = await self.context.verifier.results(tool.program, calls)
        return ([] if tells_of_error(result) else texts(result) for result in results)

    async def _sibling(self, item: Item) -> None:
        """Walk the chain from other records of its first hops, until the answer changes."""
        ended: list[str] = []
        for at, start in enumerate(self.built):
            if start.depends_on:
                continue
            for arguments in other_calls(start.facts, start.arguments):
                chain = await self._chain(at, arguments)
                ended += chain[-1:]
                if chain and not same(chain[-1], item.answer):
                    figure: JSON = {
                        "hop": at + 1, "arguments": arguments, "answer": chain[-1],
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
        """Return all answers of the chain with another call at one hop; empty if the chain
        breaks.
        """
        hops = [(hop.tool, hop.call) for hop in self.built]
        own = self.built[start]
        hops[start] = own.tool, own.call.model_copy(update={"arguments": arguments})
        known = [hop.answer for hop in self.built[:start]]
        return await walked(hops, self.context.verifier.once, known)


# -- an item played -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Played:
    """Results of scripted agents on an item."""

    oracle: Mapping[str, bool]
    """Whether the oracle is right under the strict rule, by sandbox."""
    replayed: bool
    """Whether two plays of the oracle in each sandbox all gave the same results, byte by byte."""
    by_luck: tuple[str, ...]
    """Agents that are right without making a call."""


async def played(item: Item, sandboxes: Mapping[str, Sandbox]) -> Played:
    """Play an item with the oracle in each sandbox, and with agents that make no calls.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    right, results = dict[str, bool](), list[tuple[object, ...]]()
    for name, sandbox in sandboxes.items():
        for _ in range(2):
            trace = await _play(item, sandbox, oracle, "oracle")
            right[name] = right.get(name, True) and _right(item, trace)
            outcomes = (call.outcome for call in trace.tool_calls if call.outcome)
            results.append(tuple(map(OUTCOME.dump_json, outcomes)))
    sandbox = next(iter(sandboxes.values()))
    agents = {f"constant:{text}": constant(text) for text in CONSTANTS} | {"do-nothing": do_nothing}
    by_luck = [name for name, play in agents.items()
               if _right(item, await _play(item, sandbox, play, name))]  # fmt: skip
    return Played(right, len(set(results)) == 1, tuple(by_luck))


async def closed_book(context: Context, asker: Asker, item: Item) -> tuple[bool, dict[str, JSON]]:
    """Ask a model in ToolHop's direct mode; return whether the criterion holds, and its figure.

    In a closed world every reply must be wrong, as its facts are invented; for the real world the
    share is only recorded.

    Raises:
        RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
    """
    messages = prompt(Mode.DIRECT, CallFormat.NATIVE, item.question, ())
    version = hashlib.sha256(shipped(Mode.DIRECT.value, "toolhop").encode()).hexdigest()[:12]
    setting = Setting(agent="direct", mode="direct", messages=messages, offer_tools=False)
    ask, sandbox = context.asking(asker), context.verifier.sandbox
    samples, right = context.models.closed_book_samples, 0
    for _ in range(samples):
        said = Reply(await ask(Place(Stage.ACCEPT), version, messages))
        trace = await _play(item, sandbox, lambda *_, said=said: said, "direct", setting)
        right += _right(item, trace)
    figure: dict[str, JSON] = {
        "model": asker.model.name, "asked": samples, "right": right, "share": right / samples,
    }  # fmt: skip
    return not right or context.seed.world is not World.CLOSED, figure


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
