"""The command line. Each command's module is imported on use, so that help is instant."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from traceback import walk_tb

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from toolhop_agents.cli.flags import Number, Whole, allowed
from toolhop_agents.terminal import prepare_output, say

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("runs.command", "Play many episodes and print the table."),
    "play": ("play.command", "Play an item yourself."),
    "runs": ("runs.list_command", "List the runs in a folder, newest first."),
    "merge": ("runs.merge_command", "Join the parts of a run that --shard split."),
    "show": ("runs.show_command", "Read a run, or one of its episodes."),
    "score": ("runs.score_command", "Score finished runs again from their traces."),
    "compare": (
        "compare.command",
        "Compare runs in pairs: what changed, and whether by chance.",
    ),
    "explain": (
        "compare.explain_command",
        "List how runs differ from a benchmark's official set-up.",
    ),
    "judge-check": ("judge.command", "Measure how far judges agree with each other and people."),
    "replay": (
        "runs.replay_command",
        "Run the calls of a run again and compare them with the traces.",
    ),
    "diagnose": (
        "runs.diagnose_command",
        "List signs that the harness, not the model, is at fault.",
    ),
    "why": ("why.command", "Find the step that lost an episode, by repairing it."),
    "profile": ("profile.command", "Measure how hard each item and tool is for an agent."),
    "export": (
        "export.command",
        "Write runs as parquet, a Hugging Face data set, Inspect logs or chats.",
    ),
    "align": ("align.command", "Make training data from items and runs, with executed labels."),
    "report": ("report.command", "Write runs as one HTML page that opens offline."),
    "ablate": (
        "ablate.command",
        "Compare feedback, modes, tool presentations or scenarios in pairs.",
    ),
    "data": ("data.command", "List, show, validate, fetch and export data sets."),
    "worlds": ("worlds.command", "Make items from a seed, and inspect their worlds."),
    "certify": ("certify.command", "Prove items by a search, and by blind readers."),
    "construct": ("construct.command", "Make items with a model; each is run and proven."),
    "perturb": (
        "cli.perturb",
        "Turn proven items into scenarios: missing tools, hidden values, hazards.",
    ),
    "check": ("check.command", "Test every tool of a data set by its properties."),
    "call": ("cli.call", "Call one tool in the sandbox."),
    "sandbox": ("cli.sandbox", "Build, check and clean up the sandboxes."),
    "serve": ("serve.command", "Serve a scripted agent, or a model from a file, on loopback."),
    "openenv": ("adapters.command", "Serve items as an OpenEnv environment, for trainers."),
    "completion": ("cli.completion", "Print shell completion for bash, zsh or fish."),
}
"""Module of `toolhop_agents` and one-line help of each command, by name."""
PREFIX = "TOOLHOP"
"""Prefix of the environment variables that set flags."""
EXIT_EPISODES, EXIT_USAGE, EXIT_MISSING = 1, 2, 3
"""Exit codes other than 0: failed episodes, bad input, missing prerequisite."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""


def nearest(given: str, allowed: Iterable[str]) -> str:
    """Return `` (did you mean X?)``, or an empty string if no allowed name is similar."""
    near = get_close_matches(given, allowed, n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""


class _NotEmpty:
    """A flag callback that rejects an empty value, such as an unset variable in a script."""

    def __init__(self, then: Callable[..., object] | None) -> None:
        self._then = then

    def __call__(self, ctx: click.Context, flag: click.Parameter, value: object) -> object:
        given = ctx.get_parameter_source(flag.name or "") is not ParameterSource.DEFAULT
        for one in value if isinstance(value, tuple) else (value,):
            if given and one == "":
                raise click.BadParameter("it is empty; give a value, or leave the flag out")
        return self._then(ctx, flag, value) if self._then else value


def _name_variables(command: click.Command, prefix: str) -> None:
    """Name each environment variable after its flag; click uses the name of the parameter.

    A renamed flag has a variable under both names, just as it has keys in a configuration file.
    """
    for flag in command.params:
        if isinstance(flag, click.Option):
            long = [name.lstrip("-") for name in flag.opts if name.startswith("--")]
            flag.envvar = [f"{prefix}_{name.replace('-', '_').upper()}" for name in long]
            if not isinstance(flag.callback, _NotEmpty):
                flag.callback = _NotEmpty(flag.callback)
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            _name_variables(part, f"{prefix}_{name.replace('-', '_').upper()}")
    else:
        _tell_of_unknown_variables(command, prefix)


def _tell_of_unknown_variables(command: click.Command, prefix: str) -> None:
    """Warn of variables that look like flags of the command but are not."""
    known = {name for flag in command.params for name in flag.envvar or ()}
    for name in sorted(os.environ):
        if name.startswith(f"{prefix}_") and name not in known:
            say(f"toolhop: the variable {name} sets no flag{nearest(name, known)}")


class Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all command names without importing any command."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"toolhop_agents.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, name)
        _name_variables(command, f"{PREFIX}_{name.upper()}")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the nearest name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(
                f"no command {args[0]!r}{nearest(args[0], COMMANDS)}; give one of "
                + ", ".join(COMMANDS)
            )
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete command names without importing any command."""
        found = [
            CompletionItem(name, help=about)
            for name, (_, about) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found or super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from `COMMANDS`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolhop-env")
def root() -> None:
    """A sandboxed agent execution environment for multi-hop tools.

    Every flag has an environment variable, such as TOOLHOP_RUN_MODEL for `run --model`. Commands
    that ask a model read a file .env in the working folder.
    """


def main() -> None:
    """Entry point of `toolhop`."""
    prepare_output()
    try:
        sys.exit(root(auto_envvar_prefix=PREFIX, standalone_mode=False))
    except click.Abort:
        sys.exit(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except click.UsageError as error:
        # Not capitalized: the first word may be a name.
        text = error.format_message().removesuffix(".")
        fix = "".join(f"\n  fix: {one}" for one in _fixes(error))
        say(f"toolhop: {text}{fix}")
        sys.exit(error.exit_code)
    except click.ClickException as error:
        say(f"toolhop: {error.format_message()}")
        sys.exit(error.exit_code)
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is None:
            raise
        sys.exit(INTERRUPTED)
    except Exception as error:
        from toolhop_agents.cli.faults import exit_code

        if isinstance(error, OSError) and error.errno == errno.ENOSPC and not error.filename:
            say("toolhop: the output cannot be written: no space is left where it goes")
            sys.exit(EXIT_EPISODES)
        code = exit_code(error)
        if code is None:
            raise
        say(f"toolhop: {error}")
        sys.exit(code)


def _fixes(error: click.UsageError) -> Iterator[str]:
    """Yield fixes for an error raised by click; our own errors include theirs."""
    context = error.ctx or _named()
    flags = [one for one in context.command.params if isinstance(one, click.Option)]
    if isinstance(error, click.NoSuchOption):
        names = error.possibilities or [one.opts[0] for one in flags]
        yield f"give one of {', '.join(sorted(names))}"
    elif isinstance(error, click.BadOptionUsage):
        yield from (_given(one) for one in flags if error.option_name in one.opts)
    elif isinstance(error, click.BadParameter) and error.param is not None:
        yield _given(error.param)
    elif not _is_clicks(error):
        return
    elif isinstance(context.command, click.Group):
        yield f"give one of {', '.join(context.command.list_commands(context))}"
    else:
        parts = context.command.collect_usage_pieces(context)
        yield " ".join(["write", context.command_path, *parts])


def _is_clicks(error: BaseException) -> bool:
    """Whether click raised the error, not one of our commands."""
    *_, (frame, _) = walk_tb(error.__traceback__)
    return str(frame.f_globals["__name__"]).partition(".")[0] == "click"


def _named() -> click.Context:
    """Find the command named on the command line; click's parsing errors do not include it."""
    context = click.Context(root, info_name="toolhop")
    for word in sys.argv[1:]:
        if not isinstance(context.command, click.Group):
            break
        if (part := context.command.get_command(context, word)) is not None:
            context = click.Context(part, parent=context, info_name=word)
    return context


def _given(param: click.Parameter) -> str:
    """Describe how to give a parameter, and what it means."""
    if not isinstance(param, click.Option):
        return f"give {param.human_readable_name}"
    value = "" if param.is_flag else f" {param.make_metavar(click.Context(click.Command('')))}"
    about = " ".join((param.help or "").split())
    if isinstance(param.type, Number | Whole):
        value += f" ({allowed(param.type)})"
    return f"give {param.opts[0]}{value}{about and f': {about}'}"
