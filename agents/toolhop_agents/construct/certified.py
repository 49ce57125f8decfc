"""Have blind readers read certified items: open the models, and store replies and readings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass

from toolhop_agents.blind.readers import BlindQuestion, Readers
from toolhop_agents.construct.ask import opened as model_opened
from toolhop_agents.construct.folder import key_of
from toolhop_agents.construct.settings import Settings
from toolhop_agents.models.base import Model
from toolhop_agents.models.wire_sending import messages_to_wire, sendable
from toolhop_env.messages import Message
from toolhop_env.reading import without_thoughts
from toolhop_sandbox.base import Program, Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.blind.file import ItemReading, Readings, certificate_digest
from toolhop_tools.blind.plan import prompt_version
from toolhop_tools.blind.siblings import chain_of, sibling_of
from toolhop_tools.blind.votes import decide
from toolhop_tools.certify.model import Certificate
from toolhop_tools.certify.prove import MOST_LOST
from toolhop_tools.model import Item
from toolhop_tools.several import each


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """The readers and how they are asked."""

    readers: tuple[Settings, ...]
    """Settings of each model; temperature and limits are the same for all."""
    votes: int
    seed: int = 0

    @property
    def basis(self) -> dict[str, JSON]:
        """Return the settings that determine a reading."""
        models: list[JSON] = [reader.model for reader in self.readers]
        return {
            "models": models,
            "votes": self.votes,
            "temperature": self.readers[0].temperature,
            "max_tokens": self.readers[0].max_tokens,
            "seed": self.seed,
            "prompt": prompt_version(),
        }


@asynccontextmanager
async def opened(settings: ReaderSettings) -> AsyncIterator[list[Model]]:
    """Open the readers' models.

    Raises:
        NoSuchModel, NoKey, ModelFault: a model cannot be used with these settings.
    """
    async with AsyncExitStack() as stack:
        clients = [model_opened(own, flag="--reader-base-url") for own in settings.readers]
        yield [await stack.enter_async_context(client) for client in clients]


def unread(
    items: Sequence[Item],
    certificates: Mapping[str, Certificate],
    settings: ReaderSettings,
    readings: Readings,
) -> list[Item]:
    """Return the certified items without a valid reading by these readers."""
    return [
        item
        for item in items
        if item.id in certificates
        and (
            (reading := readings.by_item.get(item.id)) is None
            or reading.stale(item.digest, certificate_digest(certificates[item.id]))
            or dict(reading.readers) != settings.basis
        )
    ]


async def read_all(
    items: Sequence[Item],
    certificates: Mapping[str, Certificate],
    settings: ReaderSettings,
    readings: Readings,
    sandbox: Sandbox,
    on_done: Callable[[ItemReading], None],
) -> None:
    """Have items read concurrently, and store each reading.

    Every item needs a certificate and program tools; `readings` must be open for writing and the
    sandbox open.

    Raises:
        ModelFault, ReadingsError, SandboxFault, SandboxUnavailable: finished readings stay stored.
    """
    async with opened(settings) as models:

        async def ask(
            reader: int, sample: int, key: str, version: str, messages: Sequence[Message]
        ) -> str:
            """Return the text of a stored reply, or ask and store the reply before returning it."""
            own, wire = settings.readers[reader], list[JSON](messages_to_wire(messages))
            # The key leaves out the address, as a server may move.
            digest = key_of(key, own.model, own.temperature, own.max_tokens, sample, version, wire)
            if digest not in readings.replies:
                reply = await models[reader].reply(messages, ())
                text, usage = str(sendable(reply.content)), asdict(reply.usage)
                row: dict[str, JSON] = {"item": key, "model": own.model, "text": text}
                readings.add_reply(digest, {**row, "usage": usage})
            return without_thoughts(str(readings.replies[digest]["text"]))

        names = [reader.model for reader in settings.readers]
        readers = Readers(names, settings.votes, ask, settings.seed)

        async def read(item: Item) -> None:
            reading = await _read(item, certificates[item.id], settings, readers, sandbox)
            readings.add(reading)
            on_done(reading)

        await each(items, read, at_a_time=settings.readers[0].max_samples)


async def _read(
    item: Item,
    certificate: Certificate,
    settings: ReaderSettings,
    readers: Readers,
    sandbox: Sandbox,
) -> ItemReading:
    """Read one item without holding a sandbox session, as a model may think for minutes."""

    async def call(program: Program, arguments: Mapping[str, JSON], lost: int = 0) -> Outcome:
        try:
            async with sandbox.session() as session:
                return await session.call(program, arguments)
        except SandboxFault:
            if lost == MOST_LOST:
                raise
            return await call(program, arguments, lost + 1)

    sibling = await sibling_of(item, certificate, call, settings.seed)
    tools = [tool for tool in item.tools.values() if isinstance(tool.body, Program)]
    question = BlindQuestion(item.id, item.question, tools, chain_of(item, certificate), sibling)
    ballots = await readers.read(question, call)
    status, proof = decide(ballots, settings.votes), certificate_digest(certificate)
    return ItemReading(
        item.id, item.digest, proof, settings.basis, status, ballots, sibling is not None
    )
