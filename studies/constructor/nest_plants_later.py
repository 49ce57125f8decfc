"""More faults of nested tasks, written when the checks were frozen: to see what they do with kinds
that nobody had in mind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from studies.constructor.nest_plants import (
    NEST_PLANTS,
    C,
    NestPlant,
    T,
    before,
    in_main,
    last_call,
    main_line,
    stub_of,
    substituted,
)
from toolhop_tools.construct.nested.model import Nest


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _hidden_task(text: str, nest: Nest) -> str:
    """The task as a string, and not as comments."""
    return re.sub(r"^    # (.*)$", lambda m: f"    {m[1]!r}", text, flags=re.MULTILINE)


def _later_variable(text: str, nest: Nest) -> str:
    """The calls from the last to the first."""
    head, main, body = text.partition("def main():\n")
    lines = body.split("\n")
    calls = [line for line in lines if line.startswith("    data")]
    rest = [line for line in lines if not line.startswith("    data")]
    return head + main + "\n".join([*calls[::-1], *rest])


def _optional_first(text: str, nest: Nest) -> str:
    new = r"def \1(days: int = 0, \2)"
    return substituted(r"def (\w+)\((.*), days: int = 0\)", new)(text, nest)


def _listed(text: str, nest: Nest) -> str:
    return in_main(r"\((data\d+)", r"([\1]")(text, nest)


def _two_values(text: str, nest: Nest) -> str:
    """A value with another one beside it."""
    value = next(str(v) for _, name, v in nest.literals() if name == "share")
    return text.replace(value, f"{value} or 3.5")


def _negated(text: str, nest: Nest) -> str:
    return re.sub(r'harbour: "([\w ]+)"', r'harbour: anything but "\1"', text, count=1)


def _other_order(text: str, nest: Nest) -> str:
    """The steps renumbered backwards, so that references go astray."""
    count = len(nest.calls)
    return re.sub(r"step (\d+)(?=[;)]| gives)", lambda m: f"step {count + 1 - int(m[1])}", text)


LATER: Mapping[str, NestPlant] = {
    "nest-lambda": NestPlant(C, in_main(r"'[A-Z][\w ]+'", "lambda: 'Nordhook'")),
    "nest-walrus": NestPlant(C, in_main(r"'([A-Z][\w ]+)'", r"(port := '\1')")),
    "nest-conditional": NestPlant(C, in_main(r"'([A-Z][\w ]+)'", r"'\1' if True else 'x'")),
    "nest-chained-assignment": NestPlant(C, in_main(r"^    (data0.*) =", r"    both = \1 =")),
    "nest-annotated-assignment": NestPlant(
        C, last_call("gulls: int = count_gulls('North Pier')")
    ),
    "nest-async-stub": NestPlant(C, substituted(r"^def (?!main)", "async def ")),
    "nest-class": NestPlant(C, before("class Harbour:\n    pass")),
    "nest-decorated": NestPlant(C, substituted(r"^def (?!main)", "@cache\ndef ")),
    "nest-inner-function": NestPlant(C, main_line("def helper(): ...")),
    "nest-tuple": NestPlant(C, in_main(r"'([A-Z][\w ]+)'", r"('\1', 'x')")),
    "nest-set": NestPlant(C, in_main(r"'([A-Z][\w ]+)'", r"{'\1'}")),
    "nest-bytes": NestPlant(C, in_main(r"'([A-Z][\w ]+)'", r"b'\1'")),
    "nest-infinite": NestPlant(C, in_main(r"', [\d.]+", "', 1e999")),
    "nest-huge-number": NestPlant(C, in_main(r"', [\d.]+", f"', {10**30}")),
    "nest-truth-for-number": NestPlant(C, in_main(r"', [\d.]+", "', True")),
    "nest-generic-type": NestPlant(C, substituted(r"harbour: str", "harbour: list[str]")),
    "nest-return": NestPlant(C, last_call("return data0")),
    "nest-delete": NestPlant(C, last_call("del data0")),
    "nest-main-takes": NestPlant(C, substituted(r"^def main\(\)", "def main(harbour)")),
    "nest-two-mains": NestPlant(C, before("def main():\n    ...")),
    "nest-builtin-name": NestPlant(
        C, lambda text, nest: text.replace(nest.apis[0].name, "print")
    ),
    "nest-later-variable": NestPlant(C, _later_variable),
    "nest-own-variable": NestPlant(C, in_main(r"^    data0(.*)\('", r"    data0\1(data0, '")),
    "nest-return-twice": NestPlant(C, substituted(r"Returns:\n(.*)\n", r"Returns:\n\1\n\1\n")),
    "nest-no-description": NestPlant(C, substituted(r'"""[A-Z].*\.\n', '"""\n')),
    "nest-optional-first": NestPlant(C, _optional_first),
    "nest-several-calls": NestPlant(C, last_call("g, h = count_gulls('a'), count_gulls('b')")),
    "nest-try": NestPlant(C, main_line("try:\n        x = 1\n    except Exception:\n        pass")),
    "nest-comprehension": NestPlant(C, in_main(r"'([A-Z][\w ]+)'", r"[x for x in '\1']")),
    "nest-one-name-twice": NestPlant(
        C, lambda text, nest: last_call("g, g = count_gulls('North Pier')")(
            f"{stub_of('count_gulls')}\n{text}", nest)
    ),
    "nest-listed-variable": NestPlant(C, _listed),
    "nest-task-in-a-string": NestPlant(C, _hidden_task),
    "nest-double-spread": NestPlant(C, in_main(r"\)$", ", **{'days': 20})")),
    "nest-print": NestPlant(C, last_call("print(data0)")),
    "nest-keyword-only": NestPlant(C, substituted(r"days: int = 0\)", "*, days: int = 0)")),
    "nest-default-computes": NestPlant(C, substituted(r"days: int = 0", "days: int = 3 * 4")),
    "nest-no-annotation": NestPlant(C, substituted(r"share: float", "share")),
    "nest-capital-type": NestPlant(C, substituted(r"harbour \(str\)", "harbour (String)")),
    # texts
    "nest-words-for-a-number": NestPlant(
        T, lambda text, nest: re.sub(r"share: [\d.]+", "share: a fair one", text, count=1)
    ),
    "nest-rounded": NestPlant(
        T, lambda text, nest: re.sub(r"share: (\d+)\.(?!0)\d+", r"share: \1", text, count=1)
    ),
    "nest-grown-word": NestPlant(
        T, lambda text, nest: re.sub(r'harbour: "(\w+)', r'harbour: "\1ish', text)
    ),
    "nest-tool-name-in-capitals": NestPlant(
        T, lambda text, nest: f"{text} Call {nest.apis[0].name.upper()}."
    ),
    "nest-tool-name-in-camels": NestPlant(
        T, lambda text, nest: f"{text} Call {_camel(nest.apis[0].name)}."
    ),
    "nest-two-values": NestPlant(T, _two_values),
    "nest-negated": NestPlant(T, _negated),
    "nest-other-order": NestPlant(T, _other_order),
    "nest-list-for-a-text": NestPlant(T, lambda text, nest: '{"task": ["do it"]}', raw=True),
    "nest-half-of-it": NestPlant(T, lambda text, nest: text[: len(text) // 2]),
}  # fmt: skip
"""Kinds by name."""
ALL: Mapping[str, NestPlant] = {**NEST_PLANTS, **LATER}
