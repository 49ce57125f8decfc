"""One hop's search: candidates in batches, and each hit put to the five conditions.

The search knows where a call came from and the conditions do not: an example of the source that
reaches the gold is judged as any other call is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from toolhop_sandbox.base import Session
from toolhop_sandbox.outcome import JSON, Died, Outcome, OutOfMemory, Returned, TimedOut
from toolhop_tools.answers import same_answer
from toolhop_tools.batch import run_batch
from toolhop_tools.certify import conditions
from toolhop_tools.certify.audit import Chance, randomised
from toolhop_tools.certify.candidates import (
    EXAMPLES,
    Candidate,
    Provenance,
    Task,
    distinct,
    examples,
    filled,
    given_away,
    texts_of,
    written,
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
    Evidence,
    HopProof,
    HopVerdict,
)
from toolhop_tools.certify.readable import Leaf
from toolhop_tools.certify.shapes import edges, named
from toolhop_tools.certify.standing import Standing, asks_otherwise, rivals, standing, wanted
from toolhop_tools.errors import shown
from toolhop_tools.reading import Reading, answer_at, read_result

SIZES = (12, 40, 64)
"""Calls of the first batches; all after them have the last size. Most hits come early."""
MOST_UNMADE = 4000
"""Candidates that are looked at, most of them such as the simulator would refuse."""
MOST_JUDGED = 6
"""Hits that are judged before a search gives up."""
MOST_CUT = 3
"""Calls that may run out of time or memory, or die, before a search gives up."""
_CUT = (TimedOut, OutOfMemory, Died)
_TOLD = frozenset({"answer", "question", "date", "enum", "default"})
MOST_STEPS = 4
"""Steps from an example to the call that says what is asked and nothing else."""
EXACT_COST = 0.3
"""Cost up to which a made-up call has nothing in it but what the question or a default says."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A call that gave the gold answer, alone in its process."""

    candidate: Candidate
    outcome: Returned
    reading: Reading
    chance: Chance


@dataclass(frozen=True, slots=True)
class Rejected:
    """A hit that proves nothing, with the reason."""

    verdict: HopVerdict
    why: str
    evidence: tuple[Tried, ...]
    """The hit, and the call that speaks against it where one does."""
    right: Tried | None = None
    """The call that is nearer to the question."""


@dataclass
class Search:
    """One hop's search."""

    session: Session
    task: Task
    basis: Basis
    seed: str
    """Of the random arguments."""
    later: Sequence[str] = ()
    """Sub-questions of the hops after this one."""
    executions: int = 0
    tried: list[Tried] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    cut: int = 0
    """Calls that ran out of time or memory, or died, and calls not made because of them."""

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
            if isinstance(judged, Hit) and not self._outdone(judged):
                return self._proven(judged)
            if isinstance(judged, Rejected):
                self.rejected.append(judged)
            if len(self.rejected) == MOST_JUDGED:
                break
        return await self._not_proven()

    def _outdone(self, hit: Hit) -> bool:
        """Whether a hit nearer to the question was found wanting: what says less proves nothing."""
        mine = standing(self.task, hit.candidate.arguments)
        wanting = [one for one in self.rejected if one.right is not None]
        return any(self._over(one.evidence[0].candidate.arguments, mine) for one in wanting)

    async def _broken(self) -> HopProof | None:
        """A hop that cannot be called: one call shows what comes of it.

        None where it can be called all the same, as a function that is an assigned lambda.
        """
        known = static_failure(self.task)
        if known is None:
            return None
        bare = Candidate({}, Provenance.SEARCH)
        candidate = next(chain(examples(self.task), filled(self.task), (bare,)))
        outcome = await self._alone(candidate)
        failed = failure(outcome)
        source = self.task.source
        if known.defect is Defect.NOT_CALLABLE and not (source.parses and source.defined):
            if failed is None:
                return None
            # What the sandbox says is exact: a line, a refused import.
            known = failed
        return self._without_proof(known, [Tried(candidate, outcome)])

    # -- calls that reach the gold

    async def _hits(self) -> AsyncIterator[Candidate]:
        """The calls that reach the gold, from the likeliest on."""
        given = list(distinct(chain(written(self.task), examples(self.task))))
        taken = [one for one in given if conditions.accepted(self.task, one.arguments)]
        for tried in await self._run(taken):
            if self._reads(tried):
                yield tried.candidate
        room = self.basis.executions
        stream = distinct(self._made_up())
        for size in chain(SIZES, iter(lambda: SIZES[-1], 0)):
            batch = list(islice(stream, max(0, min(size, room))))
            if not batch:
                return
            room -= len(batch)
            for tried in await self._run(batch):
                if self._reads(tried):
                    yield tried.candidate

    def _made_up(self) -> Iterator[Candidate]:
        task = self.task
        plain, first = filled(task), sum(SIZES[:2])
        # Errors are read once the first calls are made: what they ask for is given then.
        told = (one for _ in (0,) for one in filled(task, asked_for(task, self.tried)))
        every = chain(islice(plain, first), islice(told, first), plain)
        for one in islice(every, MOST_UNMADE):
            if conditions.accepted(task, one.arguments):
                yield one

    # -- a hit before the conditions

    async def _judged(self, candidate: Candidate) -> Hit | Rejected | None:
        """Whether a call that reaches the gold proves the hop; None where it does not alone."""
        task = self.task
        candidate = await self._leanest(candidate)
        outcome = await self._alone(candidate)
        tried, arguments = Tried(candidate, outcome, alone=True), candidate.arguments
        if not isinstance(outcome, Returned):
            return None
        value = read_result(outcome.json_text)
        reading = hitting(task, value, arguments)
        if reading is None:
            return None
        unknown = conditions.ungrounded(task, arguments)
        others = [one for one in conditions.stand_ins(arguments, unknown) if unknown]
        against = rivals(task, arguments)
        random = randomised(task, arguments, self.basis.audit, self.seed)
        ran = await self._beside([*others, *against, *random])
        instead = [one for one in ran if one.candidate.arguments in others]
        if unknown and (not instead or not all(map(self._reads, instead))):
            return self._no_ground(tried, unknown)
        if conditions.says_nothing(task, arguments):
            why = "the call says nothing of what is asked"
            return Rejected(HopVerdict.UNPROVEN, why, (tried,))
        if missing := conditions.not_provided(task):
            why = f"the tool has nothing for what the question says: {shown(missing[0])}"
            return Rejected(HopVerdict.UNPROVEN, why, (tried,))
        same = conditions.repeated(task, arguments)
        varied = [one for one in ran if one.candidate.arguments in random]
        pairs = [(one.candidate.arguments, one.outcome) for one in ran]
        if conditions.joined(task, arguments) or (
            same is not None and conditions.follows(task, same, pairs)
        ):
            why = "the tool repeats what the call is given"
            return Rejected(HopVerdict.UNPROVEN, why, (tried,))
        near = [one for one in ran if one.candidate.arguments in against]
        if (doubt := self._undetermined(tried, near, reading)) is not None:
            return doubt
        hits = [self._reads(one) for one in varied]
        if conditions.nearly_constant(hits):
            why = f"{sum(hits)} of {len(hits)} calls with other values give the answer as well"
            return Rejected(HopVerdict.UNPROVEN, why, (tried, *varied[:1]))
        return Hit(candidate, outcome, reading, Chance(len(hits), sum(hits)))

    def _no_ground(self, tried: Tried, unknown: Sequence[Leaf]) -> Rejected:
        gold = self.task.asked.gold
        given = [one for one in unknown if same_answer(gold, str(one.value))]
        if given:
            why = "only calls that are given the answer return it"
            return Rejected(HopVerdict.DEFECTIVE, why, (tried,))
        listed = ", ".join(shown(leaf.value) for leaf in unknown)
        return Rejected(HopVerdict.UNPROVEN, f"nothing but the source tells of {listed}", (tried,))

    def _undetermined(
        self, tried: Tried, near: Sequence[Tried], reading: Reading
    ) -> Rejected | None:
        """The reading that speaks against a hit: one nearer to the question, or one as near."""
        task, mine = self.task, standing(self.task, tried.candidate.arguments)
        given = [one for one in self.tried if one.candidate.provenance in EXAMPLES]
        right = [one for one in given if self._says_what_is_asked(one.candidate)]
        undecided: Rejected | None = None
        for one in (*near, *right):
            its = standing(task, one.candidate.arguments)
            nearer = its.over(mine)
            other = definite(task, one.outcome, one.candidate.arguments, any_kind=nearer)
            apart = asks_otherwise(task, tried.candidate.arguments, one.candidate.arguments)
            if not other and (nearer or not apart or self._reads(one)):
                continue
            if nearer:
                why = f"a call nearer to the question, {_apart(tried, one)}, gives another answer"
                return Rejected(HopVerdict.DEFECTIVE, why, (tried, one), one)
            if not mine.over(its) and undecided is None:
                why = (
                    f"another call, {_apart(tried, one)}, can be read as well and answers otherwise"
                )
                undecided = Rejected(HopVerdict.AMBIGUOUS, why, (tried, one))
        value = (
            read_result(tried.outcome.json_text) if isinstance(tried.outcome, Returned) else None
        )
        listed = conditions.others_listed(task, value, reading, tried.candidate.arguments)
        if undecided is None and listed:
            why = f"the result names others that are as near: {', '.join(map(shown, listed[:3]))}"
            return Rejected(HopVerdict.AMBIGUOUS, why, (tried,))
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
            found = [one for one in await self._beside(fewer) if self._reads(one)]
            if not found:
                return candidate
            candidate = replace(candidate, arguments=found[0].candidate.arguments)

    # -- what there is instead of a proof

    def _says_what_is_asked(self, candidate: Candidate) -> bool:
        """Whether a call is an example, or made of what is asked alone, and is grounded."""
        told = _TOLD.issuperset(candidate.sources.values()) and candidate.cost <= EXACT_COST
        values = [repr(value) for value in candidate.arguments.values()]
        told = told and len(set(values)) == len(values)
        exact = candidate.provenance is Provenance.QUESTION and told
        if not exact and candidate.provenance not in EXAMPLES:
            return False
        held = standing(self.task, candidate.arguments).held or not wanted(self.task)
        return bool(held) and not conditions.ungrounded(self.task, candidate.arguments)

    def _nearest(self, arguments: dict[str, JSON]) -> dict[str, JSON]:
        """The call that is reached step by step, each one nearer to what is asked."""
        for _ in range(MOST_STEPS):
            mine = standing(self.task, arguments)
            nearer = (one for one in rivals(self.task, arguments) if self._over(one, mine))
            arguments, before = next(nearer, arguments), arguments
            if arguments == before:
                break
        return arguments

    def _over(self, arguments: dict[str, JSON], mine: Standing) -> bool:
        return standing(self.task, arguments).over(mine)

    async def _not_proven(self) -> HopProof:
        ambiguous = [one for one in self.rejected if one.verdict is HopVerdict.AMBIGUOUS]
        for one in ambiguous[:1]:
            return self._without_proof(Failure(one.verdict, one.why), one.evidence)
        beaten = [one for one in self.rejected if one.right is not None]
        shown_ = [await self._shown_by(one) for one in beaten]
        if beaten and None not in shown_:
            return next(one for one in shown_ if one is not None)
        beaten = [one for one, by in zip(beaten, shown_, strict=True) if by is None]
        from_examples = [
            one for one in self.rejected if one.evidence[0].candidate.provenance in EXAMPLES
        ]
        for one in (beaten + from_examples)[:1]:
            return self._doubtful(one)
        return await self._by_right_calls()

    async def _shown_by(self, one: Rejected) -> HopProof | None:
        """What a call that is nearer to the question than a hit shows; None where it may be wrong.

        It is sure where the question says what the hit has not, or where it is the source's own
        example.
        """
        if one.right is None:
            return None
        task, hit = self.task, one.evidence[0]
        candidate = replace(
            one.right.candidate, arguments=self._nearest(one.right.candidate.arguments)
        )
        arguments = candidate.arguments
        right = Tried(candidate, await self._alone(candidate), alone=True)
        found = other_result(task.asked, right, self.later)
        if found is None or conditions.ungrounded(task, arguments):
            return None
        if not definite(task, right.outcome, arguments, any_kind=True):
            return None
        given = [t.candidate for t in self.tried if t.candidate.provenance in EXAMPLES]
        if standing(task, arguments).surely_over(standing(task, hit.candidate.arguments)):
            why = "the gold is the result of another call than the one that is asked for"
            if found.defect is Defect.OTHER_VALUE:
                found = Failure(HopVerdict.DEFECTIVE, why, Defect.OTHER_LABEL)
        elif not any(self._nearest(each.arguments) == arguments for each in given):
            return None
        return self._without_proof(found, [right, hit])

    def _doubtful(self, one: Rejected) -> HopProof:
        if one.verdict is HopVerdict.DEFECTIVE and one.right is None:
            found = Failure(one.verdict, one.why, Defect.NEEDS_ANSWER)
            return self._without_proof(found, one.evidence)
        return self._without_proof(Failure(HopVerdict.UNPROVEN, one.why), one.evidence)

    async def _by_right_calls(self) -> HopProof:
        """Defective or refused where the right call shows it, else unproven."""
        task = self.task
        shown_ = [one.candidate for one in self.tried if self._says_what_is_asked(one.candidate)]
        nearest = [replace(one, arguments=self._nearest(one.arguments)) for one in shown_[:8]]
        right = [
            Tried(one, await self._alone(one), alone=True) for one in islice(distinct(nearest), 4)
        ]
        for tried in right:
            if definite(task, tried.outcome, tried.candidate.arguments, any_kind=True):
                found = other_result(task.asked, tried, self.later)
                if found is not None:
                    return self._without_proof(found, [tried])
        given = await self._answer_as_input()
        if given is not None:
            why = "only calls that are given the answer return it"
            found = Failure(HopVerdict.DEFECTIVE, why, Defect.NEEDS_ANSWER)
            return self._without_proof(found, [given, *right[:1]])
        for tried in (right or self.tried)[:1]:
            failed = failure(tried.outcome)
            sure = failed is not None and not is_left_out(tried.outcome, task.properties)
            every = all(not isinstance(one.outcome, Returned) for one in self.tried)
            if failed is not None and sure and every:
                again = Tried(tried.candidate, await self._alone(tried.candidate))
                return self._without_proof(failure(again.outcome) or failed, [again])
        for one in self.rejected[:1]:
            return self._doubtful(one)
        why = (
            "no call of those tried gives the gold answer" if self.tried else "no call is accepted"
        )
        return self._without_proof(Failure(HopVerdict.UNPROVEN, why), self.tried[:1])

    async def _answer_as_input(self) -> Tried | None:
        """A call that is given the gold and returns it, where another word is not returned."""
        gold = self.task.asked.gold
        leaks = [
            one
            for one in self.tried
            if one.candidate.provenance in EXAMPLES
            and any(same_answer(gold, text) for text in texts_of(one.candidate.arguments))
        ]
        made_up = await self._run(list(islice(distinct(given_away(self.task)), SIZES[1])))
        for tried in (*leaks, *made_up):
            if not isinstance(tried.outcome, Returned):
                continue
            if judge(gold, read_result(tried.outcome.json_text), {}) is not None:
                return tried
        return leaks[0] if leaks else None

    def _proven(self, hit: Hit) -> HopProof:
        task, text, candidate = self.task, hit.outcome.json_text, hit.candidate
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
            chance=hit.chance,
            edges=edges(task.asked, candidate.arguments),
        )

    def _without_proof(self, found: Failure, evidence: Sequence[Tried]) -> HopProof:
        return HopProof(
            tool=self.task.hop.tool.name,
            verdict=found.verdict,
            why=found.why,
            executions=self.executions,
            edges=named(self.task.asked),
            defect=found.defect,
            evidence=tuple(Evidence.of(one.candidate.arguments, one.outcome) for one in evidence),
        )

    # -- calls

    async def _run(self, batch: Sequence[Candidate]) -> list[Tried]:
        """Calls of the search, which are kept."""
        if self.cut >= MOST_CUT:
            return []
        sets = [one.arguments for one in batch]
        program, left = self.task.hop.tool.program, MOST_CUT - self.cut
        runs = await run_batch(self.session, program, sets, most_cut=left)
        self.executions += len(batch)
        self.cut += sum(run is None or isinstance(run.outcome, _CUT) for run in runs)
        tried = [
            Tried(candidate, run.outcome, alone=run.alone)
            for candidate, run in zip(batch, runs, strict=True)
            if run is not None
        ]
        self.tried += tried
        return tried

    async def _beside(self, sets: Sequence[dict[str, JSON]]) -> list[Tried]:
        """Calls that a hit is compared with."""
        if not sets:
            return []
        self.executions += len(sets)
        runs = await run_batch(self.session, self.task.hop.tool.program, sets)
        return [
            Tried(Candidate(one, Provenance.SEARCH), run.outcome)
            for one, run in zip(sets, runs, strict=True)
            if run is not None
        ]

    async def _alone(self, candidate: Candidate) -> Outcome:
        self.executions += 1
        return await self.session.call(self.task.hop.tool.program, candidate.arguments)

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
