"""What can be counted of any data set. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from toolhop_agents.card.page import NOT_KNOWN, Section, Table
from toolhop_env.statistics.agreement import wilson
from toolhop_tools.certify.model import Certificate, HopVerdict
from toolhop_tools.construct.templates import templates
from toolhop_tools.errors import counted
from toolhop_tools.model import DataSet, Item, canonical
from toolhop_tools.scenarios.label import BENCHMARK, label_of

MOST_ROWS = 60
"""Of a table; what is left is summed."""


def share(part: int, whole: int) -> str:
    """A share with Wilson's 95 % interval."""
    if not whole:
        return NOT_KNOWN
    low, high = wilson(part / whole, whole)
    percent = f"{100 * part / whole:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f})"
    return f"{part:,} of {whole:,}, {percent}"


def counted_table(name: str, values: Iterable[str]) -> Table:
    """How often each value is there, the most frequent first."""
    counts = Counter(value or NOT_KNOWN for value in values)
    rows = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    shown = [(value, f"{count:,}") for value, count in rows[:MOST_ROWS]]
    if rest := rows[MOST_ROWS:]:
        shown.append((f"{len(rest):,} others", f"{sum(count for _, count in rest):,}"))
    return Table((name, "items"), tuple(shown))


def field(item: Item, name: str) -> str:
    """A field of the item's row; empty where it has none in one text."""
    value = item.extra.get(name)
    return value if isinstance(value, str) else ""


def family(item: Item) -> str:
    """What a split must not cut; empty where nobody says."""
    return field(item, "family") or (
        label_of(item.gold).family if item.benchmark == BENCHMARK else ""
    )


def sizes(data: DataSet) -> Section:
    """Items, hops, tools, domains and kinds of answers."""
    items = data.items
    tools = {
        canonical([tool.name, tool.schema.to_openai(), tool.body_parts]): tool.name
        for item in items
        for tool in item.all_tools.values()
    }
    names = Counter(tools.values())
    hops = [hop for item in items for hop in item.hops]
    rows = [
        ("items", f"{len(items):,}"),
        ("benchmarks", ", ".join(sorted({item.benchmark for item in items}))),
        ("hops", f"{len(hops):,}" if hops else "none: the gold is the benchmark's own"),
        ("hops with a gold call", f"{sum(hop.gold is not None for hop in hops):,}"),
        ("different tools", f"{len(tools):,}"),
        ("names that several different tools have", f"{sum(n > 1 for n in names.values()):,}"),
        ("patterns of questions, values aside", patterns(items)),
        ("digest of the items (SHA-256)", data.digest),
    ]
    parts: list[str | Table] = [Table(("what", "figure"), tuple(rows))]
    if hops:
        lengths = sorted(Counter(len(item.hops) for item in items).items())
        counts = tuple((f"{length}", f"{count:,}") for length, count in lengths)
        parts.append(Table(("hops", "items"), counts))
    parts.append(counted_table("domain", (item.domain for item in items)))
    parts.append(counted_table("answer type", (item.answer_type for item in items)))
    if any(item.benchmark == BENCHMARK for item in items):
        kinds = (_scenario(item) for item in items)
        parts.append(counted_table("scenario", kinds))
    return Section("Sizes", tuple(parts))


def _scenario(item: Item) -> str:
    if item.benchmark != BENCHMARK:
        return ""
    label = label_of(item.gold)
    return f"{label.scenario}, {'solvable' if label.solvable else 'unsolvable'}"


def patterns(items: Sequence[Item]) -> str:
    """How many questions there are, values aside, and of how many items the largest one is."""
    chains = [item for item in items if item.hops]
    if not chains:
        return NOT_KNOWN
    counts = Counter(templates(chains).values())
    return f"{len(counts):,}; the most frequent has {counted(max(counts.values()), 'item')}"


def families(items: Sequence[Item]) -> Section:
    """The families, and the rule that goes with them."""
    known = Counter(name for item in items if (name := family(item)))
    alone = len(items) - known.total()
    rule = (
        "Items of one `family` come of one seed: siblings and twins share their question, tools "
        "or facts. **No split may cut a family**: put all of its items on one side."
    )
    if not known:
        return Section("Families", (f"Families are {NOT_KNOWN}: no item names its own.",))
    rows = (
        ("families", f"{len(known):,}"),
        ("items of the largest", f"{max(known.values()):,}"),
        ("items that name none", f"{alone:,}"),
    )
    return Section("Families", (rule, Table(("what", "figure"), rows)))


def licences(items: Sequence[Item], published: str) -> Section:
    """Whose the data is, item by item where it says so."""
    if not any(field(item, "licence") for item in items):
        text = f"Published under: {published}." if published else f"The licence is {NOT_KNOWN}."
        return Section("Licence", (text,))
    parts: list[str | Table] = [counted_table("licence", (field(one, "licence") for one in items))]
    if any(field(item, "licence") == "own" for item in items):
        parts.append(
            "`own`: made without a source. Who publishes these items chooses their licence, "
            "within the terms of the model that made them."
        )
    if any(field(item, "source") for item in items):
        parts.append(counted_table("source", (field(one, "source") for one in items)))
    return Section("Licence", tuple(parts))


def proofs(items: Sequence[Item], certificates: Sequence[Certificate] | None) -> Section:
    """What certificates say that hold for these items."""
    title = "Proofs"
    if certificates is None:
        text = f"Whether items can be solved is {NOT_KNOWN}: no certificates were given."
        return Section(title, (text,))
    digests = {item.id: item.digest for item in items}
    found = [one for one in certificates if one.item in digests]
    held = [one for one in found if not one.stale(digests[one.item])]
    proven = [one for one in held if one.verdict is HopVerdict.PROVEN]
    chances = [hop.chance for one in proven for hop in one.hops if hop.chance]
    rows = (
        ("items proven, of all", share(len(proven), len(items))),
        ("certificates that no longer hold", f"{len(found) - len(held):,}"),
        ("version of the search", ", ".join(sorted({str(one.basis.version) for one in held}))
         or NOT_KNOWN),
        ("calls with other values that give the answer too",
         share(sum(one.hits for one in chances), sum(one.runs for one in chances))),
    )  # fmt: skip
    return Section(title, (Table(("what", "figure"), rows),))
