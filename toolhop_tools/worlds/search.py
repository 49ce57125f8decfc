"""Search what the offered tools reveal to a player who knows types but no English.

Starting from the values that a question names, the search finds every value that has a determined
derivation, one in which nothing is picked from an unsorted list. The cost of a derivation is its
number of distinct calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations, product
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.worlds.domain import difference
from toolhop_tools.worlds.expression import Expression, Named, Pick, Read, Total, nodes
from toolhop_tools.worlds.made import MadeTool, Param, Role, Shape, Toolbox
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import CODE, World

MOST_CALLS = 20_000
"""Default maximum number of calls examined per item."""
BOUNDS = {Role.ABOVE, Role.BELOW, Role.IS}
CHOSEN = {Role.FIELD, Role.SORT, Role.UNIT}
FIRST_SECOND = ("first", "second")
Puts: TypeAlias = tuple[tuple[int, JSON], ...]
"""Values of a call by the index of their parameter in `MadeTool.params`."""


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """A value that the question names, or that a call determines."""

    type: str
    """As in `made.Typed`."""
    value: JSON
    calls: frozenset[int]
    """All calls of its derivation."""
    named: int
    """Bit set of the question's values that the derivation uses."""
    by: Call | None = None
    leaf: int = 0
    """Index among the leaves that the call determines."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call of a derivation."""

    tool: str
    given: tuple[tuple[int, Reached], ...]
    """Previously reached values, by the index of the parameter."""
    chosen: Puts


@dataclass(frozen=True, slots=True)
class Searched:
    """Result of a search."""

    shortcut: Reached | None
    """The answer reached by fewer calls than the plan's, which ends the search; None if there is
    none."""
    fewer: frozenset[JSON]
    """Values of the answer's type reached by fewer calls."""
    calls: int
    """Number of calls examined."""
    complete: bool
    """Whether all calls were examined."""


def named_values(asked: Expression, world: World) -> list[Reached]:
    """Return the values that a question names: names or codes of entities, bounds, categories."""
    values: dict[tuple[str, JSON], None] = {}
    for node in nodes(asked):
        if isinstance(node, Named):
            row = world.tables[node.type][node.name]
            code = (f"{node.type} code", str(row[CODE])) if node.by_code else None
            values[code or (node.type, node.name)] = None
        elif isinstance(node, Read) and node.later:
            values["number days", node.later] = None
        elif isinstance(node, Pick | Total):
            for condition in node.conditions:
                of = world.domain.attribute(node.type, condition.attribute)
                values[of.type, condition.value] = None
    return [
        Reached(kind, value, frozenset(), 1 << place) for place, (kind, value) in enumerate(values)
    ]


@dataclass(frozen=True)
class _Tool:
    """A tool in the form that the search uses."""

    made: MadeTool

    @cached_property
    def inputs(self) -> list[tuple[int, str]]:
        """Indexes and types of the parameters that take reached values."""
        roles = {Role.KEY, Role.LINK, Role.VALUE}
        return [(at, p.takes) for at, p in enumerate(self.made.params) if p.role in roles]

    @cached_property
    def partners(self) -> dict[int, list[tuple[int, str]]]:
        """Parameters that combine with each parameter: the other of two, or a second link."""
        params = self.made.params
        return {
            at: [
                (place, kind)
                for place, kind in self.inputs
                if place != at
                and (
                    params[at].role is Role.LINK
                    or (params[place].of, params[at].of) == FIRST_SECOND
                )
                and self.enough((at, place))
            ]
            for at, _ in self.inputs
        }

    @cached_property
    def bounds(self) -> list[int]:
        return [at for at, param in enumerate(self.made.params) if param.role in BOUNDS]

    @cache  # noqa: B019 -- as long as the tool
    def enough(self, given: tuple[int, ...]) -> bool:
        """Whether these parameters are all that a call must have."""
        arguments = {self.made.params[at].argument for at in given}
        return all(
            param.argument in arguments
            for param in self.made.params
            if param.required and param.role not in CHOSEN
        )

    @cached_property
    def choices(self) -> list[Puts]:
        """Every combination of fields, orders and units."""
        groups: dict[tuple[Role, str], list[Puts]] = {}
        for at, param in enumerate(self.made.params):
            if param.role in CHOSEN:
                choices = groups.setdefault(
                    (param.role, param.argument), [] if param.required else [()]
                )
                choices += [((at, choice),) for choice in param.choices]
        combined = (sum(chosen, ()) for chosen in product(*groups.values()))
        return [puts for puts in combined if self.agree([at for at, _ in puts])]

    def agree(self, places: Iterable[int]) -> bool:
        """Whether one call can have all these parameters."""
        arguments: dict[str, JSON | int] = {}
        for at in places:
            param = self.made.params[at]
            own = {} if param.condition else {param.argument: at}
            for name, value in [*own.items(), *param.along]:
                if arguments.setdefault(name, value) != value:
                    return False
        return True

    def gives(self, at: int | None = None) -> set[str]:
        """Return the types that results may have if the parameter at this index is given."""
        match self.made.shape:
            case Shape.CONVERT:
                units = [self.made.params[at].of] if at is not None else []
                return {f"number {into}" for unit in units for into in others(unit)}
            case Shape.DAYS:
                return {"number days"}
            case Shape.SHIFT:
                return {"date"}
            case Shape.INITIALS | Shape.DIGITS:
                return {str(self.made.shape)}
            case Shape.MATCH:
                return {column.type for column in self.made.columns if column.of in self.made.reads}
            case Shape.GAP:
                return {difference(column.type) for column in self.made.columns}
            case _:
                return {"number", *(column.type for column in self.made.columns)}


class Explorer:
    """Searches over one world's tools; the searches share the results of calls."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._tools = {name: _Tool(made) for name, made in toolbox.all.items()}
        self._results: dict[tuple[str, Puts], list[Leaf]] = {}
        self._ids: dict[tuple[str, Puts], int] = {}

    def search(
        self,
        offered: Iterable[str],
        named: Sequence[Reached],
        answer: tuple[str, JSON],
        calls: int,
        most: int = MOST_CALLS,
    ) -> Searched:
        """Find everything that fewer than `calls` calls determine.

        Args:
            offered: names of the tools on offer.
            named: values that the question names.
            answer: type and value of the answer.
            calls: number of calls in the plan.
            most: maximum number of calls examined.
        """
        tools = [self._tools[name] for name in offered]
        return _Search(self, tools, named, answer, calls, most).searched()

    def leaves(self, tool: _Tool, puts: Puts) -> list[Leaf]:
        """Return what the calls with these values determine, over all choices."""
        key = (tool.made.name, puts)
        if key not in self._results:
            leaves: dict[tuple[str, JSON], Leaf] = {}
            for chosen in tool.choices:
                number = self._ids.setdefault((tool.made.name, puts + chosen), len(self._ids))
                for at, (kind, value) in enumerate(determined(tool.made, puts + chosen)):
                    leaves.setdefault((kind, value), (number, kind, value, chosen, at))
                if tool.made.shape is Shape.FIND and ("number", 0) in leaves:
                    break  # Nothing fits, whatever the order.
            self._results[key] = list(leaves.values())
        return self._results[key]


Leaf: TypeAlias = tuple[int, str, JSON, Puts, int]
"""Number of the call, type and value, choices, and index of the leaf."""


def determined(made: MadeTool, puts: Puts) -> list[tuple[str, JSON]]:
    """Return types and values of a call's leaves that are not picked; empty if the call fails."""
    arguments: dict[str, JSON] = {}
    for at, value in puts:
        made.params[at].put(arguments, value)
    try:
        result = made.call(arguments)
    except (LookupError, ValueError):
        return []
    leaves = made.typed(result, arguments)
    return [(leaf.type, leaf.value) for leaf in leaves if not leaf.picked]


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    """Calls with given values, for all choices."""

    tool: _Tool
    given: tuple[tuple[int, Reached], ...]
    calls: frozenset[int]
    """Previously made calls."""
    named: int


@dataclass
class _Search:
    explorer: Explorer
    tools: list[_Tool]
    named: Sequence[Reached]
    answer: tuple[str, JSON]
    calls: int
    most: int
    pending: dict[int, list[_Pending]] = field(default_factory=lambda: defaultdict(list))
    """Pending calls by the cost of their results."""
    reached: dict[str, list[Reached]] = field(default_factory=lambda: defaultdict(list))
    """Reached values by type."""
    looked: int = 0
    _keys: set[tuple[str, JSON, int]] = field(default_factory=set)
    _conditions: dict[str, list[tuple[tuple[tuple[int, Reached], ...], int]]] = field(
        default_factory=dict
    )

    def searched(self) -> Searched:
        """Run the search in order of cost."""
        for value in self.named:
            self._use(value)
        fewer: set[JSON] = set()
        for cost in range(1, self.calls):
            level: list[Reached] = []
            for value in self._results(cost):
                level.append(value)
                if value.type == self.answer[0]:
                    fewer.add(value.value)
                    if value.value == self.answer[1]:
                        return Searched(value, frozenset(fewer), self.looked, complete=True)
            for value in level if cost + 1 < self.calls else ():
                self._use(value)
        return Searched(None, frozenset(fewer), self.looked, self.looked < self.most)

    def _results(self, cost: int) -> Iterator[Reached]:
        """Yield new values from the calls pending at this cost."""
        for calls in self.pending.pop(cost, ()):
            puts = tuple((at, source.value) for at, source in calls.given)
            self.looked += len(calls.tool.choices)
            if self.looked >= self.most:
                return
            for number, kind, value, chosen, leaf in self.explorer.leaves(calls.tool, puts):
                key = (kind, value, calls.named)
                if (
                    key in self._keys
                    or number in calls.calls
                    or cost + self._away.get(kind, self.calls) >= self.calls
                ):
                    continue
                self._keys.add(key)
                by = Call(calls.tool.made.name, calls.given, chosen)
                yield Reached(kind, value, calls.calls | {number}, calls.named, by, leaf)

    def _use(self, value: Reached) -> None:
        """Schedule every call that takes the value, alone or with a previously reached one."""
        for tool, at, away in self._takers.get(value.type, ()):
            most = self.calls - away - 2
            if len(value.calls) > most:
                continue
            if tool.enough((at,)):
                self._put(tool, ((at, value),), value.calls, value.named)
            for other_at, kind in tool.partners[at]:
                for other in self.reached[kind]:
                    if not value.named & other.named:
                        calls = value.calls | other.calls
                        if len(calls) <= most:
                            pair = ((at, value), (other_at, other))
                            given = pair if at < other_at else pair[::-1]
                            self._put(tool, given, calls, value.named | other.named)
        self.reached[value.type].append(value)

    def _put(
        self, tool: _Tool, given: tuple[tuple[int, Reached], ...], calls: frozenset[int], named: int
    ) -> None:
        """Schedule calls by their cost; no more than are examined."""
        queue = self.pending[len(calls) + 1]
        for bounds, bits in self._bounds(tool):
            if len(queue) == self.most:
                return
            if not bits & named:
                queue.append(_Pending(tool, given + bounds, calls, named | bits))

    def _bounds(self, tool: _Tool) -> list[tuple[tuple[tuple[int, Reached], ...], int]]:
        """Return the sets of up to two conditions that the question's values allow for a tool,
        with the bits of those values.
        """
        name = tool.made.name
        if name not in self._conditions:
            each = [
                (at, value)
                for at in tool.bounds
                for value in self.named
                if _bound(tool.made.params[at], value)
            ]
            two = [
                pair
                for pair in combinations(each, 2)
                if pair[0][1] is not pair[1][1] and tool.agree(at for at, _ in pair)
            ]
            bounds = [(), *((bound,) for bound in each), *two]
            self._conditions[name] = [
                (several, sum(value.named for _, value in several)) for several in bounds
            ]
        return self._conditions[name]

    @cached_property
    def _takers(self) -> dict[str, list[tuple[_Tool, int, int]]]:
        """Tools and parameters by the type they take, with the number of calls from their results
        to the answer's type.
        """
        takers: dict[str, list[tuple[_Tool, int, int]]] = defaultdict(list)
        for tool in self.tools:
            for at, kind in tool.inputs:
                away = min(self._away.get(given, self.calls) for given in tool.gives(at))
                takers[kind].append((tool, at, away))
        return takers

    @cached_property
    def _away(self) -> dict[str, int]:
        """Minimum number of calls from each type to the answer's; unconnected types are missing."""
        away = {self.answer[0]: 0}
        for step in range(1, self.calls):
            away |= {
                kind: step
                for tool in self.tools
                for at, kind in tool.inputs
                if kind not in away and any(away.get(given) == step - 1 for given in tool.gives(at))
            }
        return away


def _bound(param: Param, value: Reached) -> bool:
    """Whether a value of the question can be used in a condition."""
    if param.choices:
        return value.type == "category" and value.value in param.choices
    return value.type == param.takes


def again(reached: Reached, toolbox: Toolbox) -> JSON:
    """Return the value of the same derivation with the tools of another world; None if there is
    none.

    Raises:
        KeyError: that world lacks one of the tools.
    """
    call = reached.by
    if call is None:
        return reached.value
    puts = tuple((at, again(value, toolbox)) for at, value in call.given) + call.chosen
    if any(value is None for _, value in puts):
        return None
    leaves = determined(toolbox.all[call.tool], puts)
    if len(leaves) <= reached.leaf or leaves[reached.leaf][0] != reached.type:
        return None
    return leaves[reached.leaf][1]
