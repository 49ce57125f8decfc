"""`toolhop completion`: complete commands, flags and paths in bash, zsh and fish."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_TOOLHOP_COMPLETE"
ZSH_NEEDS = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"
"""Setup for a zsh whose configuration does not load completion."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion(ctx: click.Context, /, shell: str | None) -> None:
    """Print the completion script for SHELL, or for the shell that $SHELL names.

    \b
        eval "$(toolhop completion bash)"     # in this shell, or in ~/.bashrc
        eval "$(toolhop completion zsh)"      # likewise in ~/.zshrc
        toolhop completion fish | source      # likewise in ~/.config/fish/config.fish
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    shell = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        given = f"$SHELL is {shell}" if shell else "$SHELL is not set"
        raise click.UsageError(f"{given}; give one of {', '.join(SHELLS)}")
    # The base class's method: click's bash class starts a bash to check its version.
    template = kind(ctx.find_root().command, {}, "toolhop", VARIABLE)
    script = template.source_template % template.source_vars()
    click.echo((ZSH_NEEDS if shell == "zsh" else "") + script.strip())
