"""Answers that a file holds, in the place of an agent: old answers are scored without a model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from toolhop_agents.benchmarks.binding import ANY_MODE, Answers, Binding
from toolhop_agents.models.base import NoReply
from toolhop_env.messages import Message, Reply, Usage
from toolhop_tools.errors import BadChoice, counted
from toolhop_tools.model import Item, ToolSchema

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
    """SHA-256 of the file that an agent answers out of; None for any other agent.

    Raises:
        OSError: it cannot be read.
    """
    if not name.startswith(PREFIX):
        return None
    return hashlib.sha256(Path(name.removeprefix(PREFIX)).read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Predicted:
    """A file's answer to one item, as a `Model`."""

    name: str
    answers: Mapping[tuple[str, str], str | None]
    item: str
    mode: str

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`.

        Raises:
            NoReply: the file has no answer, or says that the request for it failed.
        """
        for key in ((self.item, self.mode), (self.item, ANY_MODE)):
            if key in self.answers:
                text = self.answers[key]
                if text is None:
                    raise NoReply("the file says that the request failed")
                return Reply(text, usage=Usage(cost_usd=0.0))
        raise NoReply("the file has no answer")
