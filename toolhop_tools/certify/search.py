"""One hop's search: candidates in batches, and each hit put to the five conditions.

The search knows where a call came from and the conditions do not: an example of the source that
reaches the gold is judged as any other call is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from toolhop_sandbox.base import Session
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.batch import run_batch
from toolhop_tools.certify import conditions
from toolhop_tools.certify.audit import Chance, randomised
from toolhop_tools.certify.calls import Calls, RunBatch
from toolhop_tools.certify.candidates import (
    EXAMPLES,
    Candidate,
    Provenance,
    Task,
    at_hand,
    distinct,
    filled,
    given_away,
    texts_of,
)
from toolhop_tools.certify.conditions import definite, hitting
from toolhop_tools.certify.defects import (
    Failure,
    Tried,
    asked_for,
    failure,
    is_left_out,
    other_result,
    static_failure,
)
from toolhop_tools.certify.judging import judge, official_holds
from toolhop_tools.certify.model import (
    RESULT_CHARS,
    Basis,
    Defect,
    Edge,
    Evidence,
    HopProof,
    HopVerdict,
)
from toolhop_tools.certify.readable import Leaf
from toolhop_tools.certify.rivals import nearest, rivals
from toolhop_tools.certify.shapes import edges
from toolhop_tools.certify.standing import asks_otherwise, standing, wanted
from toolhop_tools.errors import shown
from toolhop_tools.reading import Reading, answer_at, read_result

SIZES = (12, 40, 64)
"""Calls of the first batches; all after them have the last size. Most hits come early."""
MOST_UNMADE = 4000
"""Candidates that are looked at, most of them such as the simulator would refuse."""
MOST_JUDGED = 6
"""Hits that are judged before a search gives up."""
_TOLD = frozenset({"answer", "question", "date", "enum", "default"})
EXACT_COST = 0.3
"""Cost up to which a made-up call has nothing in it but what the question or a default says."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A hit that proves nothing."""

    failure: Failure
    evidence: tuple[Tried, ...]
    """The hit, and the call that speaks against it where one does."""
    right: Tried | None = None
    """The call that is nearer to the question."""


def _unproven(why: str, *evidence: Tried, right: Tried | None = None) -> Rejected:
    return Rejected(Failure(HopVerdict.UNPROVEN, why), evidence, right)


_GIVEN = Failure(
    HopVerdict.DEFECTIVE, "only calls that are given the answer return it", Defect.NEEDS_ANSWER
)


class Search:
    """One hop's search."""

    def __init__(
        self,
        session: Session,
        task: Task,
        basis: Basis,
        seed: str,
        *,
        run_batch: RunBatch = run_batch,
    ) -> None:
        """Make ready.

        Args:
            session: where calls are made.
            task: the hop.
            basis: the search's limits.
            seed: of the random arguments.
            run_batch: makes calls in batches.
        """
        self.task, self.basis, self.seed = task, basis, seed
        self.calls = Calls(session, task.hop.tool.program, run_batch)
        self.rejected: list[Rejected] = []

    async def prove(self) -> HopProof:
        """The proof, or what there is instead of one.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        broken = await self._broken()
        if broken is not None:
            return broken
        async for candidate in self._hits():
            judged = await self._judged(candidate)
            if isinstance(judged, HopProof) and not self._outdone(judged.arguments or {}):
                return judged
            if isinstance(judged, Rejected):
                self.rejected.append(judged)
            if len(self.rejected) == MOST_JUDGED:
                break
        return await self._not_proven()

    def _outdone(self, arguments: dict[str, JSON]) -> bool:
        """Whether a hit nearer to the question was found wanting: what says less proves nothing."""
        mine = standing(self.task, arguments)
        wanting = [one.evidence[0].candidate for one in self.rejected if one.right is not None]
        return any(standing(self.task, one.arguments).over(mine) for one in wanting)

    async def _broken(self) -> HopProof | None:
        """A hop that cannot be called: one call shows what comes of it.

        None where it can be called all the same, as a function that is an assigned lambda.
        """
        known = static_failure(self.task)
        if known is None:
            return None
        bare = Candidate({}, Provenance.SEARCH)
        tried = await self.calls.alone(next(chain(at_hand(self.task), filled(self.task), (bare,))))
        failed, source = failure(tried.outcome), self.task.source
        if known.defect is Defect.NOT_CALLABLE and not (source.parses and source.defined):
            # What the sandbox says is exact: a line, a refused import.
            return None if failed is None else self._without_proof(failed, [tried])
        return self._without_proof(known, [tried])

    async def _hits(self) -> AsyncIterator[Candidate]:
        """The calls that reach the gold, from the likeliest on."""
        room, made_up = self.basis.executions, distinct(self._made_up())
        batch = [one for one in distinct(at_hand(self.task)) if self.task.accepts(one.arguments)]
        for size in chain(SIZES, iter(lambda: SIZES[-1], 0)):
            for tried in await self.calls.run(batch):
                if self._reads(tried):
                    yield tried.candidate
            batch = list(islice(made_up, max(0, min(size, room))))
            room -= len(batch)
            if not batch:
                return

    def _made_up(self) -> Iterator[Candidate]:
        task = self.task
        plain, first = filled(task), sum(SIZES[:2])
        # Errors are read once the first calls are made: what they ask for is given then.
        told = (one for _ in (0,) for one in filled(task, asked_for(task, self.calls.tried)))
        every = chain(islice(plain, first), islice(told, first), plain)
        for one in islice(every, MOST_UNMADE):
            if task.accepts(one.arguments):
                yield one

    async def _judged(self, candidate: Candidate) -> HopProof | Rejected | None:
        """The proof by a call that reaches the gold; None where it does not reach it alone."""
        task = self.task
        candidate = await self._leanest(candidate)
        tried, arguments = await self.calls.alone(candidate), candidate.arguments
        if not isinstance(tried.outcome, Returned):
            return None
        text = tried.outcome.json_text
        reading = hitting(task, read_result(text), arguments)
        if reading is None:
            return None
        unknown = conditions.ungrounded(task, arguments)
        others = [one for one in conditions.stand_ins(arguments, unknown) if unknown]
        against = rivals(task, arguments)
        random = randomised(task, arguments, self.basis.audit, self.seed)
        ran = await self.calls.beside([*others, *against, *random])
        instead = [one for one in ran if one.candidate.arguments in others]
        if unknown and (not instead or not all(map(self._reads, instead))):
            return self._no_ground(tried, unknown)
        if flaw := conditions.flaw(
            task, arguments, reading.path, [(one.candidate.arguments, one.outcome) for one in ran]
        ):
            return _unproven(flaw, tried)
        near = [one for one in ran if one.candidate.arguments in against]
        if (doubt := self._undetermined(tried, near)) is not None:
            return doubt
        if listed := conditions.others_listed(task, read_result(text), reading, arguments):
            why = f"the result names others that are as near: {', '.join(map(shown, listed[:3]))}"
            return Rejected(Failure(HopVerdict.AMBIGUOUS, why), (tried,))
        varied = [one for one in ran if one.candidate.arguments in random]
        hits = [self._reads(one) for one in varied]
        if conditions.nearly_constant(hits):
            why = f"{sum(hits)} of {len(hits)} calls with other values give the answer as well"
            return _unproven(why, tried, *varied[:1])
        return self._proven(candidate, text, reading, Chance(len(hits), sum(hits)))

    def _no_ground(self, tried: Tried, unknown: Sequence[Leaf]) -> Rejected:
        if any(same_answer(self.task.asked.gold, str(one.value)) for one in unknown):
            return Rejected(_GIVEN, (tried,))
        listed = ", ".join(shown(leaf.value) for leaf in unknown)
        return _unproven(f"nothing but the source tells of {listed}", tried)

    def _undetermined(self, tried: Tried, near: Sequence[Tried]) -> Rejected | None:
        """The reading that speaks against a hit: one nearer to the question, or one as near."""
        task, arguments = self.task, tried.candidate.arguments
        mine = standing(task, arguments)
        undecided: Rejected | None = None
        for one in (*near, *filter(self._says_what_is_asked, self._from_examples())):
            other = one.candidate.arguments
            its = standing(task, other)
            nearer = its.over(mine)
            if not definite(task, one.outcome, other, any_kind=nearer) and (
                nearer or not asks_otherwise(task, arguments, other) or self._reads(one)
            ):
                continue
            if nearer:
                why = f"a call nearer to the question, {_apart(tried, one)}, gives another answer"
                return _unproven(why, tried, one, right=one)
            if not mine.over(its) and undecided is None:
                why = f"another call, {_apart(tried, one)}, can be read as well"
                found = Failure(HopVerdict.AMBIGUOUS, f"{why} and answers otherwise")
                undecided = Rejected(found, (tried, one))
        return undecided

    async def _leanest(self, candidate: Candidate) -> Candidate:
        """Without the optional arguments that change nothing, save what the question says."""
        while True:
            own = candidate.arguments
            fewer = [
                {name: value for name, value in own.items() if name != left_out}
                for left_out in reversed(own)
                if left_out not in self.task.required
            ]
            worth = standing(self.task, own)
            fewer = [one for one in fewer if not worth.over(standing(self.task, one))]
            fewer = [one for one in fewer if not conditions.says_nothing(self.task, one)]
            found = [one for one in await self.calls.beside(fewer) if self._reads(one)]
            if not found:
                return candidate
            candidate = replace(candidate, arguments=found[0].candidate.arguments)

    def _from_examples(self) -> list[Tried]:
        return [one for one in self.calls.tried if one.candidate.provenance in EXAMPLES]

    def _says_what_is_asked(self, tried: Tried) -> bool:
        """Whether a call is an example, or made of what is asked alone, and is grounded."""
        candidate = tried.candidate
        told = _TOLD.issuperset(candidate.sources.values()) and candidate.cost <= EXACT_COST
        values = [repr(value) for value in candidate.arguments.values()]
        told = told and len(set(values)) == len(values)
        exact = candidate.provenance is Provenance.QUESTION and told
        if not exact and candidate.provenance not in EXAMPLES:
            return False
        held = standing(self.task, candidate.arguments).held or not wanted(self.task)
        return bool(held) and not conditions.ungrounded(self.task, candidate.arguments)

    def _nearest(self, tried: Tried) -> Candidate:
        arguments = nearest(self.task, tried.candidate.arguments)
        return replace(tried.candidate, arguments=arguments)

    async def _not_proven(self) -> HopProof:
        for one in self.rejected:
            if one.failure.verdict is HopVerdict.AMBIGUOUS:
                return self._without_proof(one.failure, one.evidence)
        beaten = [(one, one.right) for one in self.rejected if one.right is not None]
        proofs = [await self._shown_by(right, one.evidence[0]) for one, right in beaten]
        if (first := next(iter(proofs), None)) is not None and None not in proofs:
            return first
        doubtful = [one for (one, _), proof in zip(beaten, proofs, strict=True) if proof is None]
        doubtful += [
            one for one in self.rejected if one.evidence[0].candidate.provenance in EXAMPLES
        ]
        for one in doubtful[:1]:
            return self._without_proof(one.failure, one.evidence)
        return await self._by_right_calls()

    async def _shown_by(self, nearer: Tried, hit: Tried) -> HopProof | None:
        """What a call that is nearer to the question than a hit shows; None where it may be wrong.

        It is sure where the question says what the hit has not, or where it is the source's own
        example.
        """
        task = self.task
        right = await self.calls.alone(self._nearest(nearer))
        arguments = right.candidate.arguments
        found = other_result(task.asked, right)
        if found is None or conditions.ungrounded(task, arguments):
            return None
        if not definite(task, right.outcome, arguments, any_kind=True):
            return None
        if standing(task, arguments).surely_over(standing(task, hit.candidate.arguments)):
            why = "the gold is the result of another call than the one that is asked for"
            if found.defect is Defect.OTHER_VALUE:
                found = Failure(HopVerdict.DEFECTIVE, why, Defect.OTHER_LABEL)
        elif all(self._nearest(one).arguments != arguments for one in self._from_examples()):
            return None
        return self._without_proof(found, [right, hit])

    async def _by_right_calls(self) -> HopProof:
        """Defective or refused where the right call shows it, else unproven."""
        task, tried = self.task, self.calls.tried
        asking = [one for one in tried if self._says_what_is_asked(one)]
        nearest = distinct(self._nearest(one) for one in asking[:8])
        right = [await self.calls.alone(one) for one in islice(nearest, 4)]
        for one in right:
            if definite(task, one.outcome, one.candidate.arguments, any_kind=True):
                found = other_result(task.asked, one)
                if found is not None:
                    return self._without_proof(found, [one])
        leak = await self._answer_as_input()
        if leak is not None:
            return self._without_proof(_GIVEN, [leak, *right[:1]])
        for one in (right or tried)[:1]:
            none_returns = not any(isinstance(each.outcome, Returned) for each in tried)
            if none_returns and not is_left_out(one.outcome, task.properties):
                again = await self.calls.alone(one.candidate)
                failed = failure(again.outcome) or failure(one.outcome)
                if failed is not None:
                    return self._without_proof(failed, [again])
        for rejected in self.rejected[:1]:
            return self._without_proof(rejected.failure, rejected.evidence)
        why = "no call of those tried gives the gold answer" if tried else "no call is accepted"
        return self._without_proof(Failure(HopVerdict.UNPROVEN, why), tried[:1])

    async def _answer_as_input(self) -> Tried | None:
        """A call that is given the gold and returns it, where no other call does."""
        gold = self.task.asked.gold
        leaks = [
            one
            for one in self._from_examples()
            if any(same_answer(gold, text) for text in texts_of(one.candidate.arguments))
        ]
        made_up = [] if self.rejected else list(islice(distinct(given_away(self.task)), SIZES[1]))
        for tried in (*leaks, *await self.calls.run(made_up)):
            text = tried.outcome.json_text if isinstance(tried.outcome, Returned) else "null"
            if judge(gold, read_result(text), {}) is not None:
                return tried
        return leaks[0] if leaks else None

    def _proven(
        self, candidate: Candidate, text: str, reading: Reading, chance: Chance
    ) -> HopProof:
        task = self.task
        made_up = candidate.provenance not in EXAMPLES
        return HopProof(
            tool=task.hop.tool.name,
            verdict=HopVerdict.PROVEN,
            why=f"{candidate.provenance}: the result is the gold answer ({reading.match})",
            executions=self.calls.executions,
            arguments=candidate.arguments,
            result=text[:RESULT_CHARS],
            answer=answer_at(read_result(text), reading),
            reading=reading,
            official=official_holds(task.asked.gold, text),
            provenance=candidate.provenance,
            sources=dict(candidate.sources) if made_up else None,
            chance=chance,
            edges=edges(task.asked, candidate.arguments),
        )

    def _without_proof(self, found: Failure, evidence: Sequence[Tried]) -> HopProof:
        return HopProof(
            tool=self.task.hop.tool.name,
            verdict=found.verdict,
            why=found.why,
            executions=self.calls.executions,
            edges=tuple(Edge(n + 1, "", equal=True) for n, _ in self.task.asked.mentions.answers),
            defect=found.defect,
            evidence=tuple(Evidence.of(one.candidate.arguments, one.outcome) for one in evidence),
        )

    def _reads(self, tried: Tried) -> bool:
        """Whether a call gives the gold as its answer."""
        if not isinstance(tried.outcome, Returned):
            return False
        value = read_result(tried.outcome.json_text)
        return hitting(self.task, value, tried.candidate.arguments) is not None


def _apart(one: Tried, other: Tried) -> str:
    """In which arguments two calls differ."""
    own, its = one.candidate.arguments, other.candidate.arguments
    names = [name for name in {**own, **its} if own.get(name) != its.get(name)]
    return f"with another {', '.join(map(shown, names))}" if names else "the same one"
