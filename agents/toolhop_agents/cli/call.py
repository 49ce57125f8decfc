"""`toolhop call`: make one call of one tool in the sandbox, as suggested by `toolhop check`."""

from __future__ import annotations

import json
from typing import Any, cast

import anyio
import click

from toolhop_agents.cli import EXIT_EPISODES
from toolhop_agents.cli.flags import Whole, data_option
from toolhop_agents.cli.options import setting_option
from toolhop_agents.terminal import visible
from toolhop_env.rejection import Rejections
from toolhop_env.validation import strict_json
from toolhop_sandbox.base import Limits, Policy
from toolhop_sandbox.choose import Kind
from toolhop_sandbox.outcome import JSON, OUTCOME, Outcome, Returned
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load
from toolhop_tools.model import Tool
from toolhop_tools.properties import harness
from toolhop_tools.properties.bench import open_workers
from toolhop_tools.properties.model import SandboxSetting, Subject, subjects


# fmt: off
@click.command(context_settings={"show_default": True})
@data_option
@click.argument("tool")
@click.argument("arguments", nargs=-1, required=True)
@click.option("--as-model", is_flag=True, help="Refuse what the simulator would refuse.")
@click.option("--after", is_flag=True, help="Show the arguments as the call leaves them.")
@click.option("--hash-seed", type=Whole(0, 2**32 - 1), default=0,
              help="What texts are hashed with: the order of sets.")
@setting_option("policy")
@setting_option("sandbox", "kind")
@setting_option("tool_timeout_s", "timeout_s", default=2.0)
@setting_option("tool_memory_mib", "memory_mib")
def call(data: str, tool: str, arguments: tuple[str, ...], as_model: bool, after: bool,
         **flags: Any) -> None:  # noqa: ANN401 -- click passes options of many types
    """Call one TOOL of DATA with ARGUMENTS, a JSON object, and print what comes of it.

    TOOL is item::tool, or the tool's name where one tool has it. Several ARGUMENTS are calls in
    one process, one after another; the last one's outcome is printed. The arguments are passed as
    they are, whatever the schema says, save with --as-model.

    Exit code 0: it returned. 1: it did not, or was refused. 2: bad input.
    """
    if after and len(arguments) > 1:
        raise click.UsageError("--after shows the arguments of one call: give one object")
    sets = [_object(text) for text in arguments]
    dataset = load(data, skip_broken=True)
    item = dataset.by_id.get(tool.partition("::")[0])
    found = find_tool(subjects([item] if item else dataset.around(()).items), tool)
    if as_model and (refusal := Rejections()(found.schema, sets[-1])) is not None:
        click.echo(visible(refusal))
        raise SystemExit(EXIT_EPISODES)
    outcome = anyio.run(_call, found, sets, after, flags)
    click.echo(json.dumps(_shown(outcome), ensure_ascii=False).encode("utf-8", "backslashreplace"))
    if not isinstance(outcome, Returned):
        raise SystemExit(EXIT_EPISODES)


# fmt: on
def _object(text: str) -> dict[str, JSON]:
    try:
        value = strict_json(text)
    except ValueError as error:
        raise click.UsageError(
            f'ARGUMENTS {text[:60]!r} is not JSON: {error}; give an object such as {{"year": 2000}}'
        ) from None
    if not isinstance(value, dict):
        raise click.UsageError(
            f'ARGUMENTS {text[:60]!r} is not a JSON object; give one such as {{"year": 2000}}'
        )
    return value


def find_tool(known: tuple[Subject, ...], name: str) -> Tool:
    """Find a tool by ``item::tool``, or by its name if only one tool has it.

    Raises:
        BadChoice: no tool matches, or several do.
    """
    exact = [subject for subject in known if subject.id == name]
    matches = exact or [subject for subject in known if subject.tool.name == name]
    if len(matches) == 1:
        return matches[0].tool
    if matches:
        ids = ", ".join(subject.id for subject in matches[:5])
        raise BadChoice(f"{len(matches)} tools are named {name!r}: give one of {ids}")
    some = ", ".join(subject.id for subject in known[:3])
    raise BadChoice(f"no tool {name!r}; give item::tool, such as {some}")


async def _call(
    tool: Tool, sets: list[dict[str, JSON]], after: bool, flags: dict[str, Any]
) -> Outcome:
    limits = Limits(wall_s=flags["timeout_s"], memory_mib=flags["memory_mib"])
    setting = SandboxSetting(flags["hash_seed"], cast("Policy", flags["policy"]))
    kind = cast("Kind", flags["kind"])
    async with open_workers(kind, limits=limits, settings=[setting]) as workers:
        program, request = harness.sequence(tool.program, sets, after=after)
        return await workers.call(setting, program, request)


def _shown(outcome: Outcome) -> JSON:
    """Convert an outcome to an object; a result is included as its JSON value."""
    plain: dict[str, JSON] = OUTCOME.dump_python(outcome, mode="json")
    if isinstance(outcome, Returned):
        plain["value"] = json.loads(str(plain.pop("json_text")))
    return plain
