"""`toolhop openenv`: serve items as an OpenEnv environment."""

from __future__ import annotations

import signal
import socket
from types import FrameType
from typing import Any

import click
from click.core import ParameterSource

from toolhop_agents.adapters.options import TAKEN
from toolhop_agents.cli.flags import Whole, port_option
from toolhop_agents.cli.options import Sectioned, checked, options_of, refuse_unused, values_of
from toolhop_agents.environment.plain import PlainEnvironments
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.signals import Interrupted
from toolhop_env.extras import require


def _weights(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, _equals, number = text.partition("=")
        if name in found:
            raise click.BadParameter(f"{name} was given twice: give it one weight")
        try:
            found[name] = float(number)
        except ValueError:
            raise click.BadParameter(
                f"{text!r} is no NAME=WEIGHT, such as failed_call=-0.1"
            ) from None
    return found


reward_option = click.option(
    "--reward", callback=_weights, multiple=True, metavar="NAME=WEIGHT",
    help="Weight of a measure, of milestones or of failed_call; may be repeated.  "
    "[default: the benchmark's leading measure]",
)  # fmt: skip


def _end(_: int, __: FrameType | None) -> None:
    raise Interrupted


# fmt: off
@click.command(cls=Sectioned, context_settings={"show_default": True})
@click.option("--host", default="127.0.0.1", help="Address to listen at. There is no password: "
              "whoever reaches it can play.")
@port_option(8000)
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME",
              help="Another host name that clients may use for this machine; may be repeated.")
@click.option("--sessions", type=Whole(min=1), default=8,
              help="Sessions at a time; more are refused.")
@reward_option
@click.pass_context
def openenv(
    ctx: click.Context, /, host: str, port: int, hosts: tuple[str, ...], sessions: int,
    reward: dict[str, float], **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:
    """Serve items as an OpenEnv environment, until interrupted. Needs the extra openenv.

    Prints the address; docs/integrations.md has a client. Each session resets to an item, by id or
    number, with its own settings; all sessions share one sandbox.
    """
    refuse_unused(ctx, flags)
    require("openenv", extra="openenv", what="`toolhop openenv`")
    import uvicorn

    from toolhop_agents.adapters.openenv_server import application

    if ctx.get_parameter_source("turn_limit") is ParameterSource.DEFAULT:
        del flags["turn_limit"]  # a benchmark may have its own limit
    settings = checked(values_of(flags))
    # uvicorn re-raises the signal that ended it; an unhandled SIGTERM would leave containers.
    signal.signal(signal.SIGTERM, _end)
    with PlainEnvironments(settings, reward=reward or None, most=sessions) as pool:
        app = application(pool, sessions=sessions, hosts=(host, *hosts))
        try:
            listening = socket.create_server((host, port))
        except OSError as error:
            raise click.UsageError(
                f"--host {host} --port {port}: {error.strerror}; give another port, or 0 for any"
            ) from error
        bound, number = listening.getsockname()[:2]
        click.echo(f"http://{bound}:{number}")
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listening])


NOT_HERE = {"max_samples", "judge", "judge_base_url", "judge_votes"}
"""Settings without a flag here: --sessions sets the number of episodes, and no judge is used."""
openenv.params.extend(
    options_of(RunSettings, leave_out=RunSettings.model_fields.keys() - TAKEN | NOT_HERE)
)
