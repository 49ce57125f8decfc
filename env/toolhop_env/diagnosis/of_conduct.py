"""Checks of how agents behaved, from attempts alone; a run's summary ends with their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.diagnosis.facts import is_baseline
from toolhop_env.diagnosis.finding import Finding, Severity, share_severity
from toolhop_env.score import Score
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode
from toolhop_tools.errors import counted

MOSTLY = 0.5
"""Share of too-short prompts at which the server is assumed to drop tools."""


@dataclass(slots=True)
class Scored:
    """Counts of one agent's scored episodes in one mode and format, and names of odd ones."""

    agent: str
    mode: str
    call_format: str
    benchmark: Benchmark
    episodes: int = 0
    called: bool = False
    """Whether any episode called a tool."""
    without_call: list[str] = field(default_factory=list)
    """All episodes so far, as long as none has called a tool."""
    unseen: list[str] = field(default_factory=list)
    malformed: list[str] = field(default_factory=list)
    ended_malformed: int = 0
    repeating: list[str] = field(default_factory=list)
    repeated: int = 0
    """Number of failed calls that repeat an earlier failed call."""
    failed: int = 0
    cut: list[str] = field(default_factory=list)
    cut_wrong: int = 0

    @property
    def who(self) -> str:
        """Agent, mode and tool-call format as text."""
        return f"{self.agent} in {self.mode} mode, {self.call_format} tool-call format"

    def add(self, name: str, score: Score) -> None:
        """Add an episode."""
        one = score.conduct
        self.episodes += 1
        self.called = self.called or one.calls > one.errors.get(ErrorCode.MALFORMED_CALL, 0)
        if self.called:
            self.without_call.clear()
        else:
            self.without_call.append(name)
        if one.tools_unseen:
            self.unseen.append(name)
        if one.malformed_call:
            self.malformed.append(name)
        self.ended_malformed += one.ending is Ending.MALFORMED_CALL
        if one.repeated_failures:
            self.repeating.append(name)
        self.repeated += one.repeated_failures
        self.failed += one.failed_calls
        if one.cut_replies:
            self.cut.append(name)
            self.cut_wrong += not self.benchmark.lead.holds(score)


class Conducts:
    """Collects attempts one at a time and groups them; only the names of odd ones are stored."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, str, str], Scored] = {}

    def add(self, one: Attempt, name: str = "") -> None:
        """Add an attempt; `name` replaces its episode's name in findings."""
        if one.score is None:
            return
        key = (one.agent, one.mode, one.call_format.value, one.benchmark)
        if key not in self._groups:
            self._groups[key] = Scored(*key[:3], named(one.benchmark))
        self._groups[key].add(name or one.episode, one.score)

    def findings(self) -> Iterator[Finding]:
        """Yield what is odd: at most one finding per agent, mode and kind."""
        for group in self._groups.values():
            for check in CHECKS:
                yield from check(group)


def tools_unseen(group: Scored) -> Iterator[Finding]:
    """Find prompts with too few tokens to contain the tools that were sent."""
    hit = group.unseen
    if hit:
        yield Finding(
            "tools_unseen",
            Severity.ERROR if len(hit) >= MOSTLY * group.episodes else Severity.WARNING,
            f"{len(hit)} of {group.episodes} first prompts have too few tokens to hold the tools "
            f"that were sent ({group.who}): the server seems to drop them, as with a chat template "
            "that knows no tools. Give it another template (--chat-template for --gguf), or play "
            "with --call-format text",
            tuple(hit),
            {"episodes": group.episodes},
        )


def no_calls(group: Scored) -> Iterator[Finding]:
    """Find agents that never call a tool although each step needs one."""
    must = group.mode in group.benchmark.conditions.must_call
    if must and not group.called and not is_baseline(group.agent):
        malformed = len(group.malformed)
        yield Finding(
            "no_calls",
            Severity.WARNING,
            f"no tool was called in {counted(group.episodes, 'episode')}, though each step needs "
            f"one ({group.who}); {malformed} of them hold a call in a wrong form",
            tuple(group.without_call),
            {"malformed_calls": malformed},
        )


def malformed_call(group: Scored) -> Iterator[Finding]:
    """Find calls in a form that is not understood."""
    hit, ended = group.malformed, group.ended_malformed
    if hit:
        yield Finding(
            "malformed_call",
            share_severity(len(hit), group.episodes),
            f"{len(hit)} of {group.episodes} episodes hold a call in a form that is not read "
            f"({group.who}); {ended} end with it, and have no answer. --answer-malformed answers "
            "it by feedback",
            tuple(hit),
            {"ended": ended},
        )


def repeated_failures(group: Scored) -> Iterator[Finding]:
    """Find failed calls that are repeated unchanged: the feedback does not help."""
    hit, repeated, failed = group.repeating, group.repeated, group.failed
    if hit:
        yield Finding(
            "repeated_failures",
            share_severity(len(hit), group.episodes),
            f"{repeated} of {failed} failed calls repeat one that failed before, in {len(hit)} "
            f"of {counted(group.episodes, 'episode')} ({group.who}). Feedback that tells more may "
            "help (`toolhop ablate`)",
            tuple(hit),
            {"repeated": repeated, "failed": failed},
        )


def cut_replies(group: Scored) -> Iterator[Finding]:
    """Find replies cut off by the token limit, which is a setting."""
    hit, wrong = group.cut, group.cut_wrong
    if hit:
        yield Finding(
            "cut_replies",
            share_severity(len(hit), group.episodes),
            f"{len(hit)} of {group.episodes} episodes have a reply cut by the limit of its tokens "
            f"({group.who}); {wrong} of them are wrong. A larger --max-tokens tells whether that "
            "is why",
            tuple(hit),
            {"wrong": wrong},
        )


CHECKS: tuple[Callable[[Scored], Iterator[Finding]], ...] = (
    tools_unseen,
    no_calls,
    malformed_call,
    repeated_failures,
    cut_replies,
)
