"""``toolhop sandbox``: build the image, examine this machine, clean up.

Data goes to stdout, messages to stderr. Exit codes: 0 done, 2 usage, 3 something is missing on this
machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import anyio
import click
from rich.console import Console
from rich.text import Text

from toolhop_agents.cli import EXIT_MISSING
from toolhop_agents.cli.json_output import json_option, write_json
from toolhop_agents.cli.options import setting_option
from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import say
from toolhop_sandbox.docker import containers, upkeep
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.doctor import Check, Diagnosis, examine
from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted

if TYPE_CHECKING:
    from docker import DockerClient


@contextmanager
def connected() -> Iterator[DockerClient]:
    """Yield a client of the Docker engine, and close it at the end."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    client = containers.connect()
    try:
        yield client
    except (DockerException, RequestException) as error:
        raise SandboxUnavailable(
            f"the Docker engine refused: {error}", fix="toolhop sandbox doctor"
        ) from error
    finally:
        client.close()


@click.group()
def sandbox() -> None:
    """Prepare, examine and clear up the sandboxes that tools run in."""


@sandbox.command()
@setting_option("sandbox_base", "base")
@click.option("--rebuild", is_flag=True, help="Make it even if it is there.")
def build(base: str | None, rebuild: bool) -> None:
    """Make the sandbox's image and print its name.

    Runs make it by themselves; this makes it ahead. Without --sandbox-base it is made of this
    machine's Python alone, and nothing is downloaded.
    """
    started = time.monotonic()
    name = anyio.run(_build, base, rebuild)
    with connected() as client:
        size_mb = upkeep.size_bytes(client, name) / 1e6
    say(f"{size_mb:.0f} MB, ready in {time.monotonic() - started:.1f} s")
    click.echo(name)


async def _build(base: str | None, rebuild: bool) -> str:
    launcher = DockerEngine(base=base)
    try:
        return await launcher.build(only_if_missing=not rebuild)
    finally:
        await launcher.close()


@sandbox.command()
@json_option
def doctor(as_json: bool) -> None:
    """Find out what this machine can run, and what to do about the rest.

    Exit code 0: at least one sandbox runs. 3: none does.
    """
    diagnosis = anyio.run(examine)
    if as_json:
        write_json(asdict(diagnosis))
    else:
        Console().print(_check_table(diagnosis.checks))
        say(_verdict(diagnosis))
    if not diagnosis.runs:
        raise SystemExit(EXIT_MISSING)


def _check_table(checks: tuple[Check, ...]) -> StackedTable:
    table = StackedTable("", "", framed=False, with_header=False)
    table.add_columns("", prose=True)
    for check in checks:
        mark = Text("ok", style="green") if check.ok else Text("--", style="bold yellow")
        table.add_row(mark, Text(check.name), Text(check.detail))
        if check.fix and not check.ok:
            table.add_row("", "", Text(f"fix: {check.fix}", style="cyan"))
    return table


def _verdict(diagnosis: Diagnosis) -> str:
    if not diagnosis.runs:
        return "No sandbox runs here."
    if diagnosis.auto is None:
        return (
            "The Docker engine answers but no call came through: --sandbox auto fails, "
            "--sandbox process runs."
        )
    return f"--sandbox auto takes {diagnosis.auto}."


@sandbox.command()
@click.option("--all", "current", is_flag=True, help="Remove the current image too, if unused.")
@json_option
def clean(current: bool, as_json: bool) -> None:
    """Remove containers left by runs that ended, and images of earlier versions.

    Only what carries toolhop's own labels; containers of runs under way stay. Prints what went.
    """
    with connected() as client:
        removed = upkeep.clean(client, current=current)
    if as_json:
        write_json(asdict(removed))
    else:
        for container in removed.containers:
            click.echo(f"container {container[:12]}")
        for image in removed.images:
            click.echo(f"image {image.name}")
    for image in removed.in_use:
        say(f"{image.name} stays: a container uses it")
    say(f"removed {len(removed.containers)} containers and {len(removed.images)} images")


@sandbox.command()
@json_option
def stats(as_json: bool) -> None:
    """List toolhop's containers in this engine: age, owner, memory."""
    with connected() as client:
        rows = [_row(usage, time.time()) for usage in upkeep.usage(client)]
    if as_json:
        write_json(rows)
        return
    table = StackedTable("CONTAINER", "STATE", "AGE", "OWNER", "MEMORY", framed=False)
    for row in rows:
        memory = row["memory_mib"]
        table.add_row(
            str(row["id"])[:12],
            str(row["state"]),
            "?" if row["age_s"] is None else f"{row['age_s']} s",
            f"{row['owner_pid'] or '?'} ({'alive' if row['owner_alive'] else 'ended'})",
            "?" if memory is None else f"{memory} MiB",
        )
    Console().print(table)
    say(counted(len(rows), "container"))


def _row(usage: upkeep.ContainerUsage, now_s: float) -> dict[str, JSON]:
    one = usage.container
    pid = one.owner.split(":")[2:3]
    memory = usage.memory_bytes
    return {
        "id": one.id,
        "state": one.state,
        "image": one.image,
        "age_s": round(now_s - one.started_s) if one.started_s else None,
        "owner_pid": int(pid[0]) if pid and pid[0].isdecimal() else None,
        "owner_alive": not one.orphaned,
        "memory_mib": None if memory is None else round(memory / 2**20, 1),
    }
