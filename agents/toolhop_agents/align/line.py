"""Neutral lines of training files, which the writers turn into each trainer's format.

Messages are those of `toolhop export --to chat`, but a call's arguments are the text that was
written: only this text can be run again exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from toolhop_agents.align.kinds import AlignError, Kind, PairType, Source, Verdict
from toolhop_env.levels import Level, Verbosity
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import SystemMessage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.results import label_of
from toolhop_env.setting import Setting
from toolhop_env.trace import Started
from toolhop_tools import regular
from toolhop_tools.errors import why
from toolhop_tools.model import EpisodeAction, canonical

Wire: TypeAlias = dict[str, Any]
"""A message in the chat-completions form, or a tool."""


def _with_role(message: Wire) -> Wire:
    if "role" not in message:
        raise ValueError("a message has no role")
    return message


Message: TypeAlias = Annotated[Wire, AfterValidator(_with_role)]

SFT_FILE, DPO_FILE = "sft.jsonl", "dpo.jsonl"
ITEMS_FILE, SAMPLES_FILE = "items.jsonl", "samples.jsonl"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Conditions(_Part):
    """How an episode was played, as far as its messages depend on it."""

    mode: str
    call_format: CallFormat = CallFormat.NATIVE
    feedback: Verbosity = Level.DETAILED
    perturbation: str = "as-is"
    results: str = "as-is"
    answer_malformed: bool = False
    single_shot: bool = False

    @classmethod
    def of(cls, started: Started) -> Conditions:
        """Return the conditions of a trace."""
        own = {name: getattr(started, name) for name in cls.model_fields}
        return cls(**own | {"results": label_of(started.results)})

    def setting(
        self, messages: tuple[SystemMessage | UserMessage, ...], limits: EpisodeLimits
    ) -> Setting:
        """Return the setting of an episode under these conditions."""
        played = {name: getattr(self, name) for name in type(self).model_fields}
        return Setting(messages=messages, limits=limits, **played)


class Result(_Part):
    """What came of a reply or trajectory when it was executed."""

    verdict: Verdict
    ending: str = ""
    """Why the episode ended; empty if it went on."""
    action: EpisodeAction | None = None
    """The accepted action on the episode."""
    feedback: tuple[str, ...] = ()
    """Feedback on the calls, in order."""


class Tokens(_Part):
    """The tokens that a model read and wrote, so that nothing is tokenized again."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    mask: tuple[int, ...]
    """1 for each of `completion_ids` that the model wrote, 0 for all others."""


class Head(_Part):
    """What all lines say of their item."""

    item: str
    """Id of the item in `ITEMS_FILE`."""
    item_digest: str
    family: str
    domain: str
    licence: str
    """Licence of the item's data; empty if unknown."""
    origin: str
    """Data set or run that it came from."""
    conditions: Conditions
    tools: tuple[Wire, ...]


class Context(Head):
    """The state in which replies are compared."""

    prompt: tuple[Message, ...]
    hop: int
    """Hops solved before the step, from 0; -1 for whole trajectories."""
    needs: EpisodeAction | None = None
    """Action that the label asks for at this step; None if none."""
    solvable: bool = True
    """Whether the tools on offer and what was said so far suffice."""

    @property
    def key(self) -> str:
        """Equal for equal contexts, whatever run they are from."""
        return digest(self.item_digest, self.conditions.model_dump(mode="json"), self.prompt)


class Chat(Head):
    """A chat for supervised fine-tuning."""

    form: Literal["sft"] = "sft"
    id: str
    split: str
    kind: Kind
    agent: str
    messages: tuple[Message, ...]
    trained: tuple[int, ...]
    """Indexes of the messages to train on: the agent's turns, without failed calls."""
    result: Result


class Pair(Context):
    """A preference pair: one prompt, and two continuations."""

    form: Literal["dpo"] = "dpo"
    id: str
    split: str
    pair_type: PairType
    chosen_source: Source
    rejected_source: Source
    chosen: tuple[Message, ...]
    rejected: tuple[Message, ...]
    chosen_result: Result
    rejected_result: Result
    chosen_tokens: Tokens | None = None
    rejected_tokens: Tokens | None = None


class Candidate(_Part):
    """A continuation of a context: one reply, or all that follows to the episode's end."""

    messages: tuple[Message, ...]
    source: Source
    result: Result | None = None
    """None until it is executed."""
    tokens: Tokens | None = None


class Samples(_Part):
    """A model's replies to one context, executed."""

    context: Context | str
    """The context; its key if an earlier line has it."""
    agent: str
    how: str = ""
    """Sampling settings; empty in older files."""
    replies: tuple[Candidate, ...]


_LINE: TypeAdapter[Chat | Pair] = TypeAdapter(Annotated[Chat | Pair, Field(discriminator="form")])


def turns_in(messages: Sequence[Wire]) -> list[int]:
    """Return the indexes of the agent's turns."""
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def digest(*parts: object) -> str:
    """Return the SHA-256 of values that JSON can hold."""
    return hashlib.sha256(canonical(list(parts)).encode()).hexdigest()


def trained_in(line: Chat | Pair) -> str:
    """Return a digest that is equal for lines that train the same."""
    tools = sorted(map(canonical, line.tools))
    if isinstance(line, Chat):
        return digest(line.messages, line.trained, tools)
    return digest(line.prompt, line.chosen, line.rejected, tools)


def lines_of(folder: Path) -> Iterator[Chat | Pair]:
    """Yield the lines of a folder's training files.

    Raises:
        AlignError: the folder has none, or a line is malformed.
    """
    files = [path for name in (SFT_FILE, DPO_FILE) if (path := folder / name).is_file()]
    if not files:
        raise AlignError(
            f"{folder} has neither {SFT_FILE} nor {DPO_FILE}",
            fix="give a folder that `toolhop align sft` or `toolhop align dpo` wrote",
        )
    for path in files:
        yield from read(path, _LINE)


def read(path: Path, adapter: TypeAdapter[Any]) -> Iterator[Any]:
    """Yield the values in the lines of a file.

    Raises:
        AlignError: the file cannot be read, or a line is malformed.
    """
    try:
        content = regular.content(path)
    except OSError as error:
        raise AlignError(f"{path} cannot be read: {why(error)}", fix="give another path") from error
    for number, text in enumerate(content.splitlines(), start=1):
        if text.strip():
            try:
                yield adapter.validate_json(text)
            except ValueError as error:
                raise AlignError(
                    f"line {number} of {path} is malformed: {why(error)}", fix="write it again"
                ) from error
