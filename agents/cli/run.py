"""`toolhop run`: play many episodes, watch them, get the table."""

from __future__ import annotations

import json
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
from dotenv import load_dotenv
from pydantic import ValidationError
from rich.console import Console

from agents.cli import EXIT_EPISODES
from agents.cli.progress import Progress
from agents.execute import Plan, execute, prepare
from agents.prompts import Mode, read_template
from agents.settings import RunSettings
from agents.table import print_tables, table_console, to_json
from env.feedback import Level
from env.reading import Dialect
from env.summary import counting, summarize
from sandbox.choose import KINDS
from sandbox.engine import TRANSPORTS

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
    known = {parameter.name for parameter in ctx.command.params}
    plain = {key.replace("-", "_"): value for key, value in values.items()}
    unknown = sorted(set(plain) - known)
    if unknown:
        raise click.BadParameter(f"{path} sets {', '.join(unknown)}; the keys are the flags' names")
    ctx.default_map = {**(ctx.default_map or {}), **plain}
    return path


def _modes(value: str) -> tuple[Mode, ...]:
    if value == "all":
        return tuple(Mode)
    try:
        return tuple(dict.fromkeys(Mode(name.strip()) for name in value.split(",")))
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r}; give {', '.join(Mode)}, several with commas, or all", param_hint="--mode"
        ) from error


def _choice(kind: Any) -> click.Choice[str]:  # noqa: ANN401 -- any StrEnum
    return click.Choice([member.value for member in kind])


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
@click.option("--feedback", type=_choice(Level), default="detailed", help="What errors tell.")
@click.option("--dialect", type=_choice(Dialect), default="native", help="How calls are written.")
@click.option("--template", type=click.Path(path_type=Path), help="A prompt template of your own.")
@click.option("--limit", default=None, help="10 for the first ten items, 10-20 for a range.")
@click.option("--sample-id", "sample_ids", multiple=True, help="Items by id; may be repeated.")
@click.option("--epochs", type=int, default=1, help="How often each item is played.")
@click.option("--seed", type=int, default=0)
@click.option("--max-samples", type=int, default=None, help="Episodes at a time.")
@click.option("--sandbox", type=click.Choice(KINDS), default="auto", help="What isolates tools.")
@click.option("--policy", type=click.Choice(["restricted", "none"]), default="restricted")
@click.option("--sandbox-base", default=None, help="Image with python3 to build on.")
@click.option("--runtime", default=None, help="Container runtime, such as runsc.")
@click.option("--transport", type=click.Choice(TRANSPORTS), default="auto",
              help="How containers are talked to; remote engines need attach.")
@click.option("--tool-timeout", "tool_timeout_s", type=float, default=10.0, help="Seconds a call.")
@click.option("--tool-memory", "tool_memory_mib", type=int, default=256, help="MiB a call.")
@click.option("--turn-limit", type=int, default=9, help="Replies an episode.")
@click.option("--call-limit", type=int, default=64, help="Calls an episode.")
@click.option("--token-limit", type=int, default=None, help="Tokens an episode.")
@click.option("--time-limit", "time_limit_s", type=float, default=None, help="Seconds an episode.")
@click.option("--temperature", type=float, default=0.0)
@click.option("--max-tokens", type=int, default=None, help="Tokens a reply.")
@click.option("--timeout", "timeout_s", type=float, default=120.0, help="Seconds a request.")
@click.option("--max-retries", type=int, default=5, help="Repeats of a failed request.")
@click.option("--retry-on-error", type=int, default=2, help="Repeats of a void episode.")
@click.option("--last-wins", is_flag=True, help="Tools of one name: the last one's code, as in "
              "the official evaluator.")
@click.option("--log-dir", type=click.Path(path_type=Path), default=Path("logs"))
@click.option("--json", "as_json", is_flag=True, help="Figures as JSON on standard output.")
def run(mode: str, template: Path | None, as_json: bool, **flags: Any) -> None:  # noqa: ANN401 -- flags
    """Play many episodes and print the table.

    The run's folder is printed first; everything finished stays in it, whatever happens.
    """
    load_dotenv(Path(".env"))
    settings = _settings(_modes(mode), template, flags)
    prepare(settings)
    errors = Console(stderr=True)
    progress = Progress(errors, settings)

    def started(plan: Plan) -> None:
        errors.print(f"run: {plan.folder}", markup=False, highlight=False, soft_wrap=True)
        progress.start(len(plan.work))

    with progress:
        ended = anyio.run(partial(execute, settings, on_start=started, on_result=progress.result))
    summaries = summarize(counting(ended.judged))
    if as_json:
        figures = {
            "run": str(ended.store.folder),
            "status": ended.status,
            "fault": ended.fault or None,
            "summaries": to_json(summaries),
        }
        click.echo(json.dumps(figures, ensure_ascii=False))
    else:
        print_tables(table_console(), summaries)
    if ended.fault:
        errors.print(f"The run stopped: {ended.fault}", markup=False)
    if ended.status == "cancelled":
        sys.exit(INTERRUPTED)
    sys.exit(EXIT_EPISODES if ended.fault or any(one.void for one in summaries) else 0)


# fmt: on
def _settings(modes: tuple[Mode, ...], template: Path | None, flags: dict[str, Any]) -> RunSettings:
    """The flags as settings.

    Raises:
        click.UsageError: they contradict each other, or one is out of range.
    """
    if flags["agent"] and flags["model"]:
        raise click.UsageError("give --agent or --model, not both")
    agent = flags.pop("agent") or (None if flags["model"] else "oracle")
    text = read_template(template) if template else None
    try:
        settings = RunSettings(agent=agent, modes=modes, template=text, **flags)
        settings.episode_limits  # noqa: B018 -- checked here, before anything starts
        settings.tool_limits  # noqa: B018 -- the same
    except ValidationError as error:
        first = error.errors()[0]
        name = "-".join(str(part) for part in first["loc"]) or "settings"
        raise click.UsageError(f"--{name.replace('_', '-')}: {first['msg']}") from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return settings
