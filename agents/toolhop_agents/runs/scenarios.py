"""Make items into scenarios (`toolhop_tools.scenarios`), for a file or for a run."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from toolhop_agents.runs.job import Job
from toolhop_agents.runs.signals import Interrupted, until_signal
from toolhop_agents.runs.spread import Cluster, Isolation, Making, making_families
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.model import Certificate, to_json
from toolhop_tools.errors import BadChoice, ToolsError
from toolhop_tools.growing import RowFile
from toolhop_tools.load import licence_of
from toolhop_tools.model import DataSet, Item
from toolhop_tools.readers.native import to_row
from toolhop_tools.scenarios.label import Scenario, label_of, own_id
from toolhop_tools.scenarios.make import Family, Recipe, Yields, make_all
from toolhop_tools.scenarios.scene import Reason, Refused


@dataclass(frozen=True)
class Work:
    """The scenarios to make, and the items to make them from."""

    data: DataSet
    """Source of tools from other items."""
    chosen: Sequence[Item]
    certificates: Mapping[str, Certificate]
    """Certificates by id, all on the same basis."""
    recipe: Recipe
    isolation: Isolation
    cluster: Cluster | None = None
    """Cluster to work on; None for this machine."""


async def make(
    work: Work, on_family: Callable[[Item, Family | None], None], *, done: int = 0
) -> None:
    """Make the families of the chosen items, skipping the first `done`. `on_family` is called in
    order. Items keep the name and the licence of known data in their `extra`.

    Raises:
        SandboxFault, SandboxUnavailable: see `make_all`.
    """
    workers = min(work.isolation.workers, len(work.chosen))
    isolation = replace(work.isolation, workers=workers)
    making = Making(work.data.around(work.chosen).items, work.certificates, work.recipe, isolation)
    name = work.data.name
    source = {"origin": name, "licence": licence_of(name)} if licence_of(name) else {}

    def marked(item: Item, family: Family | None) -> None:
        items = family.items if family else ()
        known = tuple(replace(one, extra={**source, **one.extra}) for one in items)
        on_family(item, family and replace(family, items=known))

    async with making_families(making, work.cluster) as (one, at_a_time):
        await make_all(work.chosen[done:], one, at_a_time=at_a_time, on_family=marked)


class FamiliesError(ToolsError):
    """A file of finished families cannot be read or written. The message says which, and the
    fix.
    """


class FamilyFile(RowFile):
    """Finished families in item order, from which an interrupted command continues.

    The first line identifies the work; each following one has an item's rows, refusals and calls.
    """

    fault = FamiliesError
    wanted = "no family of scenarios"

    def __init__(self, path: Path, work: Work, yields: Yields) -> None:
        """Read an existing file; one for other items or another recipe is deleted first.

        Args:
            path: the file, which exists until `out` has all rows.
            work: the work whose families it holds.
            yields: counts the families read and added.

        Raises:
            FamiliesError: the file cannot be read or written.
        """
        parts = [
            version("toolhop-env"), work.data.digest, [item.digest for item in work.chosen],
            [to_json(one) for one in work.certificates.values()], asdict(work.recipe),
        ]  # fmt: skip
        self._key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        self._yields = yields
        self.done = 0
        """Number of items whose families are in the file."""
        if path.exists() and not _begins_with(path, self._key):
            path.unlink()
        super().__init__(path)
        self.open(lock=True)
        if not self.path.stat().st_size:
            self.append({"of": self._key})

    def take(self, row: dict[str, Any]) -> None:
        """See `RowFile`."""
        if "of" in row:
            return
        family = None
        if row["made"]:
            refused = [Refused(Scenario(kind), row["item"], Reason(why)) for kind, why in row["no"]]
            labels = tuple(label_of(one["gold"]) for one in row["rows"])
            family = Family((), tuple(refused), labels, row["calls"])
        self._yields.add(family)
        self.done += 1

    def add(self, item: Item, family: Family | None) -> None:
        """Append an item's family.

        Raises:
            FamiliesError: the file cannot be written.
        """
        refused: list[JSON] = [[no.scenario, no.reason] for no in family.refused] if family else []
        rows: list[JSON] = [to_row(one) for one in family.items] if family else []
        self.append({
            "item": item.id, "made": family is not None, "rows": rows, "no": refused,
            "calls": family.calls if family else 0,
        })  # fmt: skip

    def into(self, out: BinaryIO) -> None:
        """Write the rows of all families, one item per line."""
        with self.path.open("rb") as lines:
            for line in lines:
                for row in json.loads(line).get("rows", []):
                    text = json.dumps(row, ensure_ascii=False)
                    out.write(text.encode("utf-8", "backslashreplace") + b"\n")


def _begins_with(path: Path, key: str) -> bool:
    with path.open("rb") as file:
        return key.encode() in file.readline()


async def made(job: Job, on_item: Callable[[], None] = lambda: None) -> Job:
    """Replace a job's items with scenarios made from them, as ``--into`` asks for.

    Deterministic: the same job gives the same items. Nothing is written, since a run stores its
    items.

    Args:
        job: the result of `prepare`.
        on_item: called after each item.

    Raises:
        BadChoice: no item allows any of the scenarios.
        SandboxFault, SandboxUnavailable: see `make`.
        Interrupted: a signal arrived.
    """
    settings, certificates = job.settings, job.certificates
    if certificates is None:
        return job
    recipe, yields, found = Recipe(settings.into, settings.seed), Yields(), list[Item]()

    def add(item: Item, family: Family | None) -> None:
        del item
        yields.add(family)
        found.extend(family.items if family else ())
        on_item()

    isolation = Isolation(
        settings.sandbox,
        base=settings.sandbox_base,
        runtime=settings.runtime,
        transport=settings.transport,
    )
    cluster = Cluster(settings.ray_address) if settings.executor == "ray" else None
    work = Work(job.data, job.items, certificates, recipe, isolation, cluster)
    if await until_signal(lambda: make(work, add)):
        raise Interrupted
    items = tuple(one for one in found if settings.siblings or _is_own(one, settings.into))
    if not items:
        raise BadChoice(
            f"--into {','.join(settings.into)}: none of the {len(job.items)} items allows it; "
            f"{'; '.join(reasons(yields)) or 'no chain is shown to run'}",
            fix="choose other items or scenarios",
        )
    return replace(
        job, items=items, certificates=None, scenarios=yields_json(yields, settings.into)
    )


def _is_own(item: Item, into: Sequence[Scenario]) -> bool:
    """Whether the item itself belongs to a requested scenario, rather than being a sibling."""
    label = label_of(item.gold)
    return label.scenario in into and item.id == own_id(label.family, label.scenario)


def reasons(yields: Yields) -> list[str]:
    """Return the counted reasons for refusals, one line per scenario."""
    return [
        f"{kind}: {refused.total()} refused ("
        + ", ".join(f"{reason} {count}" for reason, count in refused.most_common())
        + ")"
        for kind, refused in yields.refused.items()
    ]


def yields_json(yields: Yields, into: Sequence[Scenario]) -> dict[str, JSON]:
    """Return the counts of scenarios made and refused, as plain values."""
    return {
        "items_executed": yields.executed,
        "items_left_out": yields.left_out,
        "written": sum(yields.made.values()),
        "calls": yields.calls,
        "tools_tried_in_vain": yields.tried,
        "tools_taken_out": yields.taken_out,
        "scenarios": {
            kind.value: {
                "unsolvable": yields.made[kind, False],
                "solvable": yields.made[kind, True],
                "refused": {
                    reason.value: count
                    for reason, count in yields.refused.get(kind, Counter()).most_common()
                },
            }
            for kind in dict.fromkeys((Scenario.PLAIN, *into))
        },
    }
