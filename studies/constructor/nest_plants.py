"""Faults to plant in nested tasks: in the code, or in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from studies.constructor import nest as honest
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.stages import Stage

Change: TypeAlias = Callable[[str, Nest], str]
"""Changes a code, or a text."""
MAIN = "def main():\n"


@dataclass(frozen=True, slots=True)
class NestPlant:
    """A kind of fault."""

    stage: Stage
    change: Change
    raw: bool = False
    """Whether a text's change gives the whole reply, and not the text in it."""


def substituted(pattern: str, new: str) -> Change:
    """In the whole code, at the first place."""

    def change(text: str, nest: Nest) -> str:
        changed, count = re.subn(pattern, new, text, count=1, flags=re.MULTILINE)
        if not count:
            raise ValueError(f"there is no {pattern!r} to change")
        return changed

    return change


def in_main(pattern: str, new: str) -> Change:
    """In main, at the first place."""

    def change(text: str, nest: Nest) -> str:
        head, main, body = text.partition(MAIN)
        return head + main + substituted(pattern, new)(body, nest)

    return change


def main_line(text: str) -> Change:
    """A line of main before all others."""
    return lambda code, nest: code.replace(MAIN, f"{MAIN}    {text}\n", 1)


def before(text: str) -> Change:
    """Lines before the code."""
    return lambda code, nest: f"{text}\n\n{code}"


def last_call(text: str) -> Change:
    """A line of main after the last call."""
    return in_main(r"^    #", f"    {text}\n    #")


def stub_of(name: str, about: str = "Count the gulls of a pier", kind: str = "int") -> str:
    """A stub that is right."""
    return (
        f'def {name}(pier: str):\n    """{about}.\n\n    required parameters:\n'
        f"    pier (str): the pier\n\n    Returns:\n    gulls ({kind}): how many there are\n"
        f'    """\n    ...\n'
    )


def _loose(text: str, nest: Nest) -> str:
    return last_call('gull0 = count_gulls("North Pier")')(f"{stub_of('count_gulls')}\n{text}", nest)


def _too_deep(text: str, nest: Nest) -> str:
    """One more call, that takes the last one's first response."""
    last = nest.calls[-1]
    name, field = next(iter(nest.by_name[last.api].responses.items()))
    stub = (
        f'def file_report({name}: {field.type}):\n    """File a report.\n\n    required parameters:'
        f"\n    {name} ({field.type}): {field.description}\n\n    Returns:\n"
        f'    report (str): its number\n    """\n    ...\n\n'
    )
    at = sum(len(call.responses) for call in nest.calls[:-1])
    return last_call(f"report0 = file_report(data{at})")(stub + text, nest)


def _twin(text: str, nest: Nest) -> str:
    name = nest.calls[0].api
    stub = re.search(rf"def {name}\(.*?\n    \.\.\.\n", text, re.DOTALL)
    assert stub is not None  # noqa: S101 -- the honest code has it
    return text.replace(stub[0], f"{stub[0]}\n{stub[0].replace(name, name + '_again')}", 1)


def _double(text: str, nest: Nest) -> str:
    stub = re.search(rf"def {nest.calls[0].api}\(.*?\n    \.\.\.\n", text, re.DOTALL)
    assert stub is not None  # noqa: S101 -- the honest code has it
    return text.replace(stub[0], f"{stub[0]}\n{stub[0]}", 1)


def _other_type(text: str, nest: Nest) -> str:
    """Another type at the taking end of the first reference, in signature and docstring."""
    one = nest.references[0]
    kind = nest.by_name[nest.calls[one.target].api].parameters[one.parameter].type
    other = "list" if kind != "list" else "str"
    head, name, rest = text.partition(f"def {nest.calls[one.target].api}(")
    rest = rest.replace(f"{one.parameter}: {kind}", f"{one.parameter}: {other}", 1)
    rest = rest.replace(f"{one.parameter} ({kind})", f"{one.parameter} ({other})", 1)
    return head + name + rest


def _last_place(new: str) -> Change:
    """Something else for the harbour of the last call."""

    def change(text: str, nest: Nest) -> str:
        return re.sub(r"('[A-Z][\w ]+')(?!.*'[A-Z])", new, text, count=1, flags=re.DOTALL)

    return change


def _uncalled(text: str, nest: Nest) -> str:
    return f"{stub_of('count_gulls')}\n{text}"


def _same_call(text: str, nest: Nest) -> str:
    first = re.search(r"^    (data.*)$", text, re.MULTILINE)
    assert first is not None  # noqa: S101 -- the honest code has it
    return last_call(re.sub(r"\bdata(\d)", r"other\1", first[1]))(text, nest)


def _no_comment(text: str, nest: Nest) -> str:
    return re.sub(r"^    #.*\n?", "", text, flags=re.MULTILINE)


def _first_value(text: str, nest: Nest) -> str:
    """Without a value that stands nowhere else."""
    value = next(str(v) for _, name, v in nest.literals() if name == "share")
    return text.replace(value, "some")


def _name_tool(text: str, nest: Nest) -> str:
    return f"{text} Use {nest.apis[0].name} first."


def _swapped(text: str, nest: Nest) -> str:
    """Two values, each in the other's place."""
    values = [str(v) for _, name, v in nest.literals() if name == "share"][:2]
    text = text.replace(values[0], "\0").replace(values[1], values[0])
    return text.replace("\0", values[1])


def _no_source(text: str, nest: Nest) -> str:
    return re.sub(r": (what step \d+ gives|the [\w ]+ of step \d+)", ": the right one", text)


C, T = Stage.CHAIN, Stage.TASK
NEST_PLANTS: Mapping[str, NestPlant] = {
    # what does not parse
    "nest-broken-code": NestPlant(C, in_main(r"\)$", "")),
    "nest-words-around": NestPlant(C, lambda text, nest: f"Here it is:\n\n{text}\nEnjoy!"),
    "nest-broken-json": NestPlant(T, lambda text, nest: json.dumps({"task": text})[:-3], raw=True),
    "nest-extra-field": NestPlant(
        T, lambda text, nest: json.dumps({"task": text, "note": "done"}), raw=True
    ),
    # what NesTools' own check rejects
    "nest-undefined-variable": NestPlant(C, in_main(r"\(data\d+", "(data99")),
    "nest-unknown-function": NestPlant(C, in_main(r"= \w+\(", "= conjure(")),
    "nest-extra-positional": NestPlant(C, in_main(r"\('", "(5, 5, 5, 5, 5, 5, 5, '")),
    "nest-missing-required": NestPlant(C, in_main(r"(?<='), [\d.]+", "")),
    "nest-few-targets": NestPlant(C, in_main(r"^    (data.*) =", r"    \1, x, y =")),
    "nest-many-targets": NestPlant(C, in_main(r"^    data0", "    extra, data0")),
    "nest-subscript": NestPlant(C, in_main(r"\((data\d+)", r"(\1[0]")),
    "nest-attribute": NestPlant(C, in_main(r"\((data\d+)", r"(\1.code")),
    # what it lets pass
    "nest-wrong-edge-type": NestPlant(C, _other_type),
    "nest-unknown-keyword": NestPlant(C, in_main(r"\)$", ', colour="red")')),
    "nest-computing": NestPlant(C, in_main(r"', [\d.]+", r"\g<0> + 1")),
    "nest-call-in-call": NestPlant(C, in_main(r"\('", "(str('x') + '")),
    "nest-f-string": NestPlant(C, in_main(r"\('", "(f'{1}")),
    "nest-loose-call": NestPlant(C, _loose),
    "nest-too-deep": NestPlant(C, _too_deep),
    "nest-uncalled-tool": NestPlant(C, _uncalled),
    "nest-same-call": NestPlant(C, _same_call),
    "nest-duplicate-tool": NestPlant(C, _double),
    "nest-twin-tool": NestPlant(C, _twin),
    "nest-statement": NestPlant(C, main_line("if True: pass")),
    "nest-import": NestPlant(C, before("import json")),
    "nest-body": NestPlant(C, substituted(r"^    \.\.\.$", "    return 1")),
    "nest-no-docstring": NestPlant(C, substituted(r'^    """[\s\S]*?"""\n', "")),
    "nest-no-returns": NestPlant(C, substituted(r"Returns:\n[\s\S]*?(?=    \"\"\")", "")),
    "nest-unknown-type": NestPlant(C, substituted(r"harbour \(str\)", "harbour (datetime)")),
    "nest-signature-differs": NestPlant(C, substituted(r"\bharbour: str", "port: str")),
    "nest-no-default": NestPlant(C, substituted(r"days: int = 0", "days: int")),
    "nest-default-for-required": NestPlant(C, substituted(r"share: float,", "share: float = 1.0,")),
    "nest-starred": NestPlant(C, in_main(r"('[A-Z][\w ]+')", r"*[\1]")),
    "nest-wrong-value-type": NestPlant(C, in_main(r"'[A-Z][\w ]+', [\d.]+", "'Nordhook', 'much'")),
    "nest-null": NestPlant(C, in_main(r"'[A-Z][\w ]+'", "None")),
    "nest-empty-text": NestPlant(C, in_main(r"'[A-Z][\w ]+'", "''")),
    "nest-quoted-variable": NestPlant(C, _last_place("'data0'")),
    "nest-variable-in-dict": NestPlant(C, _last_place("{'pier': data0}")),
    "nest-taken-variable": NestPlant(C, in_main(r"^    data(?!0\b)\d+", "    data0")),
    "nest-no-main": NestPlant(C, substituted(r"^def main\(\)", "def chain()")),
    "nest-no-task": NestPlant(C, _no_comment),
    # texts
    "nest-tool-name": NestPlant(T, _name_tool),
    "nest-value-missing": NestPlant(T, _first_value),
    "nest-placeholder": NestPlant(T, lambda text, nest: f"{text} Then hand API_call_0 over."),
    "nest-variable-name": NestPlant(T, lambda text, nest: f"{text} Then hand data0 over."),
    "nest-short-text": NestPlant(T, lambda text, nest: "Do it."),
    # texts that say all values, which only a reader of them finds
    "nest-swapped-values": NestPlant(T, _swapped),
    "nest-lost-reference": NestPlant(T, _no_source),
}  # fmt: skip
"""Kinds by name that the checks were written for."""
READ = frozenset(
    {"nest-swapped-values", "nest-lost-reference", "nest-two-values", "nest-negated"}
    | {"nest-other-order"}
)
"""Kinds of texts that say every value: who reads them finds the fault, and no rule does."""


def planted(plant: NestPlant, inputs: Mapping[str, Any], *, now: bool) -> str:
    """The text of a reply, with the fault in it where the stage is its own and it is time."""
    stage = Stage(inputs["stage"])
    if not now or plant.stage is not stage:
        return honest.reply(inputs)
    if stage is Stage.CHAIN:
        nest = honest.invented(inputs["item"], inputs["depth"], inputs["width"])
        return plant.change(honest.reply(inputs), nest)
    nest = Nest.from_row({"api": inputs["tools"], "call": inputs["calls"], "task": ""})
    text = plant.change(honest.task_of(inputs), nest)
    return text if plant.raw else json.dumps({"task": text}, ensure_ascii=False)
