"""Card sections for generated worlds: generator, knobs, difficulty, and what the filter leaves
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolhop_agents.card.counts import counted_table, figures, share
from toolhop_agents.card.page import Section, Table
from toolhop_tools.model import Item
from toolhop_tools.readers.worlds import MadeItems
from toolhop_tools.worlds import items
from toolhop_tools.worlds.spec import Spec, knobs_text

WORLDS = 10
"""Maximum blocks made per spec for a card, spread evenly over the series."""
MEASURES = ("hops", "joins", "tools", "conversions", "style", "result_chars", "fewer_calls_give")
"""Fields of an item's difficulty that a card counts; `result_chars` in steps of a hundred."""


@dataclass(frozen=True)
class Block:
    """Items that share worlds, and the draws that the filter refused."""

    spec: Spec
    items: tuple[Item, ...]
    refused: Counter[str]

    @property
    def worlds(self) -> int:
        """Number of worlds from which the items come."""
        return len({item.extra["family"] for item in self.items})


@dataclass(frozen=True)
class Sample:
    """The blocks made for a card: a sample of a long series, or all blocks of a short one."""

    made: MadeItems
    blocks: tuple[Block, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """Items of the blocks that are part of the series."""
        return tuple(
            item for block in self.blocks for item in block.items if item.id in self.made.by_id
        )

    @classmethod
    def of(cls, made: MadeItems) -> Sample:
        """Make the blocks.

        Raises:
            BadChoice: the knobs of a spec yield too few items.
        """
        return cls(made, tuple(_block(spec, at) for spec in made.series.specs for at in _at(spec)))


def _at(spec: Spec) -> list[int]:
    count = -(-spec.items // items.BLOCK)
    most = min(count, WORLDS)
    return [count * place // most for place in range(most)]


def _block(spec: Spec, number: int) -> Block:
    refused: Counter[str] = Counter()
    return Block(spec, items.block(spec, number, refused), refused)


def sections(sample: Sample) -> Iterator[Section]:
    """Yield the sections that only made items have."""
    yield Section("Licence", (
        "`own`: made without a source. Who publishes these items chooses their licence.",
    ))  # fmt: skip
    yield _provenance(sample)
    yield _difficulty(sample.items)
    yield _left_out(sample)


def proofs() -> Section:
    """State the evidence for made items when no certificates are given."""
    return Section("Proofs", (
        "Right by construction: of each item the executed plan, an evaluation of what the question "
        "means and an SQL query over the same world give one answer. `toolhop certify` runs each "
        "chain in the sandbox as well.",
    ))  # fmt: skip


def _provenance(sample: Sample) -> Section:
    made = sample.made
    specs = tuple(
        (f"{spec.id_of(0)} …", f"{spec.items:,}", knobs_text(spec.knobs).replace(",", ", "))
        for spec in made.series.specs
    )
    return Section("Provenance", (
        "Made from a seed by the generator of toolhop-env: chain, tools and question come from one "
        "typed world of invented names, so that the chain is right by construction. No model wrote "
        "any of it, and no data of others is in it.",
        figures(
            ("series", made.series.text),
            ("items", f"{len(made):,}"),
            ("version of the generator", str(made.generator)),
            ("digest of the series (SHA-256)", made.digest),
            ("items made for this card", f"{len(sample.items):,}: the figures below are theirs"),
        ),
        Table(("first item", "items", "knobs"), specs),
    ))  # fmt: skip


def _difficulty(chosen: Sequence[Item]) -> Section:
    hard: list[Any] = [item.extra[items.HARD] for item in chosen]
    tables = [
        counted_table(name.replace("_", " "), (_step(name, row[name]) for row in hard))
        for name in MEASURES
    ]
    return Section("Difficulty", (
        "Recorded in each item's `difficulty`. Alternatives are other values of the answer's type "
        "that as many calls give.", *tables,
    ))  # fmt: skip


def _step(name: str, value: object) -> str:
    if name == "result_chars" and isinstance(value, int):
        return f"{value // 100 * 100} to {value // 100 * 100 + 99}"
    return str(value)


def _left_out(sample: Sample) -> Section:
    """Count refused draws by reason, and give the share of draws used, by series, style and
    domain.
    """
    refused = sum((block.refused for block in sample.blocks), Counter[str]())
    kept = sum(len(block.items) for block in sample.blocks)
    drawn = kept + refused.total()
    rows = tuple((why, share(count, drawn)) for why, count in refused.most_common())
    # Skip blocks of several worlds, as their counts do not tell the worlds apart.
    whole = [block for block in sample.blocks if block.worlds == 1]
    by: dict[str, Callable[[Block], str]] = {
        "first item of the series": lambda block: f"{block.spec.id_of(0)} …",
        "style": lambda block: str(_hard(block)["style"]),
        "domain": lambda block: block.items[0].domain,
    }
    tables = [_kept_by(name, key, whole) for name, key in by.items()]
    return Section("What the filter leaves out", (
        "Items are kept where nothing shorter gives the answer and types alone do not give it "
        f"away. That selects. Kept of all draws: {share(kept, drawn)}.",
        Table(("not kept, as", "draws"), rows), *tables,
    ))  # fmt: skip


def _hard(block: Block) -> dict[str, Any]:
    hard: Any = block.items[0].extra[items.HARD]
    return dict(hard)


def _kept_by(name: str, key: Callable[[Block], str], blocks: Sequence[Block]) -> Table:
    groups: dict[str, list[Block]] = {}
    for block in blocks:
        groups.setdefault(key(block), []).append(block)
    rows = []
    for value, of in groups.items():
        kept = sum(len(block.items) for block in of)
        rows.append((value, str(len(of)), share(kept, kept + sum(b.refused.total() for b in of))))
    return Table((name, "worlds", "draws kept"), tuple(rows))
