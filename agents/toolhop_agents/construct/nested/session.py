"""A session of nested tasks: seeds to tasks, then the official files with the books beside.

    test_data.jsonl      accepted tasks, NesTools' official rows
    test_api_ids.jsonl   the ids of their tools
    test_prompt.jsonl    where there are distractors: prompts with all tools that are shown
    provenance.jsonl     a line an accepted task: where it comes from, its form, what was run
    books.jsonl          a line a seed: criteria with figures, steps, cost
    funnel.json          what passed, by stage

Settings, seeds and ledger are those of any folder (`toolhop_agents.construct.folder`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, cast

from pydantic import Field

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import Asker
from toolhop_agents.construct.context import Context
from toolhop_agents.construct.ledger import StepLedger, key_of
from toolhop_agents.construct.nested.build import NestBuilder
from toolhop_agents.construct.session import Ended, Maker, Session, counts
from toolhop_agents.construct.settings import Settings
from toolhop_agents.runs.ledger import Ledger as Spending
from toolhop_env.messages import Message, Reply
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.duplicates import Against
from toolhop_tools.construct.nested.accept import NestCriterion, duplicates, judged_row
from toolhop_tools.construct.nested.distract import DistractorPool
from toolhop_tools.construct.nested.model import Api, Nest
from toolhop_tools.construct.nested.prompts import load as load_prompts
from toolhop_tools.construct.nested.seeds import NestSeed, Way, seed_of
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import VERSION
from toolhop_tools.construct.verify import Verifier
from toolhop_tools.load import load
from toolhop_tools.model import Item, ToolSchema, canonical

KIND = "nestools"
DATA, IDS, PROMPTS, PROVENANCE = (
    "test_data.jsonl", "test_api_ids.jsonl", "test_prompt.jsonl", "provenance.jsonl",
)  # fmt: skip


class NestSettings(Settings):
    """How nested tasks are made."""

    kind: Literal["nestools"] = "nestools"
    model: str = ""
    """Empty where drafts keep the text made by rule."""
    distractors: int = 0
    """For each tool of a task."""
    made_from: dict[str, Any] = Field(default_factory=dict)
    """The options that the seeds were made with, for the books."""


def read_seeds(folder: Path) -> list[NestSeed]:
    """The seeds of a folder, in order.

    Raises:
        FolderError: they cannot be read.
    """
    try:
        lines = (folder / folders.SEEDS).read_text(encoding="utf-8").split("\n")
        return [seed_of(json.loads(line)) for line in lines if line]
    except (OSError, ValueError, TypeError, KeyError):
        raise folders.FolderError(
            f"{folder}/{folders.SEEDS} cannot be read; make the tasks anew"
        ) from None


async def construct_nested(
    folder: Path,
    settings: NestSettings,
    ended: Ended | None = None,
    *,
    most: int | None = None,
    on_item: Callable[[Seed, bool], None] = lambda seed, accepted: None,
) -> Ended:
    """Make the nested tasks of a folder that are not made yet; see `session.construct`."""
    prompts = load_prompts(settings.prompts)
    if settings.prompts_digest not in {"", prompts.digest}:
        raise folders.FolderError(
            f"the prompts are not those that {folder} was begun with\n"
            "  fix: put them back, or begin another folder"
        )
    seeds = read_seeds(folder)
    ledger = StepLedger(folder)
    try:
        work = NestSession(folder, settings, prompts, ledger, seeds, on_item)
        return await work.run(seeds[:most], ended or Ended())
    finally:
        ledger.close()


@dataclass(frozen=True)
class _Nobody:
    """The model of a folder that asks none."""

    name: str = ""

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        raise AssertionError("a folder without a model asks for a reply")


class NestSession(Session):
    """Seeds to nested tasks."""

    @property
    def nested(self) -> NestSettings:
        """The settings."""
        return cast("NestSettings", self.settings)

    def key(self, seed: Seed) -> str:
        """Of a finished task in the ledger."""
        settings = self.nested
        parts: list[JSON] = [KIND, seed.digest, settings.model, settings.checker or ""]
        return key_of(*parts, self.prompts.digest, VERSION)

    async def asker(self, stack: AsyncExitStack, spending: Spending) -> Asker:
        """The model; nobody where none is to be asked."""
        if self.nested.model:
            return await super().asker(stack, spending)
        return Asker(_Nobody(), {}, self.ledger, spending)

    async def maker(self, stack: AsyncExitStack, asker: Asker) -> Maker:
        """What makes one task; nothing is run for it any more."""
        settings = self.nested
        second = await self.checker(stack, asker)

        async def make(seed: Seed, asker: Asker) -> dict[str, JSON]:
            context = self._context(seed, asker)
            checker = self._context(seed, second) if second is not None else None
            nest_seed = cast("NestSeed", seed)
            return await NestBuilder(context, nest_seed, checker, bool(settings.model)).make()

        return make

    def _context(self, seed: Seed, asker: Asker) -> Context:
        # Nothing is verified by running at this point: what runs has run before.
        verifier = cast("Verifier", None)
        return Context(seed, self.prompts, asker, verifier, self.settings.repairs, {})

    # -- the files --------------------------------------------------------------------------------

    def write(self, ended: Ended) -> None:
        """The files, by what the ledger has; nothing in them hangs on when it was written."""
        rows = [self.ledger.get("item", self.key(seed)) for seed in self.seeds]
        finished = [
            (cast("NestSeed", seed), row) for seed, row in zip(self.seeds, rows, strict=True) if row
        ]
        made = [(seed.id, row["row"]) for seed, row in finished if row["accepted"]]
        ended.duplicates = duplicates(made, _tests(self.settings.against))
        kept = [
            (seed, row)
            for seed, row in finished
            if row["accepted"] and seed.id not in ended.duplicates
        ]
        beside = self._distractors(kept)
        lacking = [seed.id for seed, _ in kept if beside is not None and not beside[seed.id]]
        ended.duplicates |= dict.fromkeys(lacking, "without enough distractors")
        kept = [(seed, row) for seed, row in kept if seed.id not in ended.duplicates]
        books = [self._nest_book(seed, row, ended.duplicates) for seed, row in finished]
        self._write_official(kept, beside)
        folders.write_lines(self.folder / folders.BOOKS, books)
        folders.write_text(self.folder / folders.FUNNEL, json.dumps(counts(books), indent=1))
        ended.accepted = len(kept)
        ended.rejected = len(finished) - len(kept)
        ended.left = len(self.seeds) - len(finished)

    def _distractors(
        self, kept: Sequence[tuple[NestSeed, Mapping[str, Any]]]
    ) -> dict[str, list[Api]] | None:
        """By task: the tools shown beside its own; None where none are asked for.

        A draft has its own, of which none does what its calls do. Those of a task written as code
        are tools of the other tasks, of which none can be run.
        """
        count = self.nested.distractors
        if not count:
            return None
        nests = {seed.id: Nest.from_row(row["row"]) for seed, row in kept}
        pool = DistractorPool(api for nest in nests.values() for api in nest.apis)
        found: dict[str, list[Api]] = {}
        for seed, _ in kept:
            if seed.way is Way.CODE:
                found[seed.id] = pool.nearest(nests[seed.id], count) or []
            else:
                rows = cast("list[dict[str, Any]]", seed.executed["distractors"])
                found[seed.id] = [Api.from_row(row) for row in rows]
        return found

    def _write_official(
        self,
        kept: Sequence[tuple[NestSeed, Mapping[str, Any]]],
        beside: Mapping[str, Sequence[Api]] | None,
    ) -> None:
        numbers: dict[str, int] = {}

        def number(api: Api) -> int:
            return numbers.setdefault(canonical(api.to_row()), len(numbers) + 1)

        data: list[dict[str, JSON]] = []
        ids: list[dict[str, JSON]] = []
        prompts: list[dict[str, JSON]] = []
        provenance: list[dict[str, JSON]] = []
        for test_id, (seed, row) in enumerate(kept, 1):
            nest = Nest.from_row(row["row"])
            data.append(nest.to_row(test_id, seed.topic))
            own: list[JSON] = [number(api) for api in nest.apis]
            ids.append({"test_id": test_id, "api_ids": own})
            others = beside[seed.id] if beside is not None else []
            listed = [*nest.apis, *others]
            Random(f"{self.settings.seed}/{seed.id}/tools").shuffle(listed)
            if beside is not None:
                text = prompt_of(nest.task, [(number(api), api) for api in listed])
                prompts.append({"test_id": test_id, "prompt": text})
            provenance.append(_provenance(test_id, seed, nest, others, self.nested))
        home = self.folder
        folders.write_lines(home / DATA, data)
        folders.write_lines(home / IDS, ids)
        folders.write_lines(home / PROVENANCE, provenance)
        if beside is not None:
            folders.write_lines(home / PROMPTS, prompts)

    def _nest_book(
        self, seed: NestSeed, row: Mapping[str, Any], found: Mapping[str, str]
    ) -> dict[str, Any]:
        why = found.get(seed.id, "")
        book = self.book(seed, {**row, "accepted": row["accepted"] and not why}, {})
        criteria = [one for one in book["criteria"] if one["criterion"] != "no-duplicate"]
        if row["accepted"]:
            last = judged_row(NestCriterion.NO_DUPLICATE, why or "none", holds=not why)
            book["criteria"] = [*criteria, last]
        if why:
            book |= {"place": ["accept", 0], "why": f"it is {why}"}
        return {**book, "way": seed.way.value, "checker": self.nested.checker or ""}


def prompt_of(task: str, tools: Iterable[tuple[int, Api]]) -> str:
    """A prompt with these tools, listed as the official code lists them: readers take the list."""
    listed = []
    for number, api in tools:
        row = api.to_row()
        listed.append({"api_name": row.pop("api_name"), "api_id": number, **row})
    return f"Tools:\n{listed}\n\nTask: {task}"


def _provenance(
    test_id: int, seed: NestSeed, nest: Nest, others: Sequence[Api], settings: NestSettings
) -> dict[str, JSON]:
    names: list[JSON] = [api.name for api in others]
    executed = {key: value for key, value in seed.executed.items() if key != "distractors"}
    return {
        "test_id": test_id,
        "item": seed.id,
        "family": seed.id,
        "way": seed.way.value,
        "depth": nest.depth,
        "width": nest.width,
        "licence": seed.licence,
        "source": seed.source or "made by toolhop construct",
        "text_by": settings.model or "rule",
        "distractors": names,
        **executed,
    }


def _tests(against: Sequence[str]) -> Against:
    items: list[Item] = [item for name in against for item in load(name).items]
    return Against(items)
