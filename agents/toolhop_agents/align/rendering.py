"""Chats as text by a model's chat template, with the parts that a trainer trains. Pure.

The template runs as in transformers: Jinja in a sandbox, with its `tojson`, loop controls and the
block ``{% generation %}``, which marks what `assistant_only_loss` of TRL trains. Without the block
the trained part of a turn is what its rendering adds to a prompt that asks for it, as trainers cut
it that mask by role or by prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from toolhop_agents.align.line import AlignError, Wire
from toolhop_agents.export.chat import with_objects
from toolhop_tools import regular
from toolhop_tools.errors import why

OPEN, CLOSE = "\ue000", "\ue001"
"""Marks around generated parts; they are of Unicode's private use and removed again."""


class _Generation(Extension):
    """The block of transformers that marks what a model generates."""

    tags = {"generation"}  # noqa: RUF012 -- jinja2's own attribute

    def parse(self, parser: Parser) -> nodes.Node:
        """Put marks around the block's text."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        block = nodes.CallBlock(self.call_method("_marked"), [], [], body)
        return block.set_lineno(line)

    def _marked(self, caller: Any) -> str:  # noqa: ANN401 -- jinja2's macro
        return f"{OPEN}{caller()}{CLOSE}"


def _refuse(message: str) -> str:
    raise jinja2.TemplateError(message)


def _tojson(value: object, indent: int | None = None, **_: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _now(form: str) -> str:
    return datetime.now().strftime(form)


Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class ChatTemplate:
    """A model's chat template."""

    name: str
    text: str
    special: dict[str, str] = field(default_factory=dict)
    """Values of ``bos_token`` and such."""

    @classmethod
    def read(cls, path: Path) -> ChatTemplate:
        """Read a template file, or that of a model's folder.

        Raises:
            AlignError: there is none, or it is not a template.
        """
        try:
            config: dict[str, Any] = {}
            if path.is_dir() and not (path / "chat_template.jinja").is_file():
                config = json.loads(regular.content(path / "tokenizer_config.json"))
                text = config["chat_template"]
            else:
                file = path / "chat_template.jinja" if path.is_dir() else path
                text = regular.content(file).decode()
            special = {name: str(one) for name, one in config.items() if name.endswith("_token")}
            found = cls(path.name, str(text), special)
            found._compiled  # noqa: B018 -- compiling it checks it
        except (OSError, ValueError, KeyError, TypeError, jinja2.TemplateError) as error:
            raise AlignError(
                f"{path} has no chat template that can be read: {why(error)}",
                fix="give a .jinja file, or a folder with chat_template.jinja or "
                "tokenizer_config.json",
            ) from error
        return found

    @classmethod
    def chatml(cls) -> ChatTemplate:
        """Return the template that comes with the package."""
        file = files("toolhop_agents") / "templates" / "chatml-tools.jinja"
        return cls("chatml-tools", file.read_text(encoding="utf-8"))

    @property
    def marks(self) -> bool:
        """Whether the template marks what is generated."""
        return "generation" in self.text.replace("add_generation_prompt", "")

    @cached_property
    def _compiled(self) -> jinja2.Template:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, "jinja2.ext.loopcontrols"],
        )
        environment.filters["tojson"] = _tojson
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _now}
        return environment.from_string(self.text)

    def _marked(self, messages: Sequence[Wire], tools: Sequence[Wire], *, asks: bool) -> str:
        """Render with marks.

        Raises:
            AlignError: the template refuses the messages.
        """
        try:
            return self._compiled.render(
                messages=[with_objects(one) for one in messages],
                tools=[*tools] or None,
                add_generation_prompt=asks,
                **{"bos_token": "", "eos_token": "", **self.special},
            )
        except Exception as error:  # a template is third-party code
            roles = ", ".join(str(one.get("role")) for one in messages)
            raise AlignError(
                f"the template {self.name} cannot render a chat of {roles}: {error}",
                fix="give the --template of the model that you train",
            ) from error

    def text_of(
        self, messages: Sequence[Wire], tools: Sequence[Wire], *, asks: bool = False
    ) -> str:
        """Return the rendered text, without marks."""
        return self._marked(messages, tools, asks=asks).replace(OPEN, "").replace(CLOSE, "")

    def generated(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> list[Span]:
        """Return what ``{% generation %}`` marks, as spans of `text_of`."""
        spans, start, at = list[Span](), 0, 0
        for sign in self._marked(messages, tools, asks=False):
            if sign == OPEN:
                start = at
            elif sign == CLOSE:
                spans.append((start, at))
            else:
                at += 1
        return spans

    def turns(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> Iterator[tuple[int, Span]]:
        """Yield each of the agent's turns as its message's index and its span in the whole text.

        Raises:
            AlignError: a turn reads otherwise once more follows, so that it is not what was
                generated.
        """
        whole = self.text_of(messages, tools)
        for at, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            before = self.text_of(messages[:at], tools, asks=True)
            until = self.text_of(messages[: at + 1], tools)
            if not (until.startswith(before) and whole.startswith(until)):
                raise AlignError(
                    f"the template {self.name} renders message {at + 1} otherwise once more "
                    "follows: the trained text is not what a model writes",
                    fix="give another --template, or train with prompt and completion",
                )
            yield at, (len(before), len(until))

    def end(self) -> str:
        """Return the text that ends a turn of the agent.

        Raises:
            AlignError: nothing does.
        """
        said = "what the agent says"
        whole = self.text_of(
            [{"role": "user", "content": "."}, {"role": "assistant", "content": said}], []
        )
        _, shown, end = whole.rpartition(said)
        end = end.strip()
        if not shown or not end:
            raise AlignError(
                f"the template {self.name} does not end a turn: a model would not learn to stop",
                fix="give a --template that ends the agent's turns with a token",
            )
        return end
