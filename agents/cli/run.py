"""`toolhop run`: play many episodes, watch them, get the table."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import click
from click.core import ParameterSource
from dotenv import load_dotenv
from pydantic import ValidationError
from rich.console import Console

from agents.cli import EXIT_EPISODES
from agents.cli.progress import Episodes
from agents.cli.void import tell_void
from agents.models.prices import parse
from agents.prompts import Mode, read_template
from agents.runs.certified import marked
from agents.runs.execute import Job, Plan, Run, execute, prepare, resumed, sampled
from agents.runs.ledger import as_json as as_spent
from agents.runs.settings import OPERATIONAL, RunSettings
from agents.runs.store import RunStore, StoreError
from agents.table import print_tables, table_console, to_json
from env.levels import Template, Verbosity, level_of
from env.reading import Dialect
from env.score import Void
from env.summary import summarize
from sandbox.choose import KINDS
from sandbox.engine import TRANSPORTS
from toolhop_tools.presentation import Presentation

PRINTED = 50
"""Faults of items left out that are told; the manifest has all."""
COUNT = click.IntRange(min=1)
AMOUNT = click.FloatRange(min=0, min_open=True, max=math.inf, max_open=True)
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def _config(ctx: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Take a TOML file's keys as defaults: the command line and the environment win."""
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read as TOML: {error}") from error
    flags = {
        flag.lstrip("-"): parameter
        for parameter in ctx.command.params
        for flag in parameter.opts
        if not parameter.is_eager
    }
    found = {key: flags.get(key.replace("_", "-")) for key in values}
    unknown = sorted(key for key, flag in found.items() if flag is None)
    if unknown:
        raise click.BadParameter(f"{path} sets {', '.join(unknown)}; the keys are the flags' names")
    plain = {flag.name: _of_type(flag, values[key], path) for key, flag in found.items() if flag}
    ctx.default_map = {**(ctx.default_map or {}), **plain}
    return path


def _of_type(flag: click.Parameter, value: object, path: Path) -> object:
    """A value that a flag can take: a list is one where it may be repeated, and there alone."""
    several = isinstance(flag, click.Option) and flag.multiple
    for one in value if several and isinstance(value, list) else [value]:
        if not isinstance(one, str | int | float):
            raise click.BadParameter(f"{path} sets {flag.opts[0]} to {value!r}, which it cannot be")
    return [value] if several and not isinstance(value, list) else value


def _modes(value: str) -> tuple[Mode, ...]:
    if value == "all":
        return tuple(Mode)
    try:
        return tuple(dict.fromkeys(Mode(name.strip()) for name in value.split(",")))
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r}; give {', '.join(Mode)}, several with commas, or all", param_hint="--mode"
        ) from error


def _level(ctx: click.Context, _: click.Parameter, given: str) -> Verbosity:
    return level_of(given)


def _shown(ctx: click.Context, _: click.Parameter, given: str) -> str:
    return str(Presentation.parse(given))


def _choice(kind: type[StrEnum]) -> click.Choice[str]:
    return click.Choice([member.value for member in kind])


def _temperature(ctx: click.Context, _: click.Parameter, given: str) -> float | None:
    try:
        value = None if given == "none" else float(given)
    except ValueError:
        value = math.nan
    if value is not None and not 0 <= value < math.inf:
        raise click.BadParameter(f"{given!r}; give a number from 0 on, or none")
    return value


# fmt: off
@click.command(context_settings={"show_default": True})
@click.option("--config", type=click.Path(path_type=Path), callback=_config, is_eager=True,
              expose_value=False, help="TOML file with flags as keys; given flags win.")
@click.option("--agent", default=None, help="Scripted player: oracle, do-nothing, constant:TEXT, "
              "faulty[:RATE], repairing[:RATE].  [default: oracle]")
@click.option("--model", default=None, help="provider/model, such as openai/gpt-4o.")
@click.option("--base-url", default=None, help="Another address of the model's API.")
@click.option("--data", default="builtin", help="builtin, toolhop, or a file or folder.")
@click.option("--mode", default="mandatory", help="mandatory, free, direct; commas, or all.")
@click.option("--feedback", callback=_level, default="detailed", metavar="LEVEL",
              help="What errors tell: detailed, minimal, or [NAME=]FILE, a template.")
@click.option("--tools", "presentation", callback=_shown, default="as-is", help="How tools are "
              "shown, such as names=scrambled+distractors=5; see `toolhop ablate --help`.")
@click.option("--dialect", type=_choice(Dialect), default="native", help="How calls are written.")
@click.option("--template", type=click.Path(path_type=Path), help="A prompt template of your own.")
@click.option("--limit", default=None, help="10 for the first ten items, 10-20 for a range.")
@click.option("--sample-id", "sample_ids", multiple=True, help="Items by id; may be repeated.")
@click.option("--epochs", type=COUNT, default=1, help="How often each item is played.")
@click.option("--seed", type=int, default=0)
@click.option("--max-samples", type=COUNT, default=None, help="Episodes at a time.")
@click.option("--max-connections", type=COUNT, default=None, help="Requests at a time; fewer while "
              "the model's server refuses.  [default: as many as episodes]")
@click.option("--sandbox", type=click.Choice(KINDS), default="auto", help="What isolates tools.")
@click.option("--policy", type=click.Choice(["restricted", "none"]), default="restricted")
@click.option("--sandbox-base", default=None, help="Image with python3 to build on.")
@click.option("--runtime", default=None, help="Container runtime, such as runsc.")
@click.option("--transport", type=click.Choice(TRANSPORTS), default="auto",
              help="How containers are talked to; remote engines need attach.")
@click.option("--tool-timeout", "tool_timeout_s", type=click.FloatRange(0.01, 3600),
              default=10.0, help="Seconds a call.")
@click.option("--tool-memory", "tool_memory_mib", type=click.IntRange(16, 65536),
              default=256, help="MiB a call.")
@click.option("--turn-limit", type=COUNT, default=9, help="Replies an episode.")
@click.option("--call-limit", type=COUNT, default=64, help="Calls an episode.")
@click.option("--token-limit", type=COUNT, default=None, help="Tokens an episode.")
@click.option("--time-limit", "time_limit_s", type=AMOUNT, default=None, help="Seconds an episode.")
@click.option("--cost-limit", type=AMOUNT, default=None, help="USD an episode.")
@click.option("--run-token-limit", type=COUNT, default=None, help="Tokens the whole run.")
@click.option("--run-call-limit", type=COUNT, default=None, help="Tool calls the whole run.")
@click.option("--run-time-limit", "run_time_limit_s", type=AMOUNT, default=None,
              help="Seconds this sitting.")
@click.option("--run-cost-limit", type=AMOUNT, default=None, help="USD the whole run.")
@click.option("--price", default=None, metavar="IN,OUT", help="USD for a million tokens, where "
              "neither the response nor litellm's table tells.")
@click.option("--temperature", callback=_temperature, default="0.0", metavar="NUMBER|none",
              help="none leaves it to the provider.")
@click.option("--max-tokens", type=COUNT, default=None, help="Tokens a reply.")
@click.option("--timeout", "timeout_s", type=AMOUNT, default=120.0, help="Seconds a request.")
@click.option("--max-retries", type=click.IntRange(min=0), default=5,
              help="Repeats of a failed request.")
@click.option("--retry-on-error", type=click.IntRange(min=0), default=2,
              help="Repeats of a void episode.")
@click.option("--cache", type=click.Path(path_type=Path), default=None, metavar="FOLDER",
              help="Look for replies here first, and keep new ones.")
@click.option("--skip-broken", is_flag=True, help="Leave out items that cannot be used.")
@click.option("--certified-only", is_flag=True, help="Only items that `toolhop certify` proved.")
@click.option("--certificates", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Certificates: the oracle plays their calls.  [default with --certified-only: "
              "certificates/DATA.jsonl]")
@click.option("--last-wins", is_flag=True, help="Tools of one name: the last one's code, as in "
              "the official evaluator.")
@click.option("--log-dir", type=click.Path(path_type=Path), default=Path("logs"))
@click.option("--resume", type=click.Path(path_type=Path), default=None, metavar="RUN",
              help="Go on with a run that was stopped; its settings hold.")
@click.option("--dry-run", is_flag=True, help="Say what would be played; ask and play nothing.")
@click.option("--estimate", type=click.IntRange(min=2), is_flag=False, flag_value=5, default=None,
              metavar="[N]", help="With --dry-run: play N items (5) and say what the rest costs.")
@click.option("--json", "as_json", is_flag=True, help="Figures as JSON on standard output.")
@click.pass_context
def run(
    ctx: click.Context, /, resume: Path | None, dry_run: bool, estimate: int | None,
    as_json: bool, **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:
    """Play many episodes and print the table.

    The run's folder is printed first; everything finished stays in it, whatever happens, and
    --resume goes on with it.
    """
    load_dotenv(Path(".env"))
    if estimate and not dry_run:
        raise click.UsageError("--estimate goes with --dry-run")
    job = _resumed(ctx, resume, flags) if resume else prepare(_settings(flags))
    errors = Console(stderr=True)
    if job.left_out:
        _tell_left_out(errors, job)
    if dry_run:
        from agents.cli.dry_run import tell_estimate, tell_plan  # numpy, only when used

        if not estimate:
            tell_plan(job, as_json=as_json)
            return
        job = sampled(job, estimate)
    ended = _play(job, errors)
    if ended.fault:
        errors.print(f"The run stopped: {ended.fault}", markup=False)
    if estimate:
        tell_estimate(job, ended, as_json=as_json, console=table_console())
    else:
        _tell(job, ended, as_json=as_json)
    void = any(isinstance(one.verdict, Void) for one in ended.judged)
    if not ended.fault:
        tell_void(errors, ended.judged)
    if void or ended.status != "success":
        again = f"go on with: toolhop run --resume {ended.store.folder}"
        errors.print(again, markup=False, highlight=False, soft_wrap=True)
    if ended.status == "cancelled":
        sys.exit(INTERRUPTED)
    sys.exit(EXIT_EPISODES if ended.fault or void else 0)


def _play(job: Job, errors: Console) -> Run:
    progress = Episodes(errors, job.settings.player)

    def started(plan: Plan) -> None:
        errors.print(f"run: {plan.folder}", markup=False, highlight=False, soft_wrap=True)
        progress.start(plan.episodes)

    with progress:
        return anyio.run(partial(execute, job, on_start=started, on_result=progress.result))


def _tell(job: Job, ended: Run, *, as_json: bool) -> None:
    summaries = summarize(marked(ended.judged, job.items))
    if not as_json:
        print_tables(table_console(), summaries)
        return
    figures = {
        "run": str(ended.store.folder),
        "status": ended.status,
        "fault": ended.fault or None,
        "stopped_by": ended.stopped_by or None,
        "spent": as_spent(ended.spent),
        "summaries": to_json(summaries),
    }
    click.echo(json.dumps(figures, ensure_ascii=False))


def _tell_left_out(errors: Console, job: Job) -> None:
    rows = sorted({problem.where for problem in job.left_out})
    errors.print(f"{len(rows)} items cannot be used and are left out:", markup=False)
    for problem in job.left_out[:PRINTED]:
        errors.print(f"  {problem}", markup=False, highlight=False, soft_wrap=True)


# fmt: on
def _values(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Flags as values of settings of the same name."""
    values = dict(flags)
    if "mode" in values:
        values["modes"] = _modes(values.pop("mode"))
    if values.get("template"):
        values["template"] = read_template(values["template"])
    return values


def _settings(flags: Mapping[str, Any]) -> RunSettings:
    """The flags as settings.

    Raises:
        click.UsageError: they contradict each other, or one is out of range.
    """
    if flags["agent"] is not None and flags["model"]:
        raise click.UsageError("give --agent or --model, not both")
    values = _values(flags)
    values["agent"] = flags["agent"]
    if flags["agent"] is None and not flags["model"]:
        values["agent"] = "oracle"
    return _checked(values)


def _resumed(ctx: click.Context, folder: Path, flags: Mapping[str, Any]) -> Job:
    """A run to go on with: its own settings, and of those given the ones that may change.

    Raises:
        click.UsageError: a flag that was given, anywhere, asks for another run.
        StoreError: the run cannot be read.
    """
    store = RunStore.open(folder)
    try:
        own = RunSettings.model_validate(store.manifest["settings"])
    except (ValidationError, KeyError) as error:
        raise StoreError(f"the settings of {folder} cannot be read: {error}") from error
    source = ctx.get_parameter_source
    given = {name: flags[name] for name in flags if source(name) is not ParameterSource.DEFAULT}
    wanted = _checked({**own.model_dump(), **_values(given)})
    differ = [name for name in RunSettings.model_fields if _differs(own, wanted, name)]
    refuse_other(ctx, folder, own, wanted)
    plain = wanted.model_dump(mode="json")
    changed = {name: plain[name] for name in differ if name != "log_dir"}
    return resumed(store, wanted, changed)


def refuse_other(ctx: click.Context, folder: Path, own: RunSettings, wanted: RunSettings) -> None:
    """See that what is given asks for no other run.

    Raises:
        click.UsageError: it does.
    """
    flags = _flag_names(ctx)
    lines = [
        f"  {flags.get(name, name)}: it has {_shown_setting(own, name)}, "
        f"given is {_shown_setting(wanted, name)}"
        for name in RunSettings.model_fields
        if name not in OPERATIONAL and _differs(own, wanted, name)
    ]
    if lines:
        free = ", ".join(sorted(flags[name] for name in OPERATIONAL - {"log_dir"}))
        lines.insert(0, f"{folder} was begun with other settings:")
        lines.append(f"leave them out, or start anew; on resuming one may change {free}")
        raise click.UsageError("\n".join(lines))


def _shown_setting(settings: RunSettings, name: str) -> str:
    value = getattr(settings, name)
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    if isinstance(value, Template):
        return f"{value.name} ({len(value.text)} characters)"
    return "none" if value is None else str(value)


def _flag_names(ctx: click.Context) -> dict[str, str]:
    """The flag of each setting, such as ``--timeout`` for ``timeout_s``."""
    flags = {one.name: one.opts[0] for one in ctx.command.params if one.name is not None}
    return {**flags, "modes": "--mode"}


def _differs(one: RunSettings, other: RunSettings, name: str) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


def _checked(values: Mapping[str, Any]) -> RunSettings:
    """Settings of which everything that can be is checked here, before anything starts.

    Raises:
        click.UsageError: one is out of range.
    """
    try:
        settings = RunSettings(**values)
        settings.episode_limits  # noqa: B018 -- making it checks its values
        settings.run_limits  # noqa: B018 -- making it checks its values
        settings.tool_limits  # noqa: B018 -- making it checks its values
        if settings.price:
            parse(settings.price)
        if settings.base_url:
            _check_address(settings.base_url)
    except ValidationError as error:
        first = error.errors()[0]
        name = "-".join(str(part) for part in first["loc"]) or "settings"
        raise click.UsageError(f"--{name.replace('_', '-')}: {first['msg']}") from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return settings


def _check_address(text: str) -> None:
    """Refuse what no request could be sent to: retries would not mend it.

    Raises:
        ValueError: no http address.
    """
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"--base-url: {text!r} is no address; give one such as http://127.0.0.1:8000/v1"
        )
