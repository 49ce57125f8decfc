"""Draft nested tasks by running tools: those of certified items, or a pool of tools.

All tools run before a folder is created, and no model is asked: the seeds hold the executed calls.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from toolhop_sandbox.base import Limits, Program, Sandbox, Session
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.candidates import Task, at_hand, distinct, filled
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import Certificate
from toolhop_tools.certify.prove import asked
from toolhop_tools.construct.nested.assemble import Executed, Unfit, assembled, executed_item
from toolhop_tools.construct.nested.distract import DistractorPool
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.model import Api
from toolhop_tools.construct.nested.pool import Pool, Search, Structure, pool_of
from toolhop_tools.construct.nested.seeds import NestSeed, Way, as_item, drafted
from toolhop_tools.model import DataSet, Hop, Item, Tool, canonical
from toolhop_tools.reading import read_result

WALL_S, MEMORY_MIB = 2.0, 256
"""Limits of a call, the same as those of `toolhop certify`."""
MOST_LOOKED_AT, PROOF_CALLS = 300, 60
"""Maximum calls considered, and made, to find out whether a distractor can do a call's work."""
GIVEN_UP, AGAIN = 3, 8
"""Number of searches without a result, and of all searches, after which a form is abandoned."""


@dataclass(frozen=True)
class Source:
    """A data set whose tools can be run."""

    dataset: DataSet
    items: Sequence[Item]
    """The selected items."""
    certificates: Mapping[str, Certificate]
    kinds: Kinds
    licence: str
    """Licence of items that state none."""
    sandbox: Kind
    distractors: int
    """Number of distractors per tool of a task."""


@dataclass
class _Runner:
    """Runs each distinct call once, in a process of its own."""

    sandbox: Sandbox
    session: Session
    stack: AsyncExitStack
    calls: int = 0
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    helpful: dict[str, bool] = field(default_factory=dict)

    async def __call__(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        key = canonical([program.source, program.function, dict(arguments)])
        if key not in self.outcomes:
            self.calls += 1
            try:
                self.outcomes[key] = await self.session.call(program, arguments)
            except SandboxFault:
                # The call killed the session: retry in a new one.
                await self._open()
                self.outcomes[key] = await self.session.call(program, arguments)
        return self.outcomes[key]

    async def _open(self) -> None:
        self.session = await self.stack.enter_async_context(self.sandbox.session())

    async def helps(self, tool: Tool, item: Item) -> bool:
        """Whether a tool can return the result of one of a task's calls.

        Any call that the question suggests counts, even if it returns the result by chance.
        """
        for at, hop in enumerate(item.hops):
            key = json.dumps([tool.name, hop.question, hop.answer])
            if key not in self.helpful:
                task = Task(Hop(hop.question, hop.answer, tool), asked(item, at, {}))
                self.helpful[key] = await self._reached(task)
            if self.helpful[key]:
                return True
        return False

    async def _reached(self, task: Task) -> bool:
        thought_of = distinct(itertools.chain(at_hand(task), filled(task)))
        looked_at = itertools.islice(thought_of, MOST_LOOKED_AT)
        accepted = (one.arguments for one in looked_at if task.accepts(one.arguments))
        calls = [*itertools.islice(accepted, PROOF_CALLS)]
        self.calls += len(calls)
        try:
            runs = await run_batch(self.session, task.hop.tool.program, calls)
        except SandboxFault:
            await self._open()
            return True  # do not offer a tool that breaks its sandbox
        return any(
            isinstance(run.outcome, Returned)
            and judge(task.hop.answer, read_result(run.outcome.json_text), arguments) is not None
            for run, arguments in zip(runs, calls, strict=True)
            if run is not None
        )


@dataclass
class Drafts:
    """Seeds of executed calls with their distractors, and the drafts that failed."""

    source: Source
    run: _Runner
    pool: Pool
    seeds: list[NestSeed] = field(default_factory=list)
    unfit: Counter[str] = field(default_factory=Counter)
    """Number of failed drafts by reason."""

    def __post_init__(self) -> None:
        self.tools = {call.tool.name: call.tool for call in self.pool.starts}
        apis = []
        for call in self.pool.starts if self.source.distractors else ():
            try:
                apis.append(assembled([call], self.source.kinds).apis[0])
            except Unfit:
                continue
        self.beside = DistractorPool(apis)

    async def add(self, calls: Sequence[Executed], origins: Sequence[Item], seed: NestSeed) -> str:
        """Make a seed from executed calls; `origins` are the items that the calls belong to.

        Returns:
            The reason why no seed can be made; empty if one was added.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        licences = [str(one.extra.get("licence") or self.source.licence) for one in origins]
        seed = replace(
            seed, domain=origins[0].domain, source=self.source.dataset.name,
            licence=", ".join(dict.fromkeys(filter(None, licences))),
        )  # fmt: skip
        try:
            seed = drafted(calls, self.source.kinds, seed)
        except Unfit as unfit:
            return str(unfit)
        if self.source.distractors:
            chosen = await self._distractors(seed, calls)
            if chosen is None:
                return "the pool has too few distractors"
            rows = [api.to_row() for api in chosen]
            seed = replace(seed, executed={**seed.executed, "distractors": rows})
        self.seeds.append(seed)
        return ""

    async def _distractors(self, seed: NestSeed, calls: Sequence[Executed]) -> list[Api] | None:
        """Choose tools of the pool that cannot do any call's work; None if there are too few."""
        item, nest = as_item(seed, calls), seed.nest
        assert nest is not None  # noqa: S101 -- `drafted` sets the nest of every seed made from calls
        helpful: set[str] = set()
        while True:
            chosen = self.beside.beside(nest, self.source.distractors, helpful)
            more = {api.name for api in chosen or ()
                    if await self.run.helps(self.tools[api.name], item)}  # fmt: skip
            if not more:
                return chosen
            helpful |= more


@asynccontextmanager
async def _opened(source: Source, *, doubtful: bool) -> AsyncIterator[Drafts]:
    limits = Limits(wall_s=WALL_S, memory_mib=MEMORY_MIB)
    async with AsyncExitStack() as stack:
        sandbox = await open_sandbox(source.sandbox, limits=limits, max_workers=2)
        await stack.enter_async_context(sandbox)
        run = _Runner(sandbox, await stack.enter_async_context(sandbox.session()), stack)
        pool = await pool_of(
            source.items, source.certificates, source.kinds, run, doubtful=doubtful
        )
        yield Drafts(source, run, pool)


async def from_items(source: Source, on_done: Callable[[], None] = lambda: None) -> Drafts:
    """Draft a seed from each certified item that fits a nested task.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    async with _opened(source, doubtful=False) as drafts:
        for item in source.items:
            seed = NestSeed(item.id, item.domain, way=Way.ITEM,
                            executed={"item": item.id, "item_digest": item.digest})  # fmt: skip
            try:
                certificate = source.certificates.get(item.id)
                calls = await executed_item(item, certificate, drafts.run)
                why = await drafts.add(calls, [item], seed)
            except Unfit as unfit:
                why = str(unfit)
            drafts.unfit.update(filter(None, [why]))
            on_done()
    return drafts


async def from_pool(
    source: Source, on_done: Callable[[], None] = lambda: None, *, count: int,
    forms: Iterable[tuple[int, int]], structure: Structure, seed: int, doubtful: bool,
) -> Drafts:  # fmt: skip
    """Draft `count` seeds, cycling through the wanted forms; each is found by its own search.

    `forms` are pairs of depth and width. `seed` determines the random draws; `doubtful` also allows
    references that only agree in type, for a model to judge.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    name = "-".join(source.dataset.name.lower().split())
    async with _opened(source, doubtful=doubtful) as drafts:
        search = Search(drafts.pool, drafts.run)
        wanted = zip(range(1, count + 1), itertools.cycle(forms), strict=False)
        for number, (depth, width) in wanted:
            why = "no calls of the form are found"
            for again in range(AGAIN):
                found = await search.find(structure, depth, width, f"{seed}/{number}/{again}")
                if found is not None:
                    kind, calls = found
                    origins = [drafts.pool.origins[call.tool.name] for call in calls]
                    items = [*dict.fromkeys(item.id for item in origins)]
                    draft = NestSeed(
                        f"{name}-pool-{number}", "", way=Way.POOL, depth=depth, width=width,
                        executed={"items": items, "structure": kind.value},
                    )  # fmt: skip
                    why = await drafts.add(calls, origins, draft)
                if not why or (found is None and again + 1 >= GIVEN_UP):
                    break
            if why:
                drafts.unfit[f"depth {depth}, width {width}: {why}"] += 1
            on_done()
    return drafts
