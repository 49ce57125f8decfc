"""Asks models for an item's replies: out of the ledger where they are there, else within limits."""

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
from toolhop_agents.models.exchange import priced
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
    """The model that is asked, for JSON alone where its server takes that. `flag` gives its
    address, and is named where no server answers.

    Raises:
        NoSuchModel, NoKey, ModelFault, UnknownPrice: it cannot be asked as given.
    """
    if settings.base_url:
        await reach(settings.model, settings.base_url, flag)
    async with open_model(
        settings.model, base_url=settings.base_url, temperature=settings.temperature,
        max_tokens=settings.max_tokens, timeout_s=settings.timeout_s,
        max_retries=settings.max_retries, connections=Connections(settings.max_samples),
        price=prices.parse(settings.price) if settings.price else None, json_object=json_object,
        temperature_optional=True,
    ) as client:  # fmt: skip
        yield client


class ItemLimitReached(Exception):
    """An item may cost no more; it is rejected."""


@dataclass
class Asker:
    """A model with its ledger and its budget."""

    model: Model
    settings: dict[str, JSON]
    """What the model was asked with, no secret among it: part of each key."""
    ledger: StepLedger
    spending: Spending
    item_limits: RunLimits = field(default_factory=RunLimits)
    """What one item may take, in tokens and USD."""
    cache: ResponseCache | None = None
    """Replies of other folders too, under the ledger's keys."""
    price: Price | None = None
    """Of a reply in the cache that was asked for where no price was known."""

    async def ask(
        self, seed: Seed, place: Place, number: int, prompt: str, messages: Sequence[Message]
    ) -> str:
        """The text of a reply. It is kept under its `number` within the item, and the version of
        its `prompt`.

        Raises:
            RunLimitReached, ItemLimitReached: a limit leaves no room.
            ModelFault: the model could not be asked.
            LedgerError: the reply cannot be kept.
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
        """A reply that is paid for, in the cache before it is in the ledger."""
        self.spending.check()
        reply = await self.model.reply(messages, ())
        try:
            if self.cache is not None:
                self.cache.put(key, replace(reply, content=str(sendable(reply.content))))
        except OSError as error:
            log.warning("a reply could not be kept in %s: %s", self.cache, error)
        return reply

    def _check(self, seed: Seed) -> None:
        """An item has the same limits whoever paid for its replies."""
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
    """What the replies of an item took when they were asked for."""
    return spent_on([_reply(row) for row in ledger.rows("reply") if row["item"] == item])


def paid_in(ledger: StepLedger) -> Spent:
    """What was paid for here; replies out of a cache are counted apart, as saved."""
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


# -- of one item -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Models:
    """The models that are asked, each with the ledger and the budget that they share."""

    author: Asker
    """Makes the items."""
    second: Asker | None = None
    """Writes each function once more, from its document alone."""
    third: Asker | None = None
    """Writes one where the two differ."""
    readers: tuple[Asker, ...] = ()
    votes: int = 0
    """Of the readers, on an item."""
    wording: int = 0
    """Changes of its chain by which an item's wording is tested."""
    closed_book: Asker | None = None
    """Is asked each question without tools."""
    closed_book_samples: int = 1


@dataclass
class Context:
    """One item's seed, prompts, models and sandboxes."""

    seed: Seed
    prompts: Prompts
    models: Models
    verifier: Verifier
    repairs: int
    basis: Mapping[str, JSON]
    """How thoroughly is verified: part of each verdict's key."""
    asked: int = 0

    def asking(self, asker: Asker) -> Ask:
        """A model's voice, for the conversations of this item."""

        async def ask(place: Place, version: str, messages: Sequence[Message]) -> str:
            return await asker.ask(self.seed, place, self.next_number(), version, messages)

        return ask

    async def read(self, question: BlindQuestion, votes: int, stage: Stage) -> tuple[Ballot, ...]:
        """The ballots of the readers, so many together.

        Raises:
            RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        askers = self.models.readers

        async def ask(
            reader: int, sample: int, key: str, version: str, messages: Sequence[Message]
        ) -> str:
            del sample, key  # the number of the reply tells them apart
            return await self.asking(askers[reader])(Place(stage), version, messages)

        names = [asker.model.name for asker in askers[:votes]]
        readers = Readers(names, votes, ask, self.verifier.basis.seed)
        return await readers.read(question, self.verifier.once)

    def next_number(self) -> int:
        """Of the next reply within the item: the same in every session, as all is gone through."""
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
        """A stage's conversation, not yet begun."""
        own: dict[str, JSON] = {"item": self.seed.id, "domain": self.seed.domain}
        text = inputs(place.stage, {**own, "world": self.seed.world.value, **values})
        most = self.repairs if repairs is None else repairs
        return Talk(place, self.prompts, prompt, text, shape, most)

    async def remembered(
        self, what: str, parts: JSON, run: Callable[[], Awaitable[Findings]]
    ) -> Findings:
        """A verdict, out of the ledger where it is there: what was found once is found again."""
        key, ledger = key_of(what, VERSION, dict(self.basis), parts), self.models.author.ledger
        if (row := ledger.get("verdict", key)) is not None:
            return FINDINGS.validate_python(row["findings"])
        findings = await run()
        facts: dict[str, JSON] = {"item": self.seed.id, "what": what}
        ledger.add("verdict", key, {**facts, "findings": findings.to_json()})
        return findings
