"""`toolhop align check`: everything that a line of training data claims, checked again.

Each line is rendered with the chat template, and its agent's turns are executed again. Nothing is
taken from the line that can be computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.align import executed
from toolhop_agents.align.kinds import AlignError, Kind, PairType, Verdict
from toolhop_agents.align.leaks import TRAIN, VALIDATION, all_words, leaks, licence, marks_of
from toolhop_agents.align.line import Chat, Pair, Tokens, Wire, trained_in, turns_in
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.sft import kind_of
from toolhop_agents.align.writers import rendered_pair, views
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.benchmarks.binding import USUAL, Ask
from toolhop_agents.export.chat import with_objects
from toolhop_agents.models.wire_reading import Unreadable
from toolhop_env.responders import MissingResponder
from toolhop_env.trace import Trace
from toolhop_sandbox.base import Sandbox
from toolhop_tools.model import Item, canonical
from toolhop_tools.several import each
from toolhop_tools.words import runs

SHORTEST = 3
"""Letters below which an answer is not looked for in texts: it would be found by chance."""


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
    own_prompt: str | None = None,
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
        own_prompt: prompt template of the runs; None for the benchmark's prompts.
        at_a_time: number of lines that are executed at once.
        on_line: called after each line.

    Raises:
        AlignError: the template does not end a turn.
        SandboxUnavailable: no more workers can be started.
    """
    template.end()  # raises if there is none
    found: dict[int, list[str]] = {}

    async def one(numbered: tuple[int, Chat | Pair]) -> None:
        number, line = numbered
        found[number] = await _of_line(line, items.get(line.item), template, own_prompt, sandbox)
        on_line()

    await each(enumerate(lines), one, at_a_time=at_a_time)
    by_line = [Refusal(lines[n].id, reason) for n in sorted(found) for reason in found[n]]
    return [*by_line, *_of_all(lines, items, by, against)]


async def _of_line(
    line: Chat | Pair, item: Item | None, template: ChatTemplate, own: str | None, sandbox: Sandbox
) -> list[str]:
    if item is None:
        return [f"its item {line.item} is not in the folder"]
    if item.digest != line.item_digest:
        return [f"its item {line.item} was changed"]
    try:
        static = [*_prompt(line, item, own), *_static(line, item, template)]
        if static:
            return static  # executed only if it can be
        if isinstance(line, Chat):
            return await _chat_again(line, item, sandbox)
        return await _pair_again(line, item, sandbox)
    except (AlignError, KeyError, TypeError) as error:
        return [f"it cannot be rendered: {error}"]
    except (Unreadable, MissingResponder, ValueError) as error:
        return [f"it cannot be run again: {error}"]


def _static(line: Chat | Pair, item: Item, template: ChatTemplate) -> Iterator[str]:
    yield from _differs("its licence", line.licence, licence(item, line.origin))
    if line.split not in {TRAIN, VALIDATION}:
        yield f"its split is {line.split}, not {TRAIN} or {VALIDATION}"
    if isinstance(line, Chat):
        yield from _gold_said(line.messages, item)
        yield from _masks(line, template)
    else:
        yield from _gold_said((*line.prompt, *line.chosen), item)
        yield from _as_pair(line, template)
        yield from _tokens(line.chosen_tokens)
        yield from _tokens(line.rejected_tokens)


def _prompt(line: Chat | Pair, item: Item, own: str | None) -> Iterator[str]:
    """Yield what is wrong with the prompt: it has to be the benchmark's, or of one's own."""
    messages = line.messages if isinstance(line, Chat) else line.prompt
    first = next(iter(turns_in(messages)), len(messages))
    given, binding = [str(one["content"]) for one in messages[:first]], binding_of(item.benchmark)
    how = line.conditions
    if how.mode not in binding.benchmark.modes:
        yield f"its mode is {how.mode}, not one of {', '.join(binding.benchmark.modes)}"
        return
    asks = (
        Ask(item, how.mode, how.call_format, binding.tools_of(item, how.mode),
            template=own, single_shot=how.single_shot, phrasing=phrasing)
        for phrasing in (USUAL, *(() if own else binding.phrasings))
    )  # fmt: skip
    usual = ([one.content for one in binding.prompt(ask)] for ask in asks)
    # Sorted, as tools that a prompt lists may be in any order.
    found, *known = (sorted("\n".join(texts).split("\n")) for texts in (given, *usual))
    if found not in known:
        yield "its prompt is not what the benchmark, or --template, asks with this item"


def _gold_said(messages: Sequence[Wire], item: Item) -> Iterator[str]:
    """Yield answers that the prompt or a thought names before anything returned them."""
    secret = dict.fromkeys((item.answer, *(hop.answer for hop in item.hops)))
    begun, heard = False, tuple[str, ...]()
    for at, message in enumerate(messages):
        agent, calls = message["role"] == "assistant", message.get("tool_calls", ())
        begun = begun or agent
        text = f"{message.get('reasoning_content', '')}\n{message['content']}"
        ids = " ".join(str(one.get("id", "")) for one in calls)
        said = all_words(f"{ids} {text}" if begun else text.replace(item.question, ""))
        if not begun or (agent and (calls or at < len(messages) - 1)):  # an answer may name it
            for answer in (one for one in secret if len(one) >= SHORTEST):
                if runs(all_words(answer), said) and not runs(all_words(answer), heard):
                    where = f"message {at + 1}" if begun else "the prompt"
                    yield f"{where} names the answer {answer!r} before it is known"
                    return
        heard += all_words(" ".join([text, *(one["function"]["arguments"] for one in calls)]))


def _masks(line: Chat, template: ChatTemplate) -> Iterator[str]:
    end = template.end()
    if not line.trained:
        yield "nothing in it is trained"
    wrong = {*line.trained} - {*turns_in(line.messages)}
    if wrong or len({*line.trained}) < len(line.trained):
        yield f"it trains messages that are not the agent's own turns: {line.trained}"
        return
    for view in views(line):
        whole = template.text_of(view.messages, line.tools)
        spans = dict(template.turns(view.messages, line.tools))
        for at in view.trained:
            if end not in whole[slice(*spans[at])]:
                yield f"message {at + 1} has no trained end of turn"
        if not (template.marks and view.whole):
            continue
        marked = template.generated(view.messages, line.tools)
        for start, stop in marked:
            if not any(first <= start and stop <= last for first, last in spans.values()):
                yield f"the template trains what is not the agent's: {whole[start:stop][:60]!r}"
        for at, (first, last) in spans.items():
            own = (whole[a:b] for a, b in marked if first <= a and b <= last)
            if not any(end in text for text in own):
                yield f"the template does not train the end of turn of message {at + 1}"


def _tokens(tokens: Tokens | None) -> Iterator[str]:
    if tokens is None:
        return
    if len(tokens.mask) != len(tokens.completion_ids) or {*tokens.mask} - {0, 1}:
        yield "its mask does not fit its tokens"
    elif 1 not in tokens.mask:
        yield "none of its tokens is trained"


def _as_pair(line: Pair, template: ChatTemplate) -> Iterator[str]:
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
        if name != "prompt" and not text.rstrip().endswith(template.end()):
            yield f"{name} has no trained end of turn"


def guards(line: Pair) -> Iterator[str]:
    """Yield the guards of its type that a pair breaks (Relign, section 3)."""
    kind, verdicts = line.pair_type, (line.chosen_result.verdict, line.rejected_result.verdict)
    if not kind.allows(*verdicts):
        yield f"it is {verdicts[0]} over {verdicts[1]}, not {kind}"
    if kind is PairType.ANSWER_CALL and not any(one.get("tool_calls") for one in line.rejected):
        yield "its rejected reply is not a further call"
    if kind is PairType.CORRECT_INDECISIVE and not line.solvable:
        yield "its state cannot be solved, so that deferring is not wrong"
    if kind is PairType.INDECISIVE_HALLUCINATED:
        if line.solvable or not line.needs:
            yield "its state can be solved, so that deferring is not right"
        elif line.chosen_result.action != line.needs:
            yield f"its label asks for {line.needs}, not {line.chosen_result.action}"
    if not kind.whole and (len(line.chosen), len(line.rejected)) != (1, 1):
        yield "chosen and rejected of a step are one turn each"


def _plain(messages: Sequence[Wire]) -> str:
    """Return messages in a form that is equal for replies that differ in space and ids alone."""
    called = [c["function"] for one in messages for c in with_objects(one).get("tool_calls", ())]
    return canonical([called, *(" ".join(str(one["content"]).split()) for one in messages)])


async def _chat_again(line: Chat, item: Item, sandbox: Sandbox) -> list[str]:
    trace = await executed.replayed(item, line.conditions, line.messages, sandbox)
    found, turns = [*_same(trace, line.messages)], len(trace.replies)
    for turn, at in enumerate(turns_in(line.messages)[:turns], start=1):
        if at in line.trained:
            found += _head(line, trace, item, turn)
            if executed.classified(trace, item, turn).verdict is Verdict.HALLUCINATED:
                found.append(f"message {at + 1} is trained, and its call failed or is made up")
    whole = trace.ended is not None and line.messages[-1]["role"] == "assistant"
    again = executed.trajectory(trace, item) if whole else executed.classified(trace, item, turns)
    failed = any(call.error is not None for call in trace.calls)
    kind = Kind.REPAIRED if failed else kind_of(item)
    found += [*_differs("its kind", line.kind, kind), *_differs("its result", line.result, again)]
    return [*dict.fromkeys(found)]


async def _pair_again(line: Pair, item: Item, sandbox: Sandbox) -> list[str]:
    found: list[str] = []
    turn = len(turns_in(line.prompt)) + 1
    whole = line.pair_type.whole
    for name in ("chosen", "rejected"):
        messages = (*line.prompt, *getattr(line, name))
        trace = await executed.replayed(item, line.conditions, messages, sandbox)
        found += _same(trace, messages)
        if len(trace.replies) < turn:
            found.append(f"{name} comes after the episode's end")
            continue
        found += _head(line, trace, item, turn)
        state = executed.state_before(trace, item, turn)
        for key, value in (state._replace(hop=-1) if whole else state)._asdict().items():
            found += _differs(f"its {key}", getattr(line, key), value)
        again = (
            executed.trajectory(trace, item) if whole else executed.classified(trace, item, turn)
        )
        found += _differs(f"its {name} result", getattr(line, f"{name}_result"), again)
    return [*dict.fromkeys(found)]


def _head(line: Chat | Pair, trace: Trace, item: Item, turn: int) -> Iterator[str]:
    """Compare what a line says of its item and tools with what a turn has."""
    again, _ = executed.head(trace, item, turn, line.origin, line.licence)
    for name in ("family", "domain"):
        yield from _differs(f"its {name}", getattr(line, name), getattr(again, name))
    if sorted(map(canonical, line.tools)) != sorted(map(canonical, again.tools)):
        yield f"its tools are not those on offer in turn {turn}, as the item shows them"


def _same(trace: Trace, messages: Sequence[Wire]) -> Iterator[str]:
    again = executed.wired(trace)[: len(messages)]
    for at, (one, other) in enumerate(zip(messages, again, strict=False), start=1):
        if canonical(one) != canonical(other):
            yield f"run again, message {at} is another: {str(other['content'])[:80]!r}"
            return
    if len(again) < len(messages):
        yield f"run again, it ends after message {len(again)}"


def _differs(name: str, given: object, again: object) -> Iterator[str]:
    if given != again:
        yield f"run again, {name} is {again}, not {given}"


def _of_all(
    lines: Sequence[Chat | Pair],
    items: Mapping[str, Item],
    by: Sequence[str],
    against: Sequence[Item],
) -> Iterator[Refusal]:
    for identity, count in Counter(line.id for line in lines).items():
        if count > 1:
            yield Refusal(identity, f"{count} lines have this id")
    first = dict[str, str]()
    for line in lines:
        if (other := first.setdefault(trained_in(line), line.id)) != line.id:
            yield Refusal(line.id, f"it is line {other} again")
    steps = ((one.pair_type, one.item, one.hop) for one in lines if isinstance(one, Pair))
    for (kind, item, hop), count in Counter(steps).items():
        if count > 1:
            yield Refusal(item, f"it has {count} pairs {kind} at hop {hop}; one is allowed")
    marks = {identity: marks_of(item) for identity, item in items.items()}
    train, held = (
        {line.item: marks[line.item] for line in lines
         if line.split == split and line.item in marks}
        for split in (TRAIN, VALIDATION)
    )  # fmt: skip
    for found in (
        leaks(train, held.values(), by), leaks({**train, **held}, map(marks_of, against)),
    ):  # fmt: skip
        yield from (Refusal(identity, reason) for identity, reason in found)
