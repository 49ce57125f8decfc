"""Ask readers for plans, run the plans, and collect the votes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_env.messages import AssistantMessage, Message, SystemMessage, UserMessage
from toolhop_tools.blind.chain import Chain, Sibling
from toolhop_tools.blind.plan import SHOWN, Plan, prompt, prompt_version, read_plan, repair, shown
from toolhop_tools.blind.run import run_plan
from toolhop_tools.blind.votes import Ballot, Vote, hops_met, sibling_vote, unfed, vote_of
from toolhop_tools.construct.calls import Call
from toolhop_tools.model import Tool

MOST_SENT_BACK = 20_000
"""Maximum characters of a malformed reply that are shown to its reader again."""

Ask: TypeAlias = Callable[[int, int, str, str, Sequence[Message]], Awaitable[str]]
"""Takes the reader's number (from 0), its sample (from 1), the question's key, the prompt's
version and the conversation; returns the reply's text after storing the reply."""


@dataclass(frozen=True, slots=True)
class BlindQuestion:
    """A question for blind readers, and the chain against which their plans are checked."""

    key: str
    """Unique name of the question; it also seeds the order of the tools."""
    text: str
    tools: Sequence[Tool]
    """All tools shown to a reader; their bodies are programs."""
    chain: Chain
    """The item's chain, never shown to a reader."""
    sibling: Sibling | None = None


@dataclass(frozen=True, slots=True)
class Readers:
    """Models that read blind, and their total number of votes."""

    models: Sequence[str]
    votes: int
    """Votes per question, distributed over the models in turn."""
    ask: Ask
    seed: int = 0
    """Seed of the order in which each reader sees the tools."""

    def __post_init__(self) -> None:
        if not self.models or self.votes < len(self.models):
            raise ValueError(
                f"{self.votes} votes for {len(self.models)} readers: give at least one reader, and "
                "a vote for each"
            )

    async def read(self, question: BlindQuestion, call: Call) -> tuple[Ballot, ...]:
        """Have a question read, one vote after another.

        Raises:
            Exception: any exception from `ask` or `call`.
        """
        return tuple([await self._ballot(vote, question, call) for vote in range(self.votes)])

    async def _ballot(self, vote: int, question: BlindQuestion, call: Call) -> Ballot:
        reader, sample = vote % len(self.models), vote // len(self.models) + 1
        plan = await self._plan(reader, sample, question, f"{self.seed}/{question.key}/{vote}")
        if not isinstance(plan, Plan):
            return Ballot(self.models[reader], sample, Vote.MALFORMED, " ".join(plan)[:SHOWN])
        tools = {tool.name: tool for tool in question.tools}
        runs = await run_plan(plan, tools, call, question.chain.hops)
        verdict, words = vote_of(plan, runs, question.chain)
        if verdict is Vote.AGREES and question.sibling is not None:
            chain, other = question.chain.of(question.sibling), plan.of(question.sibling)
            runs_of_other = await run_plan(other, tools, call, chain.hops)
            verdict, words = sibling_vote(other, runs_of_other, chain)
        if verdict is Vote.AGREES and question.sibling is None:
            words = unfed(runs, question.chain)
            verdict = Vote.ELSEWHERE if words else verdict
        met = hops_met(runs, question.chain)
        steps = tuple(run.to_json() for run in runs)
        return Ballot(self.models[reader], sample, verdict, words, met, steps)

    async def _plan(
        self, reader: int, sample: int, question: BlindQuestion, seed: str
    ) -> Plan | tuple[str, ...]:
        """Return a reader's plan after at most one repair of its form, or what is wrong with it."""
        schemas = {tool.name: tool.schema for tool in question.tools}
        messages: list[Message] = [
            SystemMessage(prompt("plan")),
            UserMessage(shown(question.text, question.tools, seed)),
        ]
        version = prompt_version()
        text = await self.ask(reader, sample, question.key, version, messages)
        plan = read_plan(text, schemas)
        if isinstance(plan, Plan):
            return plan
        messages += [AssistantMessage(text[:MOST_SENT_BACK] or "-"), UserMessage(repair(plan))]
        return read_plan(await self.ask(reader, sample, question.key, version, messages), schemas)
