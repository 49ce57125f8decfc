"""Many tools checked side by side, each lane a process with sandboxes of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sandbox.base import Limits
from sandbox.choose import Kind
from toolhop_tools.properties.check import EXAMPLES
from toolhop_tools.properties.lanes import SILENT_S, Lane, wait_for
from toolhop_tools.properties.messages import Job
from toolhop_tools.properties.model import PROPERTIES, Rejection, Subject, ToolReport
from toolhop_tools.properties.store import Store


@dataclass(frozen=True, slots=True)
class Plan:
    """What to check, how thoroughly, and where."""

    subjects: Sequence[Subject]
    rejections: Callable[[], Rejection]
    """Makes the simulator's part, one a lane; importable by its name."""
    limits: Limits
    kind: Kind = "auto"
    """Of the sandbox."""
    properties: Sequence[str] = tuple(PROPERTIES)
    count: int = EXAMPLES
    seed: int = 0
    store: Store | None = None
    silent_s: float = SILENT_S

    @property
    def job(self) -> Job:
        """What each lane is told."""
        return Job(
            self.kind,
            self.limits,
            tuple(self.properties),
            self.count,
            self.seed,
            self.store,
            self.rejections,
        )


def check_all(
    plan: Plan, *, lanes: int = 1, on_report: Callable[[ToolReport], None] = lambda _: None
) -> list[ToolReport]:
    """A report for each subject, in their order, whatever the number of lanes.

    To be called from the main thread: the lanes end with the thread that started them.

    Args:
        plan: what to check.
        lanes: how many tools at a time.
        on_report: told of each report as it comes.

    Raises:
        SandboxError: the sandbox is at fault.
        StoreFault: the store cannot be written.
    """
    waiting = deque(enumerate(plan.subjects))
    done: dict[int, ToolReport] = {}
    at_work: dict[int, Lane] = {}
    team = [Lane(plan.job, plan.silent_s) for _ in range(max(1, min(lanes, len(plan.subjects))))]
    idle = deque(team)
    try:
        while waiting or at_work:
            while waiting and idle:
                at, subject = waiting.popleft()
                at_work[at] = idle.popleft()
                at_work[at].give(at, subject, plan.properties)
            wait_for(list(at_work.values()))
            for at, lane in list(at_work.items()):
                lane.look()
                if lane.idle:
                    done[at] = ToolReport(plan.subjects[at], lane.verdicts)
                    idle.append(at_work.pop(at))
                    _tell_unreadable(plan, lane)
                    on_report(done[at])
    finally:
        for lane in team:
            lane.ask_to_end()
        for lane in team:
            lane.end()
    return [done[at] for at in range(len(plan.subjects))]


def _tell_unreadable(plan: Plan, lane: Lane) -> None:
    if plan.store is not None:
        plan.store.unreadable += lane.unreadable
    lane.unreadable.clear()
