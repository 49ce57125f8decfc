"""A session: seeds to items, several at a time, within limits; then the files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import anyio

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import Asker, ItemLimits, paid_in, spent_in
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.direct import DirectCheck
from toolhop_agents.construct.item import Accepted, ItemBuilder, of_books
from toolhop_agents.construct.ledger import StepLedger, key_of
from toolhop_agents.construct.settings import Settings, price_of
from toolhop_agents.construct.workshop import Tools, Workshop, workshop
from toolhop_agents.models import prices
from toolhop_agents.models.base import Model
from toolhop_agents.models.cache import ResponseCache
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.rate import Connections
from toolhop_agents.models.reach import reach
from toolhop_agents.runs.ledger import Ledger as Spending
from toolhop_agents.runs.ledger import RunLimitReached, RunLimits
from toolhop_agents.scripted.constructor.model import PREFIX, ScriptedConstructor, script
from toolhop_env.spending import Spent
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.model import VERSION as CERTIFY_VERSION
from toolhop_tools.certify.model import Basis
from toolhop_tools.construct.accept import Criterion, Judged
from toolhop_tools.construct.duplicates import VERSION as DUPLICATES
from toolhop_tools.construct.duplicates import Against, crowded, duplicates
from toolhop_tools.construct.funnel import funnel
from toolhop_tools.construct.prompts import Prompts
from toolhop_tools.construct.prompts import load as load_prompts
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import VERSION, Findings
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.toolhop import survey_rows, to_rows

Maker: TypeAlias = Callable[[Seed, Asker], Awaitable[dict[str, JSON]]]
"""Makes one item; its row of the ledger."""
YIELD_ITEMS = 20
"""Items after which the first-pass yield can stop a session."""


@dataclass
class Ended:
    """How a session ended."""

    accepted: int = 0
    rejected: int = 0
    left: int = 0
    stopped_by: str = ""
    fault: Exception | None = None
    duplicates: dict[str, str] = field(default_factory=dict)
    took: Spent = field(default_factory=Spent)
    """In all sessions: what was paid for, and what a cache saved."""


async def construct(
    folder: Path,
    settings: Settings,
    ended: Ended | None = None,
    *,
    most: int | None = None,
    on_item: Callable[[Seed, bool], None] = lambda seed, accepted: None,
) -> Ended:
    """Make the items of a folder that are not made yet.

    Args:
        folder: made by `folders.make`; other sessions may have begun it.
        settings: the folder's, with other limits where a person gives some.
        ended: is filled, also where a signal cuts the session off.
        most: seeds that are begun, the first ones; None for all.
        on_item: noted of each item as it is finished.

    Raises:
        FolderError, LedgerError, StoreError: the folder cannot be used.
        NoSuchModel, NoKey, ModelFault, SandboxUnavailable, BadChoice: before anything was asked.
    """
    prompts = load_prompts(settings.prompts)
    if settings.prompts_digest not in {"", prompts.digest}:
        raise folders.FolderError(
            f"the prompts are not those that {folder} was begun with\n"
            "  fix: put them back, or begin another folder"
        )
    seeds = folders.read_seeds(folder)
    ledger = StepLedger(folder)
    try:
        work = Session(folder, settings, prompts, ledger, seeds, on_item)
        return await work.run(seeds[:most], ended or Ended())
    finally:
        ledger.close()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Model]:
    """The model that is asked.

    Raises:
        NoSuchModel, NoKey, ModelFault, UnknownPrice: it cannot be asked as given.
    """
    price = prices.parse(settings.price) if settings.price else None
    if settings.model.startswith(PREFIX):
        name = settings.model.removeprefix(PREFIX)
        yield ScriptedConstructor(settings.model, script(name), price)
        return
    if settings.base_url:
        await reach(settings.model, settings.base_url)
    async with open_model(
        settings.model,
        base_url=settings.base_url,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
        connections=Connections(settings.at_a_time),
        price=price,
    ) as client:
        yield client


@dataclass
class Session:
    """Seeds to items, and the ledger to files. Other kinds of items have their own `key`, `maker`
    and `write`.
    """

    folder: Path
    settings: Settings
    prompts: Prompts
    ledger: StepLedger
    seeds: Sequence[Seed]
    on_item: Callable[[Seed, bool], None]
    memory: dict[str, Findings] = field(default_factory=dict)

    async def run(self, seeds: Sequence[Seed], ended: Ended) -> Ended:
        """Make those of the seeds that are not finished, and write the files."""
        left = [seed for seed in seeds if self.ledger.get("item", self.key(seed)) is None]
        try:
            if left:
                await self._make(left, ended)
        finally:
            self.write(ended)
        return ended

    def key(self, seed: Seed) -> str:
        """Of a finished item in the ledger."""
        checker: list[JSON] = [self.settings.checker] if self.settings.checker else []
        return key_of(seed.digest, self.settings.model, self.prompts.digest, VERSION, *checker)

    async def _make(self, left: Sequence[Seed], ended: Ended) -> None:
        waiting = iter(left)
        spending = self._spending()

        async with AsyncExitStack() as stack:
            asker = await self.asker(stack, spending)
            make = await self.maker(stack, asker)

            async def take() -> None:
                for seed in waiting:
                    if ended.fault is not None:
                        return
                    try:
                        row = await make(seed, asker)
                        self.ledger.add("item", self.key(seed), row)
                        self.on_item(seed, bool(row["accepted"]))
                        self._enough()
                    except Exception as error:  # noqa: BLE001 -- the command raises it once all that is finished is written
                        if ended.fault is None:
                            ended.fault = error
                        # A limit is looked at before each request: replies under way are paid for
                        # and kept, and the other items then stop at it by themselves.
                        if not isinstance(error, RunLimitReached):
                            group.cancel_scope.cancel()
                        return

            async with anyio.create_task_group() as group:
                for _ in range(min(self.settings.at_a_time, len(left))):
                    group.start_soon(take)
        if isinstance(ended.fault, RunLimitReached):
            ended.stopped_by = str(ended.fault)
            ended.fault = None

    def _spending(self) -> Spending:
        settings = self.settings
        limits = RunLimits(
            tokens=settings.run_token_limit,
            cost_usd=settings.run_cost_limit,
            known_costs=settings.run_cost_limit is not None or settings.cost_limit is not None,
        )
        return Spending(limits, paid_in(self.ledger))

    async def asker(self, stack: AsyncExitStack, spending: Spending) -> Asker:
        """The model, with its ledger and its budget."""
        settings = self.settings
        model = await stack.enter_async_context(opened(settings))
        limits = ItemLimits(settings.token_limit, settings.cost_limit)
        cache = ResponseCache.open(settings.cache) if settings.cache else None
        return Asker(
            model, settings.asked_with, self.ledger, spending, limits, cache, price_of(settings)
        )

    async def checker(self, stack: AsyncExitStack, asker: Asker) -> Asker | None:
        """The model that reads what was made; its replies are in the same ledger and budget."""
        wanted = self.settings.of_checker()
        if wanted is None:
            return None
        model = await stack.enter_async_context(opened(wanted))
        return replace(asker, model=model, settings=wanted.asked_with, price=price_of(wanted))

    async def _direct(self, stack: AsyncExitStack, asker: Asker) -> DirectCheck | None:
        wanted = self.settings.of_direct()
        if wanted is None:
            return None
        if not wanted.model.startswith(PREFIX):
            model = await stack.enter_async_context(opened(wanted))
            own = {**asker.settings, "base_url": wanted.base_url}
            asker = replace(asker, model=model, settings=own, price=price_of(wanted))
        return DirectCheck(wanted.model, asker, wanted.direct_samples)

    async def workshop(self, stack: AsyncExitStack) -> Workshop:
        """What tools are verified in, and where the oracle plays."""
        settings = self.settings
        tools = Tools(
            settings.sandbox, basis_of(settings), settings.examples, settings.seed,
            settings.at_a_time,
        )  # fmt: skip
        opening = workshop(tools, settings.executor, settings.ray_address)
        return await stack.enter_async_context(opening)

    async def maker(self, stack: AsyncExitStack, asker: Asker) -> Maker:
        """What makes one item, with all that it needs open."""
        direct = await self._direct(stack, asker)
        checker = await self.checker(stack, asker)
        shop = await self.workshop(stack)

        async def make(seed: Seed, asker: Asker) -> dict[str, JSON]:
            return await self._one(seed, asker, direct, checker, shop)

        return make

    async def _one(
        self,
        seed: Seed,
        asker: Asker,
        direct: DirectCheck | None,
        checker: Asker | None,
        shop: Workshop,
    ) -> dict[str, JSON]:
        settings = self.settings
        basis: dict[str, JSON] = {**asdict(shop.verifier.basis), "examples": settings.examples}
        context = Context(
            seed, self.prompts, asker, shop.verifier, settings.repairs, basis, direct, checker,
            memory=self.memory,
        )  # fmt: skip
        made = await ItemBuilder(context, shop.rooms, settings.official_safe).make()
        row = of_books(seed, made)
        if isinstance(made, Accepted):
            [row["row"]] = to_rows(DataSet("made", "", (made.item,)))
        elif made.refused is not None:
            [row["refused"]] = to_rows(DataSet("made", "", (made.refused,)))
        return row

    def _enough(self) -> None:
        """Stop where hardly an item passes at the first reply of every stage."""
        rows = [*self.ledger.rows("item")]
        if not self.settings.least_yield or len(rows) < YIELD_ITEMS:
            return
        first = sum(row["accepted"] and first_pass(row) for row in rows)
        if first < self.settings.least_yield * len(rows):
            raise RunLimitReached(
                "least_yield",
                f"--least-yield is not reached: {first} of {len(rows)} items passed every stage at "
                "the first reply",
            )

    # -- the files --------------------------------------------------------------------------------

    def write(self, ended: Ended) -> None:
        """The files, by what the ledger has; nothing in them hangs on when it was written."""
        rows = [self.ledger.get("item", self.key(seed)) for seed in self.seeds]
        finished = [(seed, row) for seed, row in zip(self.seeds, rows, strict=True) if row]
        items = _items([row["row"] for _, row in finished if row["accepted"]])
        settings = self.settings
        ended.duplicates = _duplicates(items, settings.against, settings.per_template)
        books = [self.book(seed, row, ended.duplicates) for seed, row in finished]
        kept = {one["item"] for one in books if one["accepted"]}
        home = self.folder
        accepted = [row for _, row in finished if row["item"] in kept]
        folders.write_lines(home / folders.ITEMS, (row["row"] for row in accepted))
        folders.write_lines(home / folders.CERTIFICATES, (row["certificate"] for row in accepted))
        if settings.checker:
            refused = (row["refused"] for _, row in finished if "refused" in row)
            folders.write_lines(home / folders.REFUSED, refused)
        folders.write_lines(home / folders.BOOKS, books)
        folders.write_text(home / folders.FUNNEL, json.dumps(counts(books), indent=1))
        ended.accepted = len(accepted)
        ended.rejected = len(finished) - len(accepted)
        ended.left = len(self.seeds) - len(finished)
        ended.took = paid_in(self.ledger)

    def book(self, seed: Seed, row: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
        """An item's line in the books; `found` has what is a duplicate, by id."""
        why = found.get(seed.id, "")
        plain = {key: row[key] for key in ("item", "accepted", "criteria", "steps")}
        plain |= {key: row[key] for key in ("place", "why", "problems") if key in row}
        if row["accepted"]:
            one = Judged(Criterion.NO_DUPLICATE, not why, why or "none", DUPLICATES)
            plain["criteria"] = [*row["criteria"], one.to_json()]
        if why:
            plain |= {"accepted": False, "place": ["accept", 0], "why": f"it is {why}"}
        if self.settings.checker:
            plain["checker"] = self.settings.checker
        if "refused" in row:
            plain["refused"] = True
        spent = spent_in(self.ledger, seed.id)
        return {
            **plain,
            "family": seed.id,
            "seed": seed.digest,
            "source": seed.source,
            "licence": seed.licence,
            "world": seed.world.value,
            "model": self.settings.model,
            "prompts": self.prompts.digest,
            "checks": VERSION,
            "replies": spent.replies,
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "cost_usd": spent.cost_usd,
        }


def basis_of(settings: Settings) -> Basis:
    """As `toolhop certify` has it by default, so that the certificates hold there as well."""
    return Basis(CERTIFY_VERSION, settings.seed, 300, 20, 2.0, 256, "restricted")


def first_pass(row: Mapping[str, Any]) -> bool:
    """Whether an item passed every stage at the first reply."""
    return all(step["replies"] <= 1 and not step["returned"] for step in row["steps"])


def _items(rows: Sequence[dict[str, Any]]) -> tuple[Item, ...]:
    named = [(f"row {number}", cast("JSON", row)) for number, row in enumerate(rows, 1)]
    return survey_rows(named, name="made", origin="ledger").usable().items if named else ()


def _duplicates(
    items: Sequence[Item], against: Sequence[str], per_template: int | None
) -> dict[str, str]:
    """By id: what an item is a duplicate of."""
    tests = Against([item for name in against for item in load(name).items])
    shared = {item.id: why for item in items if (why := tests.overlap(item))}
    rest = [item for item in items if item.id not in shared]
    found = {name: f"like a test set: {why}" for name, why in shared.items()}
    found |= duplicates(rest)
    if per_template is not None:
        found |= crowded([item for item in rest if item.id not in found], per_template)
    return found


def counts(books: Sequence[Mapping[str, Any]]) -> dict[str, JSON]:
    """What passed, for the funnel's file."""
    stages: list[JSON] = [asdict(row) for row in funnel(books)]
    return {
        "items": len(books),
        "accepted": sum(one["accepted"] for one in books),
        "accepted_at_first": sum(one["accepted"] and first_pass(one) for one in books),
        "stages": stages,
    }
