"""A session of nested tasks: make tasks from seeds, then write the official files and the books.

    test_data.jsonl      accepted tasks as NesTools' official rows
    test_api_ids.jsonl   the ids of their tools
    test_prompt.jsonl    with distractors: prompts that list all tools shown
    provenance.jsonl     one line per accepted task: origin, form, executed calls
    books.jsonl          one line per seed: criteria with figures, steps, cost
    funnel.json          counts of tasks that passed, by stage

Settings, seeds and ledger are as in any folder (`toolhop_agents.construct.folder`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ask import Asker, Context, Models
from toolhop_agents.construct.folder import key_of
from toolhop_agents.construct.nested.build import NestBuilder
from toolhop_agents.construct.session import Made, Maker, Session
from toolhop_agents.construct.settings import Author, Settings
from toolhop_agents.runs.flags import Flag
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.duplicates import Against
from toolhop_tools.construct.nested.distract import DistractorPool
from toolhop_tools.construct.nested.model import Api, Nest
from toolhop_tools.construct.nested.seeds import NestSeed, Way
from toolhop_tools.construct.nested.task import duplicates
from toolhop_tools.construct.prompts import load_nested
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import VERSION
from toolhop_tools.construct.verify import Verifier
from toolhop_tools.load import load
from toolhop_tools.model import canonical

KIND = "nestools"
DATA, IDS, PROMPTS, PROVENANCE = (
    "test_data.jsonl", "test_api_ids.jsonl", "test_prompt.jsonl", "provenance.jsonl",
)  # fmt: skip


class NestSettings(Settings):
    """Settings for making nested tasks."""

    kind: Literal["nestools"] = "nestools"
    model: Author = ""
    """The author; empty if drafts keep their rule-made text."""
    distractors: Annotated[int, Field(ge=0, le=50), Flag(
        "Other tools shown for each tool of a task; NesTools has 5.")] = 0  # fmt: skip
    made_from: dict[str, Any] = Field(default_factory=dict)
    """Options from which the seeds were made, for the books."""


class NestSession(Session):
    """A session that makes nested tasks from seeds."""

    settings: NestSettings
    asks_json = False
    made_with = NestSettings
    made_from = NestSeed
    data = DATA
    prompts_of = staticmethod(load_nested)

    def key(self, seed: Seed) -> str:
        """Return the ledger key of a finished task."""
        own = self.settings
        readers: list[JSON] = [*own.readers, own.all_votes]
        return key_of(KIND, seed.digest, own.model, readers, self.prompts.digest, VERSION)

    async def maker(self, stack: AsyncExitStack, author: Asker) -> Maker:
        """Return the function that makes one task; it no longer runs any tool."""
        own, readers = self.settings, await self.readers(stack, author)
        models = Models(author, readers=readers, votes=own.all_votes)

        async def make(seed: Seed) -> dict[str, JSON]:
            nest_seed = cast("NestSeed", seed)
            writes = bool(own.model) or nest_seed.way is Way.CODE
            context = Context(seed, self.prompts, models, cast("Verifier", None), own.repairs, {})
            return await NestBuilder(context, nest_seed, own.seed, writes).make()

        return make

    # -- the files --------------------------------------------------------------------------------

    def book(
        self, seed: Seed, row: Mapping[str, Any], repeated: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return a task's line in the books, including how its calls were made."""
        way = cast("NestSeed", seed).way.value
        return {**super().book(seed, row, repeated), "way": way, "reading": row["reading"]}

    def write_data(self, made: Made) -> dict[str, str]:
        """Write the official files and each task's provenance; return the reason for each task
        left out, by id.
        """
        against = Against([item for name in self.settings.against for item in load(name).items])
        repeated = duplicates([(seed.id, row["row"]) for seed, row in made], against)
        kept = [(seed, row) for seed, row in made if seed.id not in repeated]
        beside = self._distractors(kept)
        lacking = [name for name, apis in beside.items() if apis is None]
        lines: dict[str, list[dict[str, JSON]]] = {name: [] for name in (DATA, IDS, PROVENANCE)}
        if self.settings.distractors:
            lines[PROMPTS] = []
        numbers: dict[str, int] = {}
        whole = [(seed, row, apis) for seed, row in kept if (apis := beside[seed.id]) is not None]
        for test_id, (seed, row, apis) in enumerate(whole, 1):
            official = self._official(test_id, seed, row, apis, numbers)
            for name, rows in lines.items():
                rows.append({"test_id": test_id, **official[name]})
        for name, rows in lines.items():
            folders.write_lines(self.folder / name, rows)
        return repeated | dict.fromkeys(lacking, "without enough distractors")

    def _distractors(self, kept: Made) -> dict[str, list[Api] | None]:
        """Return the tools shown beside each task's own, by task; None if there are too few.

        A draft has distractors that were run and cannot do its calls' work. A task written as code
        takes tools of the other tasks, which cannot be run.
        """
        count = self.settings.distractors
        if not count:
            return {seed.id: [] for seed, _ in kept}
        nests = {seed.id: Nest.from_row(row["row"]) for seed, row in kept}
        pool = DistractorPool(api for nest in nests.values() for api in nest.apis)
        return {
            seed.id: pool.beside(nests[seed.id], count)
            if seed.way is Way.CODE
            else [*map(Api.from_row, seed.executed["distractors"])]
            for seed, _ in kept
        }

    def _official(
        self, test_id: int, seed: NestSeed, row: Mapping[str, Any], others: Sequence[Api],
        numbers: dict[str, int],
    ) -> dict[str, dict[str, JSON]]:  # fmt: skip
        """Return a task's line for each file, and add the ids of its tools to `numbers`."""

        def number(api: Api) -> int:
            return numbers.setdefault(canonical(api.to_row()), len(numbers) + 1)

        nest = Nest.from_row(row["row"])
        own: list[JSON] = [number(api) for api in nest.apis]
        listed = [*nest.apis, *others]
        Random(f"{self.settings.seed}/{seed.id}/tools").shuffle(listed)
        # A list in the official code's form, which readers of the file parse.
        shown = [api.to_row(number(api)) for api in listed]
        names: list[JSON] = [api.name for api in others]
        known = {name: part for name, part in seed.executed.items() if name != "distractors"}
        return {
            DATA: nest.to_row(test_id, seed.topic),
            IDS: {"api_ids": own},
            PROMPTS: {"prompt": f"Tools:\n{shown}\n\nTask: {nest.task}"},
            PROVENANCE: {
                "item": seed.id, "family": seed.id, "way": seed.way.value, "depth": nest.depth,
                "width": nest.width, "licence": seed.licence,
                "source": seed.source or "made by toolhop construct",
                "text_by": self.settings.model or "rule", "reading": row["reading"],
                "distractors": names, **known,
            },
        }  # fmt: skip
