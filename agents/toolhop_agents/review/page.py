"""A reviewer's page as HTML: the case, forms for calls, an answer and a verdict.

Pure. All foreign text is escaped. The page works without a script; one adds keyboard shortcuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from urllib.parse import quote

from toolhop_agents.card.page import Code, Part, Section, Table
from toolhop_agents.report.parts import asset, hash_source, one_line
from toolhop_agents.review.case import Case
from toolhop_agents.review.session import ReviewSession
from toolhop_agents.terminal import visible
from toolhop_tools.construct.reviews import Ruling
from toolhop_tools.errors import counted

PACKAGE = "toolhop_agents.review"
BUTTONS = ((Ruling.ACCEPT, "a"), (Ruling.REJECT, "r"), (Ruling.SKIP, "s"))
SCRIPT = asset("review.js", PACKAGE)
POLICY = (
    f"default-src 'none'; script-src {hash_source(SCRIPT)}; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The page's content security policy."""


def page(session: ReviewSession, item: str | None, problem: str = "") -> str:
    """Return an item's page, or the closing page if `item` is None. `problem` explains what was
    wrong with the last request.
    """
    done = len(session.cases) - len(session.left)
    who = f"{session.material.folder.name} · {session.reviewer}" + " settles" * session.settles
    body = "".join(_item(session, session.cases[item], problem) if item else _finished(session))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{_text(one_line(f'Review of {session.material.folder.name}'))}</title>"
        f"<style>{asset('style.css')}{asset('review.css', PACKAGE)}</style></head><body>"
        '<header class="top"><span class="brand"><span class="mark"></span>toolhop</span>'
        f'<span class="who">{_text(who)}</span><span class="done" id="done">{done} of '
        f"{len(session.cases)} judged</span></header>{body}<script>{SCRIPT}</script></body></html>"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _finished(session: ReviewSession) -> str:
    rejected = sum(review.ruling is Ruling.REJECT for review in session.said.values())
    return (
        f'<main class="review"><p class="wait" id="finished">All '
        f"{counted(len(session.cases), 'item')} judged, {rejected} rejected. You can close this "
        f"page.</p>{_picker(session, '')}</main>"
    )


def _picker(session: ReviewSession, item: str) -> str:
    names = [*session.cases]
    at = names.index(item) if item else -1
    near = (("k", "← Before", at - 1), ("j", "After →", at + 1))
    links = "".join(
        f'<a data-key="{key}" href="?item={quote(names[n])}">{text}</a>'
        for key, text, n in near
        if item and 0 <= n < len(names)
    )
    options = "".join(
        f'<option value="{escape(name)}"{" selected" * (name == item)}>{_text(name)} '
        f"{session.said[name].ruling if session.is_judged(name) else ''}</option>"
        for name in names
    )
    select = f'<select name="item" aria-label="Item">{options}</select>'
    return f'<form class="where">{links}{select}<button class="quiet">Show</button></form>'


def _item(session: ReviewSession, case: Case, problem: str) -> Iterator[str]:
    yield f'<main class="review" id="main">{_picker(session, case.id)}'
    yield f'<h1 class="question" id="question">{_text(case.item.question)}</h1>'
    review, revealed = session.said.get(case.id), session.is_revealed(case.id)
    if review and review.agreed is not None:
        is_gold = "is" if review.agreed else "is not"
        answer = _text(review.derived or "none")
        yield f'<p class="remark" id="derived">your answer {is_gold} the gold: {answer}</p>'
    if revealed:
        yield from _sections(case.revealed)
    yield from _calls(session, case)
    if not revealed:
        yield (
            f'<form class="own" method="post" action="answer">{_hidden(case)}<label for="answer">'
            f'{_text(case.asks)}</label><input id="answer" name="answer" maxlength="2000" '
            'autocomplete="off"><button>Answer, and show the gold</button>'
            '<button class="quiet" name="none" value="1" id="none">No answer</button></form>'
        )
    yield from _sections(case.shown)
    reason = _text(review.reason) if review else ""
    judged = review.ruling if review and review.judges else None
    buttons = "".join(
        f'<button name="ruling" value="{ruling}" id="{ruling}" data-key="{key}"'
        f"{' disabled' * (ruling is not Ruling.SKIP and not revealed)}"
        f' aria-pressed="{"true" if judged is ruling else "false"}">'
        f"{ruling.capitalize()} ({key})</button>"
        for ruling, key in BUTTONS
    )
    now = problem or ("" if revealed else "Give an answer of your own first.")
    # Enter presses the first button, so reject comes first: only a rejection needs a reason.
    yield (
        f'</main><form class="verdict" method="post" action="verdict">{_hidden(case)}'
        f'<button name="ruling" value="{Ruling.REJECT}" hidden{" disabled" * (not revealed)}>'
        f'</button><span class="now" id="now">{_text(now)}</span><input id="reason" name="reason" '
        f'maxlength="2000" placeholder="Reason" aria-label="Reason" autocomplete="off" '
        f'value="{reason}">{buttons}</form>'
    )


def _hidden(case: Case) -> str:
    return f'<input type="hidden" name="item" value="{escape(case.id)}">'


def _calls(session: ReviewSession, case: Case) -> Iterator[str]:
    """Yield the calls made so far, then a form for another call."""
    options = "".join(f"<option>{_text(name)}</option>" for name in sorted(case.item.tools))
    if not options:
        return
    yield (
        f'<form class="own" method="post" action="call" id="call">{_hidden(case)}'
        f'<select name="tool" aria-label="Tool">{options}</select><textarea name="arguments" '
        'id="arguments" rows="2" aria-label="Arguments, a JSON object">{}</textarea>'
        '<button>Call</button><button class="quiet" name="forget" value="1">Start over</button>'
        "</form>"
    )
    trace = session.bench.trace(case.item)
    made = (Code(f"{call.raw.name}({call.raw.arguments})\n{call.feedback}")
            for call in (trace.calls if trace else ()))  # fmt: skip
    yield f'<section id="results">{"".join(map(_part, made))}</section>'


def _sections(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        yield f"<section><h2>{_text(section.title)}</h2>{''.join(map(_part, section.parts))}"
        yield "</section>"


def _part(part: Part) -> str:
    match part:
        case Table(head, rows):
            lines = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in rows)
            return f"<table><thead><tr>{_cells(head, 'th')}</tr></thead>{lines}</table>"
        case Code(text, title):
            block = f"<pre>{_text(text)}</pre>"
            if not title:
                return block
            return f"<details><summary>{_text(title)}</summary>{block}</details>"
        case str():
            return f"<p>{_text(part)}</p>"


def _cells(cells: Iterable[str], tag: str) -> str:
    return "".join(f"<{tag}>{_text(cell)}</{tag}>" for cell in cells)
