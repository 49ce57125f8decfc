"""The flags of all commands: the same thing has one name, and a name means one thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from toolhop_agents.cli import root

KINDS = {
    "integer": "number", "integer range": "number", "float": "number", "float range": "number",
    "choice": "text", "text": "text",
}  # fmt: skip
TEXTS = {"--temperature", "--max-tokens", "--out"}
"""Where a command takes a word as well: none, or - for standard output."""
WRITERS = {
    "data card", "data export", "data schema", "export", "judge-check", "perturb", "report",
}  # fmt: skip
"""Commands that write a file whose name is given. Those that append, resume or make a new folder
are no such: they never replace anything."""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command by its path, parts of groups included."""
    context = click.Context(root)

    def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield " ".join(path), command
            return
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            yield from walk(part, (*path, name))

    yield from walk(root, ())


def flags() -> Iterator[tuple[str, click.Option]]:
    """Every option of every command."""
    for path, command in commands():
        yield from ((path, one) for one in command.params if isinstance(one, click.Option))


def test_each_flag_has_one_name() -> None:
    odd = {one.opts[0]: path for path, one in flags() if len(one.opts + one.secondary_opts) > 1}
    assert odd == {}
    assert all(one.opts[0].startswith("--") for _, one in flags())


def test_a_name_takes_one_kind_of_value_in_all_commands() -> None:
    kinds = defaultdict[str, set[str]](set)
    for _, one in flags():
        own = "switch" if one.is_flag else KINDS.get(one.type.name, "path")
        kinds[one.opts[0]].add(own)
    assert {name for name, found in kinds.items() if len(found) > 1} <= TEXTS


def test_what_is_said_in_the_same_words_has_the_same_name() -> None:
    names = defaultdict[str, set[str]](set)
    for _, one in flags():
        names[one.help or one.opts[0]].add(one.opts[0])
    assert {about: found for about, found in names.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("argument", "holders"),
    [("data", set[str]()), ("runs", {"score", "compare", "explain", "judge-check", "diagnose",
                                     "export", "report"})],
)  # fmt: skip
def test_what_is_worked_on_is_given_in_one_way(argument: str, holders: set[str]) -> None:
    found = {path for path, one in commands() for part in one.params
             if isinstance(part, click.Argument) and part.name == argument}  # fmt: skip
    assert found == holders
    assert not holders & {path for path, one in flags() if one.opts[0] == f"--{argument}"}


def test_whoever_writes_a_file_replaces_it_by_the_same_flag() -> None:
    assert {path for path, one in flags() if one.opts[0] == "--overwrite"} == WRITERS
