"""Leaves out each step that hardens a call, one after another, and says what notices.

    python -m tests.attacks.sabotage process|docker [WORD ...]

Prints JSON: step to the attacks and probes that are not contained without it. With words, only the
steps in whose names one of them stands. In the process sandbox all steps but a container's must be
noticed, in Docker all of a container's: there most others have another one before them. Exits with
1 where something that must notice does not,
or where it is not contained with the step in place.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import anyio

from tests.attacks import host_probes, suite
from tests.attacks.expected import LIMITS_S
from tests.attacks.mother import Mother, mother
from tests.attacks.steps import CONTAINER, Step, steps
from toolhop_sandbox.attach.tunnel import Tunnel
from toolhop_sandbox.base import Limits, Program, Session
from toolhop_sandbox.docker import hardening, image
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.link import WorkerLink
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import START_S, ProcessLauncher, ProcessWorker

if TYPE_CHECKING:
    from docker import DockerClient

LAYERS = Path(__file__).parent / "layers"
START = """
from toolhop_sandbox.worker import landlock, lockdown, paths, seccomp, standby, zygote
{without}
zygote.main()
"""
"""What a worker runs instead of its module."""


def attacks() -> dict[str, suite.Attack]:
    """The attacks and the probes of single layers, by name."""
    probes = [suite.read(path) for path in sorted(LAYERS.glob("*.py"))]
    return {one.name: one for one in (*suite.attacks(), *probes)}


@dataclass
class Without(ProcessLauncher):
    """Starts workers that leave out some steps."""

    out: tuple[Step, ...] = ()
    mother: Mother | None = None
    """What forks them; None starts one."""

    def __post_init__(self) -> None:
        self._undo = ExitStack()

    async def prepare(self) -> None:
        """What the kernel offers is no matter here, and costs a start."""
        self.mother = self.mother or self._undo.enter_context(mother())

    async def close(self) -> None:
        """End what `prepare` started."""
        self._undo.close()

    async def start(self) -> ProcessWorker:
        """As `ProcessLauncher` does, but for what is left out."""
        assert self.mother is not None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        without = "\n".join(step.without for step in self.out)
        inherited = os.environ if any(step.environment for step in self.out) else {}
        with theirs:
            process: Any = self.mother.fork(theirs.fileno(), without, inherited)
        worker = ProcessWorker(process, WorkerLink(ours))
        await worker.link.greet(START_S)
        self.facts = worker.link.facts
        return worker


@dataclass
class ContainerWithout(DockerEngine):
    """Starts containers, and workers in them, that leave out some steps."""

    out: tuple[Step, ...] = ()

    def _create(self, client: DockerClient, way: Path | Tunnel) -> str:
        source = START.format(without="\n".join(step.without for step in self.out))
        command = [*image.entry_command()[:-2], "-c", source]
        left_out = {step.name for step in self.out if step.room == CONTAINER}
        options = hardening.hardening

        def fewer(memory_mib: int) -> dict[str, dict[str, Any]]:
            return {key: one for key, one in options(memory_mib).items() if key not in left_out}

        with (
            mock.patch.object(image, "entry_command", return_value=command),
            mock.patch.object(hardening, "hardening", fewer),
        ):
            return super()._create(client, way)


@dataclass
class Bench:
    """A worker that leaves out some steps, and what attacks it is given to find."""

    pool: PooledSandbox
    session: Session
    folder: Path
    kind: str
    soon_s: float = host_probes.SOON_S
    """How long a probe waits for what has to come."""
    canaries: dict[str, str] = field(default_factory=dict)

    @property
    def worker(self) -> Any:
        """The worker of the session; a probe may have opened others."""
        session: Any = self.session
        return session._worker

    @asynccontextmanager
    async def another(self) -> AsyncIterator[Bench]:
        """The same with another worker, for a probe after which it serves no other."""
        async with self.pool.session() as session:
            yield replace(self, session=session)

    async def call(self, attack: suite.Attack) -> Outcome | SandboxFault:
        """Run an attack or a probe."""
        secret = self.folder / "answers.jsonl"
        secret.write_text(self.canaries["file"])
        arguments: dict[str, JSON] = {"paths": [str(secret), str(self.folder)]}
        self.pool.limits = Limits(wall_s=LIMITS_S.get(attack.name, 3.0))
        program = Program(attack.source, "attack")
        try:
            return await self.session.call(program, arguments if attack.takes_paths else {})
        except SandboxFault as fault:
            return fault

    async def problems(self, name: str, known: dict[str, suite.Attack]) -> list[str]:
        """What an attack or a probe reports; nothing where it was contained."""
        if name in known:
            outcome = await self.call(known[name])
            try:
                return suite.judge(known[name], self.kind, "none", outcome, self.canaries)
            except (ValueError, RecursionError) as error:
                return [f"its result cannot be read: {type(error).__name__}"]
        return await host_probes.PROBES[name](self, known)


@asynccontextmanager
async def bench(
    mother: Mother | None, out: Iterable[Step], soon_s: float = host_probes.SOON_S
) -> AsyncIterator[Bench]:
    """A worker without these steps: forked by this mother, or without one in a container."""
    out = tuple(out)
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="sabotaged-")))
        listener = undo.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(f"\0{folder}")
        listener.listen()
        canaries = {"file": "canary-00000000000000f1", "environment": "canary-00000000000000e1"}
        os.environ["TOOLHOP_CANARY"] = canaries["environment"]
        undo.callback(os.environ.pop, "TOOLHOP_CANARY")
        for step in out:
            undo.enter_context(step.patch())
        launcher = Without(out=out, mother=mother) if mother else ContainerWithout(out=out)
        kind = "process" if mother else "docker"
        async with PooledSandbox(launcher, policy="none") as pool, pool.session() as session:
            yield Bench(pool, session, folder, kind, soon_s, canaries)


@dataclass(frozen=True, slots=True)
class Seen:
    """What attacks and probes report in one kind of sandbox; those that report nothing as well."""

    without: dict[str, dict[str, list[str]]]
    """By step that is left out."""
    in_place: dict[str, dict[str, list[str]]]
    """By the steps that are left out because they would be first, with the step itself in place."""

    def missed(self, kind: str) -> list[str]:
        """Steps that something must notice, and does not or does so where they are in place."""
        here = {key: one for key, one in steps().items() if must_be_noticed(kind, one)}
        bad = [key for key in self.without if key in here and not all(self.without[key].values())]
        return bad + [
            f"{key} (in place)"
            for key in self.without
            if key in here
            and any(self.in_place[label(here[key].behind)][one] for one in here[key].noticed_by)
        ]


def label(keys: Iterable[str]) -> str:
    """Names steps that are left out together."""
    return ", ".join(keys) or "nothing"


async def play(kind: str, chosen: Callable[[str], bool] = lambda _: True) -> Seen:
    """Leave out the chosen steps in a kind of sandbox, one after another."""
    with mother() if kind == "process" else nullcontext() as one:
        return await _play(kind, one, chosen)


async def _play(kind: str, forking: Mother | None, chosen: Callable[[str], bool]) -> Seen:
    everything, known = steps(), attacks()
    without: dict[str, dict[str, list[str]]] = {}
    before: dict[tuple[str, ...], set[str]] = {}
    for key, step in everything.items():
        names = [name for name in step.noticed_by if applies(kind, step, name)]
        if not chosen(key) or not names:
            continue
        before.setdefault(step.behind, set()).update(names)
        async with bench(forking, [*(everything[one] for one in step.behind), step]) as place:
            without[key] = {name: await place.problems(name, known) for name in names}
    in_place: dict[str, dict[str, list[str]]] = {}
    for keys, noticing in before.items():
        behind = (everything[key] for key in keys)
        async with bench(forking, behind, host_probes.PATIENT_S) as place:
            found = {name: await place.problems(name, known) for name in sorted(noticing)}
            in_place[label(keys)] = found
    return Seen(without, in_place)


def applies(kind: str, step: Step, name: str) -> bool:
    """Whether a step can be missed in this sandbox on this machine, by an attack or a probe."""
    if (step.as_root and os.geteuid()) or (step.x86_only and platform.machine() != "x86_64"):
        return False
    if kind == "process":
        return step.room != CONTAINER
    # A host's probe looks at processes; the host is the same.
    return step.room == CONTAINER or (
        name not in host_probes.PROBES and step.room != "host" and not step.environment
    )


def must_be_noticed(kind: str, step: Step) -> bool:
    """Whether the step's absence has to be noticed in this sandbox."""
    return (step.room == CONTAINER) == (kind == "docker")


def main() -> int:
    """Print what notices each step."""
    kind, *words = sys.argv[1:] or ["process"]
    found = anyio.run(play, kind, lambda key: not words or any(word in key for word in words))
    json.dump(asdict(found), sys.stdout, indent=1)
    missed = found.missed(kind)
    sys.stderr.write("".join(f"\nnot noticed as it must be: {key}" for key in missed) + "\n")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
