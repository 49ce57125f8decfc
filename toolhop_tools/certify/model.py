"""Certificates as data: verdicts, gold calls with their results, and the nesting of hops."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON, OUTCOME, Outcome
from toolhop_tools.certify.audit import Chance
from toolhop_tools.certify.candidates import Provenance
from toolhop_tools.reading import Reading

VERSION = 10
"""Version of the search. Increased with every change that can affect a certificate; certificates
of other versions are stale."""
RESULT_CHARS = 4000
"""Maximum length of a result in a certificate, in characters."""


class HopVerdict(StrEnum):
    """The state of proof of a hop or an item."""

    CONSTRUCTED = "chain by construction"
    """This version of the generator produces the item, and its chain was executed."""
    PROVEN = "proven"
    """The hop or item is executed and determined."""
    AMBIGUOUS = "ambiguous"
    """Another call of equal standing gives another answer, or the result has several answers."""
    DEFECTIVE = "defective"
    """The right call returns something else: the data is wrong, and the evidence shows it."""
    REFUSED = "refused by our policy or limits"
    """The right call needs something that this sandbox does not allow: the item may be sound."""
    UNPROVEN = "unproven"
    """The search established none of the other verdicts."""

    @property
    def is_proof(self) -> bool:
        """Whether the gold answer is shown to be right."""
        return self in {HopVerdict.CONSTRUCTED, HopVerdict.PROVEN}


class Defect(StrEnum):
    """The reason why the right call of a hop does not return its gold answer."""

    OTHER_VALUE = "code returns another value"
    OTHER_LABEL = "gold labels another thing"
    """The gold repeats the question, or is the label of the result."""
    NEEDS_ANSWER = "answer has to be supplied"
    """Only calls that receive the gold as an argument return it."""
    NOT_CALLABLE = "tool cannot be called"
    """The tool does not compile, lacks the function, requires parameters missing from its
    schema, raises, or returns something that JSON cannot represent."""
    NO_ANSWER = "no gold answer"
    OTHER_ANSWER = "last answer is not the item's"
    """For an item: the answer of its last hop does not answer its question."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An argument that comes from the answer of an earlier hop."""

    hop: int
    """Number of the earlier hop, from 1."""
    argument: str
    """Path of the argument, such as ``values.0``."""
    equal: bool
    """Whether the argument equals the answer; otherwise it is a part or another notation of it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A call and its outcome, for anyone to reproduce."""

    arguments: dict[str, JSON]
    outcome: dict[str, JSON]
    """Outcome as `toolhop_sandbox.outcome` serialises it; long results are cut."""

    @classmethod
    def of(cls, arguments: dict[str, JSON], outcome: Outcome) -> Evidence:
        """Return a call and its outcome as evidence."""
        plain: dict[str, JSON] = OUTCOME.dump_python(outcome, mode="json")
        text = plain.get("json_text")
        if isinstance(text, str) and len(text) > RESULT_CHARS:
            plain["json_text"] = text[: RESULT_CHARS - 1] + "…"
        return cls(arguments, plain)


@dataclass(frozen=True, slots=True)
class HopProof:
    """The findings for one hop."""

    tool: str
    verdict: HopVerdict
    why: str
    """Reason for the verdict, in one sentence."""
    executions: int
    """Number of calls run by the search."""
    arguments: dict[str, JSON] | None = None
    """Arguments of the call that returns the gold, if the hop is executed."""
    result: str | None = None
    """Result of that call as JSON, run in a process of its own; long results are cut."""
    answer: str | None = None
    """Answer as it stands in the result; its spelling may differ from the gold's."""
    reading: Reading | None = None
    """Position of the answer in the result."""
    official: bool | None = None
    """Whether the result contains the gold under ToolHop's rule."""
    provenance: Provenance | None = None
    sources: dict[str, str] | None = None
    """Origin of the value of each parameter, for calls that the search composed."""
    chance: Chance | None = None
    edges: tuple[Edge, ...] = ()
    defect: Defect | None = None
    evidence: tuple[Evidence, ...] = ()
    executed: bool = False
    """Whether a valid grounded call returns the gold, and calls with other values do not."""
    determined: bool = False
    """Whether no call of equal standing gives another answer, and the result has only this one."""
    weak: bool = False
    """Whether the answer is only a part of a text."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The search and limits to which a certificate applies."""

    version: int
    seed: int
    executions: int
    """Maximum number of calls for a hop, not counting the audit."""
    audit: int
    wall_s: float
    """Seconds a call may take."""
    memory_mib: int
    policy: str
    last_wins: bool = False


@dataclass(frozen=True, slots=True)
class Certificate:
    """The findings for one item."""

    item: str
    digest: str
    """The item's `Item.digest`; the certificate applies to this version of the item only."""
    basis: Basis
    verdict: HopVerdict
    why: str
    shape: str
    hops: tuple[HopProof, ...]
    defect: Defect | None = None
    """Defect of the whole item, if no single hop is to blame."""
    executed: bool = False
    """Whether every hop is executed with values from the item, leading to the item's answer."""
    determined: bool = False
    """Whether every hop is determined."""
    generator: int = 0
    """Version of the generator (`toolhop_tools.worlds`) of the item; 0 if not generated."""
    searched: tuple[HopProof, ...] = ()
    """For a generated item: the search's findings for each hop, obtained without the chain. They
    do not affect the verdict."""

    def stale(self, digest: str, basis: Basis | None = None) -> str:
        """Return why the certificate does not apply to an item or a search; empty if it does."""
        if self.digest != digest:
            return "the item has changed"
        if self.basis.version != VERSION:
            return f"it is of version {self.basis.version} of the search, this is {VERSION}"
        if basis is not None and self.basis != basis:
            return "it was made with other settings"
        if self.generator:
            from toolhop_tools.worlds.items import VERSION as GENERATOR  # imports this module

            if self.generator != GENERATOR:
                return f"it is of generator {self.generator} of worlds, this is {GENERATOR}"
        return ""


_ADAPTER = TypeAdapter(Certificate)


def to_line(certificate: Certificate) -> bytes:
    """Return one line of a certificate file."""
    text = json.dumps(to_json(certificate), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def from_line(line: bytes) -> Certificate:
    """Read a line. A line of an older version is read as far as `Certificate.stale` needs it.

    Raises:
        ValueError: the line is not a certificate.
    """
    plain = json.loads(line)
    basis = plain.get("basis") if isinstance(plain, dict) else None
    version = basis.get("version") if isinstance(basis, dict) else None
    if isinstance(version, int) and version < VERSION:
        plain |= {"hops": [], "defect": None, "verdict": HopVerdict.UNPROVEN.value}
    return from_json(plain)


def from_json(plain: Any) -> Certificate:  # noqa: ANN401 -- whatever a file has
    """Read a certificate that `to_json` wrote.

    Raises:
        ValueError: the value is not a certificate.
    """
    return _ADAPTER.validate_python(plain)


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate as plain JSON values."""
    value: dict[str, Any] = _ADAPTER.dump_python(certificate, mode="json", exclude_defaults=True)
    return value
