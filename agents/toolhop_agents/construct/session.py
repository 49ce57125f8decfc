"""A session: seeds to items, several at a time, within limits; then the files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, cast

import anyio

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import Asker, opened, paid_in, spent_in
from toolhop_agents.construct.context import Context, Models
from toolhop_agents.construct.item import ItemBuilder
from toolhop_agents.construct.ledger import StepLedger, key_of
from toolhop_agents.construct.settings import Settings, price_of
from toolhop_agents.construct.workshop import Tools, Workshop, workshop
from toolhop_agents.models.cache import ResponseCache
from toolhop_agents.runs.ledger import Ledger as Spending
from toolhop_agents.runs.ledger import RunLimitReached, RunLimits
from toolhop_env.messages import Message, SystemMessage, UserMessage
from toolhop_env.spending import Spent
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolhop.reader import survey_rows
from toolhop_tools.certify.model import VERSION as CERTIFY_VERSION
from toolhop_tools.certify.model import Basis
from toolhop_tools.construct.accept import Criterion
from toolhop_tools.construct.domains import classify
from toolhop_tools.construct.duplicates import VERSION as DUPLICATES
from toolhop_tools.construct.duplicates import Against, crowded, duplicates
from toolhop_tools.construct.funnel import counts, first_pass
from toolhop_tools.construct.prompts import Prompts, inputs
from toolhop_tools.construct.prompts import load as load_prompts
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import VERSION, Place, Stage
from toolhop_tools.load import load
from toolhop_tools.model import Item

Maker: TypeAlias = Callable[[Seed], Awaitable[dict[str, JSON]]]
"""Makes one item; its row of the ledger."""
ALL_ITEMS = Seed("", "")
"""Stands for all items in the ledger, where they are asked about together."""
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
    kind: type[Session] | None = None,
) -> Ended:
    """Make the items of a folder that are not made yet.

    Args:
        folder: made by `folders.make`; other sessions may have begun it.
        settings: the folder's, with other limits where a person gives some.
        ended: is filled, also where a signal cuts the session off.
        most: seeds that are begun, the first ones; None for all.
        on_item: noted of each item as it is finished.
        kind: the class of the folder's session; that of items with hops if None.

    Raises:
        FolderError, LedgerError, StoreError: the folder cannot be used.
        NoSuchModel, NoKey, ModelFault, SandboxUnavailable, BadChoice: before anything was asked.
    """
    folders.own_settings(folder)  # raises where the folder cannot be resumed
    kind = kind or Session
    prompts = kind.prompts_of(settings.prompts)
    if settings.prompts_digest not in {"", prompts.digest}:
        raise folders.FolderError(
            f"the prompts are not those that {folder} was begun with\n"
            "  fix: put them back, or begin another folder"
        )
    seeds = kind.seeds_of(folder)
    ledger = StepLedger(folder)
    try:
        work = kind(folder, settings, prompts, ledger, seeds, on_item)
        return await work.run(seeds[:most], ended or Ended())
    finally:
        ledger.close()


@dataclass
class Session:
    """Seeds to items, and the ledger to files. Other kinds of items have their own prompts, seeds,
    `key`, `maker` and `write`.
    """

    folder: Path
    settings: Settings
    prompts: Prompts
    ledger: StepLedger
    seeds: Sequence[Seed]
    on_item: Callable[[Seed, bool], None]
    domains: dict[str, str] = field(default_factory=dict)
    """By item, where they were classified."""
    asks_json: ClassVar[bool] = True
    """Whether every reply of the author is a JSON object."""

    @staticmethod
    def prompts_of(folder: Path | None) -> Prompts:
        """The prompts of this kind, in a folder of one's own or the package's."""
        return load_prompts(folder)

    @staticmethod
    def seeds_of(folder: Path) -> Sequence[Seed]:
        """The seeds of a folder of this kind. Raises FolderError: they cannot be read."""
        return folders.read_seeds(folder)

    async def run(self, seeds: Sequence[Seed], ended: Ended) -> Ended:
        """Make those of the seeds that are not finished, and write the files."""
        done = {seed.id for seed, _ in self.finished}
        left = [seed for seed in seeds if seed.id not in done]
        try:
            if left:
                await self._make(left, ended)
            if self.settings.domains and ended.fault is None and not ended.stopped_by:
                self.domains = await self._classified()
        except RunLimitReached as reached:
            ended.stopped_by = str(reached)
        except Exception as error:  # noqa: BLE001 -- the command raises it once all that is finished is written
            ended.fault = error
        finally:
            self.write(ended)
        return ended

    async def _classified(self) -> dict[str, str]:
        """The domain of each accepted item, by the author; replies in the ledger are not paid for
        again.
        """
        seeds = {seed.id: seed for seed in self.seeds}
        items = _items([row["row"] for _, row in self.finished if row["accepted"]])
        numbers = itertools.count(1)
        async with AsyncExitStack() as stack:
            author = await self.author(stack, self._spending())

            async def ask(item: str, prompt: str, values: Mapping[str, JSON]) -> str:
                messages: list[Message] = [
                    SystemMessage(self.prompts.system(prompt)),
                    UserMessage(inputs(Stage.DOMAIN, values)),
                ]
                seed, version = seeds.get(item, ALL_ITEMS), self.prompts.version(prompt)
                place = Place(Stage.DOMAIN)
                return await author.ask(seed, place, next(numbers), version, messages)

            return await classify(items, ask)

    def key(self, seed: Seed) -> str:
        """Of a finished item in the ledger."""
        own = self.settings
        others: list[JSON] = [*own.readers, own.all_votes, own.second or "", own.changes]
        return key_of(seed.digest, own.model, self.prompts.digest, VERSION, *others)

    @property
    def finished(self) -> list[tuple[Seed, dict[str, Any]]]:
        """The finished items, in the order of the seeds, with their rows of the ledger."""
        rows = ((seed, self.ledger.get("item", self.key(seed))) for seed in self.seeds)
        return [(seed, row) for seed, row in rows if row is not None]

    async def _make(self, left: Sequence[Seed], ended: Ended) -> None:
        waiting = iter(left)
        spending = self._spending()

        async with AsyncExitStack() as stack:
            make = await self.maker(stack, await self.author(stack, spending))

            async def take() -> None:
                for seed in waiting:
                    if ended.fault is not None:
                        return
                    try:
                        row = await make(seed)
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
                for _ in range(min(self.settings.max_samples, len(left))):
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

    async def author(self, stack: AsyncExitStack, spending: Spending) -> Asker:
        """The model that makes items, with its ledger and its budget."""
        settings = self.settings
        model = await stack.enter_async_context(opened(settings, json_object=self.asks_json))
        limits = RunLimits(tokens=settings.token_limit, cost_usd=settings.cost_limit)
        cache = ResponseCache.open(settings.cache) if settings.cache else None
        return Asker(
            model, settings.asked_with, self.ledger, spending, limits, cache, price_of(settings)
        )

    async def beside(
        self,
        stack: AsyncExitStack,
        author: Asker,
        *wanted: Settings | None,
        json_object: bool = True,
    ) -> list[Asker]:
        """Other models; their replies are in the author's ledger and budget."""
        askers = []
        for own in filter(None, wanted):
            model = await stack.enter_async_context(opened(own, json_object=json_object))
            asker = replace(author, model=model, settings=own.asked_with, price=price_of(own))
            askers.append(asker)
        return askers

    async def readers(self, stack: AsyncExitStack, author: Asker) -> tuple[Asker, ...]:
        """The models that read what was made."""
        return (*await self.beside(stack, author, *self.settings.of_readers()),)

    async def models(self, stack: AsyncExitStack, author: Asker) -> Models:
        """All models of an item with hops. The third is a reader that is not the second."""
        settings = self.settings
        second = next(iter(await self.beside(stack, author, settings.of_second())), None)
        readers = await self.readers(stack, author)
        others = (reader for reader in readers if second and reader.model.name != second.model.name)
        closed = await self.beside(stack, author, settings.of_closed_book(), json_object=False)
        return Models(
            author, second, next(others, None), readers, settings.all_votes, settings.changes,
            next(iter(closed), None), settings.closed_book_samples,
        )  # fmt: skip

    async def workshop(self, stack: AsyncExitStack) -> Workshop:
        """What tools are verified in, and where the oracle plays."""
        settings = self.settings
        tools = Tools(
            settings.sandbox, basis_of(settings), settings.examples, settings.seed,
            settings.max_samples,
        )  # fmt: skip
        opening = workshop(tools, settings.executor, settings.ray_address)
        return await stack.enter_async_context(opening)

    async def maker(self, stack: AsyncExitStack, author: Asker) -> Maker:
        """What makes one item, with all that it needs open."""
        models, shop = await self.models(stack, author), await self.workshop(stack)
        settings = self.settings
        basis: dict[str, JSON] = {**asdict(shop.verifier.basis), "examples": settings.examples}

        async def make(seed: Seed) -> dict[str, JSON]:
            context = Context(seed, self.prompts, models, shop.verifier, settings.repairs, basis)
            return await ItemBuilder(context, shop.rooms, settings.official_safe).make()

        return make

    def _enough(self) -> None:
        """Stop where hardly an item passes at the first reply of every stage."""
        rows = [*self.ledger.rows("item")]
        if not self.settings.least_yield or len(rows) < YIELD_ITEMS:
            return
        first = sum(map(first_pass, rows))
        if first < self.settings.least_yield * len(rows):
            raise RunLimitReached(
                "least_yield",
                f"--least-yield is not reached: {first} of {len(rows)} items passed every stage at "
                "the first reply",
            )

    # -- the files --------------------------------------------------------------------------------

    def write(self, ended: Ended) -> None:
        """The files, by what the ledger has; nothing in them hangs on when it was written."""
        finished, settings, home = self.finished, self.settings, self.folder
        items = _items([row["row"] for _, row in finished if row["accepted"]])
        ended.duplicates = _duplicates(items, settings.against, settings.per_template)
        books = [self.book(seed, row, ended.duplicates) for seed, row in finished]
        kept = {book["item"] for book in books if book["accepted"]}
        accepted = [row for _, row in finished if row["item"] in kept]
        named = {name: {"domain": domain} for name, domain in self.domains.items()}
        rows = ({**row["row"], **named.get(row["item"], {})} for row in accepted)
        folders.write_lines(home / folders.ITEMS, rows)
        folders.write_lines(home / folders.CERTIFICATES, (row["certificate"] for row in accepted))
        if settings.readers:
            refused = (row["refused"] for _, row in finished if "refused" in row)
            folders.write_lines(home / folders.REFUSED, refused)
        folders.write_lines(home / folders.BOOKS, books)
        folders.write_text(home / folders.FUNNEL, json.dumps(counts(books), indent=1))
        ended.accepted = len(accepted)
        ended.rejected = len(finished) - len(accepted)
        ended.left = len(self.seeds) - len(finished)
        ended.took = paid_in(self.ledger)

    def book(
        self, seed: Seed, row: Mapping[str, Any], repeated: Mapping[str, str]
    ) -> dict[str, Any]:
        """An item's line in the books; `repeated` says by id why an item is a duplicate."""
        why = repeated.get(seed.id, "")
        plain = {key: row[key] for key in ("item", "accepted", "criteria", "steps")}
        plain |= {key: row[key] for key in ("place", "why", "problems") if key in row}
        if row["accepted"]:
            judged = Criterion.NO_DUPLICATE.row(why or "none", holds=not why, version=DUPLICATES)
            plain["criteria"] = [*row["criteria"], judged]
        if why:
            plain |= {"accepted": False, "place": ["accept", 0], "why": f"it is {why}"}
        if second := self.settings.of_second():
            same = second.model == self.settings.model
            plain["second"] = f"{second.model}{' (the author)' if same else ''}"
        if self.settings.readers:
            plain["readers"] = [*self.settings.readers]
        if "refused" in row:
            plain["refused"] = True
        spent = spent_in(self.ledger, seed.id)
        return {
            **plain, "family": seed.id, "seed": seed.digest, "source": seed.source,
            "licence": seed.licence, "world": seed.world.value, "model": self.settings.model,
            "prompts": self.prompts.digest, "checks": VERSION, "replies": spent.replies,
            "input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens,
            "cost_usd": spent.cost_usd,
        }  # fmt: skip


def basis_of(settings: Settings) -> Basis:
    """As `toolhop certify` has it by default, so that the certificates hold there as well."""
    return Basis(CERTIFY_VERSION, settings.seed, 300, 20, 2.0, 256, "restricted")


def _items(rows: Sequence[dict[str, Any]]) -> Sequence[Item]:
    named = [(f"row {number}", cast("JSON", row)) for number, row in enumerate(rows, 1)]
    return survey_rows(named, name="made", origin="ledger").usable().items if named else ()


def _duplicates(
    items: Sequence[Item], against: Sequence[str], per_template: int | None
) -> dict[str, str]:
    """By id: what an item is a duplicate of."""
    tests = Against([item for name in against for item in load(name).items])
    reasons = {item.id: f"like a test set: {why}" for item in items if (why := tests.overlap(item))}
    reasons |= duplicates([item for item in items if item.id not in reasons])
    if per_template is not None:
        reasons |= crowded([item for item in items if item.id not in reasons], per_template)
    return reasons
