"""One hop's search: candidates in batches, and each hit put to the five conditions.

The search knows where a call came from and the conditions do not: an example of the source that
reaches the gold is judged as any other call is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from toolhop_sandbox.base import Session
from toolhop_sandbox.outcome import JSON
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
    Tried,
    at_hand,
    distinct,
    filled,
    given_away,
    texts_of,
)
from toolhop_tools.certify.conditions import definite, hitting
from toolhop_tools.certify.defects import Failure, asked_for, failure, other_result, static_failure
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
from toolhop_tools.certify.rivals import nearest, rivals
from toolhop_tools.certify.shapes import edges
from toolhop_tools.certify.support import asks_otherwise, support, wanted
from toolhop_tools.errors import shown
from toolhop_tools.leaves import Leaf
from toolhop_tools.reading import Reading, answer_at

SIZES = (12, 40, 64)
"""Calls of the first batches; all after them have the last size. Most hits come early."""
MOST_UNMADE = 4000
"""Candidates that are looked at, most of them such as the simulator would refuse."""
MOST_JUDGED = 6
"""Hits that are judged before a search gives up."""
EXACT_COST = 0.3
"""Cost up to which a made-up call has nothing in it but what the question or a default says."""
_GIVEN = Failure(
    HopVerdict.DEFECTIVE, "only calls that are given the answer return it", Defect.NEEDS_ANSWER
)


def _unproven(why: str, *evidence: Tried, right: Tried | None = None) -> Failure:
    return Failure(HopVerdict.UNPROVEN, why, evidence=evidence, right=right)


def _ambiguous(why: str, *evidence: Tried) -> Failure:
    return Failure(HopVerdict.AMBIGUOUS, why, evidence=evidence)


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
        self.rejected: list[Failure] = []
        """Why the hits so far prove nothing."""

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
            if isinstance(judged, Failure):
                self.rejected.append(judged)
            if len(self.rejected) == MOST_JUDGED:
                break
        return await self._not_proven()

    def _outdone(self, arguments: dict[str, JSON]) -> bool:
        """Whether a hit nearer to the question was found wanting: what says less proves nothing."""
        mine = support(self.task, arguments)
        wanting = [one.evidence[0].candidate for one in self.rejected if one.right is not None]
        return any(support(self.task, one.arguments).outweighs(mine) for one in wanting)

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
            return None if failed is None else self._without_proof(failed, tried)
        return self._without_proof(known, tried)

    async def _hits(self) -> AsyncIterator[Candidate]:
        """The calls that reach the gold, from the likeliest on."""
        room, made_up = self.basis.executions, distinct(self._made_up())
        batch = [one for one in distinct(at_hand(self.task)) if self.task.accepts(one.arguments)]
        for size in chain(SIZES, iter(lambda: SIZES[-1], 0)):
            for tried in await self.calls.run(batch):
                if self._reading(tried):
                    yield tried.candidate
            batch = list(islice(made_up, max(0, min(size, room))))
            room -= len(batch)
            if not batch:
                return

    def _made_up(self) -> Iterator[Candidate]:
        task = self.task
        plain, first = filled(task), sum(SIZES[:2])
        # Errors are read once the first calls are made: what they ask for is given then.
        completed = (one for _ in (0,) for one in filled(task, asked_for(task, self.calls.tried)))
        every = chain(islice(plain, first), islice(completed, first), plain)
        for one in islice(every, MOST_UNMADE):
            if task.accepts(one.arguments):
                yield one

    async def _judged(self, candidate: Candidate) -> HopProof | Failure | None:
        """The proof by a call that reaches the gold; None where it does not reach it alone."""
        task = self.task
        candidate = await self._leanest(candidate)
        tried, arguments = await self.calls.alone(candidate), candidate.arguments
        if (reading := self._reading(tried)) is None:
            return None
        unknown = conditions.ungrounded(task, arguments)
        others = conditions.stand_ins(arguments, unknown)
        against = rivals(task, arguments)
        random = randomised(task, arguments, self.basis.audit, self.seed)
        ran = await self.calls.beside([*others, *against, *random])
        instead = [one for one in ran if one.arguments in others]
        if unknown and not (instead and all(map(self._reading, instead))):
            return self._no_ground(tried, unknown)
        if flaw := conditions.flaw(task, arguments, reading.path, ran):
            return _unproven(flaw, tried)
        near = [one for one in ran if one.arguments in against]
        if (doubt := self._undetermined(tried, near)) is not None:
            return doubt
        if listed := conditions.others_listed(task, tried.value, reading, arguments):
            why = f"the result names others that are as near: {', '.join(map(shown, listed[:3]))}"
            return _ambiguous(why, tried)
        varied = [one for one in ran if one.arguments in random]
        hits = [self._reading(one) is not None for one in varied]
        if conditions.nearly_constant(hits):
            why = f"{sum(hits)} of {len(hits)} calls with other values give the answer as well"
            return _unproven(why, tried, *varied[:1])
        return self._proven(tried, reading, Chance(len(hits), sum(hits)))

    def _no_ground(self, tried: Tried, unknown: Sequence[Leaf]) -> Failure:
        if any(same_answer(self.task.asked.gold, str(one.value)) for one in unknown):
            return replace(_GIVEN, evidence=(tried,))
        listed = ", ".join(shown(leaf.value) for leaf in unknown)
        return _unproven(f"nothing but the source tells of {listed}", tried)

    def _undetermined(self, tried: Tried, near: Sequence[Tried]) -> Failure | None:
        """The reading that speaks against a hit: one nearer to the question, or one as near."""
        task, arguments = self.task, tried.arguments
        mine = support(task, arguments)
        undecided: Failure | None = None
        for one in (*near, *filter(self._says_what_is_asked, self._from_examples())):
            its = support(task, one.arguments)
            nearer = its.outweighs(mine)
            unsaid = not nearer and asks_otherwise(task, arguments, one.arguments)
            if not definite(task, one, any_kind=nearer) and (not unsaid or self._reading(one)):
                continue
            if nearer:
                why = f"a call nearer to the question, {_apart(tried, one)}, gives another answer"
                return _unproven(why, tried, one, right=one)
            if not mine.outweighs(its) and undecided is None:
                why = f"another call, {_apart(tried, one)}, can be read as well"
                undecided = _ambiguous(f"{why} and answers otherwise", tried, one)
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
            worth = support(self.task, own)
            fewer = [one for one in fewer if not worth.outweighs(support(self.task, one))]
            fewer = [one for one in fewer if not conditions.says_nothing(self.task, one)]
            found = [one for one in await self.calls.beside(fewer) if self._reading(one)]
            if not found:
                return candidate
            candidate = replace(candidate, arguments=found[0].arguments)

    def _from_examples(self) -> list[Tried]:
        return [one for one in self.calls.tried if one.candidate.provenance in EXAMPLES]

    def _says_what_is_asked(self, tried: Tried) -> bool:
        """Whether a call is an example, or made of what is asked alone, and is grounded."""
        candidate = tried.candidate
        verbatim = "reworded" not in candidate.sources.values() and candidate.cost <= EXACT_COST
        values = [repr(value) for value in candidate.arguments.values()]
        exact = candidate.provenance is Provenance.QUESTION and verbatim
        if candidate.provenance not in EXAMPLES and (not exact or len({*values}) < len(values)):
            return False
        held = support(self.task, candidate.arguments).held or not wanted(self.task)
        return bool(held) and not conditions.ungrounded(self.task, candidate.arguments)

    def _nearest(self, tried: Tried) -> Candidate:
        return replace(tried.candidate, arguments=nearest(self.task, tried.arguments))

    async def _not_proven(self) -> HopProof:
        for one in self.rejected:
            if one.verdict is HopVerdict.AMBIGUOUS:
                return self._without_proof(one)
        beaten = [(one, one.right) for one in self.rejected if one.right is not None]
        proofs = [await self._shown_by(right, one.evidence[0]) for one, right in beaten]
        if (first := next(iter(proofs), None)) is not None and None not in proofs:
            return first
        doubtful = [one for (one, _), proof in zip(beaten, proofs, strict=True) if proof is None]
        doubtful += [
            one for one in self.rejected if one.evidence[0].candidate.provenance in EXAMPLES
        ]
        for one in doubtful[:1]:
            return self._without_proof(one)
        return await self._by_right_calls()

    async def _shown_by(self, nearer: Tried, hit: Tried) -> HopProof | None:
        """What a call that is nearer to the question than a hit shows; None where it may be wrong.

        It is sure where the question says what the hit has not, or where it is the source's own
        example.
        """
        task = self.task
        right = await self.calls.alone(self._nearest(nearer))
        found, arguments = other_result(task.asked, right), right.arguments
        if found is None or conditions.ungrounded(task, arguments):
            return None
        if not definite(task, right, any_kind=True):
            return None
        if support(task, arguments).surely_outweighs(support(task, hit.arguments)):
            why = "the gold is the result of another call than the one that is asked for"
            if found.defect is Defect.OTHER_VALUE:
                found = Failure(HopVerdict.DEFECTIVE, why, Defect.OTHER_LABEL)
        elif all(self._nearest(one).arguments != arguments for one in self._from_examples()):
            return None
        return self._without_proof(found, right, hit)

    async def _by_right_calls(self) -> HopProof:
        """Defective or refused where the right call shows it, else unproven."""
        task, tried = self.task, self.calls.tried
        asking = [one for one in tried if self._says_what_is_asked(one)]
        nearest = distinct(self._nearest(one) for one in asking[:8])
        right = [await self.calls.alone(one) for one in islice(nearest, 4)]
        for one in right:
            found = other_result(task.asked, one)
            if found is not None and definite(task, one, any_kind=True):
                return self._without_proof(found, one)
        leak = await self._answer_as_input()
        if leak is not None:
            return self._without_proof(_GIVEN, leak, *right[:1])
        for one in (right or tried)[:1]:
            if not any(each.text for each in tried) and not asked_for(task, [one]):
                again = await self.calls.alone(one.candidate)
                failed = failure(again.outcome) or failure(one.outcome)
                if failed is not None:
                    return self._without_proof(failed, again)
        why = "no call of those tried gives the gold answer" if tried else "no call is accepted"
        return self._without_proof(next(iter(self.rejected), _unproven(why, *tried[:1])))

    async def _answer_as_input(self) -> Tried | None:
        """A call that is given the gold and returns it, where no other call does."""
        gold = self.task.asked.gold
        leaks = [
            one
            for one in self._from_examples()
            if any(same_answer(gold, text) for text in texts_of(one.arguments))
        ]
        made_up = [] if self.rejected else list(islice(distinct(given_away(self.task)), SIZES[1]))
        every = (*leaks, *await self.calls.run(made_up))
        return next((one for one in every if judge(gold, one.value, {})), next(iter(leaks), None))

    def _proven(self, tried: Tried, reading: Reading, chance: Chance) -> HopProof:
        task, candidate = self.task, tried.candidate
        made_up = candidate.provenance not in EXAMPLES
        return HopProof(
            tool=task.hop.tool.name,
            verdict=HopVerdict.PROVEN,
            why=f"{candidate.provenance}: the result is the gold answer ({reading.match})",
            executions=self.calls.executions,
            arguments=candidate.arguments,
            result=tried.text[:RESULT_CHARS],
            answer=answer_at(tried.value, reading),
            reading=reading,
            official=official_holds(task.asked.gold, tried.text),
            provenance=candidate.provenance,
            sources=dict(candidate.sources) if made_up else None,
            chance=chance,
            edges=edges(task.asked, candidate.arguments),
        )

    def _without_proof(self, found: Failure, *evidence: Tried) -> HopProof:
        shown_by = evidence or found.evidence
        return HopProof(
            tool=self.task.hop.tool.name,
            verdict=found.verdict,
            why=found.why,
            executions=self.calls.executions,
            edges=tuple(Edge(n + 1, "", equal=True) for n, _ in self.task.asked.mentions.answers),
            defect=found.defect,
            evidence=tuple(Evidence.of(one.arguments, one.outcome) for one in shown_by),
        )

    def _reading(self, tried: Tried) -> Reading | None:
        """Where a call gives the gold as its answer; None where it does not."""
        return hitting(self.task, tried.value, tried.arguments) if tried.text else None


def _apart(one: Tried, other: Tried) -> str:
    """In which arguments two calls differ."""
    own, its = one.arguments, other.arguments
    names = [name for name in {**own, **its} if own.get(name) != its.get(name)]
    return f"with another {', '.join(map(shown, names))}" if names else "the same one"
