"""Asks a model for a stage's reply: out of the ledger where it is there, within the limits else."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from toolhop_agents.construct.ledger import StepLedger, key_of
from toolhop_agents.construct.settings import Settings
from toolhop_agents.models import prices
from toolhop_agents.models.base import Model
from toolhop_agents.models.cache import ResponseCache
from toolhop_agents.models.exchange import ModelOptions, open_model, priced
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
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import Place

log = logging.getLogger(__name__)


@asynccontextmanager
async def opened(
    settings: Settings, *, json_object: bool = True, flag: str = "--base-url"
) -> AsyncIterator[Model]:
    """The model that is asked, for JSON alone where its server takes that.

    Args:
        settings: of this model.
        json_object: whether it is to reply JSON.
        flag: gives its address; named where no server answers.

    Raises:
        NoSuchModel, NoKey, ModelFault, UnknownPrice: it cannot be asked as given.
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
        """The text of a reply.

        Args:
            seed: what the item is made from.
            place: the stage.
            number: of this reply within the item.
            prompt: version of the stage's prompt.
            messages: the conversation.

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
