"""`toolhop serve`: a scripted agent behind the OpenAI protocol, to try clients against."""

from __future__ import annotations

import threading

import click

from toolhop_agents.benchmarks import binding_of
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.constructor.model import PREFIX, constructing
from toolhop_agents.scripted.responder import metered, responder
from toolhop_env.reading import CallFormat
from toolhop_tools.load import load


@click.command(context_settings={"show_default": True})
@click.option("--agent", default="oracle", help="Scripted agent, as in `toolhop run --agent`; or "
              "a constructor, as in `toolhop construct --model`: scripted/honest.")  # fmt: skip
@click.option("--data", default="builtin", help="The data set that will be asked about.")
@click.option(
    "--call-format",
    type=click.Choice([one.value for one in CallFormat]),
    default=None,
    help="How calls are written.  [default: as each request shows its tools]",
)
@click.option("--seed", type=int, default=0)
@click.option("--fault-rate", type=click.FloatRange(0, 1), default=0.0,
              help="Share of requests answered with a fault of the infrastructure.")  # fmt: skip
@click.option("--capacity", type=click.IntRange(min=1), default=None,
              help="Requests at a time; one more is refused with status 429.")  # fmt: skip
def serve(
    agent: str,
    data: str,
    call_format: str | None,
    seed: int,
    fault_rate: float,
    capacity: int | None,
) -> None:
    """Serve a scripted agent over the OpenAI chat protocol on 127.0.0.1, until interrupted.

    The item is found by its question in the conversation. Prints the base URL; use it so:

    \b
        toolhop run --model openai/scripted --base-url URL

    Replies state their tokens, one for each four bytes, so that limits, prices (--price) and
    estimates can be tried.
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    if agent.startswith(PREFIX):
        answer = constructing(agent.removeprefix(PREFIX))
    else:
        items = load(data)
        own = binding_of(items.items[0].benchmark).agents
        called = CallFormat(call_format) if call_format else None
        answer = metered(responder(items, choose(agent, own), seed, called))
    faults = FaultPlan(fault_rate, seed=seed) if fault_rate else None
    with LoopbackServer(answer, faults=faults, capacity=capacity) as server:
        click.echo(server.base_url)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            counts = ", ".join(f"{kind}: {count}" for kind, count in server.counts.items())
            click.echo(f"served {counts or 'nothing'}", err=True)
