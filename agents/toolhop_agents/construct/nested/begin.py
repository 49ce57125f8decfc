"""What nested tasks are made from, where tools are run for it: certified items, or a pool.

All of it is done before a folder is begun, and asks no model: the seeds hold the executed calls.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from toolhop_sandbox.base import Limits, Program, Sandbox, Session
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.candidates import Task, at_hand, distinct, filled
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import Certificate
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.use import of_items
from toolhop_tools.construct.nested.assemble import Executed, Unfit, assembled
from toolhop_tools.construct.nested.distract import DistractorPool
from toolhop_tools.construct.nested.drafts import as_item, draft_of
from toolhop_tools.construct.nested.items import executed_item
from toolhop_tools.construct.nested.model import Api, Nest
from toolhop_tools.construct.nested.pool import Meaning, Pool, Search, pool_of
from toolhop_tools.construct.nested.seeds import NestSeed, Way, wanted_forms
from toolhop_tools.construct.nested.shapes import Structure, possible
from toolhop_tools.model import DataSet, Hop, Item, Tool
from toolhop_tools.reading import read_result

WALL_S, MEMORY_MIB = 2.0, 256
"""Limits of a call, as `toolhop certify` has them."""
MOST_LOOKED_AT, PROOF_CALLS = 300, 60
"""Calls that are thought of, and made, in a search for whether a distractor does a call's work."""
GIVEN_UP = 2
"""Further searches for a form of which nothing was found."""
AGAIN = 8
"""Searches for a form, each from a seed of its own, where what was found cannot be used."""


@dataclass(frozen=True)
class Source:
    """A data set whose tools run."""

    dataset: DataSet
    items: Sequence[Item]
    """Those that are chosen."""
    certificates: Mapping[str, Certificate]
    licence: str

    @classmethod
    def of(cls, dataset: DataSet, items: Sequence[Item], path: Path | None, licence: str) -> Source:
        """With the certificates of a file, where one is given.

        Raises:
            CertificateError: it cannot be read, or is stale.
        """
        found = of_items(items, path) if path else {}
        return cls(dataset, items, found, licence)

    def licence_of(self, item: Item) -> str:
        """The item's own licence, else what a person says of all."""
        return str(item.extra.get("licence") or self.licence)


@dataclass
class Begun:
    """Seeds, and what came to nothing."""

    seeds: list[NestSeed] = field(default_factory=list)
    unfit: Counter[str] = field(default_factory=Counter)
    """By reason."""
    calls: int = 0
    """Calls that were made."""


@dataclass
class _Runner:
    """Runs calls, each in a process of its own."""

    sandbox: Sandbox
    session: Session
    stack: AsyncExitStack
    calls: int = 0
    proofs: dict[str, bool] = field(default_factory=dict)

    async def __call__(
        self, program: Program, sets: Sequence[Mapping[str, JSON]]
    ) -> list[Outcome | None]:
        self.calls += len(sets)
        try:
            return [await self.session.call(program, dict(one)) for one in sets]
        except SandboxFault:
            # A call took the session with it: once more, in another.
            await self._open()
            return [await self.session.call(program, dict(one)) for one in sets]

    async def _open(self) -> None:
        self.session = await self.stack.enter_async_context(self.sandbox.session())

    async def proves(self, tool: Tool, item: Item) -> bool:
        """Whether a tool gives what some call of a task gives, when asked what that is asked.

        Any call that the question suggests counts, also one that gives it by chance.
        """
        for at, hop in enumerate(item.hops):
            key = json.dumps([tool.name, hop.question, hop.answer, item.question])
            if key not in self.proofs:
                task = Task(Hop(hop.question, hop.answer, tool), asked(item, at, {}))
                self.proofs[key] = await self._reached(task)
            if self.proofs[key]:
                return True
        return False

    async def _reached(self, task: Task) -> bool:
        made = distinct(chain(at_hand(task), filled(task)))
        looked_at = (one.arguments for one in islice(made, MOST_LOOKED_AT))
        calls = [*islice((one for one in looked_at if task.accepts(one)), PROOF_CALLS)]
        self.calls += len(calls)
        try:
            runs = await run_batch(self.session, task.hop.tool.program, calls)
        except SandboxFault:
            await self._open()
            return True  # what breaks its sandbox is shown nowhere
        return any(
            isinstance(run.outcome, Returned)
            and judge(task.hop.answer, read_result(run.outcome.json_text), arguments) is not None
            for run, arguments in zip(runs, calls, strict=True)
            if run is not None
        )


@asynccontextmanager
async def _running(kind: Kind) -> AsyncIterator[_Runner]:
    limits = Limits(wall_s=WALL_S, memory_mib=MEMORY_MIB)
    sandbox = await open_sandbox(kind, limits=limits, max_workers=2)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(sandbox)
        yield _Runner(sandbox, await stack.enter_async_context(sandbox.session()), stack)


async def from_items(
    source: Source, kind: Kind, distractors: int, on_done: Callable[[], None] = lambda: None
) -> Begun:
    """A seed of each certified item that makes a nested task.

    Args:
        source: the items, with certificates.
        kind: of sandbox.
        distractors: for each tool of a task.
        on_done: called after each item.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    begun = Begun()
    async with _running(kind) as run:
        pool = await pool_of(source.items, source.certificates, run) if distractors else None
        maker = _Maker(run, pool, distractors)
        for item in source.items:
            certificate = source.certificates.get(item.id)
            made = (
                await executed_item(item, certificate, run)
                if certificate is not None
                else Unfit("the item has no certificate")
            )
            if not isinstance(made, Unfit):
                made_from: dict[str, JSON] = {"item": item.id, "item_digest": item.digest}
                seed = draft_of(
                    made, id_=item.id, way=Way.ITEM, domain=item.domain, form=None,
                    made_from=made_from, licence=source.licence_of(item),
                    source=source.dataset.name,
                )  # fmt: skip
                made_seed = await maker.finished(seed, made)
                if isinstance(made_seed, NestSeed):
                    begun.seeds.append(made_seed)
                else:
                    begun.unfit[made_seed.why] += 1
            else:
                begun.unfit[made.why] += 1
            on_done()
        begun.calls = run.calls
    return begun


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is searched for in a pool."""

    count: int
    depths: Sequence[int]
    widths: Sequence[int]
    structure: Structure
    seed: int
    meanings: tuple[Meaning, ...]
    distractors: int


async def from_pool(
    source: Source, kind: Kind, recipe: Recipe, on_done: Callable[[], None] = lambda: None
) -> Begun:
    """Seeds of wanted forms in turn, each found by a search of its own.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    begun = Begun()
    forms = [
        (deep, wide)
        for deep, wide in wanted_forms(recipe.depths, recipe.widths)
        if possible(recipe.structure, deep, wide)
    ]
    async with _running(kind) as run:
        pool = await pool_of(source.items, source.certificates, run, recipe.meanings)
        search = Search(pool, run)
        maker = _Maker(run, pool, recipe.distractors)
        licences = {item.id: source.licence_of(item) for item in source.items}
        for number in range(1, recipe.count + 1):
            depth, width = forms[(number - 1) % len(forms)]
            found: NestSeed | Unfit = Unfit("no calls of the form are found")
            for again in range(AGAIN):
                drawn = f"{recipe.seed}/{number}/{again}"
                calls = await search.find(recipe.structure, depth, width, drawn)
                if calls is None:
                    if again == GIVEN_UP:
                        break
                    continue
                found = _drafted(calls, number, (depth, width), source, pool, licences)
                found = await maker.finished(found, calls[1])
                if isinstance(found, NestSeed):
                    break
            if isinstance(found, NestSeed):
                begun.seeds.append(found)
            else:
                begun.unfit[f"depth {depth}, width {width}: {found.why}"] += 1
            on_done()
        begun.calls = run.calls
    return begun


def _drafted(
    found: tuple[Structure, list[Executed]], number: int, form: tuple[int, int], source: Source,
    pool: Pool, licences: Mapping[str, str],
) -> NestSeed | Unfit:  # fmt: skip
    structure, calls = found
    names = [call.tool.name for call in calls]
    starts = {one.tool.name: one for one in reversed(pool.starts)}
    own: list[JSON] = [*dict.fromkeys(starts[name].item for name in names)]
    made_from: dict[str, JSON] = {"items": own, "structure": structure.value}
    domain = starts[names[0]].domain
    licence = ", ".join(dict.fromkeys(licences[str(one)] for one in own if licences[str(one)]))
    name = "-".join(source.dataset.name.lower().split())
    return draft_of(
        calls, id_=f"{name}-pool-{number}", way=Way.POOL, domain=domain, form=form,
        made_from=made_from, licence=licence, source=source.dataset.name,
    )  # fmt: skip


class _Maker:
    """Puts distractors beside a draft."""

    def __init__(self, run: _Runner, pool: Pool | None, distractors: int) -> None:
        self._run, self._count = run, distractors
        self._tools: dict[str, Tool] = {}
        apis = []
        for start in pool.starts if pool is not None and distractors else ():
            alone = assembled([Executed(start.tool, start.arguments, start.value)])
            if not isinstance(alone, Unfit) and start.tool.name not in self._tools:
                self._tools[start.tool.name] = start.tool
                apis.append(alone.apis[0])
        self._pool = DistractorPool(apis) if apis else None

    async def finished(self, seed: NestSeed | Unfit, calls: Sequence[Executed]) -> NestSeed | Unfit:
        """The seed with its distractors."""
        if isinstance(seed, Unfit) or not self._count:
            return seed
        item, nest = as_item(seed, calls), seed.nest
        assert nest is not None  # noqa: S101 -- a draft has calls

        chosen = await self._chosen(item, nest)
        if chosen is None:
            return Unfit("the pool has too few distractors")
        rows: list[JSON] = [api.to_row() for api in chosen]
        more: dict[str, Any] = {"distractors": rows}
        return replace(seed, executed={**seed.executed, **more})

    async def _chosen(self, item: Item, nest: Nest) -> list[Api] | None:
        if self._pool is None:
            return None
        steps = self._pool.choosing(nest, self._count)
        try:
            name = next(steps)
            while True:
                name = steps.send(await self._run.proves(self._tools[name], item))
        except StopIteration as done:
            return cast("list[Api] | None", done.value)
