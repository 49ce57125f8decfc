"""Reports of a check as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.text import Text

from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import plain
from toolhop_sandbox.base import Limits
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataProblem, counted
from toolhop_tools.properties.model import (
    NOT_ASKED,
    PROPERTIES,
    UNKNOWN_KEY,
    CounterExample,
    Fails,
    Holds,
    NotApplicable,
    PropertyVerdict,
    Subject,
    ToolClass,
    ToolReport,
)
from toolhop_tools.properties.words import command_lines


@dataclass(frozen=True, slots=True)
class Checked:
    """A finished check."""

    data: str
    properties: Sequence[str]
    reports: Sequence[ToolReport]
    problems: Sequence[DataProblem]
    """Errors in the data: rows without a readable tool."""
    limits: Limits
    sandbox: str
    """The requested sandbox, so that pasted command lines request the same."""
    count: int
    seed: int
    certificates: str = ""
    """File of certified gold calls; empty if none was given."""
    formats: bool = False
    """Whether texts that violate their parameter's `format` counted as bad input."""

    @property
    def failed(self) -> bool:
        """Whether any row is unusable or any property fails."""
        return bool(self.problems) or any(report.failed for report in self.reports)

    def lines(self, subject: Subject, found: CounterExample) -> list[str]:
        """Return command lines that reproduce a counter-example."""
        limits, sandbox = self.limits, self.sandbox
        return [*command_lines(found, subject, self.data, limits=limits, sandbox=sandbox)]


def totals(checked: Checked) -> dict[str, Counter[str]]:
    """Count, for each property, the examples judged and the tools by verdict."""
    found: dict[str, Counter[str]] = {name: Counter() for name in checked.properties}
    for report in checked.reports:
        for name, verdict in report.verdicts.items():
            found[name][word(verdict)] += 1
            found[name]["executed"] += executed(verdict)
    return found


def classes(checked: Checked) -> dict[ToolClass, int]:
    """Return the number of tools in each class."""
    found = Counter(one for report in checked.reports for one in report.classes)
    return {one: found[one] for one in ToolClass}


def word(verdict: PropertyVerdict) -> str:
    """Return ``holds``, ``fails`` or ``not applicable``."""
    match verdict:
        case Holds():
            return "holds"
        case Fails():
            return "fails"
        case NotApplicable():
            return "not applicable"


def executed(verdict: PropertyVerdict) -> int:
    """Return the number of examples judged."""
    return 0 if isinstance(verdict, NotApplicable) else verdict.executed


def print_report(console: Console, checked: Checked) -> None:
    """Print the table of tools, the counter-examples, and the table of properties."""
    console.print(tool_table(checked))
    for problem in checked.problems:
        console.print(plain(f"unusable row: {problem.rule}: {problem}", "yellow"))
    for report in checked.reports:
        for found in report.failed:
            console.print(_counter_example(checked, report.subject, found), soft_wrap=True)
    for report in checked.reports:
        for remark in report.remarks:
            console.print(_remark(checked, report.subject, remark), soft_wrap=True)
    console.print(property_table(checked))


_HEADS = {
    "valid-input": "valid",
    "json-result": "json",
    "same-result": "same",
    "bad-input": "bad",
    "arguments-kept": "kept",
    "independent": "indep.",
    "gold-call": "gold",
    "signature": "sign.",
}


def tool_table(checked: Checked) -> StackedTable:
    """Return a table of the examples judged, by tool and property, with ``FAIL`` for a failure."""
    table = StackedTable(framed=False)
    table.add_columns("tool", prose=True)
    for name in checked.properties:
        table.add_columns(_HEADS.get(name, name), right=True)
    for report in checked.reports:
        cells = [_cell(report.verdicts[name]) for name in checked.properties]
        table.add_row(plain(report.subject.id), *cells)
    return table


def _cell(verdict: PropertyVerdict) -> Text:
    match verdict:
        case Holds(executed):
            return Text(str(executed))
        case Fails(executed):
            return Text(f"FAIL {executed}", style="bold red")
        case NotApplicable():
            return Text("n/a", style="dim")


def _counter_example(checked: Checked, subject: Subject, found: CounterExample) -> RenderableType:
    head = plain(f"{subject.id}  {found.property}: {found.kind}", "bold")
    parts = [head, plain(f"  {found.reported}")]
    note = "" if found.shrunk or found.arguments is None else "  (not shrunk)"
    parts += [plain(f"  {line}", "cyan") for line in checked.lines(subject, found)]
    return Group(*parts, *([plain(note, "dim")] if note else []))


def _remark(checked: Checked, subject: Subject, remark: CounterExample) -> RenderableType:
    if remark.kind != UNKNOWN_KEY:
        return plain(f"{subject.id}  {remark.kind}: {remark.reported}", "dim")
    head = plain(f"{subject.id}  warning: {remark.kind}", "yellow")
    calls = [plain(f"  {line}", "cyan") for line in checked.lines(subject, remark)]
    return Group(head, plain(f"  {remark.reported}"), *calls)


def property_table(checked: Checked) -> StackedTable:
    """Return a table of the tools by verdict, for each property."""
    table = StackedTable("property", framed=False)
    table.add_columns("holds", "fails", "n/a", "examples", right=True)
    table.add_columns("what it says", prose=True)
    for name, count in totals(checked).items():
        words = ("holds", "fails", "not applicable", "executed")
        table.add_row(name, *(f"{count[one]:,}" for one in words), PROPERTIES[name])
    return table


_FAILING = {
    ToolClass.CRASH: "crash",
    ToolClass.WRONG_TYPE: "give a wrong type of result",
    ToolClass.OTHER: "fail otherwise",
}
_REMARKED = {
    ToolClass.OWN_MESSAGE: "refuse valid input with a message of their own",
    ToolClass.UNKNOWN_KEY: "answer an unknown key with null",
}


def summary(checked: Checked, seconds: float) -> str:
    """Return the summary line for standard error."""
    examples = sum(count["executed"] for count in totals(checked).values())
    failing = sum(bool(report.failed) for report in checked.reports)
    counts = classes(checked)
    parts = [f"{counts[one]} {text}" for one, text in _FAILING.items() if counts[one]]
    failures = f" ({', '.join(parts)})" if parts else ""
    said = "".join(f"; {counts[one]} {text}" for one, text in _REMARKED.items() if counts[one])
    others = sum(report.subject.is_distractor for report in checked.reports)
    tools = f"{counted(len(checked.reports), 'tool')} ({counted(others, 'distractor')})"
    rows = f", {counted(len(checked.problems), 'error')} in the data" if checked.problems else ""
    return (
        f"{tools}, {failing} with failures{failures}{rows}{said}; "
        f"{examples:,} examples in {seconds:.1f} s ({examples / max(seconds, 0.001):,.0f} a second)"
    )


def not_asked(checked: Checked) -> str:
    """Return a note on tools without a known gold call; empty if there are none."""
    verdicts = [report.verdicts.get("gold-call") for report in checked.reports]
    number = verdicts.count(NotApplicable(NOT_ASKED))
    if not number:
        return ""
    return (
        f"gold-call was not asked of {counted(number, 'tool')}: the data has no gold calls of "
        "them; `toolhop certify --data DATA` finds some, for --certificates FILE"
    )


def to_json(checked: Checked) -> JSON:
    """Return everything as plain values, equal for equal data, seed and number of examples."""
    properties: dict[str, JSON] = {
        name: {"says": PROPERTIES[name], **dict(count)} for name, count in totals(checked).items()
    }
    return {
        "data": checked.data,
        "seed": checked.seed,
        "examples": checked.count,
        "certificates": checked.certificates or None,
        "formats": checked.formats,
        "holds": not checked.failed,
        "properties": properties,
        "classes": {one.value: count for one, count in classes(checked).items()},
        "tools": [_tool(checked, report) for report in checked.reports],
        "errors": [problem.to_json() for problem in checked.problems],
    }


def _tool(checked: Checked, report: ToolReport) -> JSON:
    verdicts: dict[str, JSON] = {}
    for name, verdict in report.verdicts.items():
        shown: dict[str, JSON] = {"verdict": word(verdict), "executed": executed(verdict)}
        if isinstance(verdict, NotApplicable):
            shown["reason"] = verdict.reason
        if isinstance(verdict, Fails):
            shown["found"] = [_found(checked, report.subject, one) for one in verdict.found]
        if not isinstance(verdict, NotApplicable) and verdict.remarks:
            shown["remarks"] = [_found(checked, report.subject, one) for one in verdict.remarks]
        verdicts[name] = shown
    subject = report.subject
    head: dict[str, JSON] = {"id": subject.id, "item": subject.item, "tool": subject.tool.name}
    return {**head, "distractor": subject.is_distractor, "verdicts": verdicts}


def _found(checked: Checked, subject: Subject, found: CounterExample) -> JSON:
    earlier: list[JSON] = [dict(one) for one in found.earlier]
    return {
        "kind": found.kind,
        "reported": found.reported,
        "arguments": None if found.arguments is None else dict(found.arguments),
        "earlier": earlier,
        "shrunk": found.shrunk,
        "about": dict(found.about),
        "calls": list(checked.lines(subject, found)),
    }
