"""Checks of the gold call and of its result. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, OUTCOME, Outcome, Returned
from toolhop_tools.construct.documents import invalid_call
from toolhop_tools.construct.replies import GoldArguments, NewTool
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import as_json, references, same, texts
from toolhop_tools.failures import tells_of_error
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.reading import leaf_text, read_result
from toolhop_tools.words import as_text

LONGEST = 120
"""Maximum length of an answer, in characters."""
Call: TypeAlias = Callable[[Program, Mapping[str, JSON]], Awaitable[Outcome]]
"""Function that runs a program with arguments, such as `Session.call`."""


def call_findings(
    reply: GoldArguments,
    schema: ToolSchema,
    first: NewTool,
    depends_on: Sequence[int],
    answers: Sequence[str],
) -> Findings:
    """Check a gold call before it runs."""
    return (
        judged("valid-call", invalid_call(schema.parameters, reply.arguments, answers))
        + judged("references", _references(reply, depends_on))
        + judged("no-literal-answer", _literal(reply, depends_on, answers))
        + judged("first-call-kept", _other_values(reply, first))
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
    """Report arguments that differ from the first document's call, which may only be extended."""
    for name, value in first.arguments.items():
        if name in reply.arguments and reply.arguments[name] != value:
            yield (
                f"{name} was {as_text(value)!r} in the first call and is now "
                f"{as_text(reply.arguments[name])!r}: the call stays, options may be added."
            )


def came(outcome: Outcome) -> str:
    """Describe the outcome of a call in words."""
    if isinstance(outcome, Returned):
        return outcome.json_text
    plain: dict[str, JSON] = OUTCOME.dump_python(outcome, mode="json")
    return ", ".join(f"{key}: {value}" for key, value in plain.items() if value is not None)


def answer_of(outcome: Outcome, path: Sequence[str | int]) -> str | None:
    """Return the answer at a path of the result, or None if there is no scalar there."""
    if not isinstance(outcome, Returned):
        return None
    value = read_result(outcome.json_text)
    part = None if tells_of_error(value) else part_at(value, path)
    if isinstance(part, dict | list | bool) or part is None:
        return None
    return leaf_text(part).strip() or None


async def walked(
    hops: Iterable[tuple[Tool, GoldArguments]], call: Call, answers: Sequence[str] = ()
) -> list[str]:
    """Run a chain and return all its answers, or an empty list if any hop has none.

    `answers` are the known answers of the first hops, which are not run again.

    Raises:
        Exception: whatever `call` raises.
    """
    known = [*answers]
    for tool, own in [*hops][len(known) :]:
        outcome = await call(tool.program, own.call(tool.schema.parameters, known))
        answer = answer_of(outcome, own.answer_path)
        if answer is None:
            return []
        known.append(answer)
    return known


def part_at(value: JSON, path: Sequence[str | int]) -> JSON:
    """Return the part of a value at a path, or None if the path does not exist."""
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def answer_findings(
    answer: str | None, result: str, facts: JSON, seed_answer: str, path: Sequence[str | int] = ()
) -> Findings:
    """Check what the gold call returned.

    Args:
        answer: None if the result has no answer.
        result: the outcome of the call, quoted in the repair prompt.
        facts: the value stated for the call by the table or pairs; None if there is none.
        seed_answer: the answer stated by the seed; empty if it states none.
        path: path to the answer, in the result and in the result of a pair.
    """
    if isinstance(facts, dict | list):
        part = part_at(facts, path)
        facts = part if isinstance(part, int | float | str) else facts
    if answer is None:
        return judged("runs", [f"The call gives no answer at answer_path: it gives {result}"])
    wrong = []
    if len(answer) > LONGEST:
        wrong.append(f"The answer has {len(answer):,} characters; at most {LONGEST} are wanted.")
    if facts is not None and not same(
        text := as_json(facts) if isinstance(facts, dict | list) else as_text(facts), answer
    ):
        wrong.append(f"The call gives {answer!r}; the facts say {text!r}.")
    if seed_answer and not same(seed_answer, answer):
        wrong.append(f"The call gives {answer!r}; the seed says {seed_answer!r}.")
    return judged("runs", ()) + judged("answer", wrong)


def literals(arguments: Mapping[str, JSON], options: frozenset[str]) -> list[str]:
    """Return the scalars of a gold call that are neither earlier answers nor options."""
    own = {name: value for name, value in arguments.items() if name not in options}
    return [text for text in texts(own) if not references(text) and text]
