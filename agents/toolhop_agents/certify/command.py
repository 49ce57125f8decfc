"""`toolhop certify`: prove items as executed, determined, and read blind."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
from dotenv import load_dotenv

from toolhop_agents.certify.reading import check_readers, read_blind, reader_options, settings_of
from toolhop_agents.certify.view import Tally, page, print_tally, to_json
from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli.flags import Whole, data_option, item_option
from toolhop_agents.cli.json_output import json_option, table_format
from toolhop_agents.cli.options import cluster_of, cluster_options, setting_option
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.runs.certified import current
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.runs.spread import Isolation, Search, certifying
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say, visible
from toolhop_sandbox.base import Program
from toolhop_tools.blind.file import Readings, path_beside, reading_to_json
from toolhop_tools.certify.file import (
    CertificateError,
    Writer,
    default_path,
    path_for,
    progress,
    read,
)
from toolhop_tools.certify.model import VERSION, Basis, Certificate
from toolhop_tools.errors import DataError, DataProblem, counted
from toolhop_tools.load import select, survey
from toolhop_tools.model import Flaky, Item
from toolhop_tools.readers.record import Survey
from toolhop_tools.several import each
from toolhop_tools.worlds.spec import referred

PRINTED = 20
"""Maximum unusable rows that are printed; --json has all."""


# fmt: off
@reader_options
@cluster_options
@click.command(context_settings={"show_default": True})
@data_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=None,
              help="The file of certificates.  [default: certificates/DATA.jsonl]")
@setting_option("limit")
@setting_option("sample_ids")
@item_option
@setting_option("seed")
@click.option("--executions", type=Whole(1, 100_000), default=300,
              help="Maximum number of trial calls for a hop.")
@click.option("--audit", type=Whole(0, 10_000), default=20,
              help="Calls with other values with which each gold call is compared.")
@setting_option("tool_timeout_s", "wall_s", default=2.0)
@setting_option("tool_memory_mib", "memory_mib")
@click.option("--max-samples", type=Whole(1, 256), default=None,
              help="Items at a time, on each node.  [default: one per processor; 4 with readers]")
@setting_option("sandbox")
@setting_option("policy")
@setting_option("last_wins")
@table_format
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever the result.")
@json_option
@click.pass_context
def certify(
    ctx: click.Context, /, data: str, out: Path | None, item: str | None, as_json: bool,
    **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:
    """Prove for each item of DATA that its own chain of calls gives its answer, or say why not.

    A search looks for a call of each hop (executed), and for other calls that could be meant
    (determined); with --readers, models that see neither chain nor answer plan the calls (read).
    Certificates are appended to the file as they are made, readings to FILE.readings.jsonl. Valid
    ones are kept, so a stopped command resumes. Items of `worlds:` are right by construction,
    whatever the search finds. docs/certificates.md explains certificates.

    Exit code 0: all are proven. 1: some are not, rows cannot be used, or a reader failed. 2: bad
    input.
    """
    load_dotenv(Path(".env"))
    readers = settings_of(ctx, flags)
    cluster_of(flags)  # refuses contradictory cluster flags
    seen = survey(data, last_wins=flags["last_wins"])
    if not seen.dataset.items and not seen.errors:
        raise DataError("it has no items", origin=data)
    if item is not None:
        _show(seen, out or path_for(seen.dataset), item, as_json=as_json)
        return
    path = out or default_path(seen.dataset.name)
    items = select(
        seen.dataset, limit=flags["limit"], sample_ids=flags["sample_ids"]
    ) if seen.dataset.items else ()
    if foreign := [item.id for item in items if not _has_chain(item)]:
        raise DataError(
            f"{counted(len(foreign), 'item')} cannot be certified, {foreign[0]} first: "
            "certificates are of items with hops whose tools are programs", origin=data,
            fix="leave them out by --sample-id or --limit",
        )
    basis = Basis(
        VERSION, flags["seed"], flags["executions"], flags["audit"], flags["wall_s"],
        flags["memory_mib"], flags["policy"], flags["last_wins"],
    )
    _tell_broken(seen.errors)
    if readers is not None:
        check_readers(readers)
    cut = _make(items, path, basis, flags)
    if readers is not None and not cut and path.exists():
        certificates = {one.item: one for one in _held(path, items, basis)}
        isolation = Isolation(flags["sandbox"], readers.readers[0].max_samples)
        cut = read_blind(items, certificates, path, readers, isolation, basis)
    tally = _tally(path, items, basis, seen.errors)
    if as_json:
        click.echo(json.dumps({"file": str(path), **to_json(tally)}, ensure_ascii=False))
    else:
        print_tally(table_console(), tally)
    if path.exists():
        say(f"certificates: {path}")
    if cut:
        say("stopped; the same command resumes")
        sys.exit(INTERRUPTED)
    right = sum(count for verdict, count in tally.verdicts.items() if verdict.is_proof)
    if not flags["exit_zero"] and (seen.errors or right < len(items)):
        sys.exit(EXIT_EPISODES)


# fmt: on
def _has_chain(item: Item) -> bool:
    bodies = Program | Flaky if referred(item) else Program
    return bool(item.hops) and all(isinstance(hop.tool.body, bodies) for hop in item.hops)


def _make(items: Sequence[Item], path: Path, basis: Basis, flags: dict[str, Any]) -> bool:
    """Certify the items that have no certificate; return True if interrupted by a signal.

    Raises:
        CertificateError: the file cannot be read or written.
        SandboxUnavailable: no sandbox is available.
    """
    held = progress(path, {item.id: item.digest for item in items}, basis)
    work = [item for item in items if item.id not in held]
    if held:
        say(f"{counted(len(held), 'certificate')} of {path} still hold")
    if not work:
        return False
    with Writer(path) as writer:
        return anyio.run(partial(_search, work, len(items), writer, basis, flags))


async def _search(
    work: Sequence[Item], total: int, writer: Writer, basis: Basis, flags: dict[str, Any]
) -> bool:
    at_a_time = flags["max_samples"] or max(2, os.cpu_count() or 1)
    shown = Steps(ErrorConsole(), "certify", total, total - len(work))

    async def certified(one: Callable[[str], Awaitable[Certificate]], item: Item) -> None:
        writer.add(await one(item.id))
        shown.step()

    search = Search(work, basis, Isolation(flags["sandbox"], min(at_a_time, len(work))))
    cluster = cluster_of(flags)

    async def run() -> None:
        async with certifying(search, cluster) as (one, most):
            await each(work, partial(certified, one), at_a_time=most)

    with shown:
        return await until_signal(run)


def _tell_broken(errors: Sequence[DataProblem]) -> None:
    if not errors:
        return
    rows = len({problem.where for problem in errors})
    say(f"{counted(rows, 'row')} cannot be used and have no certificate:")
    for problem in errors[:PRINTED]:
        say(visible(f"  {problem.rule}: {problem}"))
    if len(errors) > PRINTED:
        say(f"  and {len(errors) - PRINTED} more; --json lists them")


def _held(path: Path, items: Sequence[Item], basis: Basis) -> Iterator[Certificate]:
    """Yield the valid certificates."""
    places = {*progress(path, {item.id: item.digest for item in items}, basis).values()}
    every = enumerate(read(path, growing=True))
    return (certificate for place, certificate in every if place in places)


def _tally(path: Path, items: Sequence[Item], basis: Basis, errors: Sequence[DataProblem]) -> Tally:
    """Count the valid certificates and their readings."""
    tally = Tally(items=tuple(items), broken=tuple(errors))
    if path.exists():
        readings = Readings(path_beside(path))
        for certificate in _held(path, items, basis):
            tally.add(certificate, current(readings, certificate))
    return tally


def _show(seen: Survey, path: Path, wanted: str, *, as_json: bool) -> None:
    """Print one certificate and its reading, as a page or as JSON.

    Raises:
        BadChoice: there is no such item.
        CertificateError: it has no certificate, or a stale one.
    """
    items = select(seen.dataset, sample_ids=[wanted])
    item = items[0]
    shown = None
    for certificate in read(path):
        shown = certificate if certificate.item == item.id else shown
    why = "it has none" if shown is None else shown.stale(item.digest)
    if shown is None or why:
        raise CertificateError(
            f"{path} has no certificate of item {item.id} that holds: {why}\n"
            f"  fix: run `toolhop certify --data DATA --sample-id {item.id} --out {path}`"
        )
    reading = current(Readings(path_beside(path)), shown)
    if as_json:
        from toolhop_tools.certify.model import to_json as certificate_json

        row = {**certificate_json(shown), "reading": reading and reading_to_json(reading)}
        click.echo(json.dumps(row, ensure_ascii=False, indent=2))
        return
    console = table_console()
    for part in page(item, shown, reading):
        console.print(part)
