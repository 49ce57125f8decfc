"""What certifying an item gives: verdicts, gold calls with their results, and how they nest."""

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
"""Version of the search. It goes up with every change that can change a certificate; certificates
of another version are stale."""
RESULT_CHARS = 4000
"""Length of a result that a certificate keeps."""


class HopVerdict(StrEnum):
    """What is known of a hop or an item."""

    CONSTRUCTED = "chain by construction"
    """The generator of this version makes the item, with its chain, and the chain was executed."""
    PROVEN = "proven"
    """Executed and determined."""
    AMBIGUOUS = "ambiguous"
    """Another call of equal standing gives another answer, or the result has several."""
    DEFECTIVE = "defective"
    """The right call gives something else: the data is wrong, and the evidence shows it."""
    REFUSED = "refused by our policy or limits"
    """The right call needs what this sandbox does not give: the item may be sound."""
    UNPROVEN = "unproven"
    """The search found none of these."""

    @property
    def is_proof(self) -> bool:
        """Whether the gold answer is shown to be right."""
        return self in {HopVerdict.CONSTRUCTED, HopVerdict.PROVEN}


class Defect(StrEnum):
    """What is wrong with a hop whose right call does not give its gold answer."""

    OTHER_VALUE = "code returns another value"
    OTHER_LABEL = "gold labels another thing"
    """The gold repeats the question, or is what the result is listed under."""
    NEEDS_ANSWER = "answer has to be supplied"
    """Only calls that are given the gold as an argument return it."""
    NOT_CALLABLE = "tool cannot be called"
    """It does not compile, has no such function, wants what its schema does not name, raises, or
    gives nothing that JSON can say."""
    NO_ANSWER = "no gold answer"
    OTHER_ANSWER = "last answer is not the item's"
    """Of an item: its last hop answers something else than its question."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An argument that comes from an earlier hop's answer."""

    hop: int
    """The earlier hop, from 1."""
    argument: str
    """Path of the argument, such as ``values.0``."""
    equal: bool
    """The argument is the answer; else it is made of it (a part, another notation)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A call and what came of it, for anyone to repeat."""

    arguments: dict[str, JSON]
    outcome: dict[str, JSON]
    """As `toolhop_sandbox.outcome` writes it; long results are cut."""

    @classmethod
    def of(cls, arguments: dict[str, JSON], outcome: Outcome) -> Evidence:
        """A call and its outcome as evidence."""
        plain: dict[str, JSON] = OUTCOME.dump_python(outcome, mode="json")
        text = plain.get("json_text")
        if isinstance(text, str) and len(text) > RESULT_CHARS:
            plain["json_text"] = text[: RESULT_CHARS - 1] + "…"
        return cls(arguments, plain)


@dataclass(frozen=True, slots=True)
class HopProof:
    """What was found for one hop."""

    tool: str
    verdict: HopVerdict
    why: str
    """One sentence."""
    executions: int
    """Calls that were made in the search."""
    arguments: dict[str, JSON] | None = None
    """Of the call that gives the gold, where the hop is executed."""
    result: str | None = None
    """Its result's JSON, from a process of its own; long ones are cut."""
    answer: str | None = None
    """The answer as the result gives it; it may be spelled otherwise than the gold."""
    reading: Reading | None = None
    """Where the answer stands in the result."""
    official: bool | None = None
    """Whether the result holds the gold under ToolHop's containment rule."""
    provenance: Provenance | None = None
    sources: dict[str, str] | None = None
    """By parameter: where its value came from, for calls that were made up."""
    chance: Chance | None = None
    edges: tuple[Edge, ...] = ()
    defect: Defect | None = None
    evidence: tuple[Evidence, ...] = ()
    executed: bool = False
    """A grounded call, which the simulator accepts, gives the gold, and other values do not."""
    determined: bool = False
    """No call of equal standing gives another answer, and the result has no other one."""
    weak: bool = False
    """The answer is a part of a text."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a certificate holds for: the search and its limits."""

    version: int
    seed: int
    executions: int
    """Calls a hop may take, the audit aside."""
    audit: int
    wall_s: float
    """Seconds a call may take."""
    memory_mib: int
    policy: str
    last_wins: bool = False


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of one item."""

    item: str
    digest: str
    """`Item.digest`; the certificate holds for this item and no other version of it."""
    basis: Basis
    verdict: HopVerdict
    why: str
    shape: str
    hops: tuple[HopProof, ...]
    defect: Defect | None = None
    """Of the item as a whole, where no single hop is to blame."""
    executed: bool = False
    """Every hop is, with values that the item itself gives, and the chain leads to its answer."""
    determined: bool = False
    """Every hop is."""
    generator: int = 0
    """Version of the generator that makes the item (`toolhop_tools.worlds`); 0 for no made item."""
    searched: tuple[HopProof, ...] = ()
    """Of a made item: what the search, which sees no gold, finds of each hop. It has no say."""

    def stale(self, digest: str, basis: Basis | None = None) -> str:
        """Why it does not hold for an item or a search; empty where it does."""
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
    """One line of a certificate file."""
    text = json.dumps(to_json(certificate), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def from_line(line: bytes) -> Certificate:
    """Read a line.

    One of an older version is read as far as `Certificate.stale` needs it.

    Raises:
        ValueError: it is not a certificate.
    """
    plain = json.loads(line)
    basis = plain.get("basis") if isinstance(plain, dict) else None
    version = basis.get("version") if isinstance(basis, dict) else None
    if isinstance(version, int) and version < VERSION:
        plain |= {"hops": [], "defect": None, "verdict": HopVerdict.UNPROVEN.value}
    return from_json(plain)


def from_json(plain: Any) -> Certificate:  # noqa: ANN401 -- whatever a file has
    """The certificate that `to_json` wrote.

    Raises:
        ValueError: it is none.
    """
    return _ADAPTER.validate_python(plain)


def to_json(certificate: Certificate) -> dict[str, Any]:
    """The certificate as plain values."""
    value: dict[str, Any] = _ADAPTER.dump_python(certificate, mode="json", exclude_defaults=True)
    return value
