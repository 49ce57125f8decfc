"""The flags of all commands: the same thing has one name, a name means one thing, and what cannot
be is refused with what is allowed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

import toolhop_agents
from tests.agents.command import toolhop
from toolhop_agents.cli import root
from toolhop_agents.cli.flags import MOST, Number, Whole, allowed

KINDS = {
    "integer": "number", "number": "number", "choice": "text", "text": "text", "name": "text",
    "price": "text", "N-M": "text",
}  # fmt: skip
TEXTS = {"--temperature", "--max-tokens", "--out"}
"""Where a command takes a word as well: none, or - for standard output."""
WRITERS = {
    "data card", "data export", "data schema", "export", "judge-check", "perturb", "profile",
    "report", "worlds make",
}  # fmt: skip
"""Commands that write a file whose name is given. Those that append, resume or make a new folder
are no such: they never replace anything."""
VARIES: Mapping[str, str] = {
    "--against": "items that are made resemble no test set; training data shares nothing with it",
    "--agent": "`serve` takes scripted agents alone",
    "--by": "`compare` takes divergences too",
    "--continuations": "of a fork at each level, or of an episode on each side",
    "--chat-template": "of a GGUF model, or of the model to train",
    "--cost-limit": "of an episode, or of an item that is made",
    "--epochs": "times that an item is played, or passes over training data",
    "--estimate": "`run` takes it without a number",
    "--feedback": "`play` takes no template",
    "--hops": "the generator of worlds says what it takes",
    "--into": "`run` sends to `perturb`, which lists them",
    "--max-samples": "of episodes, items or tools",
    "--mode": "one, several, or those that are shown",
    "--out": "a file, a folder or standard output",
    "--resume": "a run, an ablation or a game",
    "--sample": "of items, or of questions by kind",
    "--to": "formats of runs, or of data",
    "--token-limit": "of an episode, or of an item that is made",
}
"""Flags whose help is not the same text in all commands, and why; each still means one thing."""


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


def test_a_name_means_the_same_in_all_commands() -> None:
    """Help texts are the same but for the default; what has others is declared with the reason."""
    texts = defaultdict[str, set[str]](set)
    for _, flag in flags():
        texts[flag.opts[0]].add((flag.help or "").partition("  [default")[0])
    assert {name for name, said in texts.items() if len(said) > 1} == set(VARIES)
    assert not [name for name, said in texts.items() if "" in said]


@pytest.mark.parametrize(
    ("argument", "holders"),
    [("data", set[str]()), ("runs", {"score", "compare", "explain", "judge-check", "diagnose",
                                     "align dpo", "export", "profile", "report"})],
)  # fmt: skip
def test_what_is_worked_on_is_given_in_one_way(argument: str, holders: set[str]) -> None:
    found = {path for path, one in commands() for part in one.params
             if isinstance(part, click.Argument) and part.name == argument}  # fmt: skip
    assert found == holders
    assert not holders & {path for path, one in flags() if one.opts[0] == f"--{argument}"}


def test_whoever_writes_a_file_replaces_it_by_the_same_flag() -> None:
    assert {path for path, one in flags() if one.opts[0] == "--overwrite"} == WRITERS


# -- numbers ---------------------------------------------------------------------------------------

NUMBERS = [(path, one) for path, one in flags() if isinstance(one.type, Whole | Number)]


@pytest.mark.parametrize(("path", "flag"), NUMBERS, ids=lambda one: getattr(one, "name", one))
def test_a_number_that_cannot_be_is_refused_with_the_range(
    path: str, flag: click.Option, tmp_path: Path
) -> None:
    kind = flag.type
    assert isinstance(kind, Whole | Number)
    odd = ["nan", "inf", "-inf", "-1", "x"]
    if isinstance(kind, Whole) or kind.max is not None:
        odd.append(f"{10 * MOST}")
    if flag.name == "estimate" and path == "run":
        # May stand without a value: click takes what begins with - for the next flag.
        odd = [given for given in odd if not given.startswith("-")]
    for given in odd:
        done = toolhop(*path.split(), f"{flag.opts[0]}={given}", cwd=tmp_path)
        assert done.returncode == 2, (given, done.stderr)
        first, fix = done.stderr.splitlines()[:2]
        assert f"'{flag.opts[0]}'" in first, done.stderr
        assert f"({allowed(kind)})" in fix


def test_every_number_has_a_range() -> None:
    plain = {one.opts[0] for _, one in flags() if one.type in (click.INT, click.FLOAT)}
    assert plain == set()


# -- refusals --------------------------------------------------------------------------------------

SOURCES = Path(toolhop_agents.__file__).parent
PASSED_ON = {
    ("cli/options.py", "checked"), ("cli/options.py", "check_url"),
    ("cli/options.py", "resumed_settings"), ("data/command.py", "schema"),
}  # fmt: skip
"""Where the text of a refusal is made elsewhere: it is in `wrong_uses.txt`."""


def said(node: ast.expr) -> str:
    """A message as far as it stands in the source; a zero for each place."""
    if isinstance(node, ast.BinOp):
        return said(node.left) + said(node.right)
    if isinstance(node, ast.JoinedStr):
        return "".join(said(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "\0"


def refusals() -> Mapping[tuple[str, str, int], str]:
    """What each `click.UsageError` of the commands says, by file, function and line.

    Those of options (`click.BadParameter`) are completed by `toolhop_agents.cli.main`.
    """
    found = {}
    for path in SOURCES.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and ast.unparse(node.func) == "click.UsageError":
                        found[path.relative_to(SOURCES).as_posix(), function.name, node.lineno] = (
                            said(node.args[0])
                        )
    return found


def test_each_refusal_says_what_is_wrong_and_then_what_to_do() -> None:
    lacking = {
        (file, function, line): text
        for (file, function, line), text in refusals().items()
        if (file, function) not in PASSED_ON
        # After the last of these stands what to do, in words of the message's own.
        if len(re.split(r"[:;] (?!2000)|\n", text)[-1].replace("\0", "").split()) < 2
        or not re.search(r"[:;] |\n", text)
    }
    assert lacking == {}
    assert len(refusals()) > 60


WRONG = {
    "no command": ("rnu",), "no part": ("data", "foo"), "no flag": ("run", "--zzz"),
    "a flag like it": ("run", "--modle", "x"), "no value": ("run", "--limit"),
    "a value too much": ("run", "--json=3"), "an argument too much": ("check", "builtin"),
    "an argument less": ("call",), "a flag less": ("perturb",),
    "no choice": ("run", "--sandbox", "x"), "no file": ("data", "schema", "nope.py"),
    "no number": ("run", "--epochs", "x"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_click_refuses_names_what_is_allowed(name: str, tmp_path: Path) -> None:
    done = toolhop(*WRONG[name], cwd=tmp_path)
    assert done.returncode == 2
    assert "--help" not in done.stderr
    assert re.search(r"\n  fix: (give|write) \S|; give one of run, play, ", done.stderr)
