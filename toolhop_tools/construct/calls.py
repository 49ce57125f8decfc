"""Stage G: the gold call, and what its result has to be. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.construct.documents import invalid_call
from toolhop_tools.construct.replies import GoldArguments, NewTool
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import SHORT, beside_the_value, references, same, texts
from toolhop_tools.construct.vocabulary import like, senses
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import ToolSchema
from toolhop_tools.reading import leaf_text, read_result
from toolhop_tools.words import as_text, number_of, parts_of, scalars, words

LONGEST, SENTENCE, NOISE = 120, 5, 15
"""Characters of an answer; words of one that may be a sentence; digits of one that is not whole,
as floats have them that nobody rounded."""


def call_findings(
    reply: GoldArguments,
    schema: ToolSchema,
    first: NewTool,
    depends_on: Sequence[int],
    answers: Sequence[str],
    question: str,
) -> Findings:
    """The checks of a gold call before it runs; `question` is the sub-question."""
    return (
        judged("valid-call", invalid_call(schema.parameters, reply.arguments, answers))
        + judged("references", _references(reply, depends_on))
        + judged("no-literal-answer", _literal(reply, depends_on, answers))
        + judged("first-call-kept", _other_values(reply, first))
        + judged("asked-options", _unasked(reply, schema, question))
    )


def _references(reply: GoldArguments, depends_on: Sequence[int]) -> Iterator[str]:
    named = {k for text in texts(reply.arguments) for k in references(text)}
    for hop in depends_on:
        if hop not in named:
            yield f"The answer of hop {hop} is in no argument; write {{{hop}}} where it goes."
    for hop in sorted(named - {*depends_on}):
        yield f"The call refers to hop {hop}, which the sub-question does not depend on."


def _literal(
    reply: GoldArguments, depends_on: Sequence[int], answers: Sequence[str]
) -> Iterator[str]:
    for text in texts(reply.arguments):
        for hop in depends_on:
            if same(answers[hop - 1], text):
                yield f"{text!r} is the answer of hop {hop}; write {{{hop}}}."


def _other_values(reply: GoldArguments, first: NewTool) -> Iterator[str]:
    """What the first document's call says has to be said still."""
    for name, value in first.arguments.items():
        if name in reply.arguments and reply.arguments[name] != value:
            yield (
                f"{name} was {as_text(value)!r} in the first call and is now "
                f"{as_text(reply.arguments[name])!r}: the call stays, options may be added."
            )


def _unasked(reply: GoldArguments, schema: ToolSchema, question: str) -> Iterator[str]:
    """A switch that the call turns on, and nobody asks for: it may change nothing by chance."""
    properties = schema.parameters.get("properties")
    for name, own in (properties if isinstance(properties, dict) else {}).items():
        default = own.get("default") if isinstance(own, dict) else None
        parts = [one for one in parts_of(name) if len(one) > SHORT]
        if reply.arguments.get(name) is not True or default is True:
            continue
        asked = senses(question).keys() & senses(" ".join(parts)).keys()
        if not asked and not like(parts, words(question)):
            yield (
                f"The call sets {name}, of which the sub-question says nothing: leave it as it is, "
                "or have it asked for."
            )


def answer_of(outcome: Outcome, path: Sequence[str | int]) -> str | None:
    """The answer in a result; None where there is none at that place."""
    if not isinstance(outcome, Returned):
        return None
    value = read_result(outcome.json_text)
    return None if tells_of_error(value) else _scalar(_at(value, path))


def _at(value: JSON, path: Sequence[str | int]) -> JSON:
    """The part of a value at a path; None where there is none."""
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def _scalar(value: JSON) -> str | None:
    if isinstance(value, dict | list | bool) or value is None:
        return None
    return leaf_text(value).strip() or None


_FAILURE = re.compile(
    r"^(?:n/?a|none|null|nil|nan|unknown|undefined)$|^(?:error|invalid)\b|\bno\b.*\bfound\b"
    r"|\bnot (?:found|known|available|applicable|supported)\b"
)


def _no_answer(answer: str, question: str, seed_answer: str) -> Iterator[str]:
    """What a result is that nobody gives for an answer."""
    if len(answer) > LONGEST:
        yield f"The answer has {len(answer):,} characters; at most {LONGEST} are wanted."
    elif len(said := words(answer)) >= SENTENCE and (
        answer.endswith(".") or _repeats(said, question)
    ):
        yield f"The answer is a sentence, {answer!r}; return the value alone."
    if not seed_answer and beside_the_value(answer):
        yield f"The answer is {answer!r}: return one value, without a remark or a second form."
    if _FAILURE.search(answer.casefold()):
        yield f"The answer is {answer!r}, which says that there is none; return an error for that."
    number = number_of(answer)
    if number is not None and number.as_tuple().exponent != 0 and _digits(number) >= NOISE:
        yield f"The answer is {answer}, which nobody writes so: round it as the document says."


def _digits(number: Decimal) -> int:
    return len("".join(map(str, number.as_tuple().digits)).rstrip("0"))


def _repeats(said: Sequence[str], question: str) -> bool:
    """Whether half of an answer's words are those of its question."""
    asked = {*words(question)}
    return 2 * sum(word in asked for word in said) >= len(said)


def answer_findings(
    answer: str | None,
    noted: str,
    facts: JSON,
    seed_answer: str,
    question: str,
    path: Sequence[str | int] = (),
) -> Findings:
    """The checks of what the gold call gave.

    Args:
        answer: the answer; None where the result has none.
        noted: what came, for the repair.
        facts: what table or pairs say of the call; None where they say nothing.
        seed_answer: the seed's own, empty where it has none.
        question: the sub-question, which must not say it.
        path: where in the result, and in a pair's, the answer stands.
    """
    if isinstance(facts, dict | list):
        facts = part if isinstance(part := _at(facts, path), int | float | str) else facts
    if answer is None:
        return judged("runs", [f"The call gives no answer at answer_path: it gives {noted}"])
    wrong = [*_no_answer(answer, question, seed_answer)]
    if facts is not None and not same(said := _shown(facts), answer):
        wrong.append(f"The call gives {answer!r}; the facts say {said!r}.")
    if seed_answer and not same(seed_answer, answer):
        wrong.append(f"The call gives {answer!r}; the seed says {seed_answer!r}.")
    return judged("runs", ()) + judged("answer", wrong)


def _shown(value: JSON) -> str:
    whole = isinstance(value, dict | list)
    return json.dumps(value, ensure_ascii=False) if whole else as_text(value)


_ANY_KEY = frozenset(["answer", "output", "result", "results", "value", "values"])


def part_findings(
    outcome: Outcome, path: Sequence[str | int], arguments: Mapping[str, JSON], question: str
) -> Findings:
    """Whether the part of a result that is the answer is the one that is asked for, by its key."""
    return judged("part-as-asked", _other_part(outcome, path, arguments, question))


def _other_part(
    outcome: Outcome, path: Sequence[str | int], arguments: Mapping[str, JSON], question: str
) -> Iterator[str]:
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
    given, key = texts(dict(arguments)), path[-1] if path else ""
    if not isinstance(key, str) or not key:
        return
    others = [
        str(one[-1])
        for one, leaf in scalars(value)
        if one and isinstance(one[-1], str) and one[-1] != key and as_text(leaf) not in given
    ]
    own, asked = _likeness(key, question), senses(question)
    better = [one for one in others if _likeness(one, question) > own]
    foreign = [one for name, listed in senses(" ".join(parts_of(key))).items() for one in listed
               if name not in asked]  # fmt: skip
    if others and not {*parts_of(key)} & _ANY_KEY and (better or foreign):
        other = (better or others)[0]
        yield (
            f"answer_path takes {key!r}, and the result has {other!r} beside it: take the part "
            "that the sub-question asks for, or name the parts in its words."
        )


def _likeness(key: str, question: str) -> float:
    """The share of a key's words that the question has, or a word of their sense."""
    asked, said = senses(question), words(question)
    parts = parts_of(key)
    return sum(like([one], said) or bool(senses(one).keys() & asked) for one in parts) / max(
        1, len(parts)
    )


def literals(arguments: Mapping[str, JSON], options: frozenset[str]) -> list[str]:
    """The scalars of a gold call that are no earlier answers and no options."""
    own = {name: value for name, value in arguments.items() if name not in options}
    return [text for text in texts(own) if not references(text) and text]
