"""The search for one hop's gold call: candidates in batches, hits confirmed alone.

Calls that leave out what is asked, or give the answer away, are not made (but examples that do
are, to know that the tool wants its answer as an input). Where an example on the right names
returns something else than the gold, only its options are varied: another name that happens to
give the gold would be a chance hit, and the hop is defective.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.certify.calls import Hit
from toolhop_tools.certify.candidates import (
    EXAMPLES,
    Candidate,
    Provenance,
    distinct,
    examples,
    filled,
    fixed_names,
    given_away,
    lean,
    other_options,
    replaced,
    written,
)
from toolhop_tools.certify.defects import (
    Tried,
    definite,
    exact,
    failure,
    is_left_out,
    other_result,
    static_defect,
)
from toolhop_tools.certify.directness import (
    another_choice,
    unasked,
    unsaid,
)
from toolhop_tools.certify.doubts import MADE_UP, Doubts
from toolhop_tools.certify.honesty import leaked, missing, other_choice, own_words
from toolhop_tools.certify.judging import judge, official_holds
from toolhop_tools.certify.model import (
    RESULT_CHARS,
    Defect,
    Evidence,
    HopProof,
    HopVerdict,
)
from toolhop_tools.certify.shapes import edges, named
from toolhop_tools.reading import answer_at, read_result

SIZES = (12, 40, 64)
"""Calls of the first batches; all after them have the last size. Most hits come early."""
MOST_UNMADE = 4000
"""Candidates that are passed over, as not what is asked, before a search gives up."""
MOST_CONFIRMED = 4
"""Hits that are tried alone before a search gives up: a tool may answer otherwise in a batch."""


@dataclass
class Search(Doubts):
    """One hop's search."""

    later: Sequence[str] = ()
    """Sub-questions of the hops after this one."""
    leaks: list[Tried] = field(default_factory=list)
    """Examples that are given the answer."""

    async def prove(self) -> HopProof:
        """The proof, or what there is instead of one.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        known = static_defect(self.task)
        broken = None if known is None else await self._broken(*known)
        if broken is not None:
            return broken
        hit = await self._given() or await self._varied()
        if hit is None and not self._right_examples():
            hit = await self._filled()
        if hit is None:
            return await self._not_proven()
        if (other := await self._same_for_all(hit)) is not None:
            why = "the tool gives the same result whatever it is called with"
            return self._unproven(why, [Tried(hit.candidate, hit.outcome), other])
        return await self._proven(hit)

    async def _broken(self, defect: Defect, why: str) -> HopProof | None:
        """A hop that cannot be called: one call shows what comes of it.

        None where it can be called all the same, as a function that is an assigned lambda.
        """
        candidates = chain(
            examples(self.task), filled(self.task), (Candidate({}, Provenance.SEARCH),)
        )
        candidate = next(candidates)
        outcome = await self._alone(candidate)
        failed = failure(outcome, self.task.hop.tool.program.function)
        if defect in {Defect.NOT_PYTHON, Defect.NO_FUNCTION}:
            if failed is None:
                return None
            # What the sandbox says is exact: a line, a refused import.
            defect, why = failed[0], failed[1] or why
        return self._defective(defect, why, [Tried(candidate, outcome)])

    async def _given(self) -> Hit | None:
        """The author's call and the source's examples."""
        given = list(distinct(chain(written(self.task), examples(self.task))))
        plain = [one for one in given if not self._leak(one)]
        hit = await self._first([one for one in plain if self._is_asked(one)])
        if hit is None:
            self.leaks = await self._run([one for one in given if self._leak(one)])
        return hit

    async def _varied(self) -> Hit | None:
        """The right examples with other options."""
        room = self.basis.executions
        for right in self._right_examples()[:3]:
            example = right.candidate.arguments
            stream, before = distinct(other_options(self.task, example)), self.executions
            hit = await self._stream(stream, room, example)
            if hit is not None:
                return hit
            room -= self.executions - before
        return None

    async def _filled(self) -> Hit | None:
        return await self._stream(distinct(filled(self.task)), self.basis.executions)

    async def _stream(
        self, candidates: Iterator[Candidate], room: int, example: dict[str, JSON] | None = None
    ) -> Hit | None:
        """The first hit of a stream, batch by batch; `example` is what the stream varies."""
        honest = self._honest(islice(candidates, MOST_UNMADE))
        for size in chain(SIZES, iter(lambda: SIZES[-1], 0)):
            batch = list(islice(honest, max(0, min(size, room))))
            if not batch:
                return None
            room -= len(batch)
            hit = await self._first(batch, example)
            if hit is not None:
                return hit
        return None

    def _honest(self, candidates: Iterator[Candidate]) -> Iterator[Candidate]:
        for candidate in candidates:
            if self._allowed(candidate.arguments, choices=True):
                yield candidate

    def _allowed(self, arguments: dict[str, JSON], *, choices: bool) -> bool:
        task = self.task
        return (
            task.fits(arguments)
            and not missing(task.asked, arguments)
            and not leaked(task.asked, arguments)
            and not (choices and other_choice(task.asked, task.schema, arguments))
        )

    def _is_asked(self, candidate: Candidate) -> bool:
        """Whether a given call, of the author's or the source's, is about what is asked."""
        asked, arguments = self.task.asked, candidate.arguments
        return own_words(asked, arguments) or not missing(asked, arguments)

    def _leak(self, candidate: Candidate) -> bool:
        return bool(leaked(self.task.asked, candidate.arguments))

    async def _first(
        self, batch: Sequence[Candidate], example: dict[str, JSON] | None = None
    ) -> Hit | None:
        """The first of a batch that gives the gold, made lean and confirmed alone."""
        hits = [tried for tried in await self._run(batch) if self._reading(tried) is not None]
        # What is asked for comes first: a doubtful call may only be one that is not lean yet.
        hits.sort(key=lambda tried: bool(unasked(self.task, tried.candidate, example)))
        for tried in hits[:MOST_CONFIRMED]:
            leanest = await self._leanest(tried.candidate)
            hit = None if leanest is tried.candidate else await self._confirmed(leanest)
            if hit is None:
                hit = self._hit(tried) if tried.alone else await self._confirmed(tried.candidate)
            if hit is None:
                continue
            if not await self._doubtful(hit, example):
                return hit
        return None

    async def _leanest(self, candidate: Candidate) -> Candidate:
        """Without the optional arguments that change nothing, save what the question names."""
        while True:
            kept = self._asked_for(candidate.arguments)
            fewer = [
                replace(candidate, arguments=one)
                for one in lean(self.task, candidate.arguments)
                if kept <= one.keys() and self._allowed(one, choices=False)
            ]
            found = [one for one in await self._run(fewer) if self._reading(one) is not None]
            if not found:
                return candidate
            candidate = found[0].candidate

    def _asked_for(self, arguments: dict[str, JSON]) -> set[str]:
        """Arguments that the question names: its names and numbers, and its choices."""
        asked = self.task.asked
        named_choices = {
            name
            for name, value in arguments.items()
            if isinstance(value, str)
            and any(
                choice.value == value and choice.cost == 0.0 and choice.source == "enum"
                for choice in self.task.pool(name)
            )
        }
        return fixed_names(asked, arguments) | named_choices

    def _right_examples(self) -> list[Tried]:
        """Examples on what is asked that returned something definite which is not the gold."""
        return [
            tried
            for tried in self.tried
            if tried.candidate.provenance in EXAMPLES
            and not self._leak(tried.candidate)
            and isinstance(tried.outcome, Returned)
            and definite(read_result(tried.outcome.json_text), tried.candidate.arguments)
        ]

    async def _proven(self, hit: Hit) -> HopProof:
        task, text = self.task, hit.outcome.json_text
        candidate = hit.candidate
        made_up = candidate.provenance not in EXAMPLES
        return HopProof(
            tool=task.hop.tool.name,
            verdict=HopVerdict.PROVEN,
            why=f"{candidate.provenance}: the result is the gold answer ({hit.reading.match})",
            executions=self.executions,
            arguments=candidate.arguments,
            result=text[:RESULT_CHARS],
            answer=answer_at(read_result(text), hit.reading),
            reading=hit.reading,
            official=official_holds(task.asked.gold, text),
            provenance=candidate.provenance,
            sources=dict(candidate.sources) if made_up else None,
            chance=await self._chance(candidate.arguments),
            edges=edges(task.asked, candidate.arguments),
        )

    async def _not_proven(self) -> HopProof:
        """Defective where the right call shows it, else unproven."""
        made_up = [tried for tried in self.tried if exact(tried) and self._is_filled(tried)]
        made_up = [tried for tried in made_up if not unsaid(self.task, tried.candidate.arguments)]
        for why, doubtful in self.unasked[:1]:
            return self._unproven(why, [doubtful, *[*self._right_examples(), *made_up][:1]])
        shown_right = [
            tried
            for tried in self._right_examples()
            if not another_choice(self.task, tried.candidate.arguments)
        ]
        for tried in (*shown_right, *made_up[:1]):
            again = await self._again(tried)
            found = other_result(self.task.asked, again, self.later)
            if found is not None and self._reading(again) is None:
                return self._defective(*found, [again])
        given = await self._answer_as_input()
        if given is not None:
            why = "only calls that are given the answer return it"
            return self._defective(Defect.NEEDS_ANSWER, why, [given, *made_up[:1]])
        for tried in made_up[:1] if all(self._fails(one) for one in self.tried) else ():
            again = await self._again(tried)
            failed = failure(again.outcome, self.task.hop.tool.program.function)
            if failed is not None and not is_left_out(again.outcome, self.task.properties):
                return self._defective(*failed, [again])
        for why, doubtful in self.lucky[:1]:
            return self._unproven(why, [doubtful])
        why = "no call of those tried gives the gold answer"
        return self._unproven(why if self.tried else "no call fits the schema", self.tried[:1])

    @staticmethod
    def _is_filled(tried: Tried) -> bool:
        return tried.candidate.provenance is Provenance.QUESTION

    @staticmethod
    def _fails(tried: Tried) -> bool:
        return not isinstance(tried.outcome, Returned)

    async def _answer_as_input(self) -> Tried | None:
        """A call that is given the gold and returns it, where another word is not returned.

        Else the source's own example that is given the gold, whatever it returns: the tool is made
        to be told the answer.
        """
        made_up = list(self._given_away())
        for tried in (*self.leaks, *await self._run(made_up)):
            if self._says_gold(tried) and not await self._echoes(tried):
                return await self._again(tried)
        return await self._again(self.leaks[0]) if self.leaks else None

    def _says_gold(self, tried: Tried) -> bool:
        if not isinstance(tried.outcome, Returned):
            return False
        return judge(self.task.asked.gold, read_result(tried.outcome.json_text), {}) is not None

    def _given_away(self) -> Iterator[Candidate]:
        for candidate in islice(distinct(given_away(self.task)), SIZES[1]):
            if self.task.fits(candidate.arguments):
                yield candidate

    async def _echoes(self, tried: Tried) -> bool:
        """Whether the tool treats another word just as it treats the gold."""
        gold, word = self.task.asked.gold, MADE_UP
        arguments = replaced(tried.candidate.arguments, gold, word)
        if not isinstance(arguments, dict) or not isinstance(tried.outcome, Returned):
            return True
        outcome = await self._alone(replace(tried.candidate, arguments=arguments))
        if not isinstance(outcome, Returned):
            return False
        return outcome.json_text.replace(word, gold) == tried.outcome.json_text

    def _defective(self, defect: Defect, why: str, evidence: Sequence[Tried]) -> HopProof:
        return replace(self._unproven(why, evidence), verdict=HopVerdict.DEFECTIVE, defect=defect)

    def _unproven(self, why: str, evidence: Sequence[Tried]) -> HopProof:
        return HopProof(
            tool=self.task.hop.tool.name,
            verdict=HopVerdict.UNPROVEN,
            why=why,
            executions=self.executions,
            edges=named(self.task.asked),
            evidence=tuple(Evidence.of(one.candidate.arguments, one.outcome) for one in evidence),
        )
