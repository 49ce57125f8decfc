"""Options from settings: each field of a settings model with a `Flag` is an option."""

from __future__ import annotations

import tomllib
import types
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

import click
from click.core import ParameterSource
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from toolhop_agents.cli import nearest
from toolhop_agents.cli.flags import ADDRESS, NAME, Checked, Number, Whole
from toolhop_agents.cli.stored_addresses import of_run, refuse_unnamed
from toolhop_agents.models import gguf
from toolhop_agents.models.exchange import parts_of
from toolhop_agents.models.prices import parse
from toolhop_agents.prompts import read_template
from toolhop_agents.runs.flags import Flag, Section, flag_name, flag_of, in_section
from toolhop_agents.runs.parameters import request_parameters
from toolhop_agents.runs.settings import GOES_WITH, OPERATIONAL, RunSettings
from toolhop_agents.runs.spread import Cluster
from toolhop_agents.terminal import say
from toolhop_env.extras import require
from toolhop_env.levels import Template

SECTIONS: Mapping[str, tuple[str, ...]] = {
    section.value: in_section(RunSettings, section) for section in Section
}
"""Names of the run settings under each heading of the help text."""
PRICE = Checked("price", parse)
"""Price of a model's tokens."""
DEFAULT_AGENT = str(RunSettings().agent)
"""Agent that plays if none is named."""


F = TypeVar("F", bound=Callable[..., Any])


class AnyPath(click.Path):
    """A path that is not blank; click would read a blank path as the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 -- `click.ParamType.convert` is declared with Any, and an override may not narrow it
        """Return the path if it is not blank."""
        if not str(value).strip():
            self.fail("it is blank; give a path", param, ctx)
        return super().convert(value, param, ctx)


class Sectioned(click.Command):
    """A command whose help lists its own flags first, then the flags of a run under `SECTIONS`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all flags, grouped by section."""
        records = {one.name: record for one in self.get_params(ctx)
                   if (record := one.get_help_record(ctx)) is not None}  # fmt: skip
        of_a_run = {name for names in SECTIONS.values() for name in names}
        own = tuple(name for name in records if name not in of_a_run)
        for title, names in {"Options": own, **SECTIONS}.items():
            rows = [records[name] for name in names if name in records]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def options_of(model: type[BaseModel], leave_out: Container[str] = ()) -> list[click.Option]:
    """Create an option for each field that has a `Flag`, in field order."""
    options = []
    for name, field in model.model_fields.items():
        if name not in leave_out and (flag := flag_of(field)) is not None:
            names, attributes = _attributes(name, field, flag)
            options.append(click.Option([*names, name], **attributes))
    return options


def resuming_options(model: type[BaseModel], names: Container[str]) -> Iterator[click.Option]:
    """Yield the options of these fields for a command that resumes; stored values are the
    defaults.
    """
    for option in options_of(model):
        if option.name in names:
            option.default, option.show_default = None, False
            yield option


def given(ctx: click.Context) -> list[str]:
    """Return the names of the options that the user set by a flag, a variable or a file."""
    default = ParameterSource.DEFAULT
    return [name for name in ctx.params if ctx.get_parameter_source(name) not in (None, default)]


def setting_option(name: str, to: str = "", **changes: Any) -> Callable[[F], F]:  # noqa: ANN401 -- click takes attributes of many types
    """Add the option of one run setting, for a command that has only a few of them.

    Args:
        name: name of the setting.
        to: name of the parameter that receives the value; the setting's name if empty.
        changes: attributes of `click.Option` to override, such as ``default``.
    """
    field = RunSettings.model_fields[name]
    names, attributes = _attributes(name, field, cast("Flag", flag_of(field)))
    return click.option(*names, to or name, **{**attributes, **changes})


def _attributes(name: str, field: FieldInfo, flag: Flag) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the flag's names and the attributes of its `click.Option`."""
    kind, several = _type(field)
    if name.endswith("base_url"):
        kind = ADDRESS
    if name.endswith("price"):
        kind = PRICE
    if flag.metavar == "NAME":
        kind = NAME
    if flag.metavar == "FOLDER":
        kind = AnyPath(file_okay=False, path_type=Path)
    default: object = field.default if flag.default is None else (flag.default or None)
    if flag.parse is not None:
        kind, several = click.STRING, False
        if flag.default is None:
            default = ",".join(default) or None if isinstance(default, tuple) else default
    if isinstance(default, StrEnum):
        default = default.value
    names = flag.names or (flag_name(name),)
    if kind is click.BOOL:
        return names, {"is_flag": True, "help": flag.help}
    given: dict[str, Any] = {
        "type": kind, "multiple": several, "metavar": flag.metavar or _metavar(kind),
        "help": flag.help, "show_default": True,
    }  # fmt: skip
    if default is not None:  # click never treats a flag with a default, even None, as missing
        given["default"] = default
    if flag.parse:
        given["callback"] = _parsed(flag.parse, field.default)
    if flag.alone is not None:
        given |= {"is_flag": False, "flag_value": flag.alone}
    return names, given


def _metavar(kind: object) -> str | None:
    """Return the metavar of a number in help texts; None keeps click's own."""
    if isinstance(kind, Whole):
        return "N"
    return "NUMBER" if isinstance(kind, Number) else None


def _parsed(parse_text: Callable[[str], object], default: object) -> Callable[..., object]:
    def callback(_: click.Context, option: click.Parameter, given: str | None) -> object:
        if given is None:
            return default
        try:
            return parse_text(given)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return callback


def _type(field: FieldInfo) -> tuple[Any, bool]:
    """Return click's type for a field, and whether the flag may be repeated."""
    kind = _bare(field.annotation)
    if get_origin(kind) is tuple:
        return click.STRING, True
    if get_origin(kind) is Literal:
        return click.Choice([str(value) for value in get_args(kind)]), False
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return click.Choice([member.value for member in kind]), False
    if kind is Path:
        return AnyPath(path_type=Path), False
    if kind in (int, float):
        return (Whole if kind is int else Number)(**_bounds(field)), False
    return (click.BOOL if kind is bool else click.STRING), False


def _bare(annotation: Any) -> Any:  # noqa: ANN401 -- any type annotation
    """Strip `None` and metadata from an annotation."""
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [one for one in get_args(annotation) if one is not type(None)]
        return _bare(kinds[0]) if len(kinds) == 1 else str
    if hasattr(annotation, "__metadata__"):
        return _bare(get_args(annotation)[0])
    return annotation


def _bounds(field: FieldInfo) -> dict[str, Any]:
    """Return the bounds of a numeric field as click arguments."""
    shown = TypeAdapter(field.rebuild_annotation()).json_schema()
    number = shown.get("anyOf", [shown])[0]
    found: dict[str, Any] = {}
    for name, exclusive, ours in (
        ("minimum", "exclusiveMinimum", "min"),
        ("maximum", "exclusiveMaximum", "max"),
    ):
        if name in number:
            found[ours] = number[name]
        elif exclusive in number:
            found |= {ours: number[exclusive], f"{ours}_open": True}
    return found


def config(ctx: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Use the keys of a TOML file as defaults; the command line and the environment override
    them.
    """
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
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
        which = ", ".join(f"{key}{nearest(key.replace('_', '-'), flags)}" for key in unknown)
        raise click.BadParameter(f"{path} has keys that are not flags: {which}")
    plain = {flag.name: _of_type(flag, values[key], path) for key, flag in found.items() if flag}
    ctx.default_map = {**(ctx.default_map or {}), **plain}
    return path


def _of_type(flag: click.Parameter, value: object, path: Path) -> object:
    """Check a value for a flag; only a repeatable flag may have a list."""
    several = isinstance(flag, click.Option) and flag.multiple
    for one in value if several and isinstance(value, list) else [value]:
        switch = isinstance(flag, click.Option) and flag.is_flag
        if not isinstance(one, str | int | float) or (isinstance(one, bool) and not switch):
            raise click.BadParameter(f"{path} sets {flag.opts[0]} to {value!r}, which it cannot be")
    return [value] if several and not isinstance(value, list) else value


def values_of(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Convert flags to setting values of the same names.

    Raises:
        TemplateError: the template file cannot be used.
    """
    values = dict(flags)
    if values.get("template"):
        values["template"] = read_template(Path(values["template"]))
    return values


def settings_of(ctx: click.Context, flags: Mapping[str, Any]) -> RunSettings:
    """Convert flags to settings.

    Raises:
        click.UsageError: flags contradict each other, or a value is out of range.
    """
    if flags["agent"] is not None and flags["model"]:
        raise click.UsageError("--agent and --model are given: give one of them")
    _check_address_has_use(flags)
    refuse_unused(ctx, flags)
    values = values_of(flags)
    if flags["gguf"] is not None:
        beside = [flag_name(name) for name in ("agent", "model", "base_url") if flags[name]]
        if beside:
            raise click.UsageError(f"--gguf gives the model: leave out {' and '.join(beside)}")
        values["model"] = gguf.model_name(flags["gguf"])
    elif flags["agent"] is None and not flags["model"]:
        values["agent"] = DEFAULT_AGENT
    return checked(values)


def refuse_unused(
    ctx: click.Context, settings: Mapping[str, Any], goes_with: Mapping[str, str] = GOES_WITH
) -> None:
    """Reject flags that have no effect with these settings, wherever they were set.

    Args:
        ctx: context of the command.
        settings: settings by name.
        goes_with: the setting that each flag needs, by flag.

    Raises:
        click.UsageError: a flag has no effect.
    """
    asked = {
        "model": "gguf",
        "cache": "judge",
    }  # a model file serves as the model; replies of judges are cached too
    for name in given(ctx):
        owner = goes_with.get(name, "")
        used = (owner, asked.get(owner, owner), asked.get(name, owner))
        if owner and not any(settings.get(one) for one in used):
            flag = next(one.opts[0] for one in ctx.command.params if one.name == name)
            agent = settings.get("agent") or DEFAULT_AGENT
            why = f" (the agent {agent} is scripted)" if owner == "model" else ""
            raise click.UsageError(
                f"{flag} goes with {flag_name(owner)}: add it, or leave this out{why}"
            )


def announce_default(settings: Mapping[str, Any]) -> None:
    """Print the default agent if none was named."""
    if not any(settings.get(one) for one in ("agent", "model", "gguf")):
        say(f"agent: {DEFAULT_AGENT}, which is scripted; --model gives a model")


def checked(values: Mapping[str, Any]) -> RunSettings:
    """Build settings, and check everything that can be checked before the run starts.

    Raises:
        click.UsageError: a value is out of range.
    """
    try:
        settings = RunSettings(**values)
        settings.check_limits()
        request_parameters(settings)
        if settings.model is not None and settings.gguf is None:
            parts_of(settings.model)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        raise click.UsageError(
            f"{flag_name(name)} is {first['input']!r}: {first['msg']}; give such a value"
        ) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if settings.cache is not None and settings.keep_thoughts == "off":
        raise click.UsageError(
            "--cache keeps whole replies, thoughts included: leave it out, or --keep-thoughts off"
        )
    if settings.executor == "ray":
        _check_cluster(settings)
    if settings.approve and settings.max_samples not in (None, 1):
        raise click.UsageError("--approve asks for one call at a time: leave --max-samples out")
    if settings.sandbox == "process" and (settings.runtime or settings.sandbox_base):
        given = "--runtime" if settings.runtime else "--sandbox-base"
        raise click.UsageError(f"{given} needs Docker: leave out --sandbox process, or {given}")
    return settings


def _check_address_has_use(flags: Mapping[str, Any]) -> None:
    if flags["ray_address"] is not None and flags["executor"] != "ray":
        raise click.UsageError("--ray-address goes with --executor ray: add it, or leave this out")


def _check_cluster(settings: RunSettings) -> None:
    """Reject settings that do not work on cluster nodes."""
    if settings.approve:
        raise click.UsageError("--approve asks at this terminal: leave out --executor ray, or it")
    if settings.gguf is not None:
        raise click.UsageError(
            "--gguf serves a model on one machine: serve it by `toolhop serve --gguf`, where nodes "
            "reach it, and give --model and --base-url; or leave out --executor ray"
        )
    require("ray", extra="ray", what="--executor ray")


def cluster_options(command: click.Command) -> click.Command:
    """Give a command the flags ``--executor`` and ``--ray-address`` of `toolhop run`."""
    at = next(at for at, one in enumerate(command.params) if one.name == "sandbox")
    own = ("executor", "ray_address")
    command.params[at:at] = [one for one in options_of(RunSettings) if one.name in own]
    return command


def cluster_of(flags: Mapping[str, Any]) -> Cluster | None:
    """Return the cluster that the flags request; None for this machine.

    Raises:
        click.UsageError: Ray is not installed, or an address is given without Ray as the executor.
    """
    _check_address_has_use(flags)
    settings = checked({name: flags[name] for name in ("executor", "ray_address")})
    return Cluster(settings.ray_address) if settings.executor == "ray" else None


def resumed_settings(
    ctx: click.Context, folder: Path, own: RunSettings, given: Mapping[str, Any]
) -> RunSettings:
    """Return the stored settings of a folder with the given flags.

    Raises:
        click.UsageError: a flag would change the results, or a key would be sent to an address that
            only the folder names.
    """
    wanted = checked({**own.model_dump(), **values_of(given)})
    if ctx.get_parameter_source("ray_address") is not ParameterSource.DEFAULT:
        _check_address_has_use(wanted.model_dump())
    flags = {one.name: one.opts[0] for one in ctx.command.params if one.name is not None}
    lines = [
        f"  {flags.get(name, name)}: it has {_shown_setting(own, name)}, "
        f"given is {_shown_setting(wanted, name)}"
        for name in RunSettings.model_fields
        if name not in OPERATIONAL and getattr(own, name) != getattr(wanted, name)
    ]
    if lines:
        free = ", ".join(sorted(flags[name] for name in OPERATIONAL - {"log_dir"}))
        lines.insert(0, f"{folder} was begun with other settings:")
        lines.append(f"leave them out, or start anew; on resuming one may change {free}")
        raise click.UsageError("\n".join(lines))
    refuse_unused(ctx, dict(wanted))
    refuse_unnamed(folder, of_run(wanted), {*map(flag_name, given)})
    return wanted


def _shown_setting(settings: RunSettings, name: str) -> str:
    value = getattr(settings, name)
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    if isinstance(value, Template):
        return f"{value.name} ({len(value.text)} characters)"
    return "none" if value is None else str(value)
