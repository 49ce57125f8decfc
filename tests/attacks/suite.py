"""Plays attack tools against real sandboxes, and looks for what got out.

An attack is a file below ``tools``. Its docstring says what it tries and, after "Contained:", what
must come of it. It returns ``held...`` where it was stopped, ``breach...`` where it was not, and
in the family ``policy`` ``escaped...`` where it left the policy behind: a breach under the policy,
save of those in `expected.LEAVES`, which the walls behind it hold. What each may end as is in
`expected`. After each, an honest probe must answer as before, in time, and nothing may be left.

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
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.attacks import probes
from tests.attacks.expected import LEAVES, LIMITS_S, allowed
from tests.attacks.process_tree import children, is_worker
from tests.attacks.witness import Ran, Witness, unlike
from toolhop_sandbox.base import Limits, Policy, Program, Session
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.link import PRIMED, WorkerLink
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessLauncher, ProcessWorker
from toolhop_sandbox.standbys import Loadable

TOOLS = Path(__file__).parent / "tools"
ANSWER_S = 30.0
"""Within this the call after an attack is answered, by the same worker or by another."""
SETTLE_S = 30.0
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


def read(path: Path) -> Attack:
    """The attack in a file."""
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
    return [read(path) for path in sorted(TOOLS.glob("*/*.py"))]


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
    if word == "escaped" and policy == "restricted" and attack.name not in LEAVES:
        problems.append(f"it left the policy: {said[:300]}")
    if isinstance(outcome, Raised) and not _within_bounds(outcome):
        problems.append("it raised at a greater length than one may, or where no source has a line")
    if not allowed(attack.name, kind, policy, word):
        problems.append(f"it ended as {word!r}: {said[:300]}")
    return problems


def _within_bounds(raised: Raised) -> bool:
    line = 1 if raised.line is None else raised.line
    return len(raised.error) <= 200 and len(raised.message) <= 4000 and 0 < line <= 1_000_000


class Arena:
    """A session in which attacks are played one after another, with secrets to be found."""

    def __init__(self, portal: BlockingPortal, pool: PooledSandbox, session: Session) -> None:
        self.portal, self.pool, self.session = portal, pool, session
        self.kind = str(pool.description["kind"])
        self.canaries: dict[str, str] = {}
        self.others: frozenset[int] = frozenset()
        """Children that this process had before: workers of other tests."""
        self.paths: list[str] = []
        self.witness = Witness()
        self.drawn: set[float] = set()
        self.baseline: dict[str, Any] = {}
        self.descriptors = 1 << 30
        self.settle_s = SETTLE_S

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
        self.witness.ran.clear()
        # What is called again stands ready ahead of its call.
        for _ in range(3 if attack.family == "ahead" else 1):
            outcome = self.call(program, arguments, wall_s=LIMITS_S.get(attack.name, 3.0))
            problems += judge(attack, self.kind, self.pool.policy, outcome, self.canaries)
        if attack.family == "ahead":
            hungry = self.call(probes.HUNGRY, {"mib": 200})
            problems += [] if isinstance(hungry, Returned) else [f"an honest tool: {hungry}"]
        return Verdict(told(outcome), (*problems, *self.check()))

    def check(self) -> list[str]:
        """What the next calls find changed, and what is left running or open.

        The first runs in a process that waited while the attack ran, the second in one that was
        forked after it; where the attack's was kept ready for it, a third in one that was too.
        """
        problems: list[str] = []
        attacks = {one.kept_ready: one for one in self.witness.ran}
        made_by = self.link._control._number
        # Of what was refused nothing ran.
        asked = [(False, False)] + [(False, True)] * bool(attacks)
        asked += [(True, True)] * (True in attacks)
        for kept_ready, forked_after in asked:
            self.witness.ran.clear()
            problems += self.next_call(kept_ready=kept_ready)
            attack = attacks.get(kept_ready) or self.nothing_ran
            ran = self.witness.ran
            problems += [] if ran else ["the probe ran in no process of the worker"]
            for one in ran:
                problems += unlike(one, attack, made_by=made_by, forked_after=forked_after)
        return problems + self.settle()

    def next_call(self, *, kept_ready: bool) -> list[str]:
        """What an honest call finds changed."""
        started = time.monotonic()
        now = self.probe(kept_ready=kept_ready)
        took_s = time.monotonic() - started
        problems = [f"the next call took {took_s:.1f} s"] if took_s > ANSWER_S else []
        return problems + [
            f"the next call found {key} {now.get(key)!r}, before it was {value!r}"
            for key, value in self.baseline.items()
            if now.get(key) != value
        ]

    @property
    def link(self) -> WorkerLink:
        """Of the worker that the session uses."""
        return self.pool._started[0].link

    @property
    def nothing_ran(self) -> Ran:
        """What the process of an attack that was refused would have been."""
        return Ran(id(self.link), 0, False, self.pool.policy, Limits().memory_mib)

    def probe(self, *, kept_ready: bool = False) -> dict[str, Any]:
        """What an honest tool finds. Random numbers are looked at here: they must not repeat."""
        program = probes.program(self.pool.policy)
        if isinstance(compiled := self.pool.cached(program), Loadable):
            # Another one for the worker, which would keep one ready that it was given before.
            self.pool.keep(program, again := replace(compiled))
            if kept_ready:
                self.portal.call(self._make_ready, again)
        outcome = self.call(program, {"a": "é"})
        if not isinstance(outcome, Returned):
            return {"answer": texts(outcome)}
        found: dict[str, Any] = json.loads(outcome.json_text)
        if "process" in found:
            found["of this worker"] = found.pop("process")["parent"] == self.first_process
        drawn = found.pop("drawn")
        found["random numbers repeat"] = drawn in self.drawn
        self.drawn.add(drawn)
        return found

    async def _make_ready(self, program: Loadable) -> None:
        link = self.link
        while len(link._primed) >= PRIMED:
            # The last one that came: the first is the tool with a secret.
            link._spent.append(link._primed.popitem()[1])
        link._want(program, first=True)
        link._tidy()

    @property
    def first_process(self) -> int:
        """Id of the worker's first process, as its standbys see it."""
        worker = self.pool._started[0]
        return worker.process.pid if isinstance(worker, ProcessWorker) else 1

    def settle(self) -> list[str]:
        """Wait until the worker runs the processes that it knows of, and no other.

        What is still there in the end is reported, as are descriptors of the host that stayed open.
        """
        deadline = time.monotonic() + self.settle_s
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
        return 1 + len(standbys), [
            pid
            for pid in children(os.getpid())
            if pid not in zygotes | self.others and is_worker(pid)
        ]

    def open_descriptors(self) -> int:
        link = self.pool._started[0].link
        return len(os.listdir("/proc/self/fd")) - link.waiting  # noqa: PTH208


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
    make: Callable[[Policy], PooledSandbox],
    policy: Policy,
    folder: Path,
    *,
    walls: bool = True,
    settle_s: float = SETTLE_S,
) -> Iterator[Arena]:
    """An arena over a fresh sandbox; `folder` gets a file that no tool may read.

    Args:
        make: the sandbox.
        policy: of it.
        folder: an empty one.
        walls: False where a test took walls down; else one that is missing is an error.
        settle_s: how long what an attack leaves behind may take to end. A short time suits a
            test in which it never does.
    """
    canaries = {what: f"canary-{secrets.token_hex(8)}" for what in CANARIES}
    (folder / "answers.jsonl").write_text(canaries["file"])
    os.environ["TOOLHOP_CANARY"] = canaries["environment"]
    with start_blocking_portal() as portal, contextlib.ExitStack() as watched:
        pool = portal.call(_made, make, policy)
        with _watched(pool) as others, portal.wrap_async_context_manager(pool):
            before = Program("def f(a):\n    return a", "f")
            portal.call(_episode, pool, before, {"a": canaries[CANARIES[1]]})
            missing = [wall for wall in ("landlock", "seccomp") if not pool.description[wall]]
            if missing and walls:
                raise RuntimeError(f"this machine has no {missing}: attacks would hit it")
            with portal.wrap_async_context_manager(pool.session()) as session:
                found = Arena(portal, pool, session)
                watched.enter_context(found.witness.watching())
                found.canaries = canaries
                found.others = others
                found.settle_s = settle_s
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
