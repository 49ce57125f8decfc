"""Replay answers from a file in place of an agent, to score old answers without a model."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from toolhop_agents.benchmarks.binding import ANY_MODE, Answers, Binding, Turn
from toolhop_agents.models.base import NoReply
from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply, Usage
from toolhop_env.responders import Answer
from toolhop_env.trace import ResultOrigin
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.errors import BadChoice, counted
from toolhop_tools.model import Item, Tool, ToolSchema, canonical
from toolhop_tools.replied import as_json

PREFIX = "predictions:"
"""Prefix of the name of an agent that replays an answer file; the file's path follows."""


def read_predictions(name: str, binding: Binding, items: Sequence[Item] | None) -> Answers:
    """Read the answers of the agent `name`, which begins with `PREFIX`.

    Args:
        name: name of the agent, as given to `--agent`.
        binding: binding of the benchmark, which can read its official files.
        items: the whole data set, to check the file's ids against; None if already checked.

    Raises:
        BadChoice: the benchmark has no official answer file, or the file belongs to other data.
        DataError: the file cannot be read; the message says where and why.
    """
    if binding.predictions is None:
        raise BadChoice(f"{name}: {binding.benchmark.title} has no official file of answers")
    found = binding.predictions.read(Path(name.removeprefix(PREFIX)))
    known = {item.id for item in items or ()}
    unknown = [identity for identity, _ in found if identity not in known]
    if items is not None and unknown:
        near = get_close_matches(unknown[0], known, n=1, cutoff=0.0)
        raise BadChoice(
            f"{name} answers {counted(len(unknown), 'item')} that the data has not, such as "
            f"{unknown[0]!r}; ids of the data are like {', '.join(near)}",
            fix="give the data that was asked about (--data)",
        )
    return found


def file_digest(name: str) -> str | None:
    """Return the SHA-256 of an agent's answer file, or of a folder's files in sequence.

    None for an agent without an answer file.

    Raises:
        OSError: the file cannot be read.
    """
    if not name.startswith(PREFIX):
        return None
    path = Path(name.removeprefix(PREFIX))
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.read_bytes())
    return whole.hexdigest()


def turns_of(answers: Answers, item: str, mode: str) -> Sequence[Turn] | None:
    """Return an item's turns from an answer file; None if it has none."""
    return answers.get((item, mode), answers.get((item, ANY_MODE)))


@dataclass(frozen=True, slots=True)
class Predicted:
    """The answer to one item from a file, as a `Model`."""

    name: str
    turns: Sequence[Turn] | None
    """Turns of the answer; None if the file has no answer, empty if it records a failed request."""

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`.

        Raises:
            NoReply: the file has no answer or no further turn, or records a failed request.
        """
        done = sum(isinstance(one, AssistantMessage) for one in messages)
        if self.turns is None:
            raise NoReply("the file has no answer")
        if done < len(self.turns):
            return replace(self.turns[done].reply, usage=Usage(cost_usd=0.0))
        raise NoReply("the file's answer ends here" if done else "the file says: request failed")


@dataclass(frozen=True, slots=True)
class FileResults:
    """Results of calls, from an answer file. A result that is not JSON is a string."""

    results: Mapping[str, deque[str]]
    """Results of equal calls, in order, by the key from `_key`."""

    def looked_up(self, tool: Tool, arguments: Mapping[str, JSON]) -> Answer | None:
        """See `OtherResults.looked_up`."""
        left = self.results.get(_call(tool.name, dict(arguments)))
        return (Returned(as_json(left.popleft())), ResultOrigin.FILE) if left else None

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        """See `OtherResults.to_rejected`: the official code reads a response to any call."""
        left = self.results.get(_key(raw))
        return Returned(as_json(left.popleft())) if left else None


def file_results(turns: Iterable[Turn]) -> FileResults:
    """Return the results for the turns that are still to be played."""
    results: dict[str, deque[str]] = defaultdict(deque)
    for turn in turns:
        for call, text in zip(turn.reply.calls, turn.results, strict=True):
            results[_key(call)].append(text)
    return FileResults(results)


def _key(raw: RawCall) -> str:
    """Return the key of a call; arguments that are not JSON are used as text."""
    with suppress(ValueError, RecursionError):
        return _call(raw.name, json.loads(raw.arguments))
    return _call(raw.name, raw.arguments)


def _call(tool: str, arguments: JSON) -> str:
    return canonical([tool, arguments])
