"""A session: make items from seeds concurrently and within limits, then write the files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, cast

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import Asker, Context, Models, opened, paid_in, spent_in
from toolhop_agents.construct.folder import StepLedger, key_of
from toolhop_agents.construct.item import ItemBuilder
from toolhop_agents.construct.settings import Settings, price_of
from toolhop_agents.construct.workshop import Tools, workshop
from toolhop_agents.models.base import Model
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
from toolhop_tools.construct.prompts import Prompts, inputs
from toolhop_tools.construct.prompts import load as load_prompts
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import VERSION, Place, Stage, counts, first_pass
from toolhop_tools.load import load
from toolhop_tools.model import Item
from toolhop_tools.several import each

Maker: TypeAlias = Callable[[Seed], Awaitable[dict[str, JSON]]]
"""Makes one item and returns its ledger row."""
Made: TypeAlias = Sequence[tuple[Any, dict[str, Any]]]
"""Seeds paired with the ledger rows of their items."""
ALL_ITEMS = Seed("", "")
"""Placeholder seed, under which the ledger stores requests about all items together."""
YIELD_ITEMS = 20
"""Minimum number of items before the first-pass yield can stop a session."""


@dataclass
class Ended:
    """The outcome of a session."""

    accepted: int = 0
    rejected: int = 0
    left: int = 0
    stopped_by: str = ""
    fault: Exception | None = None
    took: Spent = field(default_factory=Spent)
    """Usage of all sessions: paid for, and saved by a cache."""


async def construct(
    folder: Path,
    settings: Settings,
    ended: Ended | None = None,
    *,
    most: int | None = None,
    on_item: Callable[[Seed, bool], None] = lambda seed, accepted: None,
    kind: type[Session] | None = None,
) -> Ended:
    """Make the unfinished items of a folder.

    Args:
        settings: the folder's settings, with any limits changed for this session.
        ended: updated in place, so that it is usable even if a signal interrupts the session.
        most: number of seeds to use, from the first; None for all.
        kind: the class of the folder's session; None for items with hops.

    Raises:
        FolderError, LedgerError, StoreError: the folder cannot be used.
        NoSuchModel, NoKey, ModelFault, SandboxUnavailable, BadChoice: before any model was asked.
    """
    folders.own_settings(folder)  # raises if the folder cannot be resumed
    kind = kind or Session
    prompts = kind.prompts_of(settings.prompts)
    if settings.prompts_digest not in {"", prompts.digest}:
        raise folders.FolderError(
            f"the prompts are not those that {folder} was begun with\n"
            "  fix: put them back, or begin another folder"
        )
    seeds = folders.read_seeds(folder, kind.made_from)
    ledger = StepLedger(folder)
    try:
        work = kind(folder, settings, prompts, ledger, seeds, on_item)
        return await work.run(seeds[:most], ended or Ended())
    finally:
        ledger.close()


@dataclass
class Session:
    """Makes items from seeds, and writes files from the ledger.

    Subclasses for other kinds of items have their own prompts, seeds, `key`, `maker`, `write_data`
    and `book`.
    """

    folder: Path
    settings: Settings
    prompts: Prompts
    ledger: StepLedger
    seeds: Sequence[Seed]
    on_item: Callable[[Seed, bool], None]
    domains: dict[str, str] = field(default_factory=dict)
    """Domain by item id, if the items were classified."""
    asks_json: ClassVar[bool] = True
    """Whether every reply of the author is a JSON object."""
    made_with: ClassVar[type[Settings]] = Settings
    made_from: ClassVar[type[Seed]] = Seed
    data: ClassVar[str] = folders.ITEMS
    """File name of the data set in the folder."""
    prompts_of = staticmethod(load_prompts)
    """Loads this kind's prompts from a given folder, or else from the package."""

    async def run(self, seeds: Sequence[Seed], ended: Ended) -> Ended:
        """Make the items of unfinished seeds, and write the files."""
        done = {seed.id for seed, _ in self.finished}
        left = [seed for seed in seeds if seed.id not in done]
        try:
            if left:
                await self._make(left, ended)
            if self.settings.domains and not ended.stopped_by:
                self.domains = await self._classified()
        except RunLimitReached as reached:
            ended.stopped_by = str(reached)
        except Exception as error:  # noqa: BLE001 -- the command raises it once all that is finished is written
            ended.fault = error
        finally:
            self.write(ended)
        return ended

    async def _classified(self) -> dict[str, str]:
        """Have the author classify the domain of each accepted item; ledger replies are reused."""
        seeds = {seed.id: seed for seed in self.seeds}
        items = _items([row["row"] for _, row in self.finished if row["accepted"]])
        numbers = itertools.count(1)
        async with AsyncExitStack() as stack:
            author = await self.author(stack, self._spending())

            async def ask(item: str, prompt: str, values: Mapping[str, JSON]) -> str:
                messages: list[Message] = [
                    SystemMessage(self.prompts.texts[prompt]),
                    UserMessage(inputs(Stage.DOMAIN, values)),
                ]
                seed, version = seeds.get(item, ALL_ITEMS), self.prompts.version(prompt)
                place = Place(Stage.DOMAIN)
                return await author.ask(seed, place, next(numbers), version, messages)

            return await classify(items, ask)

    def key(self, seed: Seed) -> str:
        """Return the ledger key of a finished item."""
        own = self.settings
        others: list[JSON] = [*own.readers, own.all_votes, own.second or "", own.changes]
        return key_of(seed.digest, own.model, self.prompts.digest, VERSION, *others)

    @property
    def finished(self) -> Made:
        """The finished items in seed order, with their ledger rows."""
        rows = ((seed, self.ledger.get("item", self.key(seed))) for seed in self.seeds)
        return [(seed, row) for seed, row in rows if row is not None]

    async def _make(self, left: Sequence[Seed], ended: Ended) -> None:
        async with AsyncExitStack() as stack:
            make = await self.maker(stack, await self.author(stack, self._spending()))

            async def finish(seed: Seed) -> None:
                if ended.stopped_by:
                    return
                try:
                    row = await make(seed)
                    self.ledger.add("item", self.key(seed), row)
                    self.on_item(seed, bool(row["accepted"]))
                    self._enough()
                except RunLimitReached as reached:
                    # Limits are checked before each request: replies in flight are paid for and
                    # stored, and the other items then reach the same limit.
                    ended.stopped_by = ended.stopped_by or str(reached)

            await each(left, finish, at_a_time=self.settings.max_samples)

    def _spending(self) -> Spending:
        settings = self.settings
        limits = RunLimits(
            tokens=settings.run_token_limit,
            cost_usd=settings.run_cost_limit,
            known_costs=settings.run_cost_limit is not None or settings.cost_limit is not None,
        )
        return Spending(limits, paid_in(self.ledger))

    async def author(self, stack: AsyncExitStack, spending: Spending) -> Asker:
        """Open the model that makes items, with ledger and budget; the `Asker` has no model if
        none is set.
        """
        settings = self.settings
        limits = RunLimits(tokens=settings.token_limit, cost_usd=settings.cost_limit)
        cache = ResponseCache.open(settings.cache) if settings.cache else None
        nobody = Asker(cast("Model", None), {}, self.ledger, spending, limits, cache)
        own = settings if settings.model else None
        return await self.beside(stack, nobody, own, json_object=self.asks_json) or nobody

    async def beside(
        self,
        stack: AsyncExitStack,
        author: Asker,
        own: Settings | None,
        *,
        json_object: bool = True,
    ) -> Asker | None:
        """Open another model that shares the author's ledger and budget; None without settings."""
        if own is None:
            return None
        model = await stack.enter_async_context(opened(own, json_object=json_object))
        return replace(author, model=model, settings=own.asked_with, price=price_of(own))

    async def readers(self, stack: AsyncExitStack, author: Asker) -> tuple[Asker, ...]:
        """Open the models that read finished items."""
        askers = [await self.beside(stack, author, own) for own in self.settings.of_readers()]
        return tuple(filter(None, askers))

    async def maker(self, stack: AsyncExitStack, author: Asker) -> Maker:
        """Open everything needed to make items, and return the function that makes one."""
        own = self.settings
        second = await self.beside(stack, author, own.of_second())
        readers = await self.readers(stack, author)
        others = (reader for reader in readers if second and reader.model.name != second.model.name)
        closed = await self.beside(stack, author, own.of_closed_book(), json_object=False)
        models = Models(
            author, second, next(others, None), readers, own.all_votes, own.changes, closed,
            own.closed_book_samples,
        )  # fmt: skip
        tools = Tools(own.sandbox, basis_of(own), own.examples, own.seed, own.max_samples)
        shop = await stack.enter_async_context(workshop(tools, own.executor, own.ray_address))
        basis: dict[str, JSON] = {**asdict(shop.verifier.basis), "examples": own.examples}

        async def make(seed: Seed) -> dict[str, JSON]:
            context = Context(seed, self.prompts, models, shop.verifier, own.repairs, basis)
            return await ItemBuilder(context, shop.rooms, own.official_safe).make()

        return make

    def _enough(self) -> None:
        """Stop the session if too few items pass every stage with their first reply."""
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
        """Write the files from the ledger alone; their contents do not depend on the time of
        writing.
        """
        finished = self.finished
        made = [own for own in finished if own[1]["accepted"]]
        repeated = self.write_data(made)
        books = [self.book(seed, row, repeated) for seed, row in finished]
        folders.write_lines(self.folder / folders.BOOKS, books)
        folders.write_text(self.folder / folders.FUNNEL, json.dumps(counts(books), indent=1))
        ended.accepted = len(made) - len(repeated)
        ended.rejected = len(finished) - ended.accepted
        ended.left = len(self.seeds) - len(finished)
        ended.took = paid_in(self.ledger)

    def write_data(self, made: Made) -> dict[str, str]:
        """Write the data set of accepted items; return the duplicates left out, by id."""
        settings, home = self.settings, self.folder
        items = _items([row["row"] for _, row in made])
        repeated = _duplicates(items, settings.against, settings.per_template)
        accepted = [row for seed, row in made if seed.id not in repeated]
        named = {name: {"domain": domain} for name, domain in self.domains.items()}
        rows = ({**row["row"], **named.get(row["item"], {})} for row in accepted)
        folders.write_lines(home / folders.ITEMS, rows)
        folders.write_lines(home / folders.CERTIFICATES, (row["certificate"] for row in accepted))
        if settings.readers:
            refused = (row["refused"] for _, row in self.finished if "refused" in row)
            folders.write_lines(home / folders.REFUSED, refused)
        return repeated

    def book(
        self, seed: Seed, row: Mapping[str, Any], repeated: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return an item's line in the books; `repeated` gives, by id, why an item is a
        duplicate.
        """
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
    """Return the default basis of `toolhop certify`, so that certificates stay valid there."""
    return Basis(CERTIFY_VERSION, settings.seed, 300, 20, 2.0, 256, "restricted")


def _items(rows: Sequence[dict[str, Any]]) -> Sequence[Item]:
    named = [(f"row {number}", cast("JSON", row)) for number, row in enumerate(rows, 1)]
    return survey_rows(named, name="made", origin="ledger").usable().items if named else ()


def _duplicates(
    items: Sequence[Item], against: Sequence[str], per_template: int | None
) -> dict[str, str]:
    """Return what each duplicate item repeats, by id."""
    tests = Against([item for name in against for item in load(name).items])
    reasons = {item.id: f"like a test set: {why}" for item in items if (why := tests.overlap(item))}
    reasons |= duplicates([item for item in items if item.id not in reasons])
    if per_template is not None:
        reasons |= crowded([item for item in items if item.id not in reasons], per_template)
    return reasons
