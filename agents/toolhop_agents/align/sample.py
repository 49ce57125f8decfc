"""`toolhop align sample`: several replies of a model to each step of a run, all executed.

samples.jsonl   one `Samples` in each line; append-only, so that a stopped command resumes
items.jsonl     the items
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from toolhop_agents.align import executed
from toolhop_agents.align.executed import State
from toolhop_agents.align.line import (
    SAMPLES_FILE,
    AlignError,
    Sampled,
    Samples,
    Source,
    Tokens,
    Verdict,
    read,
)
from toolhop_agents.align.pairs import Candidate, Context, Gathered, executed_in
from toolhop_agents.export.chat import Arguments, chat_message
from toolhop_agents.models.wire_reading import tools_from_wire
from toolhop_agents.runs.means import AgentSource, Means
from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.messages import AssistantMessage, Reply
from toolhop_env.reading import CallFormat
from toolhop_tools.growing import RowFile
from toolhop_tools.model import EpisodeAction, Item
from toolhop_tools.several import each

_SAMPLES: TypeAdapter[Samples] = TypeAdapter(Samples)


class SampleFile(RowFile):
    """The samples so far; a context's replies are added together."""

    fault = AlignError
    wanted = "no line of samples"

    def __init__(self, path: Path, count: int) -> None:
        """Read an existing file.

        Args:
            path: the file.
            count: replies wanted of each context; a context with fewer is sampled again.

        Raises:
            AlignError: the file cannot be read or written.
        """
        self._count = count
        self.done: set[str] = set()
        """Keys of the contexts with enough replies."""
        self.verdicts: dict[Verdict, int] = {}
        super().__init__(path)
        self.open(lock=True)

    def take(self, row: dict[str, Any]) -> None:
        """See `RowFile`."""
        samples = _SAMPLES.validate_python(row, strict=False)
        if len(samples.replies) >= self._count:
            self.done.add(samples.key)
        for one in samples.replies:
            verdict = one.result.verdict
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1


async def sample(
    contexts: Iterable[Context],
    means: Means,
    file: SampleFile,
    *,
    agent: str,
    count: int,
    at_a_time: int,
    on_context: Callable[[], None],
) -> None:
    """Ask for `count` replies to each context, execute each from it, and append them.

    Raises:
        ModelFault: the model could not be asked; finished contexts are kept.
        SandboxError: the sandbox cannot run the calls.
    """

    async def one(context: Context) -> None:
        if context.key not in file.done:
            replies = [await _sampled(context, means, number + 1) for number in range(count)]
            file.append(_line(context, agent, replies).model_dump(mode="json"))
        on_context()

    await each(contexts, one, at_a_time=at_a_time)


async def _sampled(context: Context, means: Means, number: int) -> Sampled:
    reply = await _asked(context, means.agents, number)
    native = context.conditions.call_format is CallFormat.NATIVE
    said = AssistantMessage(reply.content, reply.calls if native else (), reply.thoughts)
    wire = chat_message(said, Arguments.STRING)
    result = await executed_in(context, wire, means.sandbox)
    return Sampled(reply=wire, result=result, tokens=_tokens(reply))


async def _asked(context: Context, agents: AgentSource, number: int) -> Reply:
    """Return a reply; each number is an epoch, whose seed is its own."""
    model = agents(WorkUnit(context.item, context.conditions.mode, number))
    schemas = tools_from_wire(list(context.tools))
    return await model.reply(executed.native(context.messages), schemas)


def _tokens(reply: Reply) -> Tokens | None:
    """Return the tokens that the server says the model read and wrote; None if it does not."""
    given = reply.tokens
    if given is None or not given.completion_ids:
        return None
    return Tokens(
        prompt_ids=given.prompt_ids,
        completion_ids=given.completion_ids,
        mask=(1,) * len(given.completion_ids),
    )


def _line(context: Context, agent: str, replies: list[Sampled]) -> Samples:
    state = context.state
    return Samples(
        key=context.key,
        item=context.item.id,
        item_digest=context.item.digest,
        conditions=context.conditions,
        messages=context.messages,
        tools=context.tools,
        hop=state.hop,
        solvable=state.solvable,
        needs=state.needs or "",
        origin=context.origin,
        licence=context.licence,
        agent=agent,
        replies=tuple(replies),
    )


def add_samples(gathered: Gathered, folder: Path, items: dict[str, Item]) -> None:
    """Add the samples of a folder to the replies of their contexts.

    Raises:
        AlignError: a line is malformed, or its item is not in the folder.
    """
    for line in _read(folder):
        item = items.get(line.item)
        if item is None or item.digest != line.item_digest:
            raise AlignError(
                f"{folder} has samples of {line.item}, and not its item",
                fix="put back its items.jsonl, or sample again",
            )
        needs = EpisodeAction(line.needs) if line.needs else None
        state = State(line.hop, line.solvable, needs)
        context = Context(
            item, line.conditions, line.messages, line.tools, state, line.origin, line.licence
        )
        replies = (
            Candidate(one.reply, Source.SAMPLE, one.result, one.tokens) for one in line.replies
        )
        gathered.add(context, *replies)


def _read(folder: Path) -> Iterator[Samples]:
    yield from read(folder / SAMPLES_FILE, _SAMPLES)
