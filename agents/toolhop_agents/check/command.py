"""`toolhop check`: test whether every tool of a data set has the properties of a good tool."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import anyio
import click

from toolhop_agents.check.view import Checked, executed, not_asked, print_report, summary, to_json
from toolhop_agents.cli import EXIT_EPISODES, INTERRUPTED
from toolhop_agents.cli.flags import Whole, data_option
from toolhop_agents.cli.json_output import json_option
from toolhop_agents.cli.options import cluster_of, cluster_options, setting_option
from toolhop_agents.cli.progress import ErrorConsole, Steps
from toolhop_agents.runs.signals import until_signal
from toolhop_agents.runs.spread import Cluster, check_on_nodes
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_agents.tool_tests import collected
from toolhop_env.rejection import Rejections
from toolhop_sandbox.base import Limits
from toolhop_tools.certify.file import with_certificates
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import select
from toolhop_tools.properties import store as stores
from toolhop_tools.properties.bench import settled
from toolhop_tools.properties.check import EXAMPLES, CheckJob
from toolhop_tools.properties.lanes import check_all
from toolhop_tools.properties.model import PROPERTIES, Subject, ToolReport, subjects
from toolhop_tools.readers.record import Survey


class Tools(Steps):
    """Progress of a check: finished tools, examples and failures."""

    _examples = _failing = 0

    def report(self, made: ToolReport) -> None:
        """Count a finished tool."""
        self._examples += sum(executed(verdict) for verdict in made.verdicts.values())
        self._failing += bool(made.failed)
        self.step()

    @property
    def figures(self) -> str:
        """Return the examples and failing tools so far, as text."""
        return f"{self._examples:,} examples, {self._failing} with failures"


# fmt: off
@cluster_options
@click.command(context_settings={"show_default": True})
@data_option
@click.option("--examples", "count", type=Whole(1, 100_000), default=EXAMPLES,
              help="Examples per property and tool.")
@setting_option("seed")
@click.option("--tool", "tools", multiple=True,
              help="Tools by name, or item::tool; * stands for anything; may be repeated.")
@click.option("--property", "properties", multiple=True, type=click.Choice(list(PROPERTIES)),
              help="Only this property; may be repeated.")
@setting_option("limit")
@setting_option("sample_ids")
@setting_option("certificates", help="Certificates of the items, as `toolhop certify` writes them.")
@click.option("--formats", is_flag=True,
              help="Texts that are not of their parameter's `format` are bad input too.")
@setting_option("sandbox")
@setting_option("tool_timeout_s", "timeout_s", default=2.0)
@setting_option("tool_memory_mib", "memory_mib")
@click.option("--max-samples", "lanes", type=Whole(1, 64), default=None,
              help="Tools at a time, on each node.  [default: one per processor]")
@click.option("--store", type=click.Path(file_okay=False, path_type=Path), default=stores.FOLDER,
              help="Folder of counter-examples, which are called first the next time.")
@json_option
def check(data: str, tools: tuple[str, ...], properties: tuple[str, ...], as_json: bool,
          **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Test every tool of DATA by its properties: thousands of generated calls in the sandbox.

    docs/properties.md explains each property.

    Exit code 0: all hold. 1: some do not, or rows of the data cannot be used. 2: bad input.
    """
    seen = collected(data)
    chosen = _chosen(seen, tools, flags)
    names = tuple(name for name in PROPERTIES if not properties or name in properties)
    limits = Limits(wall_s=flags["timeout_s"], memory_mib=flags["memory_mib"])
    store = stores.Store(flags["store"], seen.dataset.name)
    job = CheckJob(
        Rejections, limits, flags["sandbox"], names, flags["count"], flags["seed"],
        formats=flags["formats"], store=store,
    )  # fmt: skip
    started = time.monotonic()
    reports = _run(chosen, job, flags["lanes"], cluster_of(flags))
    checked = Checked(
        data, names, reports, seen.errors, limits, flags["sandbox"], job.count, job.seed,
        str(flags["certificates"] or ""), flags["formats"],
    )
    if as_json:
        click.echo(json.dumps(to_json(checked), ensure_ascii=False).encode("utf-8", "replace"))
    else:
        print_report(table_console(), checked)
    if note := not_asked(checked):
        say(note)
    for path in store.unreadable:
        say(f"{path} is not a counter-example and was passed over")
    say(summary(checked, time.monotonic() - started))
    sys.exit(EXIT_EPISODES if checked.failed else 0)


# fmt: on
def _chosen(seen: Survey, tools: Sequence[str], flags: dict[str, Any]) -> tuple[Subject, ...]:
    """Select the tools to check.

    Raises:
        BadChoice: a name matches no tool, or an id or limit matches no item.
        CertificateError: the certificates cannot be read, or are not of this data.
    """
    if not seen.dataset.items:
        return ()
    items = select(seen.dataset, limit=flags["limit"], sample_ids=flags["sample_ids"])
    if flags["certificates"]:
        items = with_certificates(items, flags["certificates"])
    found = subjects(items)
    for name in tools:
        if not any(_fits(subject, name) for subject in found):
            some = ", ".join(subject.id for subject in found[:3])
            raise BadChoice(f"no tool {name!r} among those chosen; there are {some} …")
    return tuple(one for one in found if not tools or any(_fits(one, name) for name in tools))


def _fits(subject: Subject, name: str) -> bool:
    return fnmatchcase(subject.tool.name, name) or fnmatchcase(subject.id, name)


def _run(
    tools: Sequence[Subject], job: CheckJob, lanes: int | None, cluster: Cluster | None
) -> list[ToolReport]:
    if not tools:
        return []
    lanes = lanes or len(os.sched_getaffinity(0))
    progress = Tools(ErrorConsole(), "tools", len(tools))
    if cluster is not None:
        return _on_nodes(tools, job, lanes, cluster, progress)
    kind = anyio.run(settled, job.kind, job.limits)
    # Like Ctrl-C: the lanes' processes clean up their sandboxes.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with progress:
        try:
            return check_all(tools, replace(job, kind=kind), lanes=lanes, on_report=progress.report)
        except KeyboardInterrupt:
            say("interrupted; what was found so far is in the store")
            sys.exit(INTERRUPTED)


def _on_nodes(
    tools: Sequence[Subject], job: CheckJob, lanes: int, cluster: Cluster, progress: Tools
) -> list[ToolReport]:
    reports: list[ToolReport] = []

    async def work() -> None:
        reports.extend(
            await check_on_nodes(tools, job, cluster, lanes=lanes, on_report=progress.report)
        )

    with progress:
        if anyio.run(until_signal, work):
            say("interrupted; what was found so far is in the store")
            sys.exit(INTERRUPTED)
    return reports
