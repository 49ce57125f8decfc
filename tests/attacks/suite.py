"""Plays attack tools against real sandboxes, and looks for what got out.

An attack is a file below ``tools``. Its docstring says what it tries and, after "Contained:", what
must come of it. It returns ``held...`` where it was stopped, ``breach...`` where it was not, and
in the family ``policy`` ``escaped...`` where it left the policy behind, which is a breach only
where there is one. What each may end as is in `expected`. After each, an honest probe must answer
as before, in time, and nothing may be left.

Attacks are written so that they do no harm where they get through. Still they are not played where
a wall is known to be missing, unless a test takes it down on purpose.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from sandbox.base import Limits, Policy, Program, Session
from sandbox.engine import DockerEngine
from sandbox.errors import SandboxFault
from sandbox.outcome import JSON, Outcome, Raised, Returned
from sandbox.pool import PooledSandbox
from sandbox.process import ProcessLauncher, ProcessWorker
from tests.attacks import probes
from tests.attacks.expected import LIMITS_S, allowed

TOOLS = Path(__file__).parent / "tools"
ANSWER_S = 2.0
"""Within this the call after an attack is answered, by the same worker or by another."""
SETTLE_S = 2.0
"""Within this what an attack left running is gone."""
CANARIES = ("another tool's source", "another episode's arguments", "environment", "file")
SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack tool."""

    name: str
    """Family and file, such as ``frames/truncated``."""
    tries: str
    contained: str
    source: str
    takes_paths: bool

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]


def _read(path: Path) -> Attack:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    tries, _, contained = (ast.get_docstring(tree) or "").partition("Contained: ")
    (function,) = (
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "attack"
    )
    name = f"{path.parent.name}/{path.stem}"
    words = (" ".join(tries.split()), " ".join(contained.split()))
    return Attack(name, *words, source, bool(function.args.args))


def attacks() -> list[Attack]:
    """All attack tools, by family and name."""
    return [_read(path) for path in sorted(TOOLS.glob("*/*.py"))]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one attack in one setting."""

    ended: str
    """One or two words for a table."""
    problems: tuple[str, ...]
    """What got out; empty where the attack was contained."""


def told(outcome: Outcome | SandboxFault) -> str:
    """An outcome in a word: its kind, and for what code chose itself that as well."""
    match outcome:
        case SandboxFault():
            return "worker lost"
        case Raised(error):
            return f"raised {error}"
        case Returned(text):
            value = json.loads(text)
            word = value.partition(":")[0] if isinstance(value, str) else text
            return word if word in ("held", "breach", "escaped", "seen") else f"value {text[:20]}"
        case _:
            return outcome.kind.replace("_", " ")


def texts(outcome: Outcome | SandboxFault) -> str:
    """Everything that an outcome says."""
    if isinstance(outcome, SandboxFault):
        return str(outcome)
    return " ".join(str(getattr(outcome, field.name)) for field in fields(outcome))


def judge(
    attack: Attack,
    kind: str,
    policy: Policy,
    outcome: Outcome | SandboxFault,
    canaries: Mapping[str, str],
) -> list[str]:
    """What is wrong with how an attack ended in a sandbox of `kind`."""
    said, word = texts(outcome), told(outcome)
    problems = [f"it told of {what}" for what, canary in canaries.items() if canary in said]
    if "breach" in said:
        problems.append(f"it says that it got through: {said[:300]}")
    if word == "escaped" and policy == "restricted":
        problems.append(f"it left the policy: {said[:300]}")
    if not allowed(attack.name, kind, policy, word):
        problems.append(f"it ended as {word!r}: {said[:300]}")
    return problems


class Arena:
    """A session in which attacks are played one after another, with secrets to be found."""

    def __init__(self, portal: BlockingPortal, pool: PooledSandbox, session: Session) -> None:
        self.portal, self.pool, self.session = portal, pool, session
        self.kind = str(pool.description["kind"])
        self.canaries: dict[str, str] = {}
        self.others: frozenset[int] = frozenset()
        """Children that this process had before: workers of other tests."""
        self.paths: list[str] = []
        self.drawn: set[float] = set()
        self.baseline: dict[str, Any] = {}
        self.descriptors = 1 << 30

    def call(
        self, program: Program, arguments: Mapping[str, JSON], *, wall_s: float = 10.0
    ) -> Outcome | SandboxFault:
        self.pool.limits = Limits(wall_s=wall_s)
        try:
            return self.portal.call(self.session.call, program, arguments)
        except SandboxFault as fault:
            return fault

    def prepare(self) -> None:
        """Plant a secret tool beside the attacks, and learn what an untouched call finds."""
        secret = f"KEY = '{self.canaries[CANARIES[0]]}'\ndef f():\n    return len(KEY)"
        for _ in range(2):
            # Called twice, it is kept ready in a process of its own.
            self.call(Program(secret, "f"), {})
        for _ in range(3):
            self.baseline = self.probe()
        self.settle()
        self.descriptors = self.open_descriptors()

    def play(self, attack: Attack) -> Verdict:
        """Run an attack and look at everything that it may have left."""
        arguments: dict[str, JSON] = {"paths": list(self.paths)} if attack.takes_paths else {}
        program = Program(attack.source, "attack")
        problems: list[str] = []
        # What is called again stands ready ahead of its call.
        for _ in range(3 if attack.family == "ahead" else 1):
            outcome = self.call(program, arguments, wall_s=LIMITS_S.get(attack.name, 3.0))
            problems += judge(attack, self.kind, self.pool.policy, outcome, self.canaries)
        if attack.family == "ahead":
            hungry = self.call(probes.HUNGRY, {"mib": 200})
            problems += [] if isinstance(hungry, Returned) else [f"an honest tool: {hungry}"]
        return Verdict(told(outcome), (*problems, *self.check()))

    def check(self) -> list[str]:
        """What the next call finds changed, and what is left running or open."""
        problems: list[str] = []
        started = time.monotonic()
        now = self.probe()
        if (took_s := time.monotonic() - started) > ANSWER_S:
            problems.append(f"the next call took {took_s:.1f} s")
        problems += [
            f"the next call found {key} {now.get(key)!r}, before it was {value!r}"
            for key, value in self.baseline.items()
            if now.get(key) != value
        ]
        return problems + self.settle()

    def probe(self) -> dict[str, Any]:
        """What an honest tool finds. Random numbers are looked at here: they must not repeat."""
        outcome = self.call(probes.program(self.pool.policy), {"a": "é"})
        if not isinstance(outcome, Returned):
            return {"answer": texts(outcome)}
        found: dict[str, Any] = json.loads(outcome.json_text)
        drawn = found.pop("drawn")
        found["random numbers repeat"] = drawn in self.drawn
        self.drawn.add(drawn)
        return found

    def settle(self) -> list[str]:
        """Wait until the worker runs the processes that it knows of, and no other.

        What is still there in the end is told, as are descriptors of the host that stayed open.
        """
        deadline = time.monotonic() + SETTLE_S
        while True:
            link = self.pool._started[0].link
            expected = self.portal.call(link.ping)
            counted, strays = self.processes()
            extra = self.open_descriptors() - self.descriptors
            if counted == expected and not strays and extra <= 0:
                return []
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
        problems = [f"{counted} processes, {expected} expected"] if counted != expected else []
        problems += [f"process {pid} escaped from the worker" for pid in strays]
        return problems + [f"the host has {extra} more descriptors open"] * (extra > 0)

    def processes(self) -> tuple[int, list[int]]:
        """How many the worker has, and which of it escaped to this process."""
        worker: Any = self.pool._started[0]
        if hasattr(worker, "container_id"):
            listed = worker.engine._client.api.top(worker.container_id)["Processes"]
            return sum("<defunct>" not in " ".join(one) for one in listed), []
        started = [one for pool in _OPEN for one in pool._started]
        zygotes = {one.process.pid for one in started if isinstance(one, ProcessWorker)}
        standbys = children(worker.process.pid)
        twins = [twin for standby in standbys for twin in children(standby)]
        return 1 + len(standbys) + len(twins), [
            pid
            for pid in children(os.getpid())
            if pid not in zygotes | self.others and _is_worker(pid)
        ]

    def open_descriptors(self) -> int:
        link = self.pool._started[0].link
        kept = sum(map(len, link._spares.values())) + len(link._primed)
        return len(os.listdir("/proc/self/fd")) - kept  # noqa: PTH208


def children(pid: int) -> list[int]:
    """Living children of all threads of a process.

    Not those that ended and wait to be reaped: the worker does that when it next hears of the
    host, and what stood ready ahead of a call may end by itself before.
    """
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return [one for one in found if _lives(one)]


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def _is_worker(pid: int) -> bool:
    try:
        return b"zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


_OPEN: list[PooledSandbox] = []
"""Sandboxes of all arenas of this process: their workers are its children by right."""
MAKERS: dict[str, Callable[[Policy], PooledSandbox]] = {
    "docker": lambda policy: PooledSandbox(DockerEngine(), policy=policy),
    "process": lambda policy: PooledSandbox(ProcessLauncher(), policy=policy),
}
SETTINGS: list[tuple[str, Policy]] = [
    (kind, policy) for kind in MAKERS for policy in ("none", "restricted")
]


@contextmanager
def arena(
    make: Callable[[Policy], PooledSandbox], policy: Policy, folder: Path, *, walls: bool = True
) -> Iterator[Arena]:
    """An arena over a fresh sandbox; `folder` gets a file that no tool may read.

    Args:
        make: the sandbox.
        policy: of it.
        folder: an empty one.
        walls: False where a test took walls down; else one that is missing is an error.
    """
    canaries = {what: f"canary-{secrets.token_hex(8)}" for what in CANARIES}
    (folder / "answers.jsonl").write_text(canaries["file"])
    os.environ["TOOLHOP_CANARY"] = canaries["environment"]
    with start_blocking_portal() as portal:
        pool = portal.call(_made, make, policy)
        with _watched(pool) as others, portal.wrap_async_context_manager(pool):
            before = Program("def f(a):\n    return a", "f")
            portal.call(_episode, pool, before, {"a": canaries[CANARIES[1]]})
            missing = [wall for wall in ("landlock", "seccomp") if not pool.description[wall]]
            if missing and walls:
                raise RuntimeError(f"this machine has no {missing}: attacks would hit it")
            with portal.wrap_async_context_manager(pool.session()) as session:
                found = Arena(portal, pool, session)
                found.canaries = canaries
                found.others = others
                found.paths = [str(folder / "answers.jsonl"), str(folder), str(TOOLS), __file__]
                found.prepare()
                yield found


@contextmanager
def _watched(pool: PooledSandbox) -> Iterator[frozenset[int]]:
    """What a worker loses becomes a child of this process, and is seen; its children so far."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    others = frozenset(children(os.getpid()))
    _OPEN.append(pool)
    try:
        yield others
    finally:
        _OPEN.remove(pool)
        if not _OPEN:
            ctypes.CDLL(None).prctl(SUBREAPER, 0, 0, 0, 0)
            os.environ.pop("TOOLHOP_CANARY", None)


async def _made(make: Callable[[Policy], PooledSandbox], policy: Policy) -> PooledSandbox:
    return make(policy)


async def _episode(pool: PooledSandbox, program: Program, arguments: Mapping[str, JSON]) -> None:
    async with pool.session([program]) as session:
        for _ in range(2):
            await session.call(program, arguments)
