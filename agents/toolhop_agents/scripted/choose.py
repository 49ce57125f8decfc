"""Agents by name, as given to `--agent`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from toolhop_agents.models.own import BadAgent, OwnModel, is_own, made_by
from toolhop_agents.scripted.blind import Frequency, copy_from_question, no_english
from toolhop_agents.scripted.faults import FaultKind
from toolhop_agents.scripted.listed import as_listed
from toolhop_agents.scripted.model import Faulty, Play, constant, do_nothing, oracle
from toolhop_tools.load import load

log = logging.getLogger(__name__)


class UnknownAgent(Exception):
    """Raised if no agent has this name; the message lists the agents."""


AGENTS: Mapping[str, str] = {
    "oracle": "makes the gold calls (else the examples in the tools' sources), answers from them",
    "as-listed": "calls the tools in the order listed, arguments by guess; answers the last result",
    "no-english": "calls tools by the types of values alone; answers a value of the last result",
    "copy-from-question": "answers a name or a date of the question",
    "frequency:DATA": "answers what is most often right in other data, by type of answer",
    "do-nothing": "answers that it has no answer",
    "MODULE:NAME": "an agent of your own (docs/own-agents.md)",
    "constant:TEXT": "always answers TEXT",
    "faulty[:RATE[:KIND,...]]": "the oracle, each hop's first call spoilt at RATE (default 0.3)",
    "predictions:FILE": "the answers in the benchmark's official file of answers",
    "repairing[:RATE[:KIND,...]]": "faulty, and fixes a call where the feedback tells it how",
}

TAKING_TEXT = frozenset({"constant", "faulty", "frequency", "predictions", "repairing"})
"""Agents whose names are followed by a colon and a text."""
PLANNED = frozenset({"oracle", "faulty", "repairing"})
"""Agents that follow an item's hops."""

_PLAIN: Mapping[str, Play] = {
    "oracle": oracle,
    "as-listed": as_listed,
    "no-english": no_english,
    "copy-from-question": copy_from_question,
    "do-nothing": do_nothing,
}


def choose(name: str, own: Mapping[str, Play] = MappingProxyType({})) -> Play:
    """Return the agent that `name` describes.

    Args:
        name: name of the agent, as given to `--agent`.
        own: agents added by the benchmark, by name.

    Raises:
        UnknownAgent: no such agent exists.
        DataNotFound, DataError: the data of a `frequency` agent cannot be read.
    """
    kind, _, rest = name.partition(":")
    if name in own:
        return own[name]
    if name in _PLAIN:
        return _PLAIN[name]
    if kind == "constant" and rest:
        return constant(rest)
    if kind == "frequency" and rest:
        return Frequency(load(rest).items)
    if kind in {"faulty", "repairing"}:
        return _faulty(name, rest, repairs=kind == "repairing")
    raise UnknownAgent(unknown(name, own))


def unknown(name: str, own: Mapping[str, Play]) -> str:
    """Return the message that no such agent exists, with a list of agents."""
    listed = {**AGENTS, **dict.fromkeys(own, "of this benchmark")}
    known = "\n".join(f"  {agent:28} {what}" for agent, what in listed.items())
    return f"there is no agent {name!r}. The agents are:\n{known}"


def own_agent(
    name: str, own: Mapping[str, Play] = MappingProxyType({})
) -> Callable[[], OwnModel] | None:
    """Return a factory of the user's own agent, called per episode; None for a built-in agent.

    Args:
        name: name of the agent, as given to `--agent`; a built-in name has priority over a module.
        own: agents added by the benchmark, by name.

    Raises:
        UnknownAgent: the name is not built in, and does not refer to an agent.
    """
    module = name.partition(":")[0]
    if not is_own(name) or name in own:
        return None
    if module in TAKING_TEXT:
        if find_spec(module) is not None:
            log.warning("--agent %s is the built-in %s, not the module's", name, module)
        return None
    try:
        return made_by(name)
    except BadAgent as fault:
        raise UnknownAgent(f"{unknown(name, own)}\n  {fault}") from fault


def _faulty(name: str, rest: str, *, repairs: bool) -> Faulty:
    rate, _, kinds = rest.partition(":")
    try:
        value = float(rate) if ":" in name else 0.3
        chosen = tuple(FaultKind(kind) for kind in kinds.split(",")) if kinds else tuple(FaultKind)
    except ValueError as error:
        allowed = ", ".join(FaultKind)
        raise UnknownAgent(
            f"{name!r} cannot be read: {error}; a rate is a number, a kind one of {allowed}"
        ) from error
    if not 0 <= value <= 1:
        raise UnknownAgent(f"the rate in {name!r} is {value}; it must be from 0 to 1")
    return Faulty(value, chosen, repairs)
