"""`toolhop completion`: completion of commands, flags and paths in bash, zsh and fish."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from toolhop_agents.terminal import say

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_TOOLHOP_COMPLETE"
ZSH_NEEDS = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"
"""What a zsh whose settings load no completion lacks."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option(
    "--install",
    "write",
    is_flag=True,
    help="Write the script where the user's own are kept; for bash and zsh add a line that loads "
    "it to ~/.bashrc or ~/.zshrc, once.",
)
@click.pass_context
def completion(ctx: click.Context, /, shell: str | None, write: bool) -> None:
    """Print what completes commands, flags and paths in SHELL, or in the one that $SHELL names.

    \b
        eval "$(toolhop completion bash)"     # in this shell; the same line serves zsh
        toolhop completion fish | source
        toolhop completion --install          # in every new one
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    shell = shell or _own_shell(os.environ)
    script = script_of(ctx.find_root().command, shell)
    if not write:
        click.echo(script, nl=False)
        return
    try:
        for path in install(shell, script, os.environ):
            click.echo(f"written: {path}")
    except OSError as error:
        raise click.UsageError(
            f"{error.filename} cannot be written: {error.strerror}; leave "
            "--install out and put what is printed where your shell looks"
        ) from error
    say("Start a new shell to have it.")


def _own_shell(environment: Mapping[str, str]) -> str:
    name = Path(environment.get("SHELL", "")).name
    if name not in SHELLS:
        given = f"$SHELL is {name}" if name else "$SHELL is not set"
        raise click.UsageError(f"{given}; give one of {', '.join(SHELLS)}")
    return name


def script_of(command: click.Command, shell: str) -> str:
    """The script that a shell loads; it asks `toolhop` itself for what fits."""
    kind = get_completion_class(shell)
    if kind is None:
        raise ValueError(f"click completes nothing in {shell}")
    # Of the base class: click's own for bash starts a bash to ask for its version.
    template = kind(command, {}, "toolhop", VARIABLE)
    script = template.source_template % template.source_vars()
    return (ZSH_NEEDS if shell == "zsh" else "") + script.strip() + "\n"


def install(shell: str, script: str, environment: Mapping[str, str]) -> list[Path]:
    """Write the script, and the line that loads it; the files that were written.

    Raises:
        OSError: one cannot be.
    """
    home = Path(environment.get("HOME") or Path.home())
    if shell == "fish":
        config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
        path = config / "fish" / "completions" / "toolhop.fish"
        _write(path, script)
        return [path]
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    path = data / "toolhop" / f"completion.{shell}"
    _write(path, script)
    startup = (Path(environment.get("ZDOTDIR") or home) if shell == "zsh" else home) / f".{shell}rc"
    line = f"[ -r {shlex.quote(str(path))} ] && . {shlex.quote(str(path))}\n"
    before = startup.read_text(encoding="utf-8") if startup.exists() else ""
    if line in before:
        return [path]
    with startup.open("a", encoding="utf-8") as file:
        file.write(("" if before.endswith("\n") or not before else "\n") + line)
    return [path, startup]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
