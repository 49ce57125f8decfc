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

from sandbox.base import Session
from sandbox.outcome import JSON, Died, Outcome, OutOfMemory, Returned, TimedOut
from toolhop_tools.batch import Skipped, run_batch
from toolhop_tools.certify.audit import Chance, randomised
from toolhop_tools.certify.candidates import (
    EXAMPLES,
    Candidate,
    Provenance,
    Task,
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
    other_result,
    static_defect,
)
from toolhop_tools.certify.honesty import leaked, missing, other_choice, own_words
from toolhop_tools.certify.judging import judge, official_holds
from toolhop_tools.certify.model import (
    RESULT_CHARS,
    Basis,
    Defect,
    Evidence,
    HopProof,
    Verdict,
)
from toolhop_tools.certify.shapes import edges, named
from toolhop_tools.reading import Reading, answer_at, read_result

SIZES = (12, 40, 64)
"""Calls of the first batches; all after them have the last size. Most hits come early."""
MOST_UNMADE = 4000
"""Candidates that are passed over, as not what is asked, before a search gives up."""
MOST_CONFIRMED = 4
"""Hits that are tried alone before a search gives up: a tool may answer otherwise in a batch."""
CHANCE_RATE = 0.5
"""Share of random arguments with the gold answer, above which a made-up call proves nothing."""
MOST_CUT = 4
"""Calls that may run out of time or memory, or die, before a search gives up."""
_CUT = (Skipped, TimedOut, OutOfMemory, Died)


@dataclass(frozen=True, slots=True)
class Hit:
    """A call that gave the gold answer, alone in its process."""

    candidate: Candidate
    outcome: Returned
    reading: Reading


@dataclass
class Search:
    """One hop's search."""

    session: Session
    task: Task
    basis: Basis
    later: Sequence[str]
    """Sub-questions of the hops after this one."""
    seed: str
    executions: int = 0
    tried: list[Tried] = field(default_factory=list)
    leaks: list[Tried] = field(default_factory=list)
    """Examples that are given the answer."""
    cut: int = 0
    """Calls that ran out of time or memory, or died, and calls not made because of them."""
    chance_hit: Tried | None = None
    """A call that gets to the gold as often as random ones do."""

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
        if hit is not None:
            return await self._proven(hit)
        return await self._not_proven()

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
        right = self._right_examples()[:3]
        room = self.basis.executions
        streams = (other_options(self.task, one.candidate.arguments) for one in right)
        return await self._stream(distinct(chain.from_iterable(streams)), room, choices=False)

    async def _filled(self) -> Hit | None:
        return await self._stream(distinct(filled(self.task)), self.basis.executions, choices=True)

    async def _stream(
        self, candidates: Iterator[Candidate], room: int, *, choices: bool
    ) -> Hit | None:
        """The first hit of a stream, batch by batch."""
        honest = self._honest(islice(candidates, MOST_UNMADE), choices=choices)
        for size in chain(SIZES, iter(lambda: SIZES[-1], 0)):
            batch = list(islice(honest, min(size, room)))
            if not batch:
                return None
            room -= len(batch)
            hit = await self._first(batch)
            if hit is not None:
                return hit
        return None

    def _honest(self, candidates: Iterator[Candidate], *, choices: bool) -> Iterator[Candidate]:
        for candidate in candidates:
            if self._allowed(candidate.arguments, choices=choices):
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

    async def _first(self, batch: Sequence[Candidate]) -> Hit | None:
        """The first of a batch that gives the gold, made lean and confirmed alone."""
        tries = 0
        for tried in await self._run(batch):
            if self._reading(tried) is None or tries == MOST_CONFIRMED:
                continue
            tries += 1
            leanest = await self._leanest(tried.candidate)
            hit = None if leanest is tried.candidate else await self._confirmed(leanest)
            if hit is None:
                hit = self._hit(tried) if tried.alone else await self._confirmed(tried.candidate)
            if hit is not None and not await self._by_chance(hit):
                return hit
        return None

    async def _run(self, batch: Sequence[Candidate]) -> list[Tried]:
        if self.cut >= MOST_CUT:
            return []
        program = self.task.hop.tool.program
        sets = [one.arguments for one in batch]
        outcomes = await run_batch(self.session, program, sets, most_cut=MOST_CUT - self.cut)
        self.executions += len(batch)
        self.cut += sum(isinstance(one, _CUT) for one in outcomes)
        tried = [
            Tried(candidate, outcome, alone=len(batch) == 1)
            for candidate, outcome in zip(batch, outcomes, strict=True)
            if not isinstance(outcome, Skipped)
        ]
        self.tried += tried
        return tried

    def _reading(self, tried: Tried) -> Reading | None:
        if not isinstance(tried.outcome, Returned):
            return None
        value = read_result(tried.outcome.json_text)
        return judge(self.task.asked.gold, value, tried.candidate.arguments)

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

    async def _confirmed(self, candidate: Candidate) -> Hit | None:
        return self._hit(Tried(candidate, await self._alone(candidate)))

    def _hit(self, tried: Tried) -> Hit | None:
        reading = self._reading(tried)
        if isinstance(tried.outcome, Returned) and reading is not None:
            return Hit(tried.candidate, tried.outcome, reading)
        return None

    async def _alone(self, candidate: Candidate) -> Outcome:
        self.executions += 1
        return await self.session.call(self.task.hop.tool.program, candidate.arguments)

    async def _chance(self, arguments: dict[str, JSON]) -> Chance:
        sets = randomised(self.task, arguments, self.basis.audit, self.seed)
        outcomes = await run_batch(self.session, self.task.hop.tool.program, sets)
        ran = [
            Tried(Candidate(one, Provenance.SEARCH), outcome)
            for one, outcome in zip(sets, outcomes, strict=True)
            if not isinstance(outcome, Skipped)
        ]
        return Chance(len(ran), sum(self._reading(tried) is not None for tried in ran))

    async def _by_chance(self, hit: Hit) -> bool:
        """Whether a hit is the search's luck, as random calls of its shape get there as well.

        A call that is given, or has nothing in it but what the question and the document say, was
        not found by trying: it proves the hop even where the tool looks at nothing, and the
        certificate tells the rate.
        """
        if hit.candidate.provenance in {*EXAMPLES, Provenance.QUESTION}:
            return False
        rate = (await self._chance(hit.candidate.arguments)).rate
        if rate is None or rate <= CHANCE_RATE:
            return False
        self.chance_hit = self.chance_hit or Tried(hit.candidate, hit.outcome)
        return True

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
            verdict=Verdict.PROVEN,
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
        for tried in (*self._right_examples(), *made_up[:1]):
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
            if failed is not None:
                return self._defective(*failed, [again])
        if self.chance_hit is not None:
            why = "the only call found gets to the answer as random ones do"
            return self._unproven(why, [self.chance_hit])
        why = "no call of those tried gives the gold answer"
        return self._unproven(why if self.tried else "no call fits the schema", self.tried[:1])

    @staticmethod
    def _is_filled(tried: Tried) -> bool:
        return tried.candidate.provenance is Provenance.QUESTION

    @staticmethod
    def _fails(tried: Tried) -> bool:
        return not isinstance(tried.outcome, Returned)

    async def _again(self, tried: Tried) -> Tried:
        """The same call alone: evidence is what anyone sees who repeats it."""
        return tried if tried.alone else Tried(tried.candidate, await self._alone(tried.candidate))

    async def _answer_as_input(self) -> Tried | None:
        """A call that is given the gold and returns it, where another word is not returned.

        Else the source's own example that is given the gold, whatever it returns: the tool is made
        to be told the answer.
        """
        for tried in (*self.leaks, *await self._run(list(self._given_away()))):
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
        gold, word = self.task.asked.gold, "Qorvellan Thrys"
        arguments = replaced(tried.candidate.arguments, gold, word)
        if not isinstance(arguments, dict) or not isinstance(tried.outcome, Returned):
            return True
        outcome = await self._alone(replace(tried.candidate, arguments=arguments))
        if not isinstance(outcome, Returned):
            return False
        return outcome.json_text.replace(word, gold) == tried.outcome.json_text

    def _defective(self, defect: Defect, why: str, evidence: Sequence[Tried]) -> HopProof:
        return replace(self._unproven(why, evidence), verdict=Verdict.DEFECTIVE, defect=defect)

    def _unproven(self, why: str, evidence: Sequence[Tried]) -> HopProof:
        return HopProof(
            tool=self.task.hop.tool.name,
            verdict=Verdict.UNPROVEN,
            why=why,
            executions=self.executions,
            edges=named(self.task.asked),
            evidence=tuple(Evidence.of(one.candidate.arguments, one.outcome) for one in evidence),
        )
