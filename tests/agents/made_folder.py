"""A folder of `toolhop construct` without a model: built-in items as if they had been made."""

from __future__ import annotations

import json
from pathlib import Path

from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.settings import Settings
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.certify.model import VERSION, Basis, Certificate, HopProof, HopVerdict
from toolhop_tools.certify.model import to_json as certificate_json
from toolhop_tools.construct.accept import Criterion
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.folder import builtin

NAMES = ("geography-1", "geography-2", "geography-3")


def write_folder(folder: Path, items: tuple[Item, ...] = ()) -> tuple[Item, ...]:
    """The accepted items of a folder, and one that was rejected."""
    items = items or tuple(builtin().by_id[name] for name in NAMES)
    settings = Settings(model="openai/made-up", price="1,2", repairs=4)
    seeds = [Seed(item.id, item.domain, licence="CC-BY-4.0") for item in items]
    seeds.append(Seed("lost-1", "Geography", licence="CC-BY-4.0"))
    folders.make(folder, settings.model_dump(mode="json"), seeds)
    folders.write_lines(folder / folders.ITEMS, to_rows(DataSet("made", "", items)))
    certificates = [certificate_json(certificate(item)) for item in items]
    folders.write_lines(folder / folders.CERTIFICATES, certificates)
    rows = [book(item.id, accepted=True) for item in items] + [book("lost-1", accepted=False)]
    folders.write_lines(folder / folders.BOOKS, rows)
    return items


def certificate(item: Item) -> Certificate:
    """One that proves the item by its gold calls; no search was made."""
    proofs = tuple(
        HopProof(
            hop.tool.name, HopVerdict.PROVEN, "made up", 1,
            dict(hop.gold.arguments) if hop.gold else None, json.dumps(hop.answer), hop.answer,
        )
        for hop in item.hops
    )  # fmt: skip
    basis = Basis(VERSION, 0, 300, 20, 2.0, 256, "restricted")
    return Certificate(item.id, item.digest, basis, HopVerdict.PROVEN, "made up", "chain", proofs)


def book(name: str, *, accepted: bool) -> dict[str, JSON]:
    """What the books have of an item."""
    criteria: list[JSON] = [
        Criterion.PROVEN.row({"verdict": "proven"}, holds=accepted),
        Criterion.SIBLING.row({"answer": "17"}),
    ]
    step: dict[str, JSON] = {"stage": "code", "hop": 1, "replies": 2, "passed": accepted}
    row: dict[str, JSON] = {
        "item": name, "accepted": accepted, "criteria": criteria,
        "steps": [{**step, "returned": False, "checks": ["same-result"]}],
        "family": name, "seed": "0" * 64, "source": "", "licence": "CC-BY-4.0",
        "world": "closed", "model": "openai/made-up", "prompts": "1" * 64, "checks": 1,
        "replies": 12, "input_tokens": 900, "output_tokens": 100, "cost_usd": 0.25,
    }  # fmt: skip
    why: list[JSON] = ["code", 1]
    return row if accepted else {**row, "place": why, "why": "no repair helped", "problems": []}
