"""``toolhop data``: show, validate, fetch and export data sets.

Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 the data has errors, 2 usage, 3
something is missing on this machine (the official file, or access to it).
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from toolhop_agents import data_view
from toolhop_agents.card.command import card
from toolhop_agents.cli.flags import ADDRESS, Whole, data_option, overwrite_option
from toolhop_agents.cli.json_output import json_option, write_json
from toolhop_agents.cli.options import setting_option
from toolhop_agents.cli.progress import ErrorConsole
from toolhop_agents.construct.family import Kin
from toolhop_agents.construct.folder import is_made
from toolhop_agents.data.made import export_made
from toolhop_agents.export.files import write_text
from toolhop_agents.terminal import say, visible
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks import READ
from toolhop_tools.benchmarks.toolhop.reader import to_text
from toolhop_tools.draft import CannotDraft, draft
from toolhop_tools.errors import (
    BadChoice,
    DataError,
    DataNotFetched,
    DataNotFound,
    DataProblem,
    counted,
    why,
)
from toolhop_tools.load import load, readers, select, source_of, survey
from toolhop_tools.model import DataSet, Item, Tool
from toolhop_tools.readers import fetch as fetching
from toolhop_tools.readers.record import Record, read_tool_schema
from toolhop_tools.review import findings, tool_findings

BAD_DATA = 1


@click.group()
def data() -> None:
    """Look at data sets, check them, fetch and export them."""


data.add_command(card)


@data.command("list")
@setting_option("data", "source", default=None)
@click.option("--domain", "domains", multiple=True, help="Only this domain; may be repeated.")
@setting_option("limit")
@json_option
def list_(source: str | None, domains: tuple[str, ...], limit: str | None, as_json: bool) -> None:
    """List the data sets, or the items of one."""
    if source is None:
        if domains or limit:
            raise click.UsageError("--domain and --limit choose items: name a data set by --data")
        _list_sets(as_json)
        return
    items = select(_of_domains(load(source), domains), limit=limit)
    if as_json:
        write_json([data_view.item_row(item) for item in items])
    else:
        Console().print(data_view.item_table(items))


def _of_domains(dataset: DataSet, domains: Sequence[str]) -> DataSet:
    if not domains:
        return dataset
    known = sorted({item.domain for item in dataset.items})
    if unknown := [domain for domain in domains if domain not in known]:
        given = ", ".join(map(repr, unknown))
        raise BadChoice(f"no domain {given} in {dataset.name}; it has {', '.join(known)}")
    items = tuple(item for item in dataset.items if item.domain in domains)
    return DataSet(dataset.name, dataset.origin, items)


def _list_sets(as_json: bool) -> None:
    known = readers()
    rows: list[JSON] = [
        {
            "name": name,
            "about": one.about,
            "ready": one.ready,
            "path": str(one.source.path) if one.source else None,
        }
        for name, one in known.items()
        if not one.wants_path
    ]
    if as_json:
        write_json(rows)
        return
    shown = [(name, one.about, one.ready) for name, one in known.items() if not one.wants_path]
    Console().print(data_view.set_table(shown))
    formats = [f"{name}:PATH" for name, one in known.items() if one.wants_path]
    say(f"Formats that are read by name: {', '.join(formats)}.")
    say("Any path to a file or folder is a data set too: --data PATH.")


@data.command()
@click.argument("item")
@data_option
@click.option("--code", is_flag=True, help="Show the tools' source too.")
@json_option
def show(item: str, data: str, code: bool, as_json: bool) -> None:
    """Show one item: its question, hops, tools and gold calls."""
    chosen = select(load(data), sample_ids=[item])
    if len(chosen) > 1:
        ids = ", ".join(one.id for one in chosen[:5])
        raise BadChoice(f"{item!r} fits {len(chosen)} items ({ids} …); name one")
    if as_json:
        write_json(data_view.item_object(chosen[0]))
        return
    console = Console()
    for part in data_view.item_page(chosen[0], code=code):
        console.print(part)


@data.command()
@data_option
@click.option("--strict", is_flag=True, help="Fail on findings too.")
@json_option
def validate(data: str, strict: bool, as_json: bool) -> None:
    """List every error and every finding in a data set.

    An error makes a row unusable; a finding is suspicious, and the row is used. Exit code 0: no
    errors. 1: errors, or findings with --strict. 2: nothing there.
    """
    items, problems = _examine(data)
    errors = [problem for problem in problems if problem.level == "error"]
    found = [problem for problem in problems if problem.level == "finding"]
    if as_json:
        report: dict[str, JSON] = {
            "data": data,
            "usable_items": len(items),
            "errors": [problem.to_json() for problem in errors],
            "findings": [problem.to_json() for problem in found],
        }
        write_json(report)
    else:
        for problem in problems:
            click.echo(visible(f"{problem.level:<7} {problem.rule}: {problem}"))
    say(
        f"{data}: {counted(len(items), 'usable item')}, {counted(len(errors), 'error')}, "
        f"{counted(len(found), 'finding')}"
    )
    if errors or (strict and found):
        raise SystemExit(BAD_DATA)


def _examine(source: str) -> tuple[Sequence[Item], list[DataProblem]]:
    try:
        seen = survey(source)
    except (DataNotFound, DataNotFetched):
        raise
    except DataError as error:
        whole = DataProblem("unreadable", source, "", "a data set", error.message)
        return (), list(error.problems) or [whole]
    return seen.dataset.items, [*seen.problems, *findings(seen.dataset)]


@data.command()
@click.argument("name", type=click.Choice(READ), default="toolhop")
@click.option(
    "--copy",
    "place",
    type=click.Path(exists=True, path_type=Path),
    help="Import this copy instead of downloading: a file, or a folder for several.",
)
@click.option("--url", type=ADDRESS, help="Download from here, for example a mirror; for several "
              "files, their folder. HF_ENDPOINT works too.")  # fmt: skip
def fetch(name: str, place: Path | None, url: str | None) -> None:
    """Fetch the official data files of NAME (by default ToolHop's) into the cache folder.

    ToolHop's file (19.7 MB) is pinned by revision and SHA-256; any other is refused. The others
    publish no digest: they are pinned by revision (ToolBeHonest's to its newest), and the digest
    of the first download is recorded and checked from then on. HTTPS_PROXY and related variables
    set proxies. Prints the path; `--data NAME` reads it.
    """
    if place and url:
        raise click.UsageError("--copy and --url are given: give one of them")
    source = source_of(name)
    if len(source.pins) > 1 and place and not place.is_dir():
        files = ", ".join(pin.name for pin in source.pins)
        raise click.UsageError(f"{name} has several files; give the folder with {files}")
    for pin in source.pins:
        target, new = source.file(pin), not fetching.wanted_digest(source.file(pin), pin)
        if place:
            fetching.adopt(place / pin.name if place.is_dir() else place, target=target, pin=pin)
        else:
            _download(pin, target, f"{url}/{pin.name}" if url and len(source.pins) > 1 else url)
        if new:
            digest = fetching.wanted_digest(target, pin)
            say(
                f"{pin.name}: no published digest is known; SHA-256 {digest} was recorded and is "
                "checked from now on"
            )
    click.echo(source.path)
    say(f"licence: {source.licence}")


def _download(pin: fetching.Pin, target: Path, url: str | None) -> Path:
    columns = (
        TextColumn(pin.name),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=ErrorConsole(), transient=True) as bar:
        task = bar.add_task("download", total=pin.size_bytes)
        return fetching.fetch(
            url=url,
            target=target,
            pin=pin,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


@data.command()
@data_option
@click.option("--out", required=True, help="The file to write; - for stdout. With --to, a folder.")
@overwrite_option
@click.option(
    "--without",
    type=click.Choice([one.value for one in Kin]),
    multiple=True,
    help="For a folder of made items: leave these out; may be repeated.",
)
@click.option("--ignore-reviews", is_flag=True, help="For such a folder: write rejected items too.")
@click.option(
    "--accepted-by",
    type=Whole(0),
    default=0,
    show_default=True,
    help="For such a folder: only items that this many reviewers accept.",
)
@click.option(
    "--certificates-out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="For such a folder: write the certificates of items and siblings here.",
)
@setting_option("seed")
@click.option(
    "--to",
    "form",
    type=click.Choice(("toolbehonest", "relytoolbench")),
    help="Write scenario items (`toolhop perturb`) as another benchmark's files instead.",
)
@click.option(
    "--most-varied",
    type=Whole(1),
    metavar="N",
    help="With --to toolbehonest: only the N most varied rows of each subtask.",
)
@setting_option("sandbox")
@click.pass_context
def export(
    ctx: click.Context,
    /,
    data: str,
    out: str,
    overwrite: bool,
    form: str | None,
    **flags: Any,  # noqa: ANN401 -- click passes options of many types
) -> None:
    """Write a data set in ToolHop's official format, with its gold calls as an extra field.

    A folder that `toolhop construct` made is written without rejected items. Each item comes with a
    sibling (another record, another answer). Its twins go to a file beside it,
    NAME.scenarios.jsonl: unsolvable (a tool is gone) and missing (a value is gone from the
    question), with their solvable counterparts, as `toolhop perturb` makes them. Everything made
    from one item has its `family`.

    With --to, scenario items are written in the benchmark's own format, after their labels are
    shown again by running the gold calls.
    """
    of_made = ("without", "ignore_reviews", "accepted_by", "certificates_out", "seed")
    given = [
        f"--{name.replace('_', '-')}" for name in of_made
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]  # fmt: skip
    if given and (form is not None or not is_made(Path(data))):
        raise click.UsageError(
            f"{given[0]} goes with a folder that `toolhop construct` made; leave it out"
        )
    most = flags.pop("most_varied")
    if most and form != "toolbehonest":
        raise click.UsageError(
            "--most-varied goes with --to toolbehonest: add it, or leave this out"
        )
    if form is not None:
        from toolhop_agents.data.export_as import (
            export_as,
        )  # needs a sandbox; the other forms do not

        export_as(data, form, Path(out), overwrite=overwrite, sandbox=flags["sandbox"], most=most)
        return
    if is_made(Path(data)):
        export_made(Path(data), out, {**flags, "overwrite": overwrite})
        return
    dataset = load(data)
    text = to_text(dataset, out) + "\n"
    if out == "-":
        click.echo(text.encode(), nl=False)
        return
    write_text(Path(out), text, overwrite=overwrite)
    say(f"wrote {counted(len(dataset.items), 'item')} to {out}")


@data.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--function",
    help="The tool's function.  [default: that of the file's name, or the only public one]",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file to write; else stdout.")
@overwrite_option
def schema(file: Path, function: str | None, out: Path | None, overwrite: bool) -> None:
    """Write the tool schema of FILE, a Python source.

    It comes from the signature, type hints and docstring; the source is not run. Gaps of the
    docstring and findings of `toolhop data validate` are printed to stderr.
    """
    try:
        source = file.read_text(encoding="utf-8")
        found = draft(source, function, file_name=file.stem)
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file} cannot be read: {why(error)}; give a Python file") from None
    except CannotDraft as error:
        raise click.UsageError(f"{file}: {error}") from None
    text = json.dumps(found.schema, ensure_ascii=False, indent=2) + "\n"
    if out is None:
        click.echo(text.encode(), nl=False)
    else:
        write_text(out, text, overwrite=overwrite)
        say(f"wrote {out}")
    for one in found.missing:
        say(f"still to say: {one}")
    tool = read_tool_schema(Record(found.schema, str(file)))
    for rule, expected, given in tool_findings(Tool(tool, Program(source, tool.name))):
        say(f"finding {rule}: expected {expected}; given {given}")


@data.command()
@click.argument("folder", type=click.Path(path_type=Path))
def new(folder: Path) -> None:
    """Make FOLDER with one working item, three tools and a page that explains them.

    Change it to your needs: its `README.md` says how, command by command.
    """
    if folder.exists():
        raise click.UsageError(f"{folder} is there already; name a new folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (
            as_file(files("toolhop_tools") / "starter") as starter,
            tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as aside,
        ):
            made = Path(aside) / folder.name
            for file in starter.rglob("*"):
                if file.is_file() and "__pycache__" not in file.parts:
                    copy = made / file.relative_to(starter)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, copy)
            made.rename(folder)
    except OSError as error:
        raise click.UsageError(
            f"{folder} cannot be written: {why(error)}; name another folder"
        ) from None
    click.echo(f"wrote {folder}: read {folder / 'README.md'}, then try")
    click.echo(f"  toolhop certify --data {quote(str(folder))}")
    click.echo(f"  toolhop play moons-1 --data {quote(str(folder))}")
