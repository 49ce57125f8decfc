"""Asks blind readers about authored items, keeps what they reply, and replays it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from studies.authored import Authored, load_items, with_ballot
from toolhop_agents.blind.readers import BlindQuestion, Readers
from toolhop_agents.models.base import Model, ModelFault
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_agents.models.rate import Connections
from toolhop_agents.models.wire_sending import messages_to_wire, sendable
from toolhop_env.messages import Message
from toolhop_sandbox.base import Program
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.answers import same_answer
from toolhop_tools.blind.chain import Sibling
from toolhop_tools.blind.plan import Plan
from toolhop_tools.blind.run import StepRun, run_plan
from toolhop_tools.blind.votes import Ballot, comes_through, hops_met, vote_of
from toolhop_tools.construct.calls import Call
from toolhop_tools.construct.second import Difference, call_set, differences
from toolhop_tools.construct.verify import result_of

AUTHOR = "author"


class NotKeptError(Exception):
    """A reply that is wanted is not kept, and nobody is asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A reader, and where it is asked."""

    name: str
    model: str
    base_url: str


@dataclass
class Kept:
    """A folder of items and replies; replies are appended, and synced before they are used."""

    folder: Path
    replies: dict[str, str] = field(default_factory=dict)
    """Texts by the digest of their request."""
    readers: list[str] = field(default_factory=list)
    """Names of those who replied."""

    @classmethod
    def open(cls, folder: Path) -> Kept:
        """What a folder holds; an empty one if it is not there."""
        kept = cls(folder)
        path = folder / "replies.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            row = json.loads(line)
            kept.replies[row["request"]] = row["text"]
            if row["reader"] not in kept.readers:
                kept.readers.append(row["reader"])
        kept.readers.sort()
        return kept

    @property
    def items(self) -> list[Authored]:
        """The items that are kept."""
        path = self.folder / "items.jsonl"
        return load_items(path) if path.exists() else []

    def keep_items(self, files: Sequence[Path]) -> None:
        """Write the items of files, in their order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        texts = [path.read_text(encoding="utf-8").rstrip("\n") for path in files]
        (self.folder / "items.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")

    def add(self, request: str, reader: str, item: str, prompt: str, text: str) -> None:
        """Keep a reply; `prompt` is the version of the system prompt."""
        self.folder.mkdir(parents=True, exist_ok=True)
        row = {"request": request, "reader": reader, "item": item, "prompt": prompt, "text": text}
        with (self.folder / "replies.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.replies[request] = text


def digest_of(reader: str, sample: int, messages: Sequence[Message]) -> str:
    """What a reply is kept under: who is asked, which sample, and all after the system prompt."""
    wire: list[JSON] = [*messages_to_wire(messages[1:])]
    parts: list[JSON] = [reader, sample, wire]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class KeptAsk:
    """One reader: asked where a reply is not kept. See `toolhop_agents.blind.readers.Ask`."""

    name: str
    kept: Kept
    model: Model | None

    async def __call__(
        self, reader: int, sample: int, key: str, version: str, messages: Sequence[Message]
    ) -> str:
        """The text of a reply.

        Raises:
            NotKeptError: it is not kept, and there is no model.
            ModelFault: the model could not be asked.
        """
        request = digest_of(self.name, sample, messages)
        if request not in self.kept.replies:
            if self.model is None:
                raise NotKeptError(f"{self.name} has no reply about {key}")
            reply = await self.model.reply(messages, ())
            self.kept.add(request, self.name, key, version, str(sendable(reply.content)))
        return self.kept.replies[request]


async def read_all(
    items: list[Authored],
    asked: Sequence[Asked],
    kept: Kept,
    *,
    timeout_s: float,
    at_a_time: int,
    max_tokens: int | None = None,
) -> Mapping[str, Sequence[Ballot]]:
    """The ballots of each item, in the readers' order; fewer where a reply could not be had.

    Items get their author's own ballot too, in place.

    Args:
        items: what is read.
        asked: the readers; none to replay what is kept.
        kept: where replies are.
        timeout_s: of one request.
        at_a_time: requests under way of one reader.
        max_tokens: of one reply.
    """
    names = [reader.name for reader in asked] or kept.readers
    ballots: dict[str, dict[str, Ballot]] = {item.id: {} for item in items}
    async with AsyncExitStack() as stack:
        models: dict[str, Model] = {}
        for reader in asked:
            options = ModelOptions(
                base_url=reader.base_url, temperature=None, timeout_s=timeout_s,
                max_retries=0, connections=Connections(at_a_time), max_tokens=max_tokens,
            )  # fmt: skip
            client = open_model(reader.model, options)
            models[reader.name] = await stack.enter_async_context(client)
        sandbox = await stack.enter_async_context(await open_sandbox("process", max_workers=2))

        async def call(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
            async with sandbox.session() as session:
                return await session.call(program, arguments)

        siblings = {}
        for at, item in enumerate(items):
            siblings[item.id] = await sibling_of(item, call)
            items[at] = with_ballot(item, await author_ballot(item, call))

        async def read(name: str, item: Authored) -> None:
            # Each reader is shown the tools in an order of its own.
            order = names.index(name) + 1
            ask = KeptAsk(name, kept, models.get(name))
            readers = Readers([name], 1, ask, order)
            question = BlindQuestion(
                item.id, item.question, item.tools, item.chain, siblings[item.id]
            )
            try:
                [ballots[item.id][name]] = await readers.read(question, call)
            except (NotKeptError, ModelFault) as fault:
                if models:
                    print(f"{item.id}, {name}: {fault}", flush=True)

        async with anyio.create_task_group() as group:
            for item in items:
                for name in names:
                    group.start_soon(read, name, item)
    return {item: [own[name] for name in names if name in own] for item, own in ballots.items()}


async def author_ballot(item: Authored, call: Call) -> Ballot:
    """The vote of the plan that the item's author holds right."""
    plan, tools = item.author_plan, {tool.name: tool for tool in item.tools}
    runs = () if plan.doubt else await run_plan(plan, tools, call, item.chain.hops)
    vote, words = vote_of(plan, runs, item.chain)
    met = hops_met(runs, item.chain)
    return Ballot(AUTHOR, 1, vote, words, met, tuple(run.to_json() for run in runs))


async def sibling_of(item: Authored, call: Call) -> Sibling | None:
    """The chain begun with another record that comes to another answer; None if there is none."""
    tools = {tool.name: tool for tool in item.tools}
    for trial in item.siblings():
        steps = [
            step.model_copy(update={"arguments": trial.swapped(step.arguments)})
            for step in item.gold_plan.steps
        ]
        plan = Plan(steps=steps)
        # Answers of the item itself are not looked for in the results of another record.
        hops = [replace(hop, answer="") for hop in item.chain.hops]
        runs: tuple[StepRun, ...] = await run_plan(plan, tools, call, hops)
        if comes_through(plan, runs):
            answers = tuple(run.value or "" for run in runs)
            if not same_answer(item.chain.answer, answers[-1]):
                return replace(trial, answers=answers)
    return None


async def second_differs(item: Authored) -> Difference | None:
    """Where the function that a document describes differs from the tool's code, on the calls on
    which `toolhop construct` compares two implementations; None if it does not, or is not there.
    """
    hop = item.disputed_hop
    if hop is None:
        return None
    [tool] = [tool for tool in item.tools if tool.name == hop["tool"]["name"]]
    calls = call_set(tool.schema, item.facts_of(hop), 0)
    async with (
        await open_sandbox("process", max_workers=1) as sandbox,
        sandbox.session() as session,
    ):
        results: list[list[JSON]] = []
        for source in (hop["code"], hop["right_code"]):
            program = Program(source, tool.name)
            results.append([result_of(await session.call(program, call)) for call in calls])
    return next(iter(differences(calls, results[0], results[1])), None)
