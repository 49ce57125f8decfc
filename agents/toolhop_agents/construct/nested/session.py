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
from typing import Any, Literal, TypeAlias, cast

from pydantic import Field

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import Asker
from toolhop_agents.construct.context import Context, Models
from toolhop_agents.construct.ledger import StepLedger, key_of
from toolhop_agents.construct.nested.build import NestBuilder
from toolhop_agents.construct.session import Ended, Maker, Session
from toolhop_agents.construct.settings import Settings
from toolhop_agents.runs.ledger import Ledger as Spending
from toolhop_env.messages import Message, Reply
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.duplicates import Against
from toolhop_tools.construct.funnel import counts
from toolhop_tools.construct.nested.accept import duplicates
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
Kept: TypeAlias = Sequence[tuple[NestSeed, Mapping[str, Any]]]
"""Seeds with the ledger's rows of their tasks."""


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
    folders.check_format(folder)
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

    asks_json = False

    @property
    def nested(self) -> NestSettings:
        """The settings."""
        return cast("NestSettings", self.settings)

    def key(self, seed: Seed) -> str:
        """Of a finished task in the ledger."""
        own = self.nested
        readers: list[JSON] = [*own.readers, own.all_votes]
        return key_of(KIND, seed.digest, own.model, readers, self.prompts.digest, VERSION)

    async def author(self, stack: AsyncExitStack, spending: Spending) -> Asker:
        """The model; nobody where none is to be asked."""
        if self.nested.model:
            return await super().author(stack, spending)
        return Asker(_Nobody(), {}, self.ledger, spending)

    async def maker(self, stack: AsyncExitStack, author: Asker) -> Maker:
        """What makes one task; nothing is run for it any more."""
        own, models = self.nested, Models(author)
        readers = await self.readers(stack, author)

        async def make(seed: Seed) -> dict[str, JSON]:
            nest_seed = cast("NestSeed", seed)
            writes = bool(own.model) or nest_seed.way is Way.CODE
            context = Context(seed, self.prompts, models, cast("Verifier", None), own.repairs, {})
            builder = NestBuilder(context, nest_seed, readers, own.all_votes, own.seed, writes)
            return await builder.make()

        return make

    # -- the files --------------------------------------------------------------------------------

    def write(self, ended: Ended) -> None:
        """The files, by what the ledger has; nothing in them hangs on when it was written."""
        rows = [(cast("NestSeed", seed), self.ledger.get("item", self.key(seed)))
                for seed in self.seeds]  # fmt: skip
        finished = [(seed, row) for seed, row in rows if row is not None]
        made = [(seed, row) for seed, row in finished if row["accepted"]]
        against: list[Item] = [item for name in self.settings.against for item in load(name).items]
        ended.duplicates = duplicates([(s.id, row["row"]) for s, row in made], Against(against))
        kept = [(seed, row) for seed, row in made if seed.id not in ended.duplicates]
        beside = self._distractors(kept)
        lacking = [seed.id for seed, _ in kept if beside[seed.id] is None]
        ended.duplicates |= dict.fromkeys(lacking, "without enough distractors")
        kept = [(seed, row) for seed, row in kept if seed.id not in lacking]
        books = [
            {**self.book(seed, row, ended.duplicates), "way": seed.way.value,
             "reading": row["reading"]}
            for seed, row in finished
        ]  # fmt: skip
        self._write_official(kept, beside)
        folders.write_lines(self.folder / folders.BOOKS, books)
        folders.write_text(self.folder / folders.FUNNEL, json.dumps(counts(books), indent=1))
        ended.accepted = len(kept)
        ended.rejected = len(finished) - len(kept)
        ended.left = len(self.seeds) - len(finished)

    def _distractors(self, kept: Kept) -> dict[str, list[Api] | None]:
        """By task: the tools shown beside its own; None where there are too few.

        A draft has its own, of which none does what its calls do. Those of a task written as code
        are tools of the other tasks, of which none can be run.
        """
        count = self.nested.distractors
        if not count:
            return {seed.id: [] for seed, _ in kept}
        nests = {seed.id: Nest.from_row(row["row"]) for seed, row in kept}
        pool = DistractorPool(api for nest in nests.values() for api in nest.apis)
        return {
            seed.id: pool.beside(nests[seed.id], count)
            if seed.way is Way.CODE
            else [Api.from_row(row) for row in seed.executed["distractors"]]
            for seed, _ in kept
        }

    def _write_official(self, kept: Kept, beside: Mapping[str, list[Api] | None]) -> None:
        numbers: dict[str, int] = {}

        def number(api: Api) -> int:
            return numbers.setdefault(canonical(api.to_row()), len(numbers) + 1)

        rows: dict[str, list[dict[str, JSON]]] = {name: [] for name in (DATA, IDS, PROVENANCE)}
        if self.nested.distractors:
            rows[PROMPTS] = []
        for test_id, (seed, row) in enumerate(kept, 1):
            nest, others = Nest.from_row(row["row"]), beside[seed.id] or []
            own: list[JSON] = [number(api) for api in nest.apis]
            listed = [*nest.apis, *others]
            Random(f"{self.settings.seed}/{seed.id}/tools").shuffle(listed)
            text = prompt_of(nest.task, [(number(api), api) for api in listed])
            names: list[JSON] = [api.name for api in others]
            known = {name: part for name, part in seed.executed.items() if name != "distractors"}
            made: dict[str, dict[str, JSON]] = {
                DATA: nest.to_row(test_id, seed.topic),
                IDS: {"api_ids": own},
                PROMPTS: {"prompt": text},
                PROVENANCE: {
                    "item": seed.id, "family": seed.id, "way": seed.way.value, "depth": nest.depth,
                    "width": nest.width, "licence": seed.licence,
                    "source": seed.source or "made by toolhop construct",
                    "text_by": self.nested.model or "rule", "reading": row["reading"],
                    "distractors": names, **known,
                },
            }  # fmt: skip
            for name, lines in rows.items():
                lines.append({"test_id": test_id, **made[name]})
        for name, lines in rows.items():
            folders.write_lines(self.folder / name, lines)


def prompt_of(task: str, tools: Iterable[tuple[int, Api]]) -> str:
    """A prompt with these tools, listed as the official code lists them: readers take the list."""
    listed = []
    for number, api in tools:
        row = api.to_row()
        listed.append({"api_name": row.pop("api_name"), "api_id": number, **row})
    return f"Tools:\n{listed}\n\nTask: {task}"
