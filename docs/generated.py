"""Write the pages of the site into build/pages, from which mkdocs.yml builds it.

    python docs/generated.py

These are the pages of docs/, those that are made from the code (`PAGES`), and tables that commands
write beside the code (`COPIED`). Links that lead out of docs/ are mended.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
COPIED = {
    "reference/attacks.md": "tests/attacks/results.md",
    "reference/tables.md": "benchmarks/tables.md",
    "reference/toolhop-audit.md": "studies/toolhop-audit.md",
}
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([\w./-]+)(#[\w-]+)?\)")


def _commands_below(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """Every command's path and help text, groups before their members."""
    settings = {"terminal_width": 100, **command.context_settings}
    context = click.Context(command, parent, name, **settings)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for member_name in command.list_commands(context):
            member = command.get_command(context, member_name)
            if member is not None:
                yield from _commands_below(member, member_name, context)


def commands() -> str:
    """The help text of every command, from the parser itself."""
    from toolhop_agents.cli import root

    parts = ["# Commands\n\nThe help text of every command.\n"]
    for name, help_text in _commands_below(root, "toolhop"):
        parts.append(f"## {name}\n\n```\n{help_text}\n```\n")
    return "\n".join(parts)


def columns() -> str:
    """The columns of exported tables, those of ToolHop's measures among them."""
    from toolhop_agents.export.columns import CALLS, episode_columns
    from toolhop_env.benchmarks import named

    parts = [
        "# Columns of exported tables\n\n`toolhop export --to parquet` and `--to hf` write them; "
        "[export](../export.md) has the commands."
    ]
    tables = {"episodes": episode_columns([named("toolhop")]), "calls": CALLS}
    for name, table in tables.items():
        parts.append(f"\n## {name}\n\n| column | type | meaning |\n|---|---|---|")
        for column in table:
            unit = f"; {column.unit}" if column.unit else ""
            parts.append(f"| `{column.name}` | {column.kind} | {column.about}{unit} |")
    return "\n".join(parts) + "\n"


def api() -> str:
    """The public names of `toolhop`, for mkdocstrings."""
    import toolhop

    parts = [
        "# Python API\n\n`import toolhop` gives these names. All else is internal and may change.\n"
    ]
    modules = dict(toolhop._NAMES)  # noqa: SLF001 -- where each public name stands
    begin = "toolhop_agents.facade"
    for module, names in {begin: modules.pop(begin), **modules}.items():
        for name in names:
            options = f"    options:\n      heading: toolhop.{name}\n      toc_label: {name}\n"
            parts.append(f"::: {module}.{name}\n{options}")
    return "\n".join(parts)


def decisions() -> str:
    """The list of the decisions in force."""
    lines = [
        "# Decisions\n\n"
        "Decisions in force: what was chosen, what it costs, and what would reverse it.\n"
    ]
    for path in sorted((ROOT / "docs" / "decisions").glob("0*.md")):
        number, _, title = (
            path.read_text("utf-8").partition("\n")[0].removeprefix("# ").partition(". ")
        )
        lines.append(f"- {number}: [{title}]({path.name})")
    return "\n".join(lines) + "\n"


PAGES = {
    "reference/commands.md": commands,
    "reference/columns.md": columns,
    "reference/api.md": api,
    "decisions/index.md": decisions,
}


def rebased(text: str, page: str) -> str:
    """Links that lead out of docs/: to a made page where that shows the file, else its path.

    Raises:
        FileNotFoundError: a link leads to no file.
    """
    sources = {source: made for made, source in COPIED.items()}
    depth = page.count("/")

    def replace(link: re.Match[str]) -> str:
        title, up, target, anchor = link[1], link[2], link[3], link[4] or ""
        home = "../" * depth
        if target.startswith("docs/"):
            return f"[{title}]({home}{target.removeprefix('docs/')}{anchor})"
        if target in sources:
            return f"[{title}]({home}{sources[target]}{anchor})"
        if up.count("../") <= depth:
            return link[0]
        if not (ROOT / target).exists():
            raise FileNotFoundError(f"{page} links to {target}, which is not there")
        return title if f"`{target}`" == title else f"{title} (`{target}`)"

    return _LINK.sub(replace, text)


def write(target: Path) -> None:
    """Write all pages of the site into a folder.

    Raises:
        FileNotFoundError: a link leads to no file.
    """
    pages = {page: make() for page, make in PAGES.items()}
    pages |= {page: (ROOT / source).read_text("utf-8") for page, source in COPIED.items()}
    for path in (ROOT / "docs").rglob("*.md"):
        pages[path.relative_to(ROOT / "docs").as_posix()] = path.read_text("utf-8")
    shutil.rmtree(target, ignore_errors=True)
    for page, text in pages.items():
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        (target / page).write_text(rebased(text, page), encoding="utf-8")


if __name__ == "__main__":
    write(ROOT / "build" / "pages")
