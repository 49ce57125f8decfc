"""Many tools checked side by side, each lane a process with sandboxes of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from toolhop_tools.properties.lanes import SILENT_S, Lane, wait_for
from toolhop_tools.properties.messages import CheckJob
from toolhop_tools.properties.model import Subject, ToolReport


def check_all(
    subjects: Sequence[Subject],
    job: CheckJob,
    *,
    lanes: int = 1,
    silent_s: float = SILENT_S,
    on_report: Callable[[ToolReport], None] = lambda _: None,
) -> list[ToolReport]:
    """A report for each subject, in their order, whatever the number of lanes.

    Args:
        subjects: what to check.
        job: how thoroughly, and where.
        lanes: how many tools at a time.
        silent_s: seconds of its processor without a sign of life after which a lane is ended.
        on_report: called with each report as it comes.

    Raises:
        SandboxError: the sandbox is at fault.
        StoreFault: the store cannot be written.
    """
    waiting = deque(enumerate(subjects))
    done: dict[int, ToolReport] = {}
    at_work: dict[int, Lane] = {}
    team = [Lane(job, silent_s) for _ in range(max(1, min(lanes, len(subjects))))]
    idle = deque(team)
    try:
        while waiting or at_work:
            while waiting and idle:
                at, subject = waiting.popleft()
                at_work[at] = idle.popleft()
                at_work[at].give(at, subject, job.properties)
            wait_for(list(at_work.values()))
            for at, lane in list(at_work.items()):
                lane.look()
                if lane.idle:
                    done[at] = ToolReport(subjects[at], lane.verdicts)
                    idle.append(at_work.pop(at))
                    _tell_unreadable(job, lane)
                    on_report(done[at])
    finally:
        for lane in team:
            lane.ask_to_end()
        for lane in team:
            lane.end()
    return [done[at] for at in range(len(subjects))]


def _tell_unreadable(job: CheckJob, lane: Lane) -> None:
    if job.store is not None:
        job.store.unreadable += lane.unreadable
    lane.unreadable.clear()
