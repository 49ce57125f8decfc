"""Checks of how agents went about it, from attempts alone: a run's summary ends with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.diagnosis.facts import is_baseline
from toolhop_env.diagnosis.finding import Finding, Severity, share_severity
from toolhop_env.score import Conduct, Score
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode
from toolhop_tools.errors import counted

MOSTLY = 0.5
"""Share of prompts that are too short, from which the server is taken to drop tools."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The episodes with a score of one agent in one mode and tool-call format."""

    agent: str
    mode: str
    call_format: str
    benchmark: Benchmark
    scores: tuple[tuple[str, Score], ...]
    """Each with its episode's name."""

    @property
    def who(self) -> str:
        """In words."""
        return f"{self.agent} in {self.mode} mode, {self.call_format} tool-call format"

    def those(self, that: Callable[[Conduct], bool]) -> tuple[str, ...]:
        """The episodes that went so."""
        return tuple(name for name, score in self.scores if that(score.conduct))

    def __len__(self) -> int:
        return len(self.scores)


def conduct_findings(attempts: Iterable[Attempt]) -> Iterator[Finding]:
    """What is odd in how these attempts went; one finding an agent, mode and kind."""
    groups: dict[tuple[str, str, str, str], list[tuple[str, Score]]] = defaultdict(list)
    for one in attempts:
        if one.score is not None:
            key = (one.agent, one.mode, one.call_format.value, one.benchmark)
            groups[key].append((one.episode, one.score))
    for (agent, mode, call_format, benchmark), scores in groups.items():
        group = Scored(agent, mode, call_format, named(benchmark), tuple(scores))
        for check in CHECKS:
            yield from check(group)


def tools_unseen(group: Scored) -> Iterator[Finding]:
    """Prompts whose tokens cannot hold the tools that were sent beside them."""
    hit = group.those(lambda conduct: conduct.tools_unseen)
    if hit:
        yield Finding(
            "tools_unseen",
            Severity.ERROR if len(hit) >= MOSTLY * len(group) else Severity.WARNING,
            f"{len(hit)} of {len(group)} first prompts have too few tokens to hold the tools that "
            f"were sent ({group.who}): the server seems to drop them, as with a chat template that "
            "knows no tools. Give it another template (--chat-template for --gguf), or play with "
            "--call-format text",
            hit,
            {"episodes": len(group)},
        )


def no_calls(group: Scored) -> Iterator[Finding]:
    """Agents that never call a tool where each step needs one."""
    called = group.those(lambda one: one.calls > one.errors.get(ErrorCode.MALFORMED_CALL, 0))
    if group.mode in group.benchmark.must_call and not called and not is_baseline(group.agent):
        malformed = len(group.those(lambda conduct: conduct.malformed_call))
        yield Finding(
            "no_calls",
            Severity.WARNING,
            f"no tool was called in {counted(len(group), 'episode')}, though each step needs one "
            f"({group.who}); {malformed} of them hold a call in a wrong form",
            tuple(name for name, _ in group.scores),
            {"malformed_calls": malformed},
        )


def malformed_call(group: Scored) -> Iterator[Finding]:
    """Calls in a form that is not read."""
    hit = group.those(lambda conduct: conduct.malformed_call)
    ended = len(group.those(lambda conduct: conduct.ending is Ending.MALFORMED_CALL))
    if hit:
        yield Finding(
            "malformed_call",
            share_severity(len(hit), len(group)),
            f"{len(hit)} of {len(group)} episodes hold a call in a form that is not read "
            f"({group.who}); {ended} end with it, and have no answer. --answer-malformed answers "
            "it by feedback",
            hit,
            {"ended": ended},
        )


def repeated_failures(group: Scored) -> Iterator[Finding]:
    """Calls made again as they failed: what the feedback says does not get through."""
    hit = group.those(lambda conduct: conduct.repeated_failures > 0)
    if hit:
        counts = [score.conduct for _, score in group.scores]
        repeated = sum(one.repeated_failures for one in counts)
        failed = sum(one.failed_calls for one in counts)
        yield Finding(
            "repeated_failures",
            share_severity(len(hit), len(group)),
            f"{repeated} of {failed} failed calls repeat one that failed before, in {len(hit)} of "
            f"{counted(len(group), 'episode')} ({group.who}). Feedback that tells more may help "
            "(`toolhop ablate`)",
            hit,
            {"repeated": repeated, "failed": failed},
        )


def cut_replies(group: Scored) -> Iterator[Finding]:
    """Replies that reached the limit of their tokens, which is a setting."""
    hit = group.those(lambda conduct: conduct.cut_replies > 0)
    if hit:
        lead, scores = group.benchmark.lead, dict(group.scores)
        wrong = sum(not lead.holds(scores[name]) for name in hit)
        yield Finding(
            "cut_replies",
            share_severity(len(hit), len(group)),
            f"{len(hit)} of {len(group)} episodes have a reply cut by the limit of its tokens "
            f"({group.who}); {wrong} of them are wrong. A larger --max-tokens tells whether that "
            "is why",
            hit,
            {"wrong": wrong},
        )


CHECKS: tuple[Callable[[Scored], Iterator[Finding]], ...] = (
    tools_unseen,
    no_calls,
    malformed_call,
    repeated_failures,
    cut_replies,
)
