"""Chats as text by a model's chat template, with the parts that a trainer trains. Pure.

The template runs as in transformers: Jinja in a sandbox, with its `tojson`, loop controls and the
block ``{% generation %}``, which marks what `assistant_only_loss` of TRL trains. Without the block
the trained part of a turn is what its rendering adds to a prompt that asks for it, as trainers cut
it that mask by role or by prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from toolhop_agents.align.kinds import AlignError
from toolhop_agents.align.line import Wire, turns_in
from toolhop_agents.export.chat import with_objects
from toolhop_agents.models.gguf import CHATML, read_chat_template
from toolhop_tools import regular
from toolhop_tools.errors import why

OWN = "give the --chat-template of the model that you train"
OPEN, CLOSE = "\ue000", "\ue001"
"""Marks around generated parts; they are of Unicode's private use and removed again."""


class _Generation(Extension):
    """The block of transformers that marks what a model generates."""

    tags = {"generation"}  # noqa: RUF012 -- jinja2 declares it of instances; it is never changed

    def parse(self, parser: Parser) -> nodes.Node:
        """Put marks around the block's text."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        block = nodes.CallBlock(self.call_method("_marked"), [], [], body)
        return block.set_lineno(line)

    def _marked(self, caller: Callable[[], str]) -> str:
        return f"{OPEN}{caller()}{CLOSE}"


def _refuse(message: str) -> str:
    raise jinja2.TemplateError(message)


@lru_cache(maxsize=8)
def _compiled(text: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Generation, "jinja2.ext.loopcontrols"],
    )
    environment.filters["tojson"] = lambda value, indent=None, **_: json.dumps(
        value, ensure_ascii=False, indent=indent
    )
    environment.globals |= {
        "raise_exception": _refuse, "strftime_now": lambda form: datetime.now().strftime(form),
    }  # fmt: skip
    return environment.from_string(text)


Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class ChatTemplate:
    """A model's chat template."""

    name: str
    text: str
    special: dict[str, str] = field(default_factory=dict)
    """Values of ``bos_token`` and such."""

    @classmethod
    def read(cls, given: str) -> ChatTemplate:
        """Read a template: the bundled one by its name, a file, or that of a model's folder.

        Raises:
            AlignError: there is none, it is not a template, or it does not end a turn.
        """
        path, config = Path(given), dict[str, Any]()
        try:
            if (path / "chat_template.jinja").is_file():
                path /= "chat_template.jinja"
            if path.is_dir():
                config = json.loads(regular.content(path / "tokenizer_config.json"))
            text = config["chat_template"] if config else read_chat_template(str(path))
            special = {name: str(one) for name, one in config.items() if name.endswith("_token")}
            found = cls(Path(given).name, str(text), special)
            _compiled(found.text)
        except (OSError, ValueError, KeyError, TypeError, jinja2.TemplateError) as error:
            raise AlignError(
                f"{given} has no chat template that can be read: {why(error)}",
                fix=f"give {CHATML}, a .jinja file, or a model's folder",
            ) from error
        found.end()
        return found

    @property
    def marks(self) -> bool:
        """Whether the template marks what is generated."""
        return "generation" in self.text.replace("add_generation_prompt", "")

    def _marked(self, messages: Sequence[Wire], tools: Sequence[Wire], *, asks: bool) -> str:
        try:
            return _compiled(self.text).render(
                messages=[with_objects(one) for one in messages],
                tools=[*tools] or None,
                add_generation_prompt=asks,
                **{"bos_token": "", "eos_token": "", **self.special},
            )
        except Exception as error:  # a template is third-party code
            roles = ", ".join(str(one.get("role")) for one in messages)
            raise AlignError(
                f"the template {self.name} cannot render a chat of {roles}: {error}", fix=OWN
            ) from error

    def text_of(
        self, messages: Sequence[Wire], tools: Sequence[Wire], *, asks: bool = False
    ) -> str:
        """Return the rendered text, without marks.

        Raises:
            AlignError: the template refuses the messages.
        """
        return self._marked(messages, tools, asks=asks).replace(OPEN, "").replace(CLOSE, "")

    def generated(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> list[Span]:
        """Return what ``{% generation %}`` marks, as spans of `text_of`."""
        spans, at = list[Span](), 0
        for part in self._marked(messages, tools, asks=False).split(OPEN):
            said, closed, rest = part.partition(CLOSE)
            if closed:
                spans.append((at, at + len(said)))
            at += len(said) + len(rest)
        return spans

    def turns(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> Iterator[tuple[int, Span]]:
        """Yield each of the agent's turns as its message's index and its span in the whole text.

        Raises:
            AlignError: a turn reads otherwise once more follows, so that it is not what was
                generated.
        """
        whole = self.text_of(messages, tools)
        for at in turns_in(messages):
            before = self.text_of(messages[:at], tools, asks=True)
            until = self.text_of(messages[: at + 1], tools)
            if not (until.startswith(before) and whole.startswith(until)):
                raise AlignError(
                    f"the template {self.name} renders message {at + 1} otherwise once more "
                    "follows: the trained text is not what a model writes",
                    fix="give another --chat-template, or train with prompt and completion",
                )
            yield at, (len(before), len(until))

    def end(self) -> str:
        """Return the text that ends a turn of the agent.

        Raises:
            AlignError: nothing does.
        """
        said = "what the agent says"
        chat = [{"role": "user", "content": "."}, {"role": "assistant", "content": said}]
        end = self.text_of(chat, []).partition(said)[2].strip()
        if not end:
            raise AlignError(
                f"the template {self.name} does not end a turn: a model would not learn to stop",
                fix="give a --chat-template that ends the agent's turns with a token",
            )
        return end
