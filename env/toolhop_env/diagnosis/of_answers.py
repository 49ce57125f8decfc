"""Checks of answers and of how calls are written: ill-fitting scorers, limits and formats."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

from toolhop_env.benchmarks import named
from toolhop_env.diagnosis.facts import Seen, SeenCall
from toolhop_env.diagnosis.finding import (
    Finding,
    Severity,
    in_words,
    share_severity,
    shortened,
    tallied,
    with_score,
)
from toolhop_env.measures import Measure
from toolhop_env.score import Conduct
from toolhop_sandbox.outcome import JSON


def scorer_gaps(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find episodes on which a benchmark's scorers differ, by direction and reason."""
    groups: dict[str, list[Seen]] = defaultdict(list)
    for one in with_score(seen):
        if not one.baseline:
            groups[one.attempt.benchmark].append(one)
    for name, scored in groups.items():
        measures = [one for one in named(name).answer_measures if one.binary]
        for first, other in product(measures[:1], measures[1:]):
            both = [one for one in scored if _has_figure(one, first) and _has_figure(one, other)]
            yield from _one_way(both, other, first)
            yield from _one_way(both, first, other)


def _has_figure(one: Seen, measure: Measure) -> bool:
    score = one.attempt.score
    return score is not None and measure.of(score) is not None


def _one_way(scored: Sequence[Seen], by: Measure, against: Measure) -> Iterator[Finding]:
    hit = [one for one in scored if one.has(by) and not one.has(against)]
    if hit:
        why = Counter(one.gap or "unexplained" for one in hit)
        yield Finding(
            f"{by.name}_only",
            share_severity(len(hit), len(scored)),
            f"{len(hit)} of {len(scored)} answers are right by {_quoted(by)} and wrong by "
            f"{_quoted(against)}: {in_words(why)}",
            tuple(one.name for one in hit),
            {"reasons": tallied(why)},
        )


def _quoted(measure: Measure) -> str:
    """Return a measure's heading, quoted if it has several words."""
    return f'"{measure.heading}"' if " " in measure.heading else measure.heading


def scoring_baselines(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find agents that score without looking at the question."""
    groups: dict[tuple[str, str, str], list[Seen]] = defaultdict(list)
    for one in with_score(seen):
        if one.baseline:
            groups[one.attempt.benchmark, one.attempt.agent, one.attempt.mode].append(one)
    for (name, agent, mode), group in groups.items():
        lead, measures = named(name).lead, named(name).answer_measures
        right = {m.name: sum(one.has(m) for one in group) for m in measures}
        if any(right.values()):
            # A gold may equal the constant by chance, but no gold is an empty answer.
            wrong = lead.binary and right[lead.name] and agent == "do-nothing"
            shown = ", ".join(f"{m.heading} {right[m.name]}" for m in measures)
            evidence: dict[str, JSON] = {**right, "episodes": len(group)}
            yield Finding(
                "scoring_baselines",
                Severity.ERROR if wrong else Severity.WARNING,
                f"{agent} scores in {mode} mode, of {len(group)} episodes: {shown}",
                tuple(one.name for one in group if any(one.has(m) for m in measures)),
                evidence,
            )


LEAST_REJECTED = 5
REPAIRED_SHARE = 0.3
"""Minimum number of an agent's rejected calls, and minimum share of them that a lenient parser
would run."""


def repairable_calls(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find agents whose calls fail by their form: the tool-call format may not suit them."""
    groups: dict[tuple[str, str], list[tuple[Seen, SeenCall]]] = defaultdict(list)
    for one in with_score(seen):
        rejected = [(one, call) for call in one.calls if not call.ran]
        groups[one.attempt.agent, one.attempt.call_format.value] += rejected
    for (agent, call_format), calls in groups.items():
        repaired = [(one, call) for one, call in calls if call.repaired]
        if len(calls) >= LEAST_REJECTED and len(repaired) >= REPAIRED_SHARE * len(calls):
            codes = Counter(str(call.error) for _, call in repaired)
            yield Finding(
                "repairable_calls",
                Severity.WARNING,
                f"{len(repaired)} of the {len(calls)} rejected calls of {agent} in {call_format} "
                f"tool-call format would have run for a lenient parser: {in_words(codes)}",
                tuple(dict.fromkeys(one.name for one, _ in repaired)),
                {"rejected": len(calls), "repairable": len(repaired), "codes": tallied(codes)},
            )


LEAST_ITEMS = 5
SAME_SHARE = 0.8
"""Minimum number of different items an agent answered, and minimum share of them with the same
answer."""


def same_answers(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find agents that answer nearly every item alike although the golds differ."""
    groups: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in with_score(seen):
        if not one.baseline and one.answer is not None:
            groups[one.attempt.agent, one.attempt.mode].append(one)
    for (agent, mode), group in groups.items():
        answers = Counter(" ".join((one.answer or "").casefold().split()) for one in group)
        items, golds = {one.item for one in group}, {one.gold for one in group}
        if len(items) < LEAST_ITEMS or len(golds) < 2:
            continue
        [(answer, count)] = answers.most_common(1)
        if count >= SAME_SHARE * len(group):
            yield Finding(
                "same_answers",
                Severity.WARNING,
                f"{agent} gives the answer {shortened(answer)} in {count} of {len(group)} "
                f"episodes of {len(items)} items in {mode} mode",
                tuple(one.name for one in group),
                {"answer": answer[:200], "episodes": count, "of": len(group)},
            )


MOSTLY = 0.5
"""Share of too-short prompts at which the server is assumed to drop tools."""


def tools_unseen(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find prompts with too few tokens to contain the tools that were sent."""
    for who, group in _by_format(seen).items():
        hit = [one.name for one, conduct in group if conduct.tools_unseen]
        if hit:
            yield Finding(
                "tools_unseen",
                Severity.ERROR if len(hit) >= MOSTLY * len(group) else Severity.WARNING,
                f"{len(hit)} of {len(group)} first prompts have too few tokens to hold the tools "
                f"that were sent ({who}): the server seems to drop them, as with a chat template "
                "that knows no tools. Give it another template (--chat-template for --gguf), or "
                "play with --call-format text",
                tuple(hit),
                {"episodes": len(group)},
            )


def cut_replies(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find replies cut off by the token limit, which is a setting."""
    for who, group in _by_format(seen).items():
        hit = [one for one, conduct in group if conduct.cut_replies]
        wrong = sum(not one.solved for one in hit)
        if hit:
            yield Finding(
                "cut_replies",
                share_severity(len(hit), len(group)),
                f"{len(hit)} of {len(group)} episodes have a reply cut by the limit of its tokens "
                f"({who}); {wrong} of them are wrong. A larger --max-tokens tells whether that is "
                "why",
                tuple(one.name for one in hit),
                {"wrong": wrong},
            )


def _by_format(seen: Sequence[Seen]) -> dict[str, list[tuple[Seen, Conduct]]]:
    """Group scored attempts by agent, mode and tool-call format, as text."""
    groups: dict[str, list[tuple[Seen, Conduct]]] = defaultdict(list)
    for one in with_score(seen):
        tried = one.attempt
        if tried.score is not None:
            who = f"{tried.agent} in {tried.mode} mode, {tried.call_format} tool-call format"
            groups[who].append((one, tried.score.conduct))
    return groups
