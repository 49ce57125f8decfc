"""`toolhop serve`: serve a scripted agent or a model file over the OpenAI protocol."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import click
from click.core import ParameterSource

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.cli.flags import Number, Whole, data_option
from toolhop_agents.cli.options import announce_default, options_of, refuse_unused, setting_option
from toolhop_agents.models.gguf import model_name, serving
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer
from toolhop_agents.runs.job import prepare
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import metered, responder
from toolhop_agents.terminal import say
from toolhop_env.reading import CallFormat
from toolhop_tools.load import load
from toolhop_tools.model import DataSet


@click.command(context_settings={"show_default": True})
@click.option("--agent", default="oracle", help="Scripted agent, as in `toolhop run --agent`.")
@data_option
@click.option(
    "--call-format",
    type=click.Choice([one.value for one in CallFormat]),
    default=None,
    help="How calls are written.  [default: as each request shows its tools]",
)
@setting_option("seed")
@click.option("--fault-rate", type=Number(0, 1), default=0.0,
              help="Share of requests answered with a fault of the infrastructure.")  # fmt: skip
@click.option("--capacity", type=Whole(min=1), default=None,
              help="Requests at a time; one more is refused with status 429.")  # fmt: skip
@click.pass_context
def serve(
    ctx: click.Context, /, agent: str, data: str, call_format: str | None, seed: int,
    fault_rate: float, capacity: int | None,
    **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:  # fmt: skip
    """Serve an agent or a model over the OpenAI chat protocol on 127.0.0.1, until interrupted.

    A scripted agent finds the item by its question, and answers the responses protocol too;
    --certificates and --into are those of the run. Prints the base URL; use it so:

    \b
        toolhop run --model openai/scripted --base-url URL

    Its replies state their tokens, one for each four bytes, so that limits, prices (--price) and
    estimates can be tried. A model of --gguf is asked by the name of its file, openai/NAME.
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    if flags["gguf"] is not None:
        _leave_out_what_is_scripted(ctx)
        anyio.run(_serve_model, *(flags[name] for name in OF_FILES))
        return
    refuse_unused(ctx, {})
    made_of = flags["into"] or flags["certificates"]
    items = _items(data, agent, seed, flags) if made_of else load(data)
    own = binding_of(items.items[0].benchmark).agents
    called = CallFormat(call_format) if call_format else None
    answer = metered(responder(items, choose(agent, own), seed, called))
    faults = FaultPlan(fault_rate, seed=seed) if fault_rate else None
    if ctx.get_parameter_source("agent") is ParameterSource.DEFAULT:
        announce_default({})
    with LoopbackServer(answer, faults=faults, capacity=capacity) as server:
        click.echo(server.base_url)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            counts = ", ".join(f"{kind}: {count}" for kind, count in server.counts.items())
            say(f"served {counts or 'nothing'}")


OF_FILES = ("gguf", "gguf_context", "gguf_threads", "chat_template")
"""Flags for model files, shared with `toolhop run`."""
OF_ITEMS = ("certificates", "into", "sandbox")
"""Flags for the items of a run."""
serve.params.extend(one for one in options_of(RunSettings) if one.name in OF_FILES + OF_ITEMS)


def _items(data: str, agent: str, seed: int, flags: Mapping[str, Any]) -> DataSet:
    """Load the items as a run with the same flags would play them."""
    given = {name: flags[name] for name in OF_ITEMS if flags[name]}
    job = prepare(RunSettings(data=data, agent=agent, seed=seed, **given))
    if job.certificates is not None:
        from toolhop_agents.runs.scenarios import made  # imports numpy

        job = anyio.run(made, job)
    return replace(job.data, items=tuple(job.items))


def _leave_out_what_is_scripted(ctx: click.Context) -> None:
    """Reject flags that apply only to scripted agents."""
    for flag in ctx.command.params:
        name = flag.name or ""
        given = ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        if given and name not in OF_FILES:
            raise click.UsageError(
                f"{flag.opts[0]} is for scripted agents: leave it out, or --gguf"
            )


async def _serve_model(
    path: Path, context: int, threads: int | None, chat_template: str | None
) -> None:
    opening = serving(path, context=context, threads=threads, chat_template=chat_template)
    async with opening as base_url:
        click.echo(base_url)
        say(f"toolhop run --model {model_name(path)} --base-url {base_url}")
        await anyio.sleep_forever()
