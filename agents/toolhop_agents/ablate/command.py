"""`toolhop ablate`: test whether one factor matters by playing the same items under each level."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from dotenv import load_dotenv

from toolhop_agents.ablate.conduct import check, jobs, progress, usual_modes
from toolhop_agents.ablate.design import Ablation, Design, Factor
from toolhop_agents.ablate.folder import AblationFolder
from toolhop_agents.ablate.plain import to_json
from toolhop_agents.ablate.result import result
from toolhop_agents.ablate.table import print_result
from toolhop_agents.ablate.varied import levels_named, set_by_all
from toolhop_agents.cli.arms import Ended, leave, play
from toolhop_agents.cli.flags import discordant_option
from toolhop_agents.cli.json_output import json_option, table_format
from toolhop_agents.cli.options import (
    Sectioned,
    announce_default,
    config,
    options_of,
    resumed_settings,
    settings_of,
)
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.table import table_console
from toolhop_agents.terminal import say
from toolhop_env.levels import LevelError, Template, level_of
from toolhop_tools.scenarios.label import Scenario

DESIGN = ("factor", "levels", "templates", "design", "prefix_levels", "continuations", "confidence")
"""Flags that define the comparison."""
OWN = {Factor.FEEDBACK: "feedback", Factor.MODE: "modes", Factor.TOOLS: "perturbation"}
"""The run setting that a factor's level determines, by factor."""


def _templates(_: click.Context, __: click.Parameter, given: Sequence[str]) -> list[Template]:
    """Read feedback levels from template files, given as NAME=FILE or FILE."""
    found = [level_of(text) for text in given]
    for level in found:
        if not isinstance(level, Template):
            raise LevelError(f"--level {level} is built in: name it in --levels")
    return [level for level in found if isinstance(level, Template)]


# fmt: off
@click.command(cls=Sectioned, context_settings={"show_default": True})
@click.option("--level", "templates", multiple=True, callback=_templates, metavar="[NAME=]FILE",
              help="A feedback level from a template file; may be repeated.")
@click.option("--show", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Compute an ablation's figures again from its traces, without playing.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Resume an ablation that was cut off.")
@click.option("--full", is_flag=True,
              help="All tables: other episodes and designs, error codes, hops, pairs.")
@discordant_option(10)
@table_format
@json_option
@click.option("--config", type=click.Path(path_type=Path), callback=config, is_eager=True,
              expose_value=False, help="TOML file with flags as keys; the command line wins.")
@click.pass_context
def ablate(ctx: click.Context, /, show: Path | None, resume: Path | None, as_json: bool,
           discordant: int, full: bool, **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Play the same items under each level of one factor, and compare the answers.

    Feedback levels fork at an episode's first failed call: each branch continues from the same
    turns. --factor call-format=native,text compares values of a flag. The flags under the other
    headings are those of `toolhop run`.

    \b
    The levels of --factor tools are as-is, or some of these joined by +:
        names= descriptions= parameters=   scrambled, removed
        distractors=N  distractors=N:random  distractors=N:each
        order=shuffled
    --into NAMES compares each unchanged item (plain) with its scenarios, by family.
    """  # noqa: D301 -- a real backspace character tells click to keep the lines below it
    load_dotenv(Path(".env"))
    if show is not None:
        _reported(ctx, "--show", frozenset({"as_json", "discordant", "format", "full"}))
        folder = AblationFolder.open(show)
        _print(folder, Ended(progress(folder)), discordant, full=full, as_json=as_json)
        return
    if resume is not None:
        folder = _resumed(ctx, AblationFolder.open(resume), flags)
    else:
        folder = AblationFolder.create(check(_ablation(ctx, flags)))
        announce_default(flags)
    say(f"ablation: {folder.path}")
    base = folder.ablation.base
    ended = play(folder.path, base.agent_name, jobs(folder))
    _print(folder, ended, discordant, full=full, as_json=as_json)
    leave("ablate --resume", folder.path, base, ended, (store for _, store in folder.stores()))
# fmt: on


ablate.params[:0] = options_of(Ablation)
ablate.params.extend(options_of(RunSettings, {"approve", "shard"}))


def _reported(ctx: click.Context, flag: str, allowed: frozenset[str]) -> None:
    """Check that only `allowed` flags were given beside `flag` on the command line.

    Raises:
        click.UsageError: another flag was given.
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
    """Return the folder with new values of settings that change no result.

    Raises:
        click.UsageError: a flag, from the command line or elsewhere, asks for another ablation; or
            a key would go to an address that only the ablation names.
    """
    own = folder.ablation
    given = {name: value for name, value in flags.items() if _is_given(ctx, name)}
    design = {name: given.pop(name) for name in DESIGN if name in given}
    design |= _factor(design)
    if into := given.pop("into", ()):
        design |= {"factor": Factor.SCENARIO, "levels": _beside_plain(into)}
    if "levels" in design:
        design["levels"] = _with(design["levels"], own.templates)
    for name, value in design.items():
        has = getattr(own, name)
        if (tuple(value) if isinstance(has, tuple) else value) != has:
            option = next(one.opts[0] for one in ctx.command.params if one.name == name)
            raise click.UsageError(
                f"{folder.path} was begun with another {option}: it has {_listed(has)}, given is "
                f"{_listed(value)}; leave it out, or start anew"
            )
    given.pop("log_dir", None)
    wanted = resumed_settings(ctx, folder.path, own.base, given)
    return AblationFolder(folder.path, own.model_copy(update={"base": wanted}))


def _is_given(ctx: click.Context, name: str) -> bool:
    """Whether a flag was set on the command line, in the environment or in a file."""
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def _listed(value: object) -> str:
    """Format a flag's value for a message; a template by its name."""
    if not isinstance(value, list | tuple):
        return str(value)
    return ",".join(getattr(one, "name", str(one)) for one in value) or "none"


def _with(levels: Sequence[str], templates: Sequence[Template]) -> tuple[str, ...]:
    """Return `levels` extended by the levels of template files that are not named yet."""
    return (*levels, *(one.name for one in templates if one.name not in levels))


def _ablation(ctx: click.Context, flags: dict[str, Any]) -> Ablation:
    """Build an ablation from the flags.

    Raises:
        click.UsageError: they contradict each other, or a value is out of range.
    """
    own = {name: flags.pop(name) for name in DESIGN}
    if into := flags.pop("into"):
        for name in ("factor", "levels"):
            if _is_given(ctx, name) and own[name] != Factor.SCENARIO:
                raise click.UsageError(
                    f"--into NAMES stands for --factor scenario --levels plain,NAMES: leave "
                    f"--{name} out, or --into (for other factors make a file by `toolhop perturb` "
                    "and give it by --data)"
                )
        own |= {"factor": Factor.SCENARIO, "levels": _beside_plain(into)}
    given = {name: own[name] for name in ("factor", "levels") if _is_given(ctx, name)}
    given |= _factor(given)
    own |= given
    factor = Factor(own["factor"])
    _refuse_what_has_no_meaning(ctx, factor, own["levels"])
    base = settings_of(ctx, flags)
    if factor is Factor.MODE and "levels" not in given:
        own["levels"] = usual_modes(base)
    own["levels"] = _with(own["levels"], own["templates"])
    ablation = Ablation(**own, base=base)
    if ablation.fork_at is not None:
        return ablation
    if _is_given(ctx, "design") and ablation.design is Design.FORKED:
        raise click.UsageError(
            f"--design forked: the levels {', '.join(ablation.levels)} may differ from the first "
            "request on, so that nothing is shared; leave it out"
        )
    return ablation.model_copy(update={"design": Design.INDEPENDENT})


def _factor(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the factor, and the levels of a flag that is given as one."""
    if "factor" not in given:
        return {}
    text = given["factor"]
    name, equals, values = text.partition("=")
    if name in list(Factor) and not (equals and given.get("levels")):
        levels = {"levels": tuple(part.strip() for part in values.split(","))} if equals else {}
        return {"factor": Factor(name), **levels}
    return {"factor": Factor.SETTING, "levels": levels_named(text, given.get("levels", ()))}


def _beside_plain(into: Sequence[Scenario]) -> tuple[str, ...]:
    """Return the levels that ``--into`` implies."""
    return (Scenario.PLAIN.value, *(one.value for one in into if one is not Scenario.PLAIN))


def _refuse_what_has_no_meaning(ctx: click.Context, factor: Factor, levels: Sequence[str]) -> None:
    """Reject flags that this factor would ignore, and require those that it needs.

    Raises:
        click.UsageError: such a flag is given, or a required one is missing.
    """
    owned = set_by_all(levels) if factor is Factor.SETTING else {OWN.get(factor, "")}
    for option in ctx.command.params:
        if option.name in owned and _is_given(ctx, option.name):
            flag = option.opts[0]
            raise click.UsageError(f"the factor gives {flag} at each level: leave {flag} out")
    if factor is Factor.FEEDBACK:
        return
    if _is_given(ctx, "templates"):
        raise click.UsageError("--level gives a feedback level: leave it out, or --factor feedback")
    if factor is Factor.TOOLS and not _is_given(ctx, "levels"):
        raise click.UsageError(
            "--factor tools needs --levels; give some, such as as-is,names=scrambled or "
            "as-is,distractors=5"
        )
    if factor is Factor.SCENARIO and not (_is_given(ctx, "levels") or _is_given(ctx, "into")):
        raise click.UsageError(
            "--factor scenario needs --levels, such as plain,missing-tool; or give --into alone"
        )


def _print(folder: AblationFolder, ended: Ended, most: int, *, full: bool, as_json: bool) -> None:
    ablation = folder.ablation
    figures = result(ablation, folder.episodes(), folder.planned(), folder.leaks())
    if not as_json:
        print_result(table_console(), ablation, figures, most=most, full=full)
        return
    head = {"folder": str(folder.path), "status": ended.status, "fault": ended.fault or None}
    click.echo(json.dumps({**head, **to_json(ablation, figures)}, ensure_ascii=False))
