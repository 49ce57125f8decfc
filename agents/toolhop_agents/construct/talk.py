"""One stage's conversation: a reply, its checks, and repair requests with the findings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolhop_env.messages import AssistantMessage, Message, SystemMessage, UserMessage
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.prompts import Prompts
from toolhop_tools.construct.replies import PARSE, ReplyModel, normalised
from toolhop_tools.construct.stages import Findings, Place, Problem

Ask: TypeAlias = Callable[[Place, str, Sequence[Message]], Awaitable[str]]
"""Takes a place, the prompt's version and the conversation; returns the reply's text."""
Judge: TypeAlias = Callable[[Any, Sequence[Problem]], Awaitable[Findings]]
"""Checks a reply of the stage's shape, running first the calls that exposed faults in earlier
replies.
"""


def by(check: Callable[[Any], Findings]) -> Judge:
    """Turn a check that runs no tool into a judge."""

    async def judge(reply: Any, before: Sequence[Problem]) -> Findings:  # noqa: ANN401 -- each stage has a reply class of its own, and `Judge` stands for all of them
        return check(reply)

    return judge


MOST_SHOWN = 20_000
"""Maximum characters of an unparsable reply that are shown to the model again."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The reason why a stage does not pass or an item is not made."""

    place: Place
    why: str
    problems: tuple[Problem, ...] = ()

    def row(self) -> dict[str, JSON]:
        """Return the ledger fields of an item that is not made."""
        messages: list[JSON] = [problem.message for problem in self.problems[:3]]
        return {"accepted": False, "place": [*self.place], "why": self.why, "problems": messages}


class Elsewhere(Failed):
    """An earlier reply is at fault."""


@dataclass
class Talk:
    """A stage's conversation so far."""

    place: Place
    prompts: Prompts
    prompt: str
    """Name of the stage's prompt."""
    inputs: str
    shape: type[ReplyModel]
    repairs: int
    replies: int = 0
    passed: bool = False
    returned: bool = False
    """Whether a later stage sent it back."""
    checks: list[str] = field(default_factory=list)
    """Names of the checks that failed, in order."""
    _seen: set[str] = field(default_factory=set)
    _best: str | None = None
    _findings: Findings = field(default_factory=Findings)
    _dropped: tuple[Problem, ...] = ()
    _examples: list[Problem] = field(default_factory=list)
    _unread: tuple[str, Problem] | None = None
    _stuck: bool = False
    """Whether the stage failed while an earlier stage, perhaps the one at fault, is being
    repaired.
    """

    def send_back(self, problems: Sequence[Problem]) -> None:
        """Request a repair of the accepted reply because of problems found later."""
        self._findings = Findings(self._findings.held, tuple(problems))
        self._keep(problems)
        self.checks += [problem.check for problem in problems]
        self.passed, self.returned = False, True

    async def settle(self, ask: Ask, judge: Judge) -> ReplyModel | Failed:
        """Ask until a reply passes its checks, at most `repairs` times after the first reply.

        A reply that passed before, or was the best if all failed, is judged again first, as earlier
        stages may have changed. A repair that breaks a check that held before is dropped, and the
        next one starts from the reply before it. An unparsable reply is sent back once.
        """
        if (self.passed or self._stuck) and self._best is not None:
            reply, self._findings = self.shape.read(self._best), Findings()
            self.passed = self._stuck = False
            assert not isinstance(reply, Problem)  # noqa: S101 -- only a text that this shape has read is kept as `_best`
            outcome = self._judged(self._best, reply, await judge(reply, tuple(self._examples)))
            if outcome is not None:
                return outcome
        while self.replies <= self.repairs:
            version = self.prompts.version(self.prompt)
            text = await ask(self.place, version, self._messages())
            self.replies += 1
            reply = self.shape.read(text)
            # Compare unparsable text as it is: normalised, it may equal its repair.
            plain = text if isinstance(reply, Problem) else normalised(text)
            if plain in self._seen:
                return self._failed("the same reply came twice")
            self._seen.add(plain)
            if isinstance(reply, Problem):
                self.checks.append(PARSE)
                if self._best is not None:
                    self._dropped = (reply,)
                    continue
                before, self._unread = self._unread, (text, reply)
                if before is not None:
                    return self._failed("two replies do not parse")
                continue
            outcome = self._judged(text, reply, await judge(reply, tuple(self._examples)))
            if outcome is not None:
                return outcome
        return self._failed(f"{self.repairs} repairs are used up")

    def _judged(
        self, text: str, reply: ReplyModel, found: Findings
    ) -> ReplyModel | Elsewhere | None:
        found = Findings(found.held | {PARSE}, found.problems)
        self._keep(found.problems)
        self.checks += sorted(found.failed)
        broken = found.failed & self._findings.held
        if self._best is None or not broken:
            self._best, self._findings, self._dropped = text, found, ()
        else:
            self._dropped = tuple(problem for problem in found.problems if problem.check in broken)
        if found.ok:
            self.passed = True
            return reply
        other = [problem for problem in found.problems if problem.place not in {None, self.place}]
        if other and not broken:
            place = other[0].place
            assert place is not None  # noqa: S101 -- just filtered
            self.passed = True
            at_fault = tuple(problem for problem in other if problem.place == place)
            return Elsewhere(place, at_fault[0].message, at_fault)
        return None

    def _keep(self, problems: Sequence[Problem]) -> None:
        known = [*self._examples]
        self._examples += [
            problem
            for problem in problems
            if problem.arguments is not None and problem not in known
        ]

    def _messages(self) -> list[Message]:
        said: list[Message] = [SystemMessage(self.prompts.texts[self.prompt])]
        said.append(UserMessage(self.inputs))
        if self._best is not None:
            problems = [*self._findings.problems]
            if self._dropped:
                listed = " ".join(problem.message for problem in self._dropped)
                noted = f"Your last repair was dropped, as it broke what held: {listed}"
                problems.append(Problem("dropped", noted))
            said += [AssistantMessage(self._best), UserMessage(self.prompts.repair(problems))]
        elif self._unread is not None:
            text, problem = self._unread
            # Cut a reply that is far too long, so as not to pay for all of it again.
            said += [
                AssistantMessage(text[:MOST_SHOWN] or "-"),
                UserMessage(self.prompts.repair([problem])),
            ]
        return said

    def _failed(self, why: str) -> Failed:
        problems = self._findings.problems or ((self._unread[1],) if self._unread else ())
        self._stuck = True
        return Failed(self.place, why, problems)

    def step(self) -> dict[str, JSON]:
        """Return the stage's entry in the books."""
        checks: list[JSON] = [*dict.fromkeys(self.checks)]
        return {
            **self.place._asdict(), "replies": self.replies, "passed": self.passed,
            "returned": self.returned, "checks": checks,
        }  # fmt: skip
