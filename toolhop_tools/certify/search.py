"""The search for one hop's proof: the tool's answer is fixed first, then compared with the gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from toolhop_sandbox.base import Session
from toolhop_sandbox.outcome import Raised
from toolhop_tools.answers import same_answer
from toolhop_tools.batch import run_batch
from toolhop_tools.certify.answering import reading
from toolhop_tools.certify.audit import Chance, randomised
from toolhop_tools.certify.calls import Calls, RunBatch
from toolhop_tools.certify.candidates import (
    EXAMPLES,
    Candidate,
    Provenance,
    Task,
    Tried,
    at_hand,
    filled,
    texts_of,
)
from toolhop_tools.certify.defects import Failure, failure, other_result, static_failure
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
from toolhop_tools.certify.ranking import Answering, Ranking, same, settled
from toolhop_tools.certify.readable import Ground, ground
from toolhop_tools.certify.shapes import edges
from toolhop_tools.certify.standing import holds, is_chosen, left_out, ungrounded, wanted
from toolhop_tools.errors import shown
from toolhop_tools.reading import Match, Reading, answer_at

SHOWN = 4
"""Maximum number of a result's values that a reason lists."""


class Search:
    """A search for the proof of one hop."""

    def __init__(
        self,
        session: Session,
        task: Task,
        basis: Basis,
        seed: str,
        *,
        run_batch: RunBatch = run_batch,
    ) -> None:
        """Prepare a search.

        Args:
            session: runs the calls.
            task: the hop.
            basis: limits of the search.
            seed: seed of the random arguments.
            run_batch: runs calls in batches.
        """
        self.task, self.basis, self.seed = task, basis, seed
        self.calls = Calls(session, task.hop.tool.program, run_batch)
        self.ranking = Ranking(task, self.calls, basis.executions)

    async def prove(self) -> HopProof:
        """Return the proof, or the reason why there is none.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        broken = await self._broken()
        if broken is not None:
            return broken
        await self.ranking.run()
        top = self.ranking.top
        answer = settled(top)
        for call in top:
            if nearer := self.ranking.silenced(call):
                tried = await self.calls.alone(nearer)
                why = "a call nearer to the question reports what may be nothing"
                return self._without(HopVerdict.AMBIGUOUS, why, tried, call.tried)
        hits = [call for call in top if self._readings(call)]
        if not hits:
            return await self._astray(top)
        if answer is not None:
            alone = [call for call in hits if len(call.answers) == 1]
            if alone:
                return await self._judged(min(alone, key=_plainness))
        return await self._ambiguous(hits[0], top)

    def _readings(self, call: Answering) -> list[Reading]:
        """Return a reading for each answer of a call that is the gold."""
        gold, forms = self.task.asked.gold, self.task.notations
        found = (reading(gold, answer, call.tried.value, forms) for answer in call.answers)
        return [read for read in found if read is not None]

    async def _judged(self, call: Answering) -> HopProof:
        """Judge a call with the right answer: it must repeat, and chance hits must be rare."""
        task = self.task
        tried = await self.calls.alone(call.tried.candidate)
        given = self.ranking.answers_of(tried)
        if not same(call.answers, given):
            why = "the call answers otherwise in a process of its own"
            return self._without(HopVerdict.UNPROVEN, why, tried, call.tried)
        [read] = self._readings(Answering(call.standing, tried, given))
        chance, ran = await self._chance(tried)
        if limits := left_out(task, tried.arguments):
            why = f"the call has no place for {', '.join(limits)}, which the sub-question says"
            return self._without(HopVerdict.UNPROVEN, why, tried, chance=chance)
        if not chance.tells_apart:
            why = f"{chance.hits} of {chance.runs} calls with other values give the answer as well"
            proof = self._without(HopVerdict.UNPROVEN, why, tried, *ran[:1], chance=chance)
            return replace(proof, determined=True)
        made = tried.candidate
        why = f"{made.provenance}: the result is the gold answer ({read.match})"
        proof = self._with_call(self._without(HopVerdict.PROVEN, why), tried, read)
        return replace(
            proof,
            official=official_holds(task.asked.gold, tried.text),
            sources=None if made.provenance in EXAMPLES else dict(made.sources),
            chance=chance,
            executed=True,
            determined=True,
            weak=read.match is Match.WORDS,
        )

    async def _chance(self, tried: Tried) -> tuple[Chance, list[Tried]]:
        """Return how often calls with other values also reach the gold, and these calls."""
        gold = self.task.asked.gold
        random = randomised(self.task, tried.arguments, self.basis.audit, self.seed)
        ran = await self.calls.beside(random)
        # Errors do not count as other answers if all calls that answer hit the gold.
        answered = [other for other in ran if self.ranking.answers_of(other)]
        hits = [judge(gold, other.value, other.arguments) is not None for other in ran]
        if sum(hits) == len(answered) > 1:
            ran, hits = answered, [True] * len(answered)
        return Chance(len(ran), sum(hits)), ran

    async def _ambiguous(self, hit: Answering, top: Sequence[Answering]) -> HopProof:
        chance, _ = await self._chance(hit.tried)
        others = [call for call in top if not self._readings(call)]
        if others:
            names = _apart(hit.tried, others[0].tried)
            why = f"another call, {names}, can be read as well and answers otherwise"
        else:
            most = max(top, key=lambda call: len(call.answers))
            listed = ", ".join(shown(answer.text) for answer in most.answers[:SHOWN])
            why, others = f"the result has several values that may be meant: {listed}", [most]
        evidence = (hit.tried, *(call.tried for call in others[:1] if call is not hit))
        return self._without(HopVerdict.AMBIGUOUS, why, *evidence, chance=chance)

    async def _astray(self, top: Sequence[Answering]) -> HopProof:
        """Judge a hop whose answer is not the gold: find what returns it, or what is wrong."""
        task = self.task
        await self.ranking.exhaust()
        lower = next(
            (call.tried for call in self.ranking.answered if self._holds(call.tried)), None
        )
        if lower is not None:
            chance, _ = await self._chance(lower)
            nearer = top[0].tried
            if nearer.arguments == lower.arguments:
                why = "the gold is not what the result answers as a whole"
                return self._without(HopVerdict.AMBIGUOUS, why, lower, chance=chance)
            names = _apart(lower, nearer)
            why = f"a call nearer to the question, {names}, gives another answer"
            return self._without(HopVerdict.UNPROVEN, why, lower, nearer, chance=chance)
        beyond = self._beyond_reach()
        if beyond is not None:
            return beyond
        if (answer := settled(top)) is not None:
            right = await self.calls.alone(top[0].tried.candidate)
            found = other_result(task.asked, right)
            if found is not None and self._is_sure(top[0]):
                return self._failed(found, right)
            why = f"the call nearest to the question gives {shown(answer.text)}"
            return self._without(HopVerdict.UNPROVEN, why, right)
        return await self._nothing(top)

    def _holds(self, tried: Tried) -> bool:
        return judge(self.task.asked.gold, tried.value, tried.arguments) is not None

    def _is_sure(self, call: Answering) -> bool:
        """Whether a call states verbatim, and completely, what the sub-question asks."""
        task, arguments = self.task, call.tried.arguments
        own = task.leaves(arguments)
        verbatim = all(
            is_chosen(task, leaf)
            or leaf.value == leaf.schema.get("default")
            or (not leaf.is_option and ground(task.asked, leaf) is Ground.SAID)
            for leaf in own
        )
        return verbatim and all(holds(own, name) for name in wanted(task))

    def _beyond_reach(self) -> HopProof | None:
        """Judge a tool whose own examples reach the gold, but only with ungrounded values."""
        gold = self.task.asked.gold
        for call in self.calls.tried:
            if call.candidate.provenance not in EXAMPLES or not self._holds(call):
                continue
            if any(same_answer(gold, text) for text in texts_of(call.arguments)):
                why = "only calls that are given the answer return it"
                found = Failure(HopVerdict.DEFECTIVE, why, Defect.NEEDS_ANSWER)
                return self._failed(found, call)
            unknown = ungrounded(self.task, call.arguments)
            listed = ", ".join(shown(leaf.value) for leaf in unknown)
            why = "an example gives the gold, and its answer cannot be read otherwise"
            if unknown:
                why = (
                    f"nothing but the source tells of {listed}: say it in the question, or in the "
                    "parameter's description with what it stands for"
                )
            return self._without(HopVerdict.UNPROVEN, why, call)
        return None

    async def _nothing(self, top: Sequence[Answering]) -> HopProof:
        tried = self.calls.tried
        if top:
            why = "no call of those tried gives the gold answer"
            return self._without(HopVerdict.UNPROVEN, why, *(call.tried for call in top[:2]))
        if tried and not any(call.text for call in tried):
            again = await self.calls.alone(tried[0].candidate)
            failed = failure(again.outcome) or failure(tried[0].outcome)
            # A call that raises may need an optional parameter that no call has tried.
            is_whole = len(self.task.required) == len(self.task.properties)
            if failed is not None and (is_whole or not isinstance(again.outcome, Raised)):
                return self._failed(failed, again)
        why = "no call of those tried answers" if tried else "no call is accepted"
        return self._without(HopVerdict.UNPROVEN, why, *tried[:1])

    async def _broken(self) -> HopProof | None:
        """Return the failure of a hop that cannot be called, shown by one call.

        None if it can be called after all, for example because the function is an assigned lambda.
        """
        known = static_failure(self.task)
        if known is None:
            return None
        bare = Candidate({}, Provenance.SEARCH)
        tried = await self.calls.alone(next(chain(at_hand(self.task), filled(self.task), (bare,))))
        failed, source = failure(tried.outcome), self.task.source
        if known.defect is Defect.NOT_CALLABLE and not (source.parses and source.defined):
            # The sandbox's message is exact: it names a line or a refused import.
            return None if failed is None else self._failed(failed, tried)
        return self._failed(known, tried)

    def _failed(self, found: Failure, *evidence: Tried) -> HopProof:
        return self._without(found.verdict, found.why, *evidence, defect=found.defect)

    def _without(
        self,
        verdict: HopVerdict,
        why: str,
        *evidence: Tried,
        defect: Defect | None = None,
        chance: Chance | None = None,
    ) -> HopProof:
        """Return the findings for an unproven hop.

        If the hop is executed, the first evidence is the call. The data's own gold call is always
        included.
        """
        known = [call.arguments for call in evidence]
        golds = (one for one in self.calls.tried if one.candidate.provenance is Provenance.WRITTEN)
        gold = [one for one in golds if one.arguments not in known][:1]
        proof = HopProof(
            tool=self.task.hop.tool.name,
            verdict=verdict,
            why=why,
            executions=self.calls.executions,
            edges=tuple(Edge(n + 1, "", equal=True) for n, _ in self.task.asked.mentions.answers),
            chance=chance,
            defect=defect,
            evidence=tuple(
                Evidence.of(call.arguments, call.outcome) for call in (*evidence, *gold)
            ),
            executed=chance is not None and chance.tells_apart,
        )
        read = (
            judge(self.task.asked.gold, evidence[0].value, evidence[0].arguments)
            if proof.executed
            else None
        )
        return proof if read is None else self._with_call(proof, evidence[0], read)

    def _with_call(self, proof: HopProof, call: Tried, read: Reading) -> HopProof:
        """Add a call that returns the gold to the proof, for use as the gold call."""
        made = call.candidate
        return replace(
            proof,
            arguments=made.arguments,
            result=call.text[:RESULT_CHARS],
            answer=answer_at(call.value, read),
            reading=read,
            provenance=made.provenance,
            edges=edges(self.task.asked, made.arguments),
        )


def _plainness(call: Answering) -> tuple[bool, int, bool]:
    """Return a sort key that puts the author's call before others, and short before long ones."""
    made = call.tried.candidate
    written = made.provenance is Provenance.WRITTEN
    return not written, len(made.arguments), made.provenance not in EXAMPLES


def _apart(call: Tried, other: Tried) -> str:
    """Describe in which arguments two calls differ."""
    own, its = call.arguments, other.arguments
    names = [name for name in {**own, **its} if own.get(name) != its.get(name)]
    return f"with another {', '.join(map(shown, names))}" if names else "the same one"
