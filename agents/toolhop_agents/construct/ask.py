"""Get model replies for an item: from the ledger if present, else from the model, within limits."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from toolhop_agents.blind.readers import BlindQuestion, Readers
from toolhop_agents.construct.folder import StepLedger, key_of
from toolhop_agents.construct.settings import Settings
from toolhop_agents.construct.talk import Ask, Talk
from toolhop_agents.models import prices
from toolhop_agents.models.base import Model
from toolhop_agents.models.cache import ResponseCache
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions, priced
from toolhop_agents.models.prices import Price
from toolhop_agents.models.rate import Connections
from toolhop_agents.models.reach import reach
from toolhop_agents.models.wire_sending import messages_to_wire, sendable
from toolhop_agents.runs.ledger import Ledger as Spending
from toolhop_agents.runs.ledger import RunLimitReached, RunLimits
from toolhop_env.messages import Message, Origin, Reply, Usage
from toolhop_env.reading import without_thoughts
from toolhop_env.spending import Spent, spent_on
from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.votes import Ballot
from toolhop_tools.construct.prompts import Prompts, inputs
from toolhop_tools.construct.replies import ReplyModel
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import FINDINGS, VERSION, Findings, Place, Stage
from toolhop_tools.construct.verify import Verifier

log = logging.getLogger(__name__)


@asynccontextmanager
async def opened(
    settings: Settings, *, json_object: bool = True, flag: str = "--base-url"
) -> AsyncIterator[Model]:
    """Open the model, restricted to JSON output if its server supports that.

    `flag` is the option that sets its address; the error names it when no server answers.

    Raises:
        NoSuchModel, NoKey, ModelFault, UnknownPrice: the model cannot be used with these settings.
    """
    if settings.base_url:
        await reach(settings.model, settings.base_url, flag)
    options = ModelOptions(
        base_url=settings.base_url, temperature=settings.temperature,
        max_tokens=settings.max_tokens, timeout_s=settings.timeout_s,
        max_retries=settings.max_retries, connections=Connections(settings.max_samples),
        price=prices.parse(settings.price) if settings.price else None, json_object=json_object,
        temperature_optional=True,
    )  # fmt: skip
    async with open_model(settings.model, options) as client:
        yield client


class ItemLimitReached(Exception):
    """An item has used up its own limit and is rejected."""


@dataclass
class Asker:
    """A model with its ledger and its budget."""

    model: Model
    settings: dict[str, JSON]
    """The model's settings, without secrets: part of each ledger key."""
    ledger: StepLedger
    spending: Spending
    item_limits: RunLimits = field(default_factory=RunLimits)
    """Limits of one item, in tokens and USD."""
    cache: ResponseCache | None = None
    """Replies shared between folders, under the same keys as the ledger."""
    price: Price | None = None
    """Price applied to a cached reply that was stored without a cost."""

    async def ask(
        self, seed: Seed, place: Place, number: int, prompt: str, messages: Sequence[Message]
    ) -> str:
        """Return the text of a reply, stored under its `number` within the item and its `prompt`
        version.

        Raises:
            RunLimitReached, ItemLimitReached: a limit is used up.
            ModelFault: the model could not be asked.
            LedgerError: the reply cannot be stored.
        """
        asked: list[JSON] = [*messages_to_wire(messages)]
        at: list[JSON] = [place.stage.value, place.hop]
        key = key_of(seed.digest, at, prompt, self.model.name, self.settings, number, asked)
        row = self.ledger.get("reply", key)
        if row is None:
            self._check(seed)
            reply = self.cache.get(key) if self.cache else None
            if reply is None:
                reply = await self._fresh(key, messages)
            else:
                reply = replace(reply, usage=priced(reply.usage, self.price))
            row = self.ledger.add("reply", key, _row(seed, place, number, prompt, reply))
            self.spending.add_spent(spent_on([reply]))
        return without_thoughts(str(row["text"]))

    async def _fresh(self, key: str, messages: Sequence[Message]) -> Reply:
        """Ask the model, and cache the paid reply before it goes into the ledger."""
        self.spending.check()
        reply = await self.model.reply(messages, ())
        try:
            if self.cache is not None:
                self.cache.put(key, replace(reply, content=str(sendable(reply.content))))
        except OSError as error:
            log.warning("a reply could not be kept in %s: %s", self.cache, error)
        return reply

    def _check(self, seed: Seed) -> None:
        """Check the item's limits, counting cached replies at their original cost."""
        limits, spent = self.item_limits, spent_in(self.ledger, seed.id)
        if limits.tokens is not None and spent.tokens >= limits.tokens:
            raise ItemLimitReached(f"--token-limit is reached: {spent.tokens:,} tokens")
        if limits.cost_usd is None:
            return
        if spent.cost_usd is None:
            raise RunLimitReached(
                "cost_limit",
                "the cost of a reply is not known, so that --cost-limit cannot be kept; give "
                "--price (of other models --second-price, --reader-price, --closed-book-price), or "
                "leave the limit out",
            )
        if spent.cost_usd >= limits.cost_usd:
            raise ItemLimitReached(f"--cost-limit is reached: ${spent.cost_usd:.4f}")


def spent_in(ledger: StepLedger, item: str) -> Spent:
    """Return what an item's replies originally cost, cached ones included."""
    return spent_on([_reply(row) for row in ledger.rows("reply") if row["item"] == item])


def paid_in(ledger: StepLedger) -> Spent:
    """Return what was paid for this folder; cached replies count as saved."""
    return spent_on([
        replace(_reply(row), origin=Origin.CACHED if row.get("cached") else Origin.ASKED)
        for row in ledger.rows("reply")
    ])  # fmt: skip


def _row(seed: Seed, place: Place, number: int, prompt: str, reply: Reply) -> dict[str, JSON]:
    return {
        **({"cached": True} if reply.origin is Origin.CACHED else {}),
        "item": seed.id, "stage": place.stage.value, "hop": place.hop, "number": number,
        "prompt": prompt, "model": reply.model, "text": sendable(reply.content),
        "finish_reason": reply.finish_reason, "usage": asdict(reply.usage),
        "retries": reply.retries,
    }  # fmt: skip


def _reply(row: dict[str, Any]) -> Reply:
    return Reply(usage=Usage(**row["usage"]), retries=row["retries"], model=row["model"])


# -- one item --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Models:
    """The models in use, which share one ledger and one budget."""

    author: Asker
    """The model that makes the items."""
    second: Asker | None = None
    """Writes a second implementation of each function from its document alone."""
    third: Asker | None = None
    """Writes a third implementation when the first two differ."""
    readers: tuple[Asker, ...] = ()
    votes: int = 0
    """Number of reader votes per item."""
    wording: int = 0
    """Number of chain changes that test an item's wording."""
    closed_book: Asker | None = None
    """Answers each question without tools."""
    closed_book_samples: int = 1


@dataclass
class Context:
    """The seed, prompts, models and sandboxes of one item."""

    seed: Seed
    prompts: Prompts
    models: Models
    verifier: Verifier
    repairs: int
    basis: Mapping[str, JSON]
    """Verification settings: part of each verdict's key."""
    asked: int = 0

    def asking(self, asker: Asker) -> Ask:
        """Return a function that asks this model on behalf of the item."""

        async def ask(place: Place, version: str, messages: Sequence[Message]) -> str:
            return await asker.ask(self.seed, place, self.next_number(), version, messages)

        return ask

    async def read(self, question: BlindQuestion, votes: int, stage: Stage) -> tuple[Ballot, ...]:
        """Collect `votes` ballots from the readers.

        Raises:
            RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        askers = self.models.readers

        async def ask(
            reader: int, sample: int, key: str, version: str, messages: Sequence[Message]
        ) -> str:
            del sample, key  # replies are told apart by number instead
            return await self.asking(askers[reader])(Place(stage), version, messages)

        names = [asker.model.name for asker in askers[:votes]]
        readers = Readers(names, votes, ask, self.verifier.basis.seed)
        return await readers.read(question, self.verifier.once)

    def next_number(self) -> int:
        """Return the number of the item's next reply.

        A resumed session repeats all stages, so the numbers are the same in every session.
        """
        self.asked += 1
        return self.asked

    def talk(
        self,
        place: Place,
        prompt: str,
        values: Mapping[str, JSON],
        shape: type[ReplyModel],
        repairs: int | None = None,
    ) -> Talk:
        """Return a new conversation for a stage."""
        own: dict[str, JSON] = {"item": self.seed.id, "domain": self.seed.domain}
        text = inputs(place.stage, {**own, "world": self.seed.world.value, **values})
        most = self.repairs if repairs is None else repairs
        return Talk(place, self.prompts, prompt, text, shape, most)

    async def remembered(
        self, what: str, parts: JSON, run: Callable[[], Awaitable[Findings]]
    ) -> Findings:
        """Return a verdict from the ledger; run the check and store its verdict if there is
        none.
        """
        key, ledger = key_of(what, VERSION, dict(self.basis), parts), self.models.author.ledger
        if (row := ledger.get("verdict", key)) is not None:
            return FINDINGS.validate_python(row["findings"])
        findings = await run()
        facts: dict[str, JSON] = {"item": self.seed.id, "what": what}
        ledger.add("verdict", key, {**facts, "findings": findings.to_json()})
        return findings
