"""Reads a data set, or a folder of made items, and has its card put together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from toolhop_agents.card import counts
from toolhop_agents.card.made import Made
from toolhop_agents.card.page import NOT_KNOWN, Card, Section, Table
from toolhop_agents.construct import folder as folders
from toolhop_tools.certify.file import read as read_certificates
from toolhop_tools.certify.model import Certificate
from toolhop_tools.errors import counted
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers import fetch
from toolhop_tools.scenarios.label import BENCHMARK


def collect(source: str, certificates: Path | None = None) -> Card:
    """The card of a data set.

    Args:
        source: a name, a path, or a folder that `toolhop construct` made.
        certificates: of its items; a folder of made items has its own.

    Raises:
        DataError, CertificateError, FolderError, ReviewError: something cannot be read.
    """
    folder = Path(source)
    made = Made.read(folder) if folders.is_made(folder) else None
    path = str(folder / folders.ITEMS) if made else source
    data = load(path)
    if made and certificates is None:
        certificates = folder / folders.CERTIFICATES
    proofs = [*read_certificates(certificates)] if certificates else None
    name = folder.resolve().name if made or folder.exists() else data.name
    return _card(name, path, data, made, proofs)


def _card(
    name: str, path: str, data: DataSet, made: Made | None, proofs: Sequence[Certificate] | None
) -> Card:
    items = data.items
    found = sorted({counts.field(one, "licence") for one in items} - {""})
    source = fetch.SOURCES.get(data.name)
    published = source.licence if source else ""
    sections = [counts.licences(items, published)]
    sections += made.sections()[:1] if made else [_origin(path, data)]
    sections.append(counts.sizes(data))
    sections += made.sections()[1:3] if made else []
    sections.append(counts.proofs(items, proofs))
    sections += made.sections()[3:] if made else [_unknown()]
    sections += [counts.families(items), _limits(items, made, proofs), _use(path, items, proofs)]
    tags = ["tool-use", "function-calling", "multi-hop", "toolhop-env"]
    file = Path(path)
    return Card(
        name,
        _summary(items, made),
        len(items),
        tuple(found) or ((published,) if published else ()),
        (*tags, "synthetic") if made else tuple(tags),
        {"default": file.name} if file.is_file() else {},
        tuple(sections),
    )


def _summary(items: Sequence[Item], made: Made | None) -> str:
    benchmarks = sorted({item.benchmark for item in items})
    how = " that a model made and that were run and proven" if made else ""
    return (
        f"{counted(len(items), 'item')}{how}, of the benchmark {', '.join(benchmarks)}. Every "
        f"figure on this card was counted by toolhop-env {version('toolhop-env')}; what is "
        f'"{NOT_KNOWN}" was not noted anywhere.'
    )


def _origin(path: str, data: DataSet) -> Section:
    file = Path(path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else NOT_KNOWN
    rows = (
        ("read from", file.name if file.exists() else data.name),
        ("SHA-256 of the file", digest),
        ("seeds, models, prompts, settings, cost", NOT_KNOWN),
    )
    return Section("Provenance", (Table(("what", "figure"), rows),))


def _unknown() -> Section:
    text = f"Funnel, criteria, reviews and checks of overlap are {NOT_KNOWN}."
    return Section("How it was made and checked", (text,))


def _limits(
    items: Sequence[Item], made: Made | None, proofs: Sequence[Certificate] | None
) -> Section:
    """What is known to be weak, as far as it can be counted."""
    noted = []
    if unsafe := sum(bool(item.extra.get("official_unsafe")) for item in items):
        noted.append(
            f"ToolHop's official rule can find the answer of {counted(unsafe, 'item')} by "
            "accident (`official_unsafe` says why); the strict rule does not."
        )
    if proofs is None:
        noted.append("No proof was looked at: some items may not be solvable along their chain.")
    names = [item.id for item in items if item.hops and not all(hop.gold for hop in item.hops)]
    if names:
        noted.append(f"{counted(len(names), 'item')} have hops without a gold call.")
    if any(item.benchmark == BENCHMARK for item in items):
        noted.append("Questions that hide a value are changed by rules, and some wording is stiff.")
    if made is not None:
        words = made.material.standing()
        alone = sum(len({n for n, w in of.items() if not w.settles}) < 2 for of in words.values())
        if alone:
            noted.append(
                f"{alone:,} of {counted(len(items), 'item')} were not judged by two people: that a "
                "question means what its chain does is not proven by any check."
            )
        if not made.settings.get("direct_model"):
            noted.append("No model was asked without tools what it knows of the answers.")
        if made.settings.get("checker"):
            noted.append(
                f"Items whose calls the checker does not find are left out ({made.refused:,}): "
                "hard and clumsily worded ones are fewer than they would be."
            )
        noted.append("Records of tables are as written: nothing outside the set was consulted.")
        noted.append("A tool that is wrong for inputs that no check names is not found.")
    noted = noted or [f"None is counted; others are {NOT_KNOWN}."]
    return Section("Known limits", ("\n".join(f"- {one}" for one in noted),))


def _use(path: str, items: Sequence[Item], proofs: Sequence[Certificate] | None) -> Section:
    file = Path(path)
    name = file.name if file.exists() else path
    lines = [f"toolhop data validate {name}", f"toolhop data list --data {name}"]
    if all(item.hops for item in items):
        lines += [f"toolhop certify {name}", f"toolhop check {name}"]
    own = proofs and file.name == folders.ITEMS
    more = f" --certificates {folders.CERTIFICATES}" if own else ""
    lines += [
        f"toolhop run --data {name}{more} --agent oracle",
        f"toolhop run --data {name} --model PROVIDER/MODEL",
        "toolhop score logs/RUN",
    ]
    shown = "\n".join(f"    {line}" for line in lines)
    python = f'    from toolhop_tools.load import load\n    items = load("{name}").items'
    return Section(
        "Loading, playing and scoring",
        ("With toolhop-env (`pip install toolhop-env`):", shown, "From Python:", python),
    )
