"""Ask a judge a benchmark's questions on a trace."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import jsonschema_rs

from toolhop_agents.judge.judges import Judge, NoAnswer, Said, asked
from toolhop_agents.models.wire_sending import sendable
from toolhop_env.benchmarks import named
from toolhop_env.guarded import fault
from toolhop_env.questions import LlmQuestion, Question, SimilaritiesQuestion, digest
from toolhop_env.runs.judgements import Judgement, Judgements, holding
from toolhop_env.spending import Spent, cost_of, spent_on
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.outcome import JSON

log = logging.getLogger(__name__)


async def judged(
    trace: Trace, judge: Judge, known: Judgements
) -> AsyncIterator[tuple[Judgement, Spent]]:
    """Yield the missing answers as the judge gives them, and the cost of each.

    A question already asked in any episode is not asked again. If no answer fits the question, the
    judge raises, or the question is too long for a model, that question stays open, and a warning
    gives the cause; it is asked again when the run is resumed.

    Args:
        trace: trace of an episode that has ended; an errored one has no questions.
        judge: the judge to ask.
        known: existing answers; those of other judges do not count.

    Raises:
        ModelFault: the judge could not be asked.
        BenchmarkFault: the benchmark's questions cannot be asked.
    """
    ended, start = trace.ended, trace.started
    if ended is None or ended.ending is Ending.ERRORED:
        return
    benchmark, tried = named(start.benchmark), set[str]()
    found = dict(known.of(start.episode, judge.name))
    while True:
        _, left = benchmark.settled(trace, lambda asked: holding(found, asked))
        if not (left := [one for one in left if digest(one) not in tried]):
            return
        for question in left:
            tried.add(digest(question))
            if (same := known.same(judge.name, question)) is not None:
                one = replace(same, episode=start.episode, question=question.id, cost_usd=0.0)
                said: Said | NoAnswer | None = None
            else:
                fits = _fit(question, start.benchmark)
                said = await _answer(judge, question)
                if said is None:
                    continue
                one = _judgement(start.episode, question, judge.name, said, fits)
            found[question.id] = one
            yield one, spent_on(said.replies if said else ())


async def _answer(judge: Judge, question: Question) -> Said | NoAnswer | None:
    """Ask the judge; if it cannot answer several similarities at once, ask one by one."""
    said = await asked(judge, question)
    if said is not None or not isinstance(question, SimilaritiesQuestion):
        return said
    each: list[Said] = []
    for pair in question.pairs:
        one = await asked(judge, pair)
        if not isinstance(one, Said):
            return one
        each.append(one)
    if not each:
        return None
    replies = tuple(reply for one in each for reply in one.replies)
    return Said(each[0].judge, [one.answer for one in each], replies)


def _judgement(
    episode: str, question: Question, panel: str, said: Said | NoAnswer, fits: Callable[..., bool]
) -> Judgement:
    """Build the judgement; instead of an invalid answer it has the cause."""
    answer, cause = None, ""
    if isinstance(said, NoAnswer):
        cause = said.cause or f"gave no valid answer ({said.last!r:.100})"
    elif fits(said.answer):
        answer = sendable(said.answer)  # files cannot contain lone surrogates
    else:
        cause = f"gave no valid answer ({said.answer!r:.100})"
    if cause:
        log.warning(
            "the judge %s %s to %r of %s: the question stays open",
            said.judge, cause, question.id, episode,
        )  # fmt: skip
    cost = cost_of(said.replies)
    return Judgement(episode, question.id, digest(question), said.judge, answer, cost, panel, cause)


def _fit(question: Question, benchmark: str) -> Callable[[JSON], bool]:
    """Return a check for answers: valid under the question's schema, or finite numbers.

    Raises:
        BenchmarkFault: the question's schema is not a valid JSON Schema.
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
        what = f"the schema of the question {question.id!r} is not a JSON Schema: {error}"
        raise fault(benchmark, what) from error


def _is_number(answer: JSON) -> bool:
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return False
    return -sys.float_info.max <= answer <= sys.float_info.max
