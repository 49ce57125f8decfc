"""Has a judge answer what a benchmark asks of a trace."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping

import jsonschema_rs

from toolhop_agents.judge.judges import Judge, NoAnswer, Said
from toolhop_agents.models.base import ConversationTooLong
from toolhop_env.benchmarks import named
from toolhop_env.guarded import fault
from toolhop_env.questions import LlmQuestion, Question, SimilaritiesQuestion, digest
from toolhop_env.runs.judgements import Judgement, holding
from toolhop_env.spending import Spent, cost_of, spent_on
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.outcome import JSON

log = logging.getLogger(__name__)


async def judged(
    trace: Trace, judge: Judge, known: Mapping[str, Judgement]
) -> AsyncIterator[tuple[Judgement | None, Spent]]:
    """The answers that are missing, one by one as the judge gives them, and what each took.

    An answer that does not fit its question is none, nor is there one to a question that is too
    long for a model: the question stays open, with a warning, and is asked again when the run is
    resumed.

    Args:
        trace: of an episode that has ended; an errored one has no questions.
        judge: who is asked.
        known: the answers there are, by the question's id.

    Raises:
        ModelFault: the judge could not be asked.
        BenchmarkFault: the benchmark's questions cannot be asked.
    """
    ended, start = trace.ended, trace.started
    if ended is None or ended.ending is Ending.ERRORED:
        return
    benchmark, found, tried = named(start.benchmark), dict(known), set[str]()
    while True:
        _, left = benchmark.settled(trace, lambda asked: holding(found, asked))
        if not (left := [one for one in left if digest(one) not in tried]):
            return
        for question in left:
            tried.add(digest(question))
            fits = _fit(question, start.benchmark)
            try:
                said = await _answer(judge, question)
            except ConversationTooLong as too_long:
                log.warning("%r of %s stays open: %s", question.id, start.episode, too_long)
                continue
            if said is None:
                continue
            if isinstance(said, Said) and fits(said.answer):
                found[question.id] = _judgement(start.episode, question, digest(question), said)
                yield found[question.id], spent_on(said.replies)
                continue
            given = said.answer if isinstance(said, Said) else said.last
            log.warning(
                "the judge %s gave no valid answer to %r of %s (%.100r): the question stays open",
                said.judge, question.id, start.episode, given,
            )  # fmt: skip
            yield None, spent_on(said.replies)


async def _answer(judge: Judge, question: Question) -> Said | NoAnswer | None:
    """What the judge says; several similarities one by one, where it has no answer to all."""
    said = await judge.answer(question)
    if said is not None or not isinstance(question, SimilaritiesQuestion):
        return said
    each: list[Said] = []
    for pair in question.pairs:
        one = await judge.answer(pair)
        if not isinstance(one, Said):
            return one
        each.append(one)
    if not each:
        return None
    replies = tuple(reply for one in each for reply in one.replies)
    return Said(each[0].judge, [one.answer for one in each], replies)


def _judgement(episode: str, question: Question, key: str, said: Said) -> Judgement:
    return Judgement(
        episode=episode,
        question=question.id,
        digest=key,
        judge=said.judge,
        answer=said.answer,
        cost_usd=cost_of(said.replies),
    )


def _fit(question: Question, benchmark: str) -> Callable[[JSON], bool]:
    """Tells whether an answer is one: valid under the question's schema, or finite numbers.

    Raises:
        BenchmarkFault: the question's schema is none.
    """
    if isinstance(question, SimilaritiesQuestion):
        length = len(question.others)
        return lambda answer: (
            isinstance(answer, list) and len(answer) == length and all(map(_is_number, answer))
        )
    if not isinstance(question, LlmQuestion):
        return _is_number
    try:
        return jsonschema_rs.validator_for(dict(question.schema)).is_valid
    except ValueError as error:
        what = f"the schema of the question {question.id!r} is no JSON Schema: {error}"
        raise fault(benchmark, what) from error


def _is_number(answer: JSON) -> bool:
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return False
    return -sys.float_info.max <= answer <= sys.float_info.max
