"""`toolhop ablate`: does one factor matter? The same items under each of its levels, in pairs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
from click.core import ParameterSource
from dotenv import load_dotenv
from pydantic import ValidationError
from rich.console import Console

from agents.ablate.conduct import FINISHED, Conducted, check, conduct, standing
from agents.ablate.design import Ablation, Arm, Design, Factor
from agents.ablate.folder import AblationFolder
from agents.ablate.plain import to_json
from agents.ablate.result import result
from agents.ablate.table import print_result
from agents.cli import EXIT_EPISODES
from agents.cli.progress import Episodes
from agents.cli.run import INTERRUPTED, _checked, _settings, _values, refuse_other
from agents.cli.run import run as run_command
from agents.cli.void import tell_void
from agents.prompts import Mode
from agents.runs.execute import Plan
from agents.runs.settings import RunSettings
from agents.table import table_console
from env.levels import LevelError, Template, level_of
from env.summary import Judged

DEFAULT_LEVELS = {Factor.FEEDBACK: ("detailed", "minimal"), Factor.MODE: ("mandatory", "free")}
DESIGN = ("factor", "levels", "templates", "design", "prefix_levels", "confidence")
"""Flags that say what is compared."""
OWN = frozenset({"feedback", "presentation", "forked_from", "modes"})
"""Settings of a run that its level decides, or this command's own flags."""


def _run_flags() -> list[click.Parameter]:
    """The flags of `toolhop run` that describe a run."""
    known = (RunSettings.model_fields.keys() - OWN) | {"config"}
    return [parameter for parameter in run_command.params if parameter.name in known]


def _levels(ctx: click.Context, _: click.Parameter, given: Sequence[str]) -> list[Template]:
    """Levels of template files, given as NAME=FILE or FILE."""
    found = [level_of(text) for text in given]
    for level in found:
        if not isinstance(level, Template):
            raise LevelError(f"--level {level} is built in: name it in --levels")
    return [level for level in found if isinstance(level, Template)]


# fmt: off
@click.command(context_settings={"show_default": True})
@click.option("--factor", type=click.Choice([factor.value for factor in Factor]),
              default="feedback", help="What is changed from level to level.")
@click.option("--levels", default=None, help="The factor's levels, with commas; the first is what "
              "the others are compared with.  [default: detailed,minimal or mandatory,free]")
@click.option("--level", "templates", multiple=True, callback=_levels, metavar="[NAME=]FILE",
              help="A feedback level given as a template file; may be repeated.")
@click.option("--mode", type=click.Choice([mode.value for mode in Mode]), default="mandatory",
              help="How the items are played, where that is not the factor.")
@click.option("--design", type=click.Choice([design.value for design in Design]), default="forked",
              help="Feedback: fork at the first failed call, or play each level from the start.")
@click.option("--prefix-level", "prefix_levels", multiple=True, help="Fork only what was played "
              "under this level; may be repeated.  [default: each level]")
@click.option("--confidence", type=float, default=0.95, help="Of the intervals.")
@click.option("--show", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Compute an ablation's figures again from its traces, and play nothing.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Go on with an ablation that was cut off.")
@click.option("--flips", type=int, default=10, help="Flips that are listed for a comparison.")
@click.option("--json", "as_json", is_flag=True, help="Figures as JSON on standard output.")
@click.pass_context
def ablate(ctx: click.Context, /, show: Path | None, resume: Path | None, as_json: bool,
           flips: int, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Play the same items under each level of one factor, and say what it does to the answers.

    Feedback levels part at an episode's first failed call: each branch goes on from the same
    turns. The flags from --config on are those of `toolhop run`.

    \b
    The levels of --factor tools are as-is, or some of these joined by +:
        names= descriptions= parameters=   scrambled, removed
        distractors=N  distractors=N:random
        order=shuffled
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    load_dotenv(Path(".env"))
    if show is not None:
        _told(ctx, "--show", frozenset({"as_json", "flips"}))
        folder = AblationFolder.open(show)
        _print(Conducted(folder, standing(folder)), flips, as_json=as_json)
        return
    if resume is not None:
        folder = _resumed(ctx, AblationFolder.open(resume), flags)
    else:
        _refuse_what_has_no_meaning(ctx, Factor(flags["factor"]))
        ablation = _ablation(flags)
        check(ablation)
        folder = AblationFolder.create(ablation)
    errors = Console(stderr=True)
    errors.print(f"ablation: {folder.path}", markup=False, highlight=False, soft_wrap=True)
    ended = _played(folder, errors)
    void = _print(ended, flips, as_json=as_json)
    if ended.status == FINISHED and not void:
        return
    if ended.status != FINISHED:
        errors.print(f"The ablation stopped ({ended.status}): {ended.fault or 'interrupted'}",
                     markup=False)
    if not ended.fault:
        stores = (folder.store(arm) for arm in folder.ablation.arms)
        tell_void(errors, [one for store in stores if store for one in store.results()])
    errors.print(f"Go on with: toolhop ablate --resume {folder.path}", markup=False,
                 soft_wrap=True)
    sys.exit(INTERRUPTED if ended.status == "cancelled" else EXIT_EPISODES)
# fmt: on


ablate.params.extend(_run_flags())


def _told(ctx: click.Context, flag: str, allowed: frozenset[str]) -> None:
    """See that only what is allowed was given beside `flag` on the command line.

    Raises:
        click.UsageError: something else was.
    """
    given = {
        parameter.name or "": parameter.opts[0]
        for parameter in ctx.command.params
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        and parameter.opts[0] != flag
    }
    wrong = [option for name, option in given.items() if name not in allowed]
    if wrong:
        raise click.UsageError(
            f"{', '.join(wrong)} cannot be given with {flag}: the ablation's own settings hold"
        )


def _resumed(ctx: click.Context, folder: AblationFolder, flags: dict[str, Any]) -> AblationFolder:
    """The folder, with the settings that change no result as they were given anywhere.

    Raises:
        click.UsageError: a flag that was given, anywhere, asks for another ablation.
    """
    own = folder.ablation
    source = ctx.get_parameter_source
    given = {name: flags[name] for name in flags if source(name) is not ParameterSource.DEFAULT}
    design = {name: given.pop(name) for name in DESIGN if name in given}
    if "levels" in design:
        design["levels"] = _level_names(own.factor, design["levels"], own.templates)
    for name, value in design.items():
        has = getattr(own, name)
        if (tuple(value) if isinstance(has, tuple) else value) != has:
            option = next(one.opts[0] for one in ctx.command.params if one.name == name)
            raise click.UsageError(
                f"{folder.path} was begun with another {option}: it has "
                f"{_listed(has)}, given is {_listed(value)}; leave it out, or "
                "start anew"
            )
    given.pop("log_dir", None)
    wanted = _checked({**own.base.model_dump(), **_values(given)})
    refuse_other(ctx, folder.path, own.base, wanted)
    return AblationFolder(folder.path, own.model_copy(update={"base": wanted}))


def _listed(value: object) -> str:
    """A flag's value for reading; a template by its name."""
    if not isinstance(value, list | tuple):
        return str(value)
    return ",".join(getattr(one, "name", str(one)) for one in value) or "none"


def _refuse_what_has_no_meaning(ctx: click.Context, factor: Factor) -> None:
    """Flags that were given, and that this factor would pass over.

    Raises:
        click.UsageError: one was.
    """
    given = {
        name for name in ctx.params if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if factor is Factor.MODE and "mode" in given:
        raise click.UsageError("the modes of --factor mode are its --levels: leave --mode out")
    if (
        factor is not Factor.FEEDBACK
        and ctx.params["design"] == Design.FORKED
        and "design" in given
    ):
        raise click.UsageError(
            f"--design forked goes with --factor feedback: levels of {factor.value} differ from "
            "the first turn on, so leave it out"
        )


def _ablation(flags: dict[str, Any]) -> Ablation:
    """The flags as an ablation.

    Raises:
        click.UsageError: they contradict each other, or one is out of range.
    """
    own = {name: flags.pop(name) for name in DESIGN}
    factor = Factor(own["factor"])
    templates = tuple(own["templates"])
    if templates and factor is not Factor.FEEDBACK:
        raise click.UsageError("--level gives a feedback level: leave it out, or --factor feedback")
    levels = _level_names(factor, own["levels"], templates)
    design = Design(own["design"]) if factor is Factor.FEEDBACK else Design.INDEPENDENT
    try:
        return Ablation(
            factor=factor,
            design=design,
            levels=levels,
            templates=templates,
            prefix_levels=own["prefix_levels"],
            confidence=own["confidence"],
            base=_settings(flags),
        ).checked()
    except ValidationError as error:
        raise _usage(error) from error


def _level_names(
    factor: Factor, given: str | None, templates: Sequence[Template]
) -> tuple[str, ...]:
    if given is None and factor not in DEFAULT_LEVELS:
        raise click.UsageError(
            "--factor tools needs --levels, such as as-is,names=scrambled or as-is,distractors=5"
        )
    named = tuple(name.strip() for name in given.split(",")) if given else DEFAULT_LEVELS[factor]
    return (*named, *(one.name for one in templates if one.name not in named))


def _usage(error: ValidationError) -> click.UsageError:
    first = error.errors()[0]
    name = "-".join(str(part) for part in first["loc"]) or "settings"
    return click.UsageError(f"--{name.replace('_', '-')}: {first['msg']}")


def _played(folder: AblationFolder, errors: Console) -> Conducted:
    """Play it, with a progress line an arm."""
    with ExitStack() as stack:
        shown: list[Episodes] = []

        def on_arm(arm: Arm, plan: Plan) -> None:
            stack.close()
            errors.print(f"{arm.name}: {plan.episodes} episodes", markup=False, highlight=False)
            shown[:] = [stack.enter_context(Episodes(errors, folder.ablation.settings(arm).player))]
            shown[0].start(plan.episodes)

        def on_result(judged: Judged) -> None:
            shown[0].result(judged)

        return anyio.run(partial(conduct, folder, on_arm=on_arm, on_result=on_result))


def _print(ended: Conducted, flips: int, *, as_json: bool) -> int:
    """Print the figures; how many episodes are void."""
    ablation = ended.folder.ablation
    found = result(ablation, ended.folder.episodes())
    void = sum(void for _, void in found.arms.values())
    if not as_json:
        print_result(table_console(), ablation, found, flips=flips)
        return void
    head = {
        "folder": str(ended.folder.path),
        "status": ended.status,
        "fault": ended.fault or None,
    }
    click.echo(json.dumps({**head, **to_json(ablation, found)}, ensure_ascii=False))
    return void
