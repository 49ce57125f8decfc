"""An item to judge, of any kind: what a reviewer sees at first, and what after an answer.

    item with hops    question and tool documents; then chain, calls with results, answer, checks
    nested task       task and tool documents; then the calls
    scenario          question and tool documents; then the label with its reason, and the chain

Pure: the page and the terminal show the same sections.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from toolhop_agents.card.page import Code, Part, Section, Table
from toolhop_agents.construct.reviews import Material
from toolhop_agents.data_view import parameter_rows
from toolhop_env.benchmarks.nestools import scorer as nestools
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Program
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.model import HopProof
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import TOOLHOP, ActionChoice, EpisodeAction, Hop, Item, Tool
from toolhop_tools.scenarios.label import BENCHMARK as SCENARIOS
from toolhop_tools.scenarios.label import FIELD, label_of
from toolhop_tools.words import as_text

NESTOOLS = nestools.BENCHMARK.name
FACTS = ("way", "model", "world", "source", "licence", "replies")
"""Fields of an item's book that describe its origin."""
Judge: TypeAlias = Callable[[str, Trace | None], tuple[str, bool]]
"""Takes a reviewer's own answer and calls; returns the answer to store, and whether it is the
gold."""


@dataclass(frozen=True, slots=True)
class Case:
    """An item to judge."""

    item: Item
    """The item with the tools that a reviewer can call."""
    digest: str
    """Digest of the item as it is in the data."""
    asks: str
    """What the reviewer must answer before anything is revealed."""
    shown: tuple[Section, ...]
    revealed: tuple[Section, ...]
    judge: Judge
    choices: tuple[str, ...] = ()
    """Allowed beginnings of an answer; empty if any text will do."""

    @property
    def id(self) -> str:
        """Id shown to the reviewer. For a scenario it is a digest, as its own id reveals the
        label.
        """
        return self.digest[:12] if self.item.benchmark == SCENARIOS else self.item.id

    def derived(self, answer: str, trace: Trace | None) -> tuple[str, bool]:
        """Return the answer to store, and whether it is the gold. An empty answer is never right.

        Raises:
            ValueError: it begins with none of the choices.
        """
        if answer and self.choices and _choice(answer) not in self.choices:
            raise ValueError(f"begin with {' or '.join(self.choices)}, then a colon and the reason")
        return self.judge(answer, trace) if answer else ("", False)


def cases(material: Material) -> Iterator[Case]:
    """Yield a case for each item in the order of the data; scenarios are sorted by digest, which
    reveals nothing.

    Raises:
        BadChoice: the items' benchmark cannot be reviewed.
    """
    hidden = [item.digest if item.benchmark == SCENARIOS else "" for item in material.items]
    for _, item in sorted(zip(hidden, material.items, strict=True), key=lambda pair: pair[0]):
        build = BUILDERS.get(item.benchmark)
        if build is None:
            raise BadChoice(
                f"{material.folder} has items of {item.benchmark}, which cannot be reviewed",
                fix=f"give data of {', '.join(BUILDERS)}",
            )
        yield build(material, item)


def _chain(material: Material, item: Item) -> Case:
    unsafe = item.extra.get("official_unsafe")
    marks = [f"official rule: {why}" for why in unsafe] if isinstance(unsafe, list) else []
    if reading := item.extra.get("reading"):
        marks.append(f"blind readers: {reading}")
    revealed = (
        Section("Answer", (item.answer, *marks)), *_hops(material, item), *_code(item.tools),
        *_book(material, item),
    )  # fmt: skip
    return Case(
        item, item.digest, "Your answer to the question", tuple(_documents(item.tools)), revealed,
        lambda answer, _: (answer, same_answer(item.answer, answer)),
    )  # fmt: skip


def _nested(material: Material, item: Item) -> Case:
    def judge(answer: str, trace: Trace | None) -> tuple[str, bool]:
        if trace is None:
            return answer, False
        return nestools.given(trace) or answer, nestools.calls_right(trace)

    results = material.books.get(item.id, {}).get("executed", {}).get("results", [])
    calls = []
    for number, call in enumerate(nestools.gold_calls(nestools.gold_of(item))):
        parts: list[Part] = [Code(_json(call.parameters)), f"gives {_json(call.responses)}"]
        parts += [Code(as_text(result)) for result in results[number : number + 1]]
        calls.append(Section(f"Call {number + 1}: {call.name}", tuple(parts)))
    asks = "Make the calls that the task asks for, in order; then answer: done"
    revealed = (*calls, *_book(material, item))
    return Case(item, item.digest, asks, tuple(_documents(item.tools)), revealed, judge)


def _scenario(material: Material, item: Item) -> Case:
    label = label_of(item.gold)
    names = {True: "solvable", False: "unsolvable"}
    # Actions that ask or give up would reveal the label, so a reviewer only calls real tools.
    tools = {
        name: tool
        for name, tool in item.tools.items()
        if not isinstance(tool.body, EpisodeAction | ActionChoice)
    }
    given = item.gold[FIELD]
    rows = [(key, _json(value)) for key, value in given.items()] if isinstance(given, dict) else []
    revealed = (
        Section(f"Label: {names[label.solvable]}", (Table(("what", "value"), tuple(rows)),)),
        Section("Answer", (item.answer,)), *_hops(material, item), *_code(tools),
    )  # fmt: skip
    return Case(
        replace(item, order=tuple(tools)), item.digest,
        "Can the question be answered with these tools? solvable; or unsolvable: what is missing",
        tuple(_documents(tools)), revealed,
        lambda answer, _: (answer, _choice(answer) == names[label.solvable]), (*names.values(),),
    )  # fmt: skip


BUILDERS: Mapping[str, Callable[[Material, Item], Case]] = {
    TOOLHOP: _chain, NESTOOLS: _nested, SCENARIOS: _scenario,
}  # fmt: skip


def _choice(answer: str) -> str:
    return answer.partition(":")[0].strip()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)


def _documents(tools: Mapping[str, Tool]) -> Iterator[Section]:
    # Sort by name, as the order of the data often reveals the chain.
    for name, tool in sorted(tools.items()):
        parts: list[Part] = [tool.schema.description]
        if rows := tuple(parameter_rows(tool.schema.parameters)):
            parts.append(Table(("parameter", "type", "about"), rows))
        responses = tool.facts.get("responses")
        if isinstance(responses, dict):
            lines = tuple(parameter_rows({"properties": responses}))
            parts.append(Table(("response", "type", "about"), lines))
        parts.append(Code(_json(tool.schema.parameters), "Schema"))
        yield Section(name, tuple(parts))


def _code(tools: Mapping[str, Tool]) -> Iterator[Section]:
    programs = [tool for tool in tools.values() if isinstance(tool.body, Program)]
    if programs:
        yield Section("Code", tuple(Code(tool.program.source, tool.name) for tool in programs))


def _hops(material: Material, item: Item) -> Iterator[Section]:
    certificate = material.certificates.get(item.id)
    proofs: Sequence[HopProof | None] = certificate.hops if certificate else [None] * len(item.hops)
    for number, (hop, proof) in enumerate(zip(item.hops, proofs, strict=True), 1):
        yield Section(f"Hop {number}: {hop.question}", tuple(_hop(hop, proof)))


def _hop(hop: Hop, proof: HopProof | None) -> Iterator[Part]:
    arguments = _json(dict(hop.gold.arguments)) if hop.gold else "no gold call"
    yield Code(f"{hop.tool.name}({arguments})")
    notes = [f"answer: {hop.answer}"]
    if proof is not None:
        yield Code(proof.result or "")
        notes += [f"{edge.argument} is the answer of hop {edge.hop}" for edge in proof.edges]
        if proof.chance:
            notes.append(f"{proof.chance.hits} of {proof.chance.runs} other values give it too")
    yield "; ".join(notes)


def _book(material: Material, item: Item) -> Iterator[Section]:
    """Yield the checks that the item passed, and its origin."""
    if book := material.books.get(item.id):
        rows = [
            (row["criterion"], "yes" if row["holds"] else "no", _json(row["figure"]))
            for row in book["criteria"]
        ]
        facts = "; ".join(f"{name}: {book[name]}" for name in FACTS if book.get(name))
        yield Section("Checks", (Table(("criterion", "holds", "figure"), tuple(rows)), facts))
