"""Run models or play episodes from scripts and notebooks: the functions behind `import toolhop`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import anyio
import click
from anyio.from_thread import start_blocking_portal
from click.core import ParameterSource
from rich.console import Console

from toolhop_agents.cli.options import settings_of
from toolhop_agents.runs.command import run as run_command
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.table import FILE_WIDTH, print_tables
from toolhop_env import notebook
from toolhop_env.attempt import Attempt
from toolhop_env.notebook import PlainEpisode
from toolhop_env.runs.store import RunStore
from toolhop_env.setting import Setting
from toolhop_env.summary import Summary, summarize
from toolhop_sandbox.choose import Kind
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load, select
from toolhop_tools.model import Item

NO_SETTINGS = {"config", "resume", "dry_run", "estimate", "format", "as_json", "json", "help"}
"""Options of `toolhop run` that choose what the command does, not how episodes are played."""


@dataclass(frozen=True)
class Results:
    """A run, read from its folder. Its `repr` and its notebook display show the run's table.

    Raises:
        StoreError: from any property, if the folder cannot be read.
    """

    store: RunStore
    """The run's store; ``store.traces()`` returns all traces."""
    status: str = ""
    """``success``, ``cancelled``, ``limited`` or ``error``; empty for a run opened from disk."""
    fault: str = ""
    """The error that ended the run, or the limit that stopped it."""

    @property
    def folder(self) -> Path:
        """The run's folder, as accepted by `toolhop show`."""
        return self.store.folder

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts that count: one per item, mode and epoch."""
        return tuple(self.store.results())

    @cached_property
    def summaries(self) -> Sequence[Summary]:
        """Figures by agent and mode."""
        return summarize(self.attempts)

    def value(self, measure: str, mode: str = "") -> float | None:
        """Return the mean of a measure over episodes that did not error; None if no episode has it.

        Args:
            measure: name of the measure, such as ``strict`` or ``failed_calls``.
            mode: required if the run has several modes.

        Raises:
            ValueError: no such measure or mode exists, or the run has several modes and none is
                given.
        """
        named = {summary.group.mode: summary for summary in self.summaries}
        if not mode and len(named) == 1:
            (mode,) = named
        if mode not in named:
            raise ValueError(f"this run has the modes {', '.join(sorted(named))}: name one of them")
        figures = named[mode].figures
        if measure not in figures:
            raise ValueError(f"there is no measure {measure!r}; there are {', '.join(figures)}")
        estimate = figures[measure]
        return None if estimate is None else estimate.value

    def __repr__(self) -> str:
        console = Console(file=StringIO(), width=FILE_WIDTH)
        with console.capture() as captured:
            print_tables(console, self.summaries)
        return f"{captured.get()}{self.folder}"

    def _repr_html_(self) -> str:
        console = Console(file=StringIO(), record=True, width=FILE_WIDTH)
        print_tables(console, self.summaries)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def run(settings: RunSettings | None = None, **options: Any) -> Results:  # noqa: ANN401 -- the fields of RunSettings
    """Play a run to its end, and store it in a folder, as `toolhop run` does.

    Args:
        settings: settings of the run; built from `options` if None.
        options: the options of ``toolhop run``, with underscores: ``model``, ``data``, ``limit``,
            ``sample_id``... A list gives several values, and True sets a flag.

    Raises:
        ValueError: an option is unknown or wrong, or both settings and options are given.
        TemplateError, ToolsError, SandboxUnavailable: the template, the data or the sandbox cannot
            be used.
    """
    if settings is not None and options:
        raise ValueError(f"give settings or options, not both: {', '.join(options)}")
    wanted = settings or _settings(options)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        ended = anyio.run(execute, wanted)
    else:  # inside a notebook's event loop
        with start_blocking_portal() as portal:
            ended = portal.call(execute, wanted)
    return Results(ended.store, ended.status, ended.fault)


def _settings(options: Mapping[str, Any]) -> RunSettings:
    """Read options as the command line does; a setting's own name is accepted too.

    Raises:
        ValueError: `toolhop run` refuses them.
    """
    params = {name: param for param in run_command.params for name in (param.name, param.opts[0])}
    arguments = []
    for name, value in options.items():
        if name in NO_SETTINGS:
            raise ValueError(f"{name} is for the command line alone; leave it out")
        flag = f"--{name.replace('_', '-')}"
        param = params.get(name) or params.get(flag)
        flag = param.opts[0] if param else flag
        if isinstance(value, bool):
            arguments += [flag] if value else []
        elif isinstance(param, click.Option) and param.multiple and isinstance(value, list | tuple):
            arguments += [f"{flag}={each}" for each in value]
        elif value is not None:
            several = isinstance(value, list | tuple)
            arguments.append(f"{flag}={','.join(map(str, value)) if several else value}")
    try:
        context = run_command.make_context("toolhop.run", arguments)
        is_default = context.get_parameter_source("turn_limit") is ParameterSource.DEFAULT
        # A benchmark may have its own limit.
        left_out = NO_SETTINGS | ({"turn_limit"} if is_default else set())
        return settings_of(context, {k: v for k, v in context.params.items() if k not in left_out})
    except click.ClickException as error:
        raise ValueError(error.format_message()) from None


def opened(folder: str | Path) -> Results:
    """Open an existing run.

    Raises:
        StoreError: the folder does not hold a run.
    """
    return Results(RunStore.open(Path(folder)))


@contextmanager
def play(
    item: Item | str,
    setting: Setting | None = None,
    *,
    data: str = "builtin",
    sandbox: Kind = "auto",
) -> Iterator[PlainEpisode]:
    """Play an episode by hand.

    Args:
        item: an item, or the id of an item of `data`.
        setting: feedback, limits and prompt; ToolHop's defaults if None.
        data: a data set, as accepted by `load`.
        sandbox: ``docker``, ``process``, or ``auto``: Docker if an engine is running, else a
            process.

    Raises:
        BadChoice: `data` has no such item.
        SandboxUnavailable: no sandbox can run here.
    """
    if isinstance(item, str):
        item = select(load(data), sample_ids=(item,))[0]
    if not isinstance(item, Item) or not isinstance(setting, Setting | None):
        raise BadChoice(
            f"play takes an item or its id, and a Setting; given: {item!r}, {setting!r}"
        )
    if sandbox not in get_args(Kind):
        raise BadChoice(f"the sandbox {sandbox!r} is none of {', '.join(get_args(Kind))}")
    with notebook.play(item, setting, sandbox=sandbox) as episode:
        yield episode
