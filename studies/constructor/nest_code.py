"""A nested task as code, the other way round: for examples, and to see what the checker takes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.code import OPTIONAL, REQUIRED, RETURNS
from toolhop_tools.construct.nested.model import Api, Field, Nest

DEFAULTS: Mapping[str, str] = {
    "str": '""', "int": "0", "float": "0.0", "list": "None", "bool": "False", "dict": "None",
}  # fmt: skip


def as_code(nest: Nest) -> str:
    """Stubs, `main` and the task as a comment. Types that the code has no name for stay."""
    texts = {text: f"data{at}" for at, text in enumerate(_responses(nest))}
    lines = ["def main():"]
    for call in nest.calls:
        names = [texts[one] for one in call.responses]
        api = nest.by_name[call.api]
        given = [
            _value(value, texts) if at < _leading(api, call.parameters) else
            f"{name}={_value(value, texts)}"
            for at, (name, value) in enumerate(call.parameters.items())
        ]  # fmt: skip
        target = f"{', '.join(names)} = " if names else ""
        lines.append(f"    {target}{call.api}({', '.join(given)})")
    lines += [f"    # {line}" for line in _lines(nest.task)]
    return "\n\n".join([*map(_stub, nest.apis), "\n".join(lines)]) + "\n"


def _responses(nest: Nest) -> list[str]:
    return [text for call in nest.calls for text in call.responses]


def _leading(api: Api, given: Mapping[str, JSON]) -> int:
    """How many arguments can stand without their names: required ones, as far as all are given."""
    names = [*given]
    count = 0
    for name in api.parameters:
        if count >= len(names) or names[count] != name or name not in api.required:
            break
        count += 1
    return count


def _value(value: JSON, texts: Mapping[str, str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(one, texts) for one in value)}]"
    return texts.get(value, repr(value)) if isinstance(value, str) else repr(value)


def _stub(api: Api) -> str:
    required = {name: api.parameters[name] for name in api.required}
    optional = {name: one for name, one in api.parameters.items() if name not in required}
    own = [f"{name}: {one.type}" for name, one in required.items()]
    own += [f"{name}: {one.type} = {DEFAULTS.get(one.type)}" for name, one in optional.items()]
    sections = ((REQUIRED, required), (OPTIONAL, optional), (RETURNS.capitalize(), api.responses))
    text = "\n\n".join([_plain(api.description), *(_section(*one) for one in sections if one[1])])
    body = textwrap.indent(f'"""{text}\n"""\n...', "    ")
    return f"def {api.name}({', '.join(own)}):\n{body}"


def _section(title: str, fields: Mapping[str, Field]) -> str:
    lines = [f"{name} ({one.type}): {_plain(one.description)}" for name, one in fields.items()]
    return "\n".join([f"{title}:", *lines])


def _plain(text: str) -> str:
    """As a docstring can hold it."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _lines(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), 90, break_on_hyphens=False, break_long_words=False)
