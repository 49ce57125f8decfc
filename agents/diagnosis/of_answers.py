"""Checks of answers and of how players write: rules, limits and forms that may not fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from agents.diagnosis.facts import Seen, SeenCall
from agents.diagnosis.finding import (
    Finding,
    Severity,
    in_words,
    listed,
    share_severity,
    shortened,
    tallied,
    with_score,
)
from agents.diagnosis.rule_gaps import Gap
from env.trace import Ending


def lost_answers(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Answers that the last tool result held, and the final message did not."""
    scored = with_score(seen)
    hit = [
        one
        for one in scored
        if one.score
        and one.score.in_last_feedback
        and not one.score.strict
        and one.score.ending is Ending.ANSWERED
    ]
    if hit:
        told = listed(
            f"gold {shortened(one.gold)}, given {shortened(one.answer or '')}" for one in hit
        )
        yield Finding(
            "lost_answers",
            share_severity(hit, scored),
            f"{len(hit)} of {len(scored)} answers are wrong though the last tool result is "
            f"right: {told}",
            tuple(one.name for one in hit),
            {"answers": [{"gold": one.gold, "given": shortened(one.answer or "")} for one in hit]},
        )


REFUSED_BY_OFFICIAL = frozenset({Gap.COMMA, Gap.FORM})


def rule_gaps(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Episodes on which the official and the strict rule differ, each way, by reason."""
    scored = [one for one in with_score(seen) if not one.baseline]
    for kind, said, way in (
        ("official_only", "right by the official rule alone", False),
        ("strict_only", "right by the strict rule alone", True),
    ):
        hit = [one for one in scored if one.gap and (one.gap in REFUSED_BY_OFFICIAL) is way]
        if hit:
            why = Counter(str(one.gap) for one in hit)
            yield Finding(
                kind,
                share_severity(hit, scored),
                f"{len(hit)} of {len(scored)} answers are {said}: {in_words(why)}",
                tuple(one.name for one in hit),
                {"reasons": tallied(why)},
            )


def scoring_baselines(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Players that do not look at the question, and score."""
    groups: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in with_score(seen):
        if one.baseline:
            groups[one.judged.player, one.judged.mode].append(one)
    for (player, mode), group in groups.items():
        official = [one for one in group if one.score and one.score.official]
        strict = [one for one in group if one.score and one.score.strict]
        if official or strict:
            # Some gold may well be the constant; an answer of nothing is the gold of none.
            wrong = strict and player == "do-nothing"
            yield Finding(
                "scoring_baselines",
                Severity.ERROR if wrong else Severity.WARNING,
                f"{player} scores in {mode} mode: official {len(official)}, strict "
                f"{len(strict)} of {len(group)}",
                tuple(one.name for one in group if one in official or one in strict),
                {"official": len(official), "strict": len(strict), "episodes": len(group)},
            )


def cut_replies(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Replies that reached the limit of their tokens, which is a setting."""
    scored = with_score(seen)
    hit = [one for one in scored if one.cut]
    if hit:
        wrong = sum(not (one.score and one.score.strict) for one in hit)
        yield Finding(
            "cut_replies",
            share_severity(hit, scored),
            f"{len(hit)} of {len(scored)} episodes have a reply cut by the limit of its tokens; "
            f"{wrong} of them are wrong. A larger --max-tokens tells whether that is why",
            tuple(one.name for one in hit),
            {"wrong": wrong},
        )


LEAST_REJECTED = 5
REPAIRED_SHARE = 0.3
"""Rejected calls of a player, and the share that a lenient reader would have run."""


def repairable_calls(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Players whose calls fail by their form: the dialect or its description may not fit them."""
    groups: dict[tuple[str, str], list[tuple[Seen, SeenCall]]] = defaultdict(list)
    for one in with_score(seen):
        rejected = [(one, call) for call in one.calls if not call.ran]
        groups[one.judged.player, one.judged.dialect.value] += rejected
    for (player, dialect), calls in groups.items():
        repaired = [(one, call) for one, call in calls if call.repaired]
        if len(calls) >= LEAST_REJECTED and len(repaired) >= REPAIRED_SHARE * len(calls):
            codes = Counter(str(call.error) for _, call in repaired)
            yield Finding(
                "repairable_calls",
                Severity.WARNING,
                f"{len(repaired)} of the {len(calls)} rejected calls of {player} in the {dialect} "
                f"dialect would have run for a lenient reader: {in_words(codes)}",
                tuple(dict.fromkeys(one.name for one, _ in repaired)),
                {"rejected": len(calls), "repairable": len(repaired), "codes": tallied(codes)},
            )


LEAST_ITEMS = 5
SAME_SHARE = 0.8
"""Different items that a player answered, and the share of them with one and the same answer."""


def same_answers(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Players that answer (nearly) every item alike, while the golds differ."""
    groups: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in with_score(seen):
        if not one.baseline and one.answer is not None:
            groups[one.judged.player, one.judged.mode].append(one)
    for (player, mode), group in groups.items():
        answers = Counter(" ".join(one.answer.casefold().split()) for one in group if one.answer)
        items, golds = {one.item for one in group}, {one.gold for one in group}
        if len(items) < LEAST_ITEMS or len(golds) < 2 or not answers:
            continue
        [(answer, count)] = answers.most_common(1)
        if count >= SAME_SHARE * len(group):
            yield Finding(
                "same_answers",
                Severity.WARNING,
                f"{player} gives the answer {shortened(answer)} in {count} of {len(group)} "
                f"episodes of {len(items)} items in {mode} mode",
                tuple(one.name for one in group),
                {"answer": answer[:200], "episodes": count, "of": len(group)},
            )
