"""Scripted agents for items in which something may be missing; they differ in their reaction.

All of them know the solution, as the oracle does: the item's hops, their gold calls and the purpose
of each tool. Each detects by itself whether something is missing: from the available tools, the
question and the results so far.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolhop_agents.scripted.model import UNKNOWN, oracle
from toolhop_agents.scripted.plan import final_answer
from toolhop_env.benchmarks.relytoolbench.scorer import PROPER
from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply, ToolMessage
from toolhop_env.validation import Validator
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.readable import Ground, ground
from toolhop_tools.dates import whole_date
from toolhop_tools.failures import tells_of_error
from toolhop_tools.leaves import Leaf, leaves, with_value
from toolhop_tools.model import ActionChoice, EpisodeAction, Hop, Item, ToolSchema
from toolhop_tools.replied import object_in
from toolhop_tools.words import as_text, runs, words

MOST_TRIES = 3
"""Calls for one hop after which its tool counts as broken."""
ENDS = {
    EpisodeAction.ASK_USER: PROPER["missing"],
    EpisodeAction.CHANGE_TOOLS: PROPER["unmatched"],
    EpisodeAction.GIVE_UP: "give_up_and_restart",
}
"""The episode actions as return types of RelyToolBench's single function."""


# -- the agents ---------------------------------------------------------------------------------


def goes_on(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Make the gold calls even if their tools are missing, and answer with the last result."""
    return oracle(item, seed, messages, tools) if tools else Reply(UNKNOWN)


def gives_up(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Give up at once."""
    return _act(item, EpisodeAction.GIVE_UP, reason="I do not try.")


def asks(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Ask the user first, whatever the question says, and continue from there."""
    made = list(_made(messages))
    if EpisodeAction.ASK_USER not in _bodies(item):
        return _act(item, EpisodeAction.ASK_USER)
    if not made:
        about = next((name for one in _offered(item) for name in _required(one)), "")
        return _ask(item, about)
    first = next(n for n, one in enumerate(messages) if isinstance(one, AssistantMessage))
    return goes_on(item, seed, [*messages[:first], *messages[first + 2 :]], tools)


def asks_when_missing(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Make the gold calls, and react to what is missing.

    If a value is missing, ask the user; if a tool is missing, ask for other tools. Give up if that
    does not help, if a tool keeps failing, or if the question allows too few calls.
    """
    made = list(_made(messages))
    done, texts = _progress(item, made)
    if not tools or _calls_allowed(item.question) < len(item.hops):
        return _act(item, EpisodeAction.GIVE_UP, reason="It cannot be done with so few calls.")
    if len(done) == len(item.hops):
        return Reply(f"<answer>{final_answer(item, (texts.text,))}</answer>")
    hop = item.hops[len(done)]
    since = made[texts.place :]
    if hop.gold is None or not _usable(item, hop):
        need = hop.tool.schema.description
        if any(one.call.name == _name(item, EpisodeAction.CHANGE_TOOLS) for one in since):
            return _act(item, EpisodeAction.GIVE_UP, reason=f"No tool does this: {need}")
        return _act(item, EpisodeAction.CHANGE_TOOLS, reason="No tool fits.", need=need)
    known = _known(item, made)
    for leaf in _unsaid(item, done, hop):
        if runs(words(as_text(leaf.value)), known):
            continue
        about = ".".join(map(str, leaf.path))
        if any(object_in(one.call.arguments).get("about") == about for one in since):
            return _act(item, EpisodeAction.GIVE_UP, reason=f"Nobody knows the {about}.")
        return _ask(item, about)
    if sum(one.call.name == hop.tool.name for one in since) >= MOST_TRIES:
        return _act(item, EpisodeAction.GIVE_UP, reason=f"{hop.tool.name} keeps failing.")
    return _call(hop.tool.name, hop.gold.arguments, len(made))


def invents(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Invent what is missing: an unstated value, or the result of a missing tool.

    If none of the item's tools is available, call another one with invented values.
    """
    made = list(_made(messages))
    own = [hop for hop in item.hops if hop.gold and _usable(item, hop)] if tools else []
    if len(made) < len(own):
        hop = own[len(made)]
        return _call(hop.tool.name, _invented(item, own[: len(made)], hop), len(made))
    if not own and not made and (schema := next(_offered(item), None)):
        values: dict[str, JSON] = {name: _of_type(kind) for name, kind in _required(schema).items()}
        return _call(schema.name, values, 0)
    if own and own[-1] is item.hops[-1]:
        return Reply(f"<answer>{final_answer(item, (made[-1].text,))}</answer>")
    return Reply(f"<answer>{_other_than(item.answer)}</answer>")


# -- what they see ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Made:
    call: RawCall
    text: str

    @property
    def succeeded(self) -> bool:
        """Whether the feedback is a result that reports no error."""
        try:
            return not tells_of_error(json.loads(self.text))
        except (ValueError, RecursionError):
            return False


def _made(messages: Sequence[Message]) -> Iterator[_Made]:
    calls: list[RawCall] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = [*message.calls]
        elif isinstance(message, ToolMessage) and calls:
            yield _Made(calls.pop(0), message.content)


@dataclass(frozen=True, slots=True)
class _Last:
    """The call that solved the last hop."""

    place: int = 0
    """Number of calls up to and including this one."""
    text: str = ""


def _progress(item: Item, made: Sequence[_Made]) -> tuple[tuple[Hop, ...], _Last]:
    """Return the hops whose tools succeeded, in hop order, and the last such call."""
    done, last = 0, _Last()
    for place, one in enumerate(made, start=1):
        open_hops = item.hops[done:]
        if open_hops and one.call.name == open_hops[0].tool.name and one.succeeded:
            done, last = done + 1, _Last(place, one.text)
    return item.hops[:done], last


def _offered(item: Item) -> Iterator[ToolSchema]:
    """Yield the schemas of available tools that are not episode actions."""
    for tool in item.tools.values():
        if not isinstance(tool.body, EpisodeAction | ActionChoice):
            yield tool.schema


def _bodies(item: Item) -> list[object]:
    return [tool.body for tool in item.tools.values()]


def _usable(item: Item, hop: Hop) -> bool:
    """Whether the hop's tool is available, and its current schema accepts the gold call."""
    tool, gold = item.tools.get(hop.tool.name), hop.gold
    return tool is not None and gold is not None and _fits(tool.schema, gold.arguments)


def _fits(schema: ToolSchema, arguments: Mapping[str, JSON]) -> bool:
    return Validator([schema]).fits(schema.name, arguments)


def _unsaid(item: Item, done: Sequence[Hop], hop: Hop) -> Iterator[Leaf]:
    """Yield values of the gold call that are in neither the question nor an earlier result."""
    alone = replace(item, hops=(*done, hop))
    known = asked(alone, len(done), {})
    arguments = hop.gold.arguments if hop.gold else {}
    for leaf in leaves(hop.tool.schema.parameters, arguments):
        if ground(known, leaf) is Ground.NOWHERE:
            yield leaf


def _known(item: Item, made: Sequence[_Made]) -> tuple[str, ...]:
    """Return the words of the user's replies."""
    name = _name(item, EpisodeAction.ASK_USER)
    return words("\n".join(one.text for one in made if one.call.name == name))


_MOST_CALLS = re.compile(r"\b(\d+) (?:times?|calls?) at most|at most (\d+) (?:times?|calls?)")


def _calls_allowed(question: str) -> float:
    found = _MOST_CALLS.search(question)
    return float("inf") if found is None else int(found[1] or found[2])


# -- what they do -------------------------------------------------------------------------------


def _call(name: str, arguments: Mapping[str, JSON], number: int) -> Reply:
    text = json.dumps(dict(arguments), ensure_ascii=False)
    return Reply(f"Step {number + 1}.", (RawCall(f"call_{number + 1}", name, text),))


def _ask(item: Item, about: str) -> Reply:
    question = f"Which {about or 'one'} do you mean?"
    return _act(item, EpisodeAction.ASK_USER, question=question, about=about)


def _name(item: Item, action: EpisodeAction) -> str | None:
    return next((name for name, tool in item.tools.items() if tool.body is action), None)


def _act(item: Item, action: EpisodeAction, **arguments: str) -> Reply:
    """Take an action with its own tool or the combined one; without either, answer "unknown"."""
    name = _name(item, action)
    if name is not None:
        return _call(name, arguments, 0)
    for one in item.tools.values():
        if isinstance(one.body, ActionChoice) and ENDS[action] in one.body.actions:
            return _call(one.name, {one.body.argument: ENDS[action]}, 0)
    return Reply(UNKNOWN)


def _required(schema: ToolSchema) -> dict[str, str]:
    shapes, required = (schema.parameters.get(key) for key in ("properties", "required"))
    found = {}
    for name in required if isinstance(required, list) else []:
        shape = shapes.get(str(name)) if isinstance(shapes, dict) else None
        found[str(name)] = str(shape.get("type")) if isinstance(shape, dict) else "string"
    return found


def _invented(item: Item, done: Sequence[Hop], hop: Hop) -> dict[str, JSON]:
    """Return the gold arguments, with invented values for unstated ones."""
    arguments = dict(hop.gold.arguments) if hop.gold else {}
    for leaf in _unsaid(item, done, hop):
        arguments = with_value(arguments, leaf.path, _other_than(leaf.value))
    return arguments


def _other_than(value: JSON) -> JSON:
    """Return a different value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return 41 if value != 41 else 43
    if whole_date(str(value)) is not None:
        return "1987-03-14"
    if plain_number(plain_text(str(value))) is not None:
        return "41"
    return "Aldermoor"


def _of_type(kind: str) -> JSON:
    kinds: dict[str, JSON] = {
        "integer": 41,
        "number": 41,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return kinds.get(kind, "Aldermoor")
