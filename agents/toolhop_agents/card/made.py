"""Sections for a folder of made items: provenance, funnel, criteria, reviews, limits."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhop_agents.card.counts import figures, mean, share
from toolhop_agents.card.page import NOT_KNOWN, Part, Section, Table, plain
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.folder import StepLedger
from toolhop_agents.construct.reviews import Material
from toolhop_agents.construct.settings import TOLD_SETTINGS
from toolhop_agents.review.figures import figures as review_figures
from toolhop_agents.review.figures import parts as review_parts
from toolhop_env.statistics.effective import effective
from toolhop_tools.construct.stages import Stage, Taken, lost
from toolhop_tools.construct.stages import funnel as stages

READ, CLOSED_BOOK = "read", "closed-book"
"""Names, in the books, of the criteria that models judge."""
AGREES = "agrees"
"""Vote of a reader who reaches the answer through every hop."""


def provenance(material: Material) -> Section:
    """Describe the settings, with the replies, tokens and cost of making the items."""
    books, folder = [*material.books.values()], material.folder
    took = Taken.of(books)
    digest = hashlib.sha256((folder / folders.SEEDS).read_bytes()).hexdigest()
    by = Counter(str(one.extra.get("question_by", NOT_KNOWN)) for one in material.items)
    own = [(name, str(material.settings[name])) for name in TOLD_SETTINGS
           if material.settings.get(name) not in (None, "", [])]  # fmt: skip
    return Section("Provenance", (
        "Made by `toolhop construct`: a model is asked stage by stage, every reply is checked, "
        "and an item is accepted that was run and proven.",
        figures(
            ("seeds tried", f"{len(books):,}"),
            (f"SHA-256 of {folders.SEEDS}", digest),
            ("world", _values(books, "world")),
            ("question by", ", ".join(f"{name} {count:,}" for name, count in by.items())),
            ("replies", f"{took.replies:,}"),
            ("tokens", f"{took.tokens:,}"),
            ("cost, whoever paid",
             NOT_KNOWN if took.cost_usd is None else f"${took.cost_usd:,.4f}"),
            ("version of the stages' checks", _values(books, "checks")),
            ("digest of the prompts", str(material.settings.get("prompts_digest") or NOT_KNOWN)),
        ),
        Table(("setting", "value"), tuple(own)),
    ))  # fmt: skip


def funnel(material: Material) -> Section:
    """Count what passed each stage, and why the rest was rejected."""
    rows = tuple(
        (row.stage.value, share(row.first, row.begun), share(row.passed, row.begun),
         f"{row.replies:,}")
        for row in stages(material.books.values())
    )  # fmt: skip
    accepted = sum(book["accepted"] for book in material.books.values())
    why = tuple((place, f"{count:,}") for place, count in lost(material.books.values()))
    return Section("Funnel", (
        f"Accepted: {share(accepted, len(material.books))}. Intervals are Wilson's.",
        Table(("stage", "passed at the first reply", "passed", "replies"), rows),
        *((Table(("rejected at", "items"), why),) if why else ()),
    ))  # fmt: skip


def criteria(material: Material) -> Section:
    """Count the criteria of accepted items by version, with the results of models that were
    asked.
    """
    known: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for book in material.books.values():
        for row in book["criteria"] if book["accepted"] else ():
            known[row["criterion"]].append(row)
    rows = []
    for name, of in known.items():
        versions = ", ".join(sorted({str(row["version"]) for row in of}))
        rows.append((name, versions, f"{sum(row['holds'] for row in of):,} of {len(of):,}"))
    asked = [row["figure"] for row in known[CLOSED_BOOK]]
    knows = "Whether a model knows answers without tools is not known: none was asked."
    if asked:
        right = share(sum(one["right"] for one in asked), sum(one["asked"] for one in asked))
        knows = f"Without tools {plain(str(asked[0]['model']))} is right in {right}."
    return Section("Criteria", (
        "What every accepted item holds is said in docs/construct.md of toolhop-env.",
        Table(("criterion", "version", "hold"), tuple(rows)), knows, *_read(material),
    ))  # fmt: skip


def refused(material: Material) -> int:
    """Return the number of items that only blind readers rejected."""
    return sum(bool(book.get("refused")) for book in material.books.values())


def _read(material: Material) -> Iterator[Part]:
    """Summarise blind readings of all items, accepted or not."""
    rows = (row for book in material.books.values() for row in book["criteria"])
    shown = [row for row in rows if row["criterion"] == READ]
    if not shown:
        yield "Whether other models read the questions so is not known: none was asked."
        return
    ballots = [row["figure"]["ballots"] for row in shown]
    votes = [{(one["model"], one["sample"]): one["vote"] == AGREES for one in of}
             for of in ballots]  # fmt: skip
    readers = sorted({model for of in votes for model, _ in of})
    agree = sum(sum(of.values()) for of in votes)
    yield figures(
        ("blind readers", ", ".join(readers)),
        ("what they are worth", str(effective(votes))),
        ("made by one of the readers",
         "yes" if material.settings.get("model") in readers else "no"),
        ("votes that came to the answer through every hop",
         share(agree, sum(map(len, votes)))),
        ("items read as meant", share(sum(bool(row["holds"]) for row in shown), len(shown))),
        ("items that readers alone kept out", f"{refused(material):,}"),
    )  # fmt: skip


def overlaps(material: Material) -> Section:
    """Name the test sets compared with the items, and count the items rejected as too similar."""
    against = material.settings.get("against") or ()
    why = [str(book.get("why", "")) for book in material.books.values() if not book["accepted"]]
    tests = sum("like a test set" in text for text in why)
    others = sum(text.startswith("it is ") for text in why) - tests
    return Section("Overlap", (figures(
        ("test sets compared with", ", ".join(Path(name).name for name in against) or "none"),
        ("rejected as like a test set", f"{tests:,}" if against else NOT_KNOWN),
        ("rejected as like another item", f"{others:,}"),
    ),))  # fmt: skip


def reviews(material: Material) -> Section:
    """Summarise reviews: items per reviewer, agreement, and the results of samples."""
    found = review_figures(material)
    # Reviewers have a right not to be named when the data is published.
    names = {name: f"reviewer {n}" for n, name in enumerate(found["reviewers"], 1)}
    parts = review_parts(found, names)
    return Section("Reviews", (*(parts or ["No person has reviewed these items."]),))


def _values(books: Sequence[Mapping[str, Any]], name: str) -> str:
    return ", ".join(sorted({str(book.get(name, "")) for book in books} - {""})) or NOT_KNOWN


# -- how refining changed tool documents: ToolHop's figures 4 and 5, and tables 2 and 3 ------------


def refined(material: Material) -> Iterator[Section]:
    """Compare tool documents of accepted items as first written and as refined, by the last reply
    of each stage; yield nothing if no tool was refined, as in nested tasks.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    accepted = {item.id for item in material.items}
    last: dict[str, dict[tuple[str, int], Any]] = {Stage.TOOL: {}, Stage.REFINE: {}}
    for row in StepLedger(material.folder, more=False).rows("reply"):
        document = _document(row["text"]) if row.get("stage") in last else None
        if document and row["item"] in accepted:
            last[row["stage"]][row["item"], row["hop"]] = document
    both = sorted({*last[Stage.TOOL]} & {*last[Stage.REFINE]})
    if not both:
        return
    before, after = (_figures([of[key] for key in both]) for of in last.values())
    names = dict.fromkeys([*before, *after])
    rows = tuple((name, before.get(name, "0"), after.get(name, "0")) for name in names)
    text = "Tool documents of accepted items, as first written and as refined."
    yield Section("Refinement", (text, Table(("what", "before", "after"), rows)))


def _document(text: str) -> dict[str, Any] | None:
    """Return the tool document in a reply; None if there is none."""
    try:
        tool = json.loads(text[text.index("{") : text.rindex("}") + 1])["tool"]
        return {"description": str(tool["description"]), "parameters": dict(tool["parameters"])}
    except (ValueError, LookupError, TypeError):
        return None


def _figures(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    whole = [one["parameters"].get("properties") or {} for one in documents]
    required = [
        {name: of[name] for name in one["parameters"].get("required", ()) if name in of}
        for one, of in zip(documents, whole, strict=True)
    ]
    rows = {
        "tools": f"{len(documents):,}",
        "characters of the description, mean": mean(len(one["description"]) for one in documents),
    }
    for what, sets in (("parameters", whole), ("required parameters", required)):
        sizes = Counter(map(len, sets))
        kinds = Counter(str(kind.get("type", "any")) for of in sets for kind in of.values())
        rows[f"{what} a tool, mean"] = mean(map(len, sets))
        rows |= {f"tools with {n} {what}": f"{sizes[n]:,}" for n in sorted(sizes)}
        rows |= {f"{what} of type {kind}": f"{count:,}" for kind, count in kinds.most_common()}
    return rows
