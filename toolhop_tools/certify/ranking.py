"""The answer of a hop's tool, determined without the gold.

Candidates run from the highest standing down, until one that answered outranks all the rest. Then
rivals of the highest calls are added, until there are no new ones. The calls that no other outranks
give the hop's answer. If they disagree, the hop has several answers, and nothing shows which is
meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from toolhop_tools.certify.answering import Answer, answers
from toolhop_tools.certify.calls import Calls
from toolhop_tools.certify.candidates import (
    EXAMPLES,
    Candidate,
    Provenance,
    Task,
    Tried,
    at_hand,
    filled,
    key_of,
)
from toolhop_tools.certify.rivals import rivals
from toolhop_tools.certify.standing import Arguments, Standing, standing, ungrounded
from toolhop_tools.failures import tells_of_error
from toolhop_tools.words import as_number, as_text

BATCH = 40
"""Number of calls in a batch."""
MOST_UNMADE = 4000
"""Maximum number of value combinations considered as candidates; most do not fit the schema."""
FIRST = 120
"""Candidates ranked before any is run; more are ranked if none of these answers."""
MOST_ROUNDS, MOST_TOP = 4, 4
"""Rounds of adding rivals, and number of calls whose rivals are added in each round."""


@dataclass(frozen=True)
class Ranked:
    """A candidate that the simulator accepts, with its standing."""

    candidate: Candidate
    standing: Standing
    is_grounded: bool
    """Whether each value is available to somebody who does not see the source."""


@dataclass(frozen=True)
class Answering:
    """A call with an answer."""

    standing: Standing
    tried: Tried
    answers: tuple[Answer, ...]
    """Answers of the call; empty if the result repeats an argument, which rules nothing out."""

    def is_outranked(self, other: Answering) -> bool:
        """Whether another call takes precedence over this one.

        Order of mention does not settle the sign of a difference: "8 and 6" is 2 or -2.
        """
        if _is_negative(self.answers, other.answers):
            return _unordered(other.standing).outranks(_unordered(self.standing))
        return other.standing.outranks(self.standing)


def _unordered(its: Standing) -> Standing:
    return its._replace(order=0)


def _is_negative(own: Sequence[Answer], its: Sequence[Answer]) -> bool:
    if len(own) != 1 or len(its) != 1:
        return False
    first, second = as_number(own[0].text), as_number(its[0].text)
    return first is not None and second is not None and first == -second != 0


class Ranking:
    """The calls of one hop by their standing, computed without the gold."""

    def __init__(self, task: Task, calls: Calls, most: int) -> None:
        """Prepare a ranking.

        Args:
            task: the hop; its gold is removed.
            calls: runs the calls.
            most: maximum number of calls.
        """
        hop = replace(task.hop, answer="")
        self.task = replace(task, hop=hop, asked=replace(task.asked, gold=""))
        self.calls, self.most = calls, most
        self.answered: list[Answering] = []
        self.waiting: list[Ranked] = []
        self.silent: list[Ranked] = []
        self._known: set[str] = set()

    async def run(self) -> None:
        """Fill `answered`.

        Results of calls with ungrounded values do not count as answers. Such calls are run only if
        no other call answers, to find out what is wrong.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`; so does `exhaust`.
        """
        made = (one for one in islice(filled(self.task), MOST_UNMADE) if self._fits(one))
        self._add(at_hand(self.task))
        self._add(islice(made, FIRST))
        await self._settle(grounded=True)
        if not self.answered:
            self._add(islice(made, self.most))
            await self._settle(grounded=True)
        if not self.answered:
            await self._settle(grounded=False)

    async def exhaust(self) -> None:
        """Run grounded but outranked calls, within the limit, and all written calls."""
        await self._run(grounded=True, outranked=True)
        written = [one.candidate for one in self.waiting if one.candidate.provenance in EXAMPLES]
        await self.calls.run(written)

    @property
    def top(self) -> list[Answering]:
        """Calls with an answer that no other call outranks."""
        return [call for call in self.answered if not any(map(call.is_outranked, self.answered))]

    def silenced(self, call: Answering) -> Candidate | None:
        """Return an outranking call with the same values that seems to return nothing, or None."""

        def held(arguments: Arguments) -> list[str]:
            return sorted(as_text(leaf.value) for leaf in self.task.content(arguments))

        own = held(call.tried.arguments)
        for ranked in self.silent:
            same_values = held(ranked.candidate.arguments) == own
            if same_values and ranked.standing.outranks(call.standing):
                return ranked.candidate
        return None

    def answers_of(self, tried: Tried) -> tuple[Answer, ...]:
        """Return the answers of a call; empty for an error."""
        if not tried.text:
            return ()
        tool = self.task.hop.tool.name
        return answers(tried.value, tried.arguments, self.task.asked.text, tool)

    async def _settle(self, *, grounded: bool) -> None:
        await self._run(grounded=grounded)
        for _ in range(MOST_ROUNDS):
            known = len(self._known)
            for call in self.top[:MOST_TOP]:
                made = rivals(self.task, call.tried.arguments)
                self._add(Candidate(arguments, Provenance.SEARCH) for arguments in made)
            if len(self._known) == known:
                return
            await self._run(grounded=grounded)

    def _fits(self, candidate: Candidate) -> bool:
        return self.task.accepts(candidate.arguments)

    def _add(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            key = key_of(candidate.arguments)
            if key not in self._known and self._fits(candidate):
                self._known.add(key)
                its = standing(self.task, candidate.arguments)
                is_grounded = not ungrounded(self.task, candidate.arguments)
                self.waiting.append(Ranked(candidate, its, is_grounded))

    async def _run(self, *, grounded: bool, outranked: bool = False) -> None:
        while batch := self._next(grounded=grounded, outranked=outranked):
            by_call = {id(ranked.candidate): ranked for ranked in batch}
            left = (ranked for ranked in self.waiting if id(ranked.candidate) not in by_call)
            self.waiting = list(left)
            for tried in await self.calls.run([ranked.candidate for ranked in batch]):
                self._take(by_call[id(tried.candidate)], tried)

    def _next(self, *, grounded: bool, outranked: bool) -> list[Ranked]:
        """Return the next batch of waiting calls, highest standing first."""
        left = [
            ranked
            for ranked in self.waiting
            if ranked.is_grounded is grounded and (outranked or not self._is_below(ranked))
        ]
        # A call that outranks another has a higher sum.
        left.sort(key=lambda ranked: -sum(ranked.standing))
        return left[: min(BATCH, max(0, self.most - self.calls.executions))]

    def _is_below(self, ranked: Ranked) -> bool:
        its = _unordered(ranked.standing)
        return any(_unordered(call.standing).outranks(its) for call in self.answered)

    def _take(self, ranked: Ranked, tried: Tried) -> None:
        given = self.answers_of(tried)
        if not given and tried.text and ranked.is_grounded and not tells_of_error(tried.value):
            self.silent.append(ranked)
        if given and ranked.is_grounded:
            own = () if self._is_repeated(given, tried) else given
            self.answered.append(Answering(ranked.standing, tried, own))

    def _is_repeated(self, given: Sequence[Answer], tried: Tried) -> bool:
        """Whether a result only repeats the one text that the call is about."""
        content = self.task.content(tried.arguments)
        texts = [leaf.value for leaf in content if isinstance(leaf.value, str)]
        return len(texts) == 1 and all(one.same(Answer((), texts[0])) for one in given)


def same(given: Sequence[Answer], others: Sequence[Answer]) -> bool:
    """Whether two calls have the same answers."""
    pairs = zip(given, others, strict=False)
    return len(given) == len(others) and all(first.same(second) for first, second in pairs)


def settled(top: Sequence[Answering]) -> Answer | None:
    """Return the answer that all top calls share and one returns as its only answer, or None."""
    telling = [call for call in top if call.answers]
    for call in telling:
        if len(call.answers) == 1:
            only = call.answers[0]
            common = all(any(map(only.same, other.answers)) for other in telling)
            return only if common else None
    return None
