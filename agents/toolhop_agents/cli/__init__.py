"""The command line. Each command's module is imported when it is used: help must be instant."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping

import click

COMMANDS: Mapping[str, str] = {
    # name: what `toolhop --help` says of it; the module is agents.cli.NAME, the object NAME.
    "run": "Play many episodes and print the table.",
    "play": "Play an item yourself.",
    "show": "Read a run, or one of its episodes.",
    "score": "Score finished runs again from their traces.",
    "compare": "Compare runs pair by pair: what changed, and whether it is chance.",
    "replay": "Run the calls of a run again and compare them with the traces.",
    "diagnose": "List what looks wrong with the harness in runs, not with the model.",
    "export": "Write runs as parquet, a Hugging Face data set, Inspect logs or chats.",
    "report": "Write runs as one HTML page that opens offline.",
    "ablate": "Compare levels of feedback, modes, or ways to show tools, in pairs.",
    "data": "List, show, validate, fetch and export data sets.",
    "certify": "Prove by search which items can be solved, or show why not.",
    "check": "Test every tool of a data set by its properties.",
    "call": "Call one tool in the sandbox.",
    "sandbox": "Build, check and clean up what tools run in.",
    "serve": "Serve a scripted agent over the OpenAI protocol on loopback.",
}
PREFIX = "TOOLHOP"
"""Of the variables that set flags."""
EXIT_EPISODES, EXIT_USAGE, EXIT_MISSING = 1, 2, 3
"""Exit codes beside 0: episodes failed, bad input, a prerequisite is missing."""


def _name_variables(command: click.Command, prefix: str) -> None:
    """Name each flag's variable by the flag; click goes by what the value is called inside.

    A flag with a former name has a variable under both, as a configuration file does.
    """
    for flag in command.params:
        if isinstance(flag, click.Option):
            long = [name.lstrip("-") for name in flag.opts if name.startswith("--")]
            flag.envvar = [f"{prefix}_{name.replace('-', '_').upper()}" for name in long]
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            _name_variables(part, f"{prefix}_{name.replace('-', '_').upper()}")


class Lazy(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, without importing one."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"toolhop_agents.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        _name_variables(command, f"{PREFIX}_{cmd_name.upper()}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolhop-env")
def root() -> None:
    """A sandboxed agent execution environment for multi-hop tools.

    Every flag can be set by an environment variable: TOOLHOP_RUN_MODEL for `run --model`. A file
    .env in the working folder is read by the commands that ask a model.
    """


def main() -> None:
    """Entry point of `toolhop`."""
    try:
        root(auto_envvar_prefix=PREFIX)
    except Exception as error:
        from toolhop_agents.cli.faults import exit_code

        code = exit_code(error)
        if code is None:
            raise
        click.echo(f"toolhop: {error}", err=True)
        sys.exit(code)
