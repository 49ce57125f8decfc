"""Read a data set or a folder of made items, and assemble its card."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from toolhop_agents.card import counts, made, worlds
from toolhop_agents.card.page import NOT_KNOWN, Card, Code, Section
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.reviews import Material
from toolhop_tools.certify.file import read as read_certificates
from toolhop_tools.certify.model import Certificate
from toolhop_tools.errors import counted
from toolhop_tools.load import licence_of
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.worlds import MadeItems
from toolhop_tools.scenarios.label import BENCHMARK

TAGS = ("tool-use", "function-calling", "multi-hop", "toolhop-env")


def collect(source: str, certificates: Path | None = None) -> Card:
    """Return the card of a data set.

    Args:
        source: a name, a path, or a folder made by `toolhop construct`.
        certificates: the items' certificates; a folder of made items has its own.

    Raises:
        DataError, CertificateError, FolderError, LedgerError, ReviewError: a file cannot be read.
    """
    material, sample = Material.read(source), None
    if isinstance(material.data.items, MadeItems):
        sample = worlds.Sample.of(material.data.items)
        data = replace(material.data, items=sample.items)
        material = replace(material, data=data)
    data, is_made = material.data, bool(material.books)
    path = data.origin if is_made else source
    own = material.folder / folders.CERTIFICATES
    proofs: Sequence[Certificate] | None = None
    if certificates or (is_made and own.is_file()):
        proofs = [*read_certificates(certificates or own)]
    named = sorted({counts.field(item, "licence") for item in data.items} - {""})
    named = ["own"] if sample else named
    published = licence_of(data.name)
    return Card(
        material.folder.resolve().name if material.folder.exists() else data.name,
        _summary(material, len(sample.made if sample else data.items)),
        len(sample.made if sample else data.items),
        tuple(named) or ((published,) if published else ()),
        (*TAGS, "synthetic") if is_made or sample else TAGS,
        {"default": Path(path).name} if Path(path).is_file() else {},
        tuple(_sections(material, path, proofs, published, sample)),
    )


def _sections(
    material: Material,
    path: str,
    proofs: Sequence[Certificate] | None,
    published: str,
    sample: worlds.Sample | None,
) -> Iterator[Section]:
    data = material.data
    if sample is None:
        yield counts.licences(data.items, published)
    if sample is not None:
        yield from worlds.sections(sample)
        yield counts.sizes(data)
        yield counts.proofs(data.items, proofs) if proofs else worlds.proofs()
    elif material.books:
        yield made.provenance(material)
        yield counts.sizes(data)
        yield made.funnel(material)
        yield from made.refined(material)
        yield made.criteria(material)
        yield counts.proofs(data.items, proofs)
        yield made.overlaps(material)
        yield made.reviews(material)
    else:
        yield _origin(path, data)
        yield counts.sizes(data)
        yield counts.proofs(data.items, proofs)
        text = f"Funnel, criteria, reviews and checks of overlap are {NOT_KNOWN}."
        yield Section("How it was made and checked", (text,))
    yield counts.families(data.items)
    limits = [*_limits(material, [] if sample else proofs)] or [
        f"None is counted; others are {NOT_KNOWN}."
    ]
    yield Section("Known limits", ("\n".join(f"- {limit}" for limit in limits),))
    yield _use(path, data.items, proofs)


def _summary(material: Material, count: int) -> str:
    items = material.items
    benchmarks = sorted({item.benchmark for item in items})
    how = " that a model made and that were run and proven" if material.books else ""
    return (
        f"{counted(count, 'item')}{how}, of the benchmark {', '.join(benchmarks)}. Every "
        f"figure on this card was counted by toolhop-env {version('toolhop-env')}; what is "
        f'"{NOT_KNOWN}" was not noted anywhere.'
    )


def _origin(path: str, data: DataSet) -> Section:
    file = Path(path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else NOT_KNOWN
    rows = counts.figures(
        ("read from", file.name if file.exists() else data.name),
        ("SHA-256 of the file", digest),
        ("seeds, models, prompts, settings, cost", NOT_KNOWN),
    )
    return Section("Provenance", (rows,))


def _limits(material: Material, proofs: Sequence[Certificate] | None) -> Iterator[str]:
    """Yield known weaknesses that can be counted."""
    items = material.items
    if unsafe := sum(bool(item.extra.get("official_unsafe")) for item in items):
        yield (
            f"ToolHop's official rule can find the answer of {counted(unsafe, 'item')} by "
            "accident (`official_unsafe` says why); the strict rule does not."
        )
    if proofs is None:
        yield "No proof was looked at: some items may not be solvable along their chain."
    if lacking := sum(not all(hop.gold for hop in item.hops) for item in items):
        yield f"{counted(lacking, 'item')} have hops without a gold call."
    if any(item.benchmark == BENCHMARK for item in items):
        yield "Questions that hide a value are changed by rules, and some wording is stiff."
    if not material.books:
        return
    unread = sum(counts.field(item, "reading") in {"", "unread"} for item in items)
    words = material.standing()
    alone = sum(len({n for n, w in of.items() if not w.settles}) < 2 for of in words.values())
    if unread:
        yield (
            f"{unread:,} of {counted(len(items), 'item')} are `unread`: no blind reader has shown "
            "that the question means what its chain does."
        )
    if alone:
        yield (
            f"{alone:,} of {counted(len(items), 'item')} were not judged by two people: that a "
            "question means what its chain does is not proven by any check."
        )
    if not material.settings.get("closed_book"):
        yield "No model was asked without tools what it knows of the answers."
    if refused := made.refused(material):
        yield (
            f"Items that blind readers do not solve are left out ({refused:,}): hard and "
            "clumsily worded ones are fewer than they would be."
        )
    yield "Records of tables are as written: nothing outside the set was consulted."
    yield "A tool that is wrong for inputs that no check names is not found."


def _use(path: str, items: Sequence[Item], proofs: Sequence[Certificate] | None) -> Section:
    file = Path(path)
    name = file.name if file.exists() else path
    lines = [f"toolhop data validate --data {name}", f"toolhop data list --data {name}"]
    if all(item.hops for item in items):
        lines += [f"toolhop certify --data {name}", f"toolhop check --data {name}"]
    own = proofs and file.name == folders.ITEMS
    more = f" --certificates {folders.CERTIFICATES}" if own else ""
    lines += [
        f"toolhop run --data {name}{more} --agent oracle",
        f"toolhop run --data {name} --model PROVIDER/MODEL",
        "toolhop score logs/RUN",
    ]
    python = f'from toolhop_tools.load import load\nitems = load("{name}").items'
    return Section(
        "Loading, playing and scoring",
        ("With toolhop-env:", Code("\n".join(lines)), "From Python:",
         Code(python)),
    )  # fmt: skip
