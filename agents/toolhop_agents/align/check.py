"""`toolhop align check`: everything that a line of training data claims, checked again.

Each line is rendered with the chat template, and its agent's turns are executed again. Nothing is
taken from the line that can be computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.align import executed
from toolhop_agents.align.leaks import TRAIN, VALIDATION, Print, leaks
from toolhop_agents.align.line import (
    AlignError,
    Chat,
    Pair,
    PairType,
    Result,
    Tokens,
    Verdict,
    Wire,
)
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.writers import rendered_pair, views
from toolhop_agents.models.wire_reading import Unreadable
from toolhop_env.responders import MissingResponder
from toolhop_env.trace import Trace
from toolhop_env.validation import strict_json
from toolhop_sandbox.base import Sandbox
from toolhop_tools.model import Item, canonical
from toolhop_tools.several import each
from toolhop_tools.words import runs, words

SHORTEST = 3
"""Letters below which an answer is not looked for in texts: it would be found by chance."""
VERDICTS: Mapping[PairType, tuple[Verdict, Verdict]] = {
    PairType.CORRECT_HALLUCINATED: (Verdict.CORRECT, Verdict.HALLUCINATED),
    PairType.CORRECT_INDECISIVE: (Verdict.CORRECT, Verdict.INDECISIVE),
    PairType.INDECISIVE_HALLUCINATED: (Verdict.INDECISIVE, Verdict.HALLUCINATED),
    PairType.SUCCESS_FAILURE: (Verdict.SUCCESS, Verdict.FAILURE),
    PairType.SUCCESS_HALLUCINATION: (Verdict.SUCCESS, Verdict.HALLUCINATION),
    PairType.FAILURE_HALLUCINATION: (Verdict.FAILURE, Verdict.HALLUCINATION),
}
"""Verdicts of chosen and rejected; an answer is preferred to any further call."""
CALLS = frozenset({Verdict.CORRECT, Verdict.INDECISIVE, Verdict.HALLUCINATED})
TRAJECTORIES = frozenset([*VERDICTS][3:])


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that must not be trained on, and why."""

    line: str
    reason: str


async def refusals(
    lines: Sequence[Chat | Pair],
    items: Mapping[str, Item],
    template: ChatTemplate,
    sandbox: Sandbox,
    *,
    by: Sequence[str],
    against: Sequence[Item] = (),
    at_a_time: int = 2,
    on_line: Callable[[], None] = lambda: None,
) -> list[Refusal]:
    """Check lines, and return what is wrong, in the order of the lines.

    Args:
        lines: chats and pairs.
        items: their items, by id.
        template: chat template of the model to train.
        sandbox: entered; runs the calls.
        by: what may not be shared by the two splits (`leaks.BY`).
        against: held-out items.
        at_a_time: number of lines that are executed at once.
        on_line: called after each line.

    Raises:
        AlignError: the template does not end a turn.
        SandboxUnavailable: no more workers can be started.
    """
    end = template.end()
    found: dict[int, list[str]] = {}

    async def one(numbered: tuple[int, Chat | Pair]) -> None:
        number, line = numbered
        found[number] = await _of_line(line, items.get(line.item), template, end, sandbox)
        on_line()

    await each(enumerate(lines), one, at_a_time=at_a_time)
    by_line = [Refusal(lines[n].id, reason) for n in sorted(found) for reason in found[n]]
    return [*by_line, *_of_all(lines, items, by, against)]


async def _of_line(
    line: Chat | Pair, item: Item | None, template: ChatTemplate, end: str, sandbox: Sandbox
) -> list[str]:
    if item is None:
        return [f"its item {line.item} is not in the folder"]
    if item.digest != line.item_digest:
        return [f"its item {line.item} was changed"]
    static = [*_of_item(line, item), *_static(line, item, template, end)]
    if static:
        return static  # executed only if it can be
    try:
        if isinstance(line, Chat):
            return [*await _chat_again(line, item, sandbox)]
        return [*await _pair_again(line, item, sandbox)]
    except (Unreadable, MissingResponder, ValueError) as error:
        return [f"it cannot be run again: {error}"]


# -- without executing ---------------------------------------------------------------------------


def _of_item(line: Chat | Pair, item: Item) -> Iterator[str]:
    one = Print.of(item)
    if (line.family, line.domain) != (one.family, one.domain):
        yield f"its item is of the family {one.family} and the domain {one.domain}"
    if line.split not in {TRAIN, VALIDATION}:
        yield f"its split is {line.split}, not {TRAIN} or {VALIDATION}"
    for tool in line.tools:
        name = str(tool.get("function", {}).get("name"))
        known = item.all_tools.get(name)
        if known is None or canonical(known.schema.to_openai()) != canonical(tool):
            yield f"the tool {name} is not as the item shows it"


def _static(line: Chat | Pair, item: Item, template: ChatTemplate, end: str) -> Iterator[str]:
    try:
        if isinstance(line, Chat):
            yield from _gold_said(line.messages, item)
            yield from _masks(line, template, end)
            yield from _tokens(line.tokens)
        else:
            yield from _gold_said((*line.prompt, *line.chosen), item)
            yield from _as_pair(line, template, end)
            yield from _tokens(line.chosen_tokens)
            yield from _tokens(line.rejected_tokens)
    except (AlignError, KeyError, TypeError) as error:
        yield f"it cannot be rendered: {error}"


def _said(message: Wire) -> str:
    return f"{message.get('reasoning_content', '')}\n{message['content']}"


def _gold_said(messages: Sequence[Wire], item: Item) -> Iterator[str]:
    """Yield answers that the prompt or a thought names before anything returned them."""
    answers = [item.answer, *(hop.answer for hop in item.hops)]
    secret = {one: words(one) for one in answers if len(one) >= SHORTEST}
    begun, heard = False, ()  # type: tuple[bool, tuple[str, ...]]
    for at, message in enumerate(messages):
        text = _said(message)
        agent = message["role"] == "assistant"
        begun = begun or agent
        last = at == len(messages) - 1
        own = text if begun else text.replace(item.question, "")
        if (agent and not last) or not begun or (agent and message.get("tool_calls")):
            for answer, parts in secret.items():
                if runs(parts, words(own)) and not runs(parts, heard):
                    where = f"message {at + 1}" if begun else "the prompt"
                    yield f"{where} names the answer {answer!r} before it is known"
                    return
        heard += words(text)
        for call in message.get("tool_calls", ()):
            heard += words(call["function"]["arguments"])


def _masks(line: Chat, template: ChatTemplate, end: str) -> Iterator[str]:
    if not line.trained:
        yield "nothing in it is trained"
    wrong = [
        at
        for at in line.trained
        if not 0 <= at < len(line.messages) or line.messages[at]["role"] != "assistant"
    ]
    if wrong or len({*line.trained}) < len(line.trained):
        yield f"it trains messages that are not the agent's own turns: {wrong or line.trained}"
        return
    for view in views(line):
        whole = template.text_of(view.messages, line.tools)
        spans = dict(template.turns(view.messages, line.tools))
        marked = template.generated(view.messages, line.tools)
        for at in view.trained:
            start, stop = spans[at]
            if end not in whole[start:stop]:
                yield f"message {at + 1} has no trained end of turn"
        if template.marks and view.whole:
            yield from _marked(marked, spans, whole, end)


def _marked(
    marked: Sequence[tuple[int, int]], spans: Mapping[int, tuple[int, int]], whole: str, end: str
) -> Iterator[str]:
    """Compare what the template marks with the agent's turns."""
    outside = [
        whole[start:stop]
        for start, stop in marked
        if not any(first <= start and stop <= last for first, last in spans.values())
    ]
    if outside:
        yield f"the template trains what is not the agent's: {outside[0][:60]!r}"
    for at, (first, last) in spans.items():
        own = [(start, stop) for start, stop in marked if first <= start and stop <= last]
        if not any(end in whole[start:stop] for start, stop in own):
            yield f"the template does not train the end of turn of message {at + 1}"


def _tokens(tokens: Tokens | None) -> Iterator[str]:
    if tokens is None:
        return
    if len(tokens.mask) != len(tokens.completion_ids) or {*tokens.mask} - {0, 1}:
        yield "its mask does not fit its tokens"
    elif 1 not in tokens.mask:
        yield "none of its tokens is trained"


def _as_pair(line: Pair, template: ChatTemplate, end: str) -> Iterator[str]:
    if _plain(line.chosen) == _plain(line.rejected):
        yield "chosen and rejected are the same"
    if not line.prompt or line.prompt[-1]["role"] not in {"user", "tool"}:
        yield "its prompt does not end with a message to the agent"
    for name in ("chosen", "rejected"):
        given = getattr(line, name)
        if not given or given[0]["role"] != "assistant" or given[-1]["role"] != "assistant":
            yield f"{name} does not begin and end with the agent's turn"
            return
    yield from guards(line)
    for name, text in rendered_pair(line, template).items():
        if name != "prompt" and not text.rstrip().endswith(end):
            yield f"{name} has no trained end of turn"
    prompt = template.text_of(line.prompt, line.tools, asks=True)
    for given in (line.chosen, line.rejected):
        if not template.text_of((*line.prompt, *given), line.tools).startswith(prompt):
            yield "the template renders the prompt otherwise once a reply follows"


def guards(line: Pair) -> Iterator[str]:
    """Yield the guards of its type that a pair breaks (Relign, section 3)."""
    verdicts = line.chosen_result.verdict, line.rejected_result.verdict
    kind = line.pair_type
    if kind is PairType.ANSWER_CALL:
        if verdicts[0] is not Verdict.ANSWER or verdicts[1] not in CALLS | {Verdict.OTHER}:
            yield f"it is {verdicts[0]} over {verdicts[1]}, not {kind}"
        if not any(one.get("tool_calls") for one in line.rejected):
            yield "its rejected reply is not a further call"
    elif verdicts != VERDICTS[kind]:
        yield f"it is {verdicts[0]} over {verdicts[1]}, not {kind}"
    if kind is PairType.CORRECT_INDECISIVE and not line.solvable:
        yield "its state cannot be solved, so that deferring is not wrong"
    if kind is PairType.INDECISIVE_HALLUCINATED:
        if line.solvable or not line.needs:
            yield "its state can be solved, so that deferring is not right"
        elif line.chosen_result.action != line.needs:
            yield f"its label asks for {line.needs}, not {line.chosen_result.action}"
    if kind not in TRAJECTORIES and (len(line.chosen), len(line.rejected)) != (1, 1):
        yield "chosen and rejected of a step are one turn each"


def _plain(messages: Sequence[Wire]) -> str:
    """Return messages in a form that is equal for replies that differ in space and ids alone."""
    parts = []
    for one in messages:
        calls = [
            (call["function"]["name"], _canonical(call["function"]["arguments"]))
            for call in one.get("tool_calls", ())
        ]
        parts.append([one["role"], " ".join(str(one["content"]).split()), calls])
    return canonical(parts)


def _canonical(text: str) -> str:
    try:
        return canonical(strict_json(text))
    except ValueError:
        return " ".join(text.split())


# -- by executing --------------------------------------------------------------------------------


async def _chat_again(line: Chat, item: Item, sandbox: Sandbox) -> Iterator[str]:
    trace = await executed.replayed(item, line.conditions, line.messages, sandbox)
    return iter([*_same(trace, line.messages), *_trained(trace, line, item)])


def _trained(trace: Trace, line: Chat, item: Item) -> Iterator[str]:
    agent = [at for at, one in enumerate(line.messages) if one["role"] == "assistant"]
    for turn, at in enumerate(agent[: len(trace.replies)], start=1):
        if at in line.trained:
            if executed.classified(trace, item, turn).verdict is Verdict.HALLUCINATED:
                yield f"message {at + 1} is trained, and its call failed or is made up"
            if executed.misplaced(trace, line.tools, turn):
                yield f"message {at + 1} is trained beside tools that were not on offer then"
    whole = trace.ended is not None and line.messages[-1]["role"] == "assistant"
    again = (
        executed.trajectory(trace, item)
        if whole
        else executed.classified(trace, item, len(trace.replies))
    )
    yield from _differs("it", line.result, again)


async def _pair_again(line: Pair, item: Item, sandbox: Sandbox) -> Iterator[str]:
    found: list[str] = []
    turn = sum(one["role"] == "assistant" for one in line.prompt) + 1
    for name in ("chosen", "rejected"):
        messages = (*line.prompt, *getattr(line, name))
        trace = await executed.replayed(item, line.conditions, messages, sandbox)
        found += _same(trace, messages)
        if line.pair_type in TRAJECTORIES:
            again = executed.trajectory(trace, item)
        elif len(trace.replies) < turn:
            found.append(f"{name} comes after the episode's end")
            continue
        else:
            again = executed.classified(trace, item, turn)
            found += _state(line, trace, item, turn)
        found += _differs(name, getattr(line, f"{name}_result"), again)
    return iter(dict.fromkeys(found))


def _state(line: Pair, trace: Trace, item: Item, turn: int) -> Iterator[str]:
    state = executed.state_before(trace, item, turn)
    given = (line.hop, line.solvable, line.needs)
    if given != (state.hop, state.solvable, (state.needs or "")):
        yield f"its step is at hop {state.hop} and needs {state.needs or 'nothing'}, not as it says"
    if executed.misplaced(trace, line.tools, turn):
        yield "its tools are not those on offer at its step"


def _same(trace: Trace, messages: Sequence[Wire]) -> Iterator[str]:
    again = executed.wired(trace)[: len(messages)]
    for at, (one, other) in enumerate(zip(messages, again, strict=False), start=1):
        if canonical(one) != canonical(other):
            yield f"run again, message {at} is another: {str(other['content'])[:80]!r}"
            return
    if len(again) < len(messages):
        yield f"run again, it ends after message {len(again)}"


def _differs(name: str, given: Result, again: Result) -> Iterator[str]:
    if given != again:
        yield (
            f"run again, {name} is {again.verdict} ({again.ending or 'goes on'}), "
            f"not {given.verdict} ({given.ending or 'goes on'})"
        )


# -- over all lines ------------------------------------------------------------------------------


def _of_all(
    lines: Sequence[Chat | Pair],
    items: Mapping[str, Item],
    by: Sequence[str],
    against: Sequence[Item],
) -> Iterator[Refusal]:
    for identity, count in Counter(line.id for line in lines).items():
        if count > 1:
            yield Refusal(identity, f"{count} lines have this id")
    steps = Counter(
        (line.pair_type, line.item, line.hop) for line in lines if isinstance(line, Pair)
    )
    for (kind, item, hop), count in steps.items():
        if count > 1:
            yield Refusal(item, f"it has {count} pairs {kind} at hop {hop}; one is allowed")
    prints = {
        split: {
            line.item: Print.of(items[line.item])
            for line in lines
            if line.split == split and line.item in items
        }
        for split in (TRAIN, VALIDATION)
    }
    for identity, reason in leaks(prints[TRAIN], prints[VALIDATION].values(), by):
        yield Refusal(identity, reason)
    everything = {**prints[TRAIN], **prints[VALIDATION]}
    for identity, reason in leaks(everything, map(Print.of, against)):
        yield Refusal(identity, reason)
