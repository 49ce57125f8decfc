"""Answers that a file holds, in the place of an agent: old answers are scored without a model."""

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
"""What an agent is called whose answers stand in a file: this, and the file's path."""


def read_predictions(name: str, binding: Binding, items: Sequence[Item] | None) -> Answers:
    """The answers of the agent `name`, which begins with `PREFIX`.

    Args:
        name: as `--agent` takes it.
        binding: of the benchmark, which says how its official files are read.
        items: the whole data set, whose ids the file may name; None where it was checked.

    Raises:
        BadChoice: the benchmark has no such file, or the file is of other data.
        DataError: the file cannot be read; says where and why.
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
    """SHA-256 of the file, or of a folder's files in a row, that an agent answers out of; None for
    any other agent.

    Raises:
        OSError: it cannot be read.
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
    """An item's turns in a file of answers; None where it has none."""
    return answers.get((item, mode), answers.get((item, ANY_MODE)))


@dataclass(frozen=True, slots=True)
class Predicted:
    """A file's answer to one item, as a `Model`."""

    name: str
    turns: Sequence[Turn] | None
    """None where the file has no answer; none of them where it says that the request failed."""

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`.

        Raises:
            NoReply: the file has no answer, or none further, or says that the request failed.
        """
        done = sum(isinstance(one, AssistantMessage) for one in messages)
        if self.turns is None:
            raise NoReply("the file has no answer")
        if done < len(self.turns):
            return replace(self.turns[done].reply, usage=Usage(cost_usd=0.0))
        raise NoReply("the file's answer ends here" if done else "the file says: request failed")


@dataclass(frozen=True, slots=True)
class FileResults:
    """What calls gave by a file of answers. A text that is not JSON is a result that is a text."""

    results: Mapping[str, deque[str]]
    """What calls that mean the same gave, one after the other, by `_call`."""

    def looked_up(self, tool: Tool, arguments: Mapping[str, JSON]) -> Answer | None:
        """See `OtherResults.looked_up`."""
        left = self.results.get(_call(tool.name, dict(arguments)))
        return (Returned(as_json(left.popleft())), ResultOrigin.FILE) if left else None

    def to_rejected(self, raw: RawCall) -> Outcome | None:
        """See `OtherResults.to_rejected`: the official code reads the response to any call."""
        left = self.results.get(_key(raw))
        return Returned(as_json(left.popleft())) if left else None


def file_results(turns: Iterable[Turn]) -> FileResults:
    """The results of the turns that are still to be played."""
    results: dict[str, deque[str]] = defaultdict(deque)
    for turn in turns:
        for call, text in zip(turn.reply.calls, turn.results, strict=True):
            results[_key(call)].append(text)
    return FileResults(results)


def _key(raw: RawCall) -> str:
    """Of a call as written; by its text where that is not JSON."""
    with suppress(ValueError, RecursionError):
        return _call(raw.name, json.loads(raw.arguments))
    return _call(raw.name, raw.arguments)


def _call(tool: str, arguments: JSON) -> str:
    return canonical([tool, arguments])
