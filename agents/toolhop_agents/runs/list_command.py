"""`toolhop runs`: the runs in a folder, newest first, with their settings and figures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from dotenv import load_dotenv

from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.flags import Whole
from toolhop_agents.cli.json_output import json_option, table_format, write_json
from toolhop_agents.plain_summary import to_json
from toolhop_agents.stacked import StackedTable
from toolhop_agents.table import shown, table_console
from toolhop_agents.terminal import say, visible
from toolhop_env.runs import redaction
from toolhop_env.runs.files import MANIFEST, StoreError
from toolhop_env.runs.segments import ELSEWHERE
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import Summary, summarize_run
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted
from toolhop_tools.secrets import ENDINGS, known

DEPTH = 2
"""Depth at which runs are looked for below the given folder: an ablation's folder contains its
arms."""


@dataclass(frozen=True, slots=True)
class _Listed:
    folder: Path
    manifest: dict[str, Any]
    summaries: tuple[Summary, ...]

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.manifest.get("settings") or {})


@click.command()
@click.argument("folder", default="logs", type=click.Path(path_type=Path))
@click.option("--last", "limit", type=Whole(min=1), default=20, show_default=True,
              help="Runs listed.")  # fmt: skip
@click.option(
    "--secrets",
    is_flag=True,
    help="List the files that hold a secret of the environment or of .env instead.",
)
@click.option("--redact", is_flag=True, help="With --secrets: take the secrets out of these files.")
@table_format
@json_option
def runs(folder: Path, limit: int, secrets: bool, redact: bool, as_json: bool) -> None:
    """List the runs in FOLDER (logs), newest first, with their settings and leading figures.

    Runs in a folder of that folder, such as an ablation's arms, are listed too. What cannot be read
    is named on standard error. With --secrets any folder may be given, such as that of a --cache.
    """
    if not folder.is_dir():
        raise click.UsageError(f"there is no folder {folder}; give the one that holds the runs")
    if redact and not secrets:
        raise click.UsageError("--redact goes with --secrets: add it, or leave this out")
    if secrets:
        _secrets(folder, redact=redact, as_json=as_json)
        return
    listed = [_listed(store) for store in _stores(folder)]
    listed.sort(
        key=lambda one: (str(one.manifest.get("started_at", "")), str(one.folder)), reverse=True
    )
    if not listed:
        raise click.UsageError(f"{folder} holds no run; `toolhop run` makes one in logs")
    if as_json:
        write_json([_plain(one) for one in listed[:limit]])
        return
    table = StackedTable("run", "status", framed=False)
    table.add_columns("episodes", "figure", right=True)
    table.add_columns("agent", "played with", prose=True)
    for one in listed[:limit]:
        table.add_row(*_row(one, folder))
    console = table_console()
    console.print(table)
    if (left := len(listed) - limit) > 0:
        which = "1 older run is" if left == 1 else f"{left} older runs are"
        console.print(f"{which} not listed; see --last")


def _secrets(folder: Path, *, redact: bool, as_json: bool) -> None:
    """Print the files that contain secrets. Exits with 1 if any still do."""
    load_dotenv(Path(".env"))
    if not known():
        raise click.UsageError(
            f"no secret is known: set a variable whose name ends in {', '.join(ENDINGS)}"
        )
    found = list(redaction.holders(folder))
    for path in found:
        if not as_json:
            click.echo(visible(str(path)))
        if redact:
            redaction.redact(path)
    if as_json:
        write_json({"files": [str(path) for path in found], "redacted": redact})
    elif moved := len(list(folder.rglob(f"*{ELSEWHERE}"))):
        say(f"not looked into, as they are elsewhere: {counted(moved, 'segment')}")
    if found and not redact:
        say(f"{counted(len(found), 'file')}; fix: toolhop runs {folder} --secrets --redact")
        sys.exit(EXIT_EPISODES)


def _stores(folder: Path) -> Iterator[RunStore]:
    for depth in range(DEPTH + 1):
        for manifest in folder.glob("/".join(["*"] * depth + [MANIFEST])):
            yield RunStore(manifest.parent)


def _listed(store: RunStore) -> _Listed:
    try:
        return _Listed(store.folder, store.manifest, tuple(summarize_run(store.results())))
    except StoreError as error:
        say(f"toolhop: {error}")
        return _Listed(store.folder, {"status": "unreadable"}, ())


def _row(one: _Listed, folder: Path) -> tuple[str, ...]:
    figures = []
    for summary in one.summaries:
        lead = summary.benchmark.lead
        mode = f"{summary.group.mode} " if len(one.summaries) > 1 else ""
        figures.append(f"{mode}{shown(lead, summary.figures[lead.name])}")
    return (
        str(one.folder.relative_to(folder)),
        str(one.manifest.get("status", "")),
        str(sum(summary.episodes for summary in one.summaries)),
        "\n".join(figures) or "-",
        str(one.settings.get("model") or one.settings.get("agent") or ""),
        _played_with(one.settings),
    )


def _played_with(settings: dict[str, Any]) -> str:
    """Return the settings in which runs of an agent mostly differ, as text."""
    feedback = settings.get("feedback", "")
    level = feedback.get("name", "") if isinstance(feedback, dict) else feedback
    parts = [settings.get("data", ""), ",".join(settings.get("modes", ())), level]
    if settings.get("perturbation", "as-is") != "as-is":
        parts.append(settings["perturbation"])
    parts += settings.get("into", ())
    return " ".join(filter(None, map(str, parts)))


def _plain(one: _Listed) -> JSON:
    return {
        "folder": str(one.folder),
        "status": one.manifest.get("status"),
        "started_at": one.manifest.get("started_at"),
        "settings": one.settings,
        "summaries": to_json(one.summaries),
    }
