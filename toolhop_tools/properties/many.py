"""Many tools checked side by side, a worker of the sandbox each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import anyio
from anyio import from_thread, to_thread

from sandbox.errors import SandboxError
from sandbox.outcome import Outcome
from toolhop_tools.errors import ToolsError
from toolhop_tools.properties.bench import Bench, Lane
from toolhop_tools.properties.check import EXAMPLES, open_case, report
from toolhop_tools.properties.model import PROPERTIES, Rejection, Subject, ToolReport
from toolhop_tools.properties.store import Store


@dataclass(frozen=True, slots=True)
class Plan:
    """What to check, and how thoroughly."""

    subjects: Sequence[Subject]
    properties: Sequence[str] = tuple(PROPERTIES)
    count: int = EXAMPLES
    seed: int = 0
    store: Store | None = None


async def check_all(
    plan: Plan,
    bench: Bench,
    rejections: Callable[[], Rejection],
    *,
    lanes: int = 1,
    on_report: Callable[[ToolReport], None] = lambda _: None,
) -> list[ToolReport]:
    """A report for each subject, in their order, whatever the number of lanes.

    Each lane is a thread that draws examples and reads results, with workers of its own; the
    calls themselves run elsewhere.

    Args:
        plan: what to check.
        bench: open sandboxes.
        rejections: makes the simulator's part, one a lane.
        lanes: how many tools at a time.
        on_report: told of each report as it comes, in the event loop's thread.

    Raises:
        SandboxError: the sandbox is at fault.
        StoreFault: the store cannot be written.
    """
    waiting = deque(enumerate(plan.subjects))
    done: dict[int, ToolReport] = {}
    faults: list[Exception] = []

    def work(lane: Lane) -> None:
        reject = rejections()
        while waiting and not faults:
            try:
                at, subject = waiting.popleft()
            except IndexError:
                return
            made = _one(plan, subject, lane.from_thread, reject)
            done[at] = made
            from_thread.run_sync(on_report, made)

    async def run_lane() -> None:
        try:
            async with bench.lane() as lane:
                await to_thread.run_sync(partial(work, lane))
        except (SandboxError, ToolsError) as error:
            faults.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(max(1, min(lanes, len(plan.subjects)))):
            tasks.start_soon(run_lane)
    if faults:
        raise faults[0]
    return [done[at] for at in range(len(plan.subjects))]


def _one(
    plan: Plan, subject: Subject, call: Callable[..., Outcome], reject: Rejection
) -> ToolReport:
    case = open_case(subject, call, reject, count=plan.count, seed=plan.seed, store=plan.store)
    return report(case, plan.properties, store=plan.store)
