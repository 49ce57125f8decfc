"""`toolhop align sample`: several replies of a model to each step of a run, all executed.

samples.jsonl   one `Samples` in each line; append-only, so that a stopped command resumes
items.jsonl     the items
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from toolhop_agents.align import executed
from toolhop_agents.align.folder import items_in
from toolhop_agents.align.kinds import AlignError, Source, Verdict
from toolhop_agents.align.line import SAMPLES_FILE, Candidate, Context, Samples, Tokens, read
from toolhop_agents.align.pairs import Gathered
from toolhop_agents.export.chat import Arguments, chat_message
from toolhop_agents.models.wire_reading import messages_from_wire, tools_from_wire
from toolhop_agents.runs.means import Means
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.messages import AssistantMessage, Reply
from toolhop_env.reading import CallFormat
from toolhop_tools.growing import RowFile
from toolhop_tools.model import Item
from toolhop_tools.secrets import redacted
from toolhop_tools.several import each

_SAMPLES: TypeAdapter[Samples] = TypeAdapter(Samples)


class SampleFile(RowFile):
    """The samples so far, a reply in each line."""

    fault = AlignError
    wanted = "no line of samples"

    def __init__(self, path: Path, settings: RunSettings) -> None:
        """Read an existing file.

        Args:
            path: the file.
            settings: who replies, and how.

        Raises:
            AlignError: the file cannot be read or written, or has replies of another agent or
                settings.
        """
        self.agent = settings.agent_name
        names = ("temperature", "max_tokens", "request_options", "seed")
        how = ", ".join(f"{name} {getattr(settings, name)!r}" for name in names)
        self.how = redacted(how)
        self.done = Counter[str]()
        """Number of replies by the key of their context."""
        self.verdicts = Counter[Verdict]()
        super().__init__(path)
        self.open(lock=True)

    def take(self, row: dict[str, Any]) -> None:
        """See `RowFile`."""
        samples = _SAMPLES.validate_python(row, strict=False)
        for given, wanted in ((samples.agent, self.agent), (samples.how or self.how, self.how)):
            if given != wanted:
                raise AlignError(
                    f"{self.path} has replies of {given}, not of {wanted}", fix="give another --out"
                )
        context = samples.context
        self.done[context if isinstance(context, str) else context.key] += len(samples.replies)
        self.verdicts.update(one.result.verdict for one in samples.replies if one.result)


async def sample(
    contexts: Iterable[Context],
    items: Mapping[str, Item],
    means: Means,
    file: SampleFile,
    *,
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
        key, item = context.key, items[context.item]
        for number in range(file.done[key], count):
            reply = await _sampled(context, item, means, number + 1)
            of = key if number else context
            line = Samples(context=of, agent=file.agent, how=file.how, replies=(reply,))
            file.append(line.model_dump(mode="json"))
        on_context()

    await each(contexts, one, at_a_time=at_a_time)


async def _sampled(context: Context, item: Item, means: Means, number: int) -> Candidate:
    """Return an executed reply; each number is an epoch, whose seed is its own."""
    model = means.agents(WorkUnit(item, context.conditions.mode, number))
    messages = messages_from_wire(list(context.prompt))
    reply = await model.reply(messages, tools_from_wire(list(context.tools)))
    native = context.conditions.call_format is CallFormat.NATIVE
    said = AssistantMessage(reply.content, reply.calls if native else (), reply.thoughts)
    wire = chat_message(said, Arguments.STRING)
    result = await executed.result_of(context, wire, item, means.sandbox)
    return Candidate(messages=(wire,), source=Source.SAMPLE, result=result, tokens=_tokens(reply))


def _tokens(reply: Reply) -> Tokens | None:
    """Return the tokens that the server says the model read and wrote; None if it does not."""
    given = reply.tokens
    if given is None or not given.completion_ids:
        return None
    prompt, said = given.prompt_ids, given.completion_ids
    return Tokens(prompt_ids=prompt, completion_ids=said, mask=(1,) * len(said))


def add_samples(gathered: Gathered, folder: Path) -> None:
    """Add the samples of a folder to the replies of their contexts.

    Raises:
        AlignError: a line is malformed, or its item is not in the folder.
    """
    items = items_in(folder)
    for item in items.values():
        gathered.take(item, folder)
    known = dict[str, Context]()
    for line in read(folder / SAMPLES_FILE, _SAMPLES):
        given = line.context
        context = known.get(given) if isinstance(given, str) else given
        own = items.get(context.item) if context else None
        if context is None or own is None or own.digest != context.item_digest:
            raise AlignError(
                f"{folder} has samples of {context.item if context else given}, and not its item",
                fix="put back its items.jsonl, or sample again",
            )
        known[context.key] = context
        gathered.add(context, *line.replies)
