"""Seeds of items: rows of a file, or a domain."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.errors import DataError, DataProblem
from toolhop_tools.readers.datafile import parse_rows, read_bytes

OWN = "own"
"""Licence of proposed items, which have no source seed."""
MOST_HOPS, LEAST_HOPS = 7, 2


_FORBIDS = re.compile(
    r"\bnd\b|\bno ?deriv|\bwithout derivatives|all rights? reserved|proprietary|^copyright|"
    r"\bno ?(?:redistribution|copying|reuse)|\bnot? (?:to )?be (?:copied|redistributed|shared)|"
    r"\bunlicen[sc]ed\b|\bunknown\b|\bno licen[sc]e|^(?:none|n a|tbd|unclear|unspecified)$"
)


def forbids(licence: str) -> bool:
    """Whether a licence, in any spelling, forbids derived works or is missing."""
    plain = unicodedata.normalize("NFKC", licence).casefold().replace("\u00a9", " copyright ")
    return bool(_FORBIDS.search(" ".join(re.findall(r"[^\W_]+", plain))))


class World(StrEnum):
    """The source of facts."""

    CLOSED = "closed"
    """All entities are invented."""
    REAL = "real"
    """Facts and answers come from the seed, never from a model's memory."""


@dataclass(frozen=True, slots=True)
class Seed:
    """The starting material of one item."""

    id: str
    domain: str
    least: int = LEAST_HOPS
    most: int = MOST_HOPS
    question: str = ""
    """The question; empty if a model is to propose one."""
    sub_task: tuple[tuple[str, str], ...] = ()
    """Sub-questions with their answers, in order, if the seed has them."""
    answer: str = ""
    facts: tuple[dict[str, JSON], ...] = ()
    """Records that may be used; in the real world, no others may."""
    source: str = ""
    licence: str = OWN
    world: World = World.CLOSED

    @property
    def digest(self) -> str:
        """SHA-256 of all fields."""
        parts = [getattr(self, name) for name in self.__dataclass_fields__]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    question: Annotated[str, Field(min_length=10)]
    id: str | int | None = None
    domain: str = "General"
    sub_task: dict[str, str] = Field(default_factory=dict)
    answer: str = ""
    facts: list[dict[str, JSON]] = Field(default_factory=list)
    source: str = ""
    licence: str = ""


def proposed(domain: str, count: int, hops: tuple[int, int]) -> list[Seed]:
    """Return seeds that state only a domain; their world is closed, since they have no facts."""
    name = "-".join(domain.lower().split())
    return [Seed(f"{name}-{n}", domain, *hops) for n in range(1, count + 1)]


def read(path: Path, *, world: World, licence: str, hops: tuple[int, int]) -> list[Seed]:
    """Read the seeds of a file: one row per line (``.jsonl``), or a single list.

    Args:
        path: the file.
        world: the world of all seeds.
        licence: licence of rows that state none; empty if unknown.
        hops: minimum and maximum number of hops of a question.

    Raises:
        DataError: some rows are not valid seeds; the message lists them.
    """
    rows = parse_rows(read_bytes(path), lines=path.suffix.lower() == ".jsonl", origin=str(path))
    seeds, problems = dict[str, Seed](), list[DataProblem]()
    for where, value in rows:
        try:
            row = _Row.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            problems.append(DataProblem("bad-seed", where, field, "a seed", str(first["msg"])))
            continue
        identity = f"seed-{len(seeds) + 1}" if row.id is None else str(row.id)
        seed = Seed(
            identity, row.domain, *hops, row.question, tuple(row.sub_task.items()), row.answer,
            tuple(row.facts), row.source, row.licence or licence, world,
        )  # fmt: skip
        if fault := _fault(seed, seeds):
            problems.append(DataProblem("bad-seed", where, *fault))
        seeds.setdefault(identity, seed)
    if problems:
        raise DataError("not a file of seeds", problems, origin=str(path))
    return [*seeds.values()]


def _fault(seed: Seed, known: Container[str]) -> tuple[str, str, str] | None:
    """Return the invalid field, what it should be, and its value."""
    if seed.id in known:
        return "id", "an id of its own", seed.id
    if not seed.licence:
        return "licence", "a licence that allows this use, here or by --licence", "none"
    if forbids(seed.licence):
        return "licence", "one that allows changed copies", seed.licence
    if not seed.id.strip() or len(seed.id) > 200 or not seed.id.isprintable():
        return "id", "1 to 200 signs that can be seen", repr(seed.id[:60])
    last, count = (seed.sub_task[-1][1] if seed.sub_task else ""), len(seed.sub_task)
    if last and seed.answer and not same_answer(last, seed.answer):
        return "answer", f"what the last sub-question has, {last!r}", repr(seed.answer)
    if count and not LEAST_HOPS <= count <= MOST_HOPS:
        return "sub_task", f"{LEAST_HOPS} to {MOST_HOPS} sub-questions", f"{count} of them"
    if seed.world is World.REAL and not (count or seed.facts):
        return "facts", "facts or sub_task, as --world real takes no other", "none"
    return None
