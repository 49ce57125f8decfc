"""The report as one self-contained HTML file that is not allowed to load anything else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files

from toolhop_agents.report.collect import Report
from toolhop_agents.report.pack import packed, packed_text
from toolhop_agents.report.parts import asset, hash_source, one_line, scoped

SCRIPTS = (
    "dom.js",
    "text.js",
    "colours.js",
    "data.js",
    "route.js",
    "charts.js",
    "ablation.js",
    "levels.js",
    "calls.js",
    "overview.js",
    "filter.js",
    "list.js",
    "turn.js",
    "episode.js",
    "compare.js",
    "main.js",
)
"""Scripts in load order: until all are loaded, each uses only earlier ones."""
CHART_LIBRARY = ("d3.min.js", "plot.umd.min.js")
"""Packed into the page, and run only when the first chart is drawn."""


def render(report: Report, *, title: str) -> Iterator[str]:
    """Yield the page in pieces. `title` may be any text.

    The content security policy allows only this page's own scripts, by their hashes, and forbids
    loading anything. Episodes are stored in packed data blocks (`pack`).
    """
    library = _library()
    script = scoped(SCRIPTS)
    theme = asset("theme.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(hash_source, (theme, script, library)))}",
            # The chart library adds style elements, which are harmless as nothing can be loaded.
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types toolhop-charts",
        )
    )
    page = asset("page.html")
    for mark, text in (
        ("policy", escape(policy)),
        ("title", escape(one_line(title))),
        ("style", asset("style.css")),
        ("theme", theme),
    ):
        page = page.replace(f"<!--{mark}-->", text)
    before, after = page.split("<!--data-->")
    yield before
    yield _block("report", packed(report.data))
    for number, chunk in enumerate(report.chunks):
        yield _block(f"chunk-{number}", chunk)
    yield _block("charts", packed_text(library))
    yield f"<script>{script}</script>\n"
    yield after


def _block(name: str, content: str) -> str:
    return f'<script type="text/plain" id="{name}">{content}</script>\n'


def _library() -> str:
    vendor = files("toolhop_agents.report").joinpath("vendor")
    return "\n".join(vendor.joinpath(name).read_text(encoding="utf-8") for name in CHART_LIBRARY)
