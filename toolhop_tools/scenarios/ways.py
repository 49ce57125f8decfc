"""Search for workarounds for a lost answer by running every tool on offer or held back.

Tools of other items whose code contains the answer were already removed (`held`). This search
covers what tools compute, and the chain's own remaining tools: any call or chain of calls that
gives an answer which should be out of reach is a workaround, whether or not the question suggests
it. The budget counts calls, not time; an interrupted call leaves its tool undecided, which does not
count as out of reach.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from toolhop_sandbox.base import Program, Session
from toolhop_sandbox.outcome import JSON, Died, OutOfMemory, Raised, TimedOut
from toolhop_tools.answers import plain_number, plain_text, same_answer
from toolhop_tools.certify.audit import randomised
from toolhop_tools.certify.calls import KnownCalls
from toolhop_tools.certify.candidates import Candidate, Provenance, Task, Tried, filled, key_of
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.mentions import mentions
from toolhop_tools.certify.readable import Asked
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.english import FUNCTION_WORDS
from toolhop_tools.failures import tells_of_error
from toolhop_tools.leaves import Leaf, with_value
from toolhop_tools.model import Hop, Tool, canonical
from toolhop_tools.words import as_text, number_of, runs, scalars, words

ALONE, COMPOSED = 400, 400
"""Maximum number of calls per tool with known values, and with values that other calls revealed."""
IN_THREES = 600
"""Maximum number of third-level calls, for all tools together; none is made if more are needed."""
MOST_REVEALED, LONGEST_REVEALED = 16, 60
"""Maximum number of values that one tool passes on to others, and their length in characters."""
BASES, LOOKED_AT = 4, 60
"""Maximum number of calls per tool, with different options, into which revealed values are
inserted; and number of calls searched for them."""
SIBLINGS, COMPUTES = 8, 0.9
"""Number of calls with other values, and the share that a computing tool answers."""
PROBES = ("", "*", "%", ".", ".*", "all", "any")
"""Values also tried on tools of the chain, which may treat them as wildcards for all rows."""
JOINTS = (",", ", ", " ", "-", "/", "")
MOST_JOINED = 4
"""Separators for joining the values of one result into an argument, and the maximum number
joined."""
FEW_DIGITS = 3
"""Number of digits from which a number is unlikely to be found by chance."""


@dataclass(frozen=True)
class Vain:
    """A search claim: these answers must be out of reach."""

    text: str
    """Text that may be read: the question, and sub-questions without these answers."""
    known: tuple[str, ...]
    """Answers that can be obtained."""
    golds: tuple[str, ...]
    """Answers that must not be obtained."""
    depth: int = 3
    """Maximum length of chains of calls that use each other's results."""

    @cached_property
    def asked(self) -> Asked:
        """Values with which calls are filled."""
        read = mentions(self.text, self.known)
        read = replace(read, answers=tuple(enumerate(self.known)))
        return Asked("", read, self.known, self.text, {})

    @cached_property
    def wanted(self) -> tuple[Wanted, ...]:
        """The distinct answers that must not be obtained."""
        return tuple(Wanted(gold) for gold in dict.fromkeys(self.golds) if gold.strip())


@dataclass(frozen=True)
class Searched:
    """Result of a search."""

    out: frozenset[str]
    """Tools to be removed: they reveal an answer, or are undecided."""
    fault: str = ""
    """A tool that must stay and reveals an answer, alone or with other such tools; empty if
    none."""
    undecided: str = ""
    """A tool that must stay and had an interrupted call; empty if none."""
    depth: int = 0
    """Length up to which all chains of calls were tried, except `untried` ones."""
    untried: int = 0
    """Number of calls beyond the budget."""
    calls: int = 0


@dataclass(frozen=True)
class _Call:
    """A call to try."""

    arguments: dict[str, JSON]
    by: tuple[str, ...] = ()
    """Tools whose results it uses."""
    filler: bool = False
    """Whether it uses a made-up value."""
    probe: bool = False
    """Whether it uses one of `PROBES`; values that it reveals are not passed on."""


@dataclass
class _Tool:
    """State of a tool during a search."""

    tool: Tool
    removable: bool
    task: Task
    seen: set[str] = field(default_factory=set)
    bases: list[tuple[dict[str, JSON], list[Leaf]]] = field(default_factory=list)
    computes: bool | None = None
    """Whether it answers any arguments; None if not yet tested."""
    results: list[tuple[_Call, JSON]] = field(default_factory=list)
    """Successful calls of the last level, with their values."""


class Ways:
    """Runs the searches of one family; calls with equal code and arguments run once."""

    def __init__(self, session: Session, known: KnownCalls, seed: int) -> None:
        """Store the arguments; `known` runs the calls in `session`."""
        self._session, self._known, self._seed = session, known, seed
        self._alone: dict[tuple[Vain, Program, str], tuple[list[_Call], int]] = {}

    async def search(
        self, vain: Vain, tools: Iterable[Tool], removable: frozenset[str]
    ) -> Searched:
        """Try every tool, and chains of tools that use each other's results.

        Args:
            vain: the answers that must be out of reach.
            tools: tools whose bodies are programs.
            removable: tools that may be removed if they reveal an answer.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        looked = _Look(self, vain, tools, removable)
        return await looked.through()

    def alone(self, vain: Vain, task: Task) -> tuple[list[_Call], int]:
        """Return a tool's calls with known values, and the number of calls beyond the budget."""
        key = vain, task.hop.tool.program, canonical(dict(task.schema))
        if key not in self._alone:
            made = [
                _Call(one.arguments, filler="filler" in one.sources.values())
                for one in itertools.islice(filled(task), ALONE)
            ]
            possible = math.prod(len(task.pools[name]) for name in task.required)
            calls = _new(task, made, set())
            self._alone[key] = calls, max(0, possible - len(calls))
        return self._alone[key]

    async def run(self, program: Program, calls: Sequence[_Call]) -> list[Tried | None]:
        """Run the calls; None for a call skipped because too many were cut off."""
        runs = await self._known(self._session, program, [call.arguments for call in calls])
        return [
            None
            if run is None
            else Tried(Candidate(call.arguments, Provenance.SEARCH), run.outcome)
            for call, run in zip(calls, runs, strict=True)
        ]

    async def siblings(self, task: Task, arguments: dict[str, JSON]) -> list[Tried]:
        """Run the call with other values."""
        sets = randomised(task, arguments, SIBLINGS, f"{self._seed}/{task.hop.tool.name}")
        ran = await self.run(task.hop.tool.program, [_Call(one) for one in sets])
        return [one for one in ran if one is not None]


class _Look:
    """State of one search."""

    def __init__(
        self, ways: Ways, vain: Vain, tools: Iterable[Tool], removable: frozenset[str]
    ) -> None:
        self.ways, self.vain = ways, vain
        self.tools = {
            tool.name: _Tool(tool, tool.name in removable, Task(Hop("", "", tool), vain.asked))
            for tool in tools
        }
        self.out, self.fault, self.undecided = set[str](), "", ""
        self.untried = self.calls = 0

    async def through(self) -> Searched:
        depth = 0
        for level in range(1, self.vain.depth + 1):
            revealed = self._revealed() if level > 1 else []
            if level > 1 and not revealed:
                depth = self.vain.depth
                break
            possible = sum(_possible(at, revealed) for _, at in self._left()) if level > 2 else 0
            if possible > IN_THREES:
                self.untried += possible
                break
            for name, at in self._left():
                if name not in self.out and not (self.fault or self.undecided):
                    await self._try(at, self._planned(at, revealed))
            if self.fault or self.undecided:
                break
            depth = level
        return Searched(
            frozenset(self.out),
            self.fault,
            self.undecided,
            depth,
            self.untried,
            self.calls,
        )

    def _left(self) -> list[tuple[str, _Tool]]:
        return [(name, at) for name, at in self.tools.items() if name not in self.out]

    def _planned(self, at: _Tool, revealed: Sequence[tuple[tuple[str, ...], JSON]]) -> list[_Call]:
        """Return the calls of one tool for a level, each only once per search."""
        if not revealed:
            calls, untried = self.ways.alone(self.vain, at.task)
            at.bases = _bases(at.task, calls)
            at.seen = {key_of(call.arguments) for call in calls}
            self.untried += untried
            # Tools of other items need no probes: their code was already searched.
            return calls if at.removable else [*calls, *_new(at.task, _probing(at), at.seen)]
        made = itertools.islice(_composed(at, revealed), COMPOSED)
        self.untried += max(0, _possible(at, revealed) - COMPOSED)
        return _new(at.task, made, at.seen)

    async def _try(self, at: _Tool, calls: Sequence[_Call]) -> None:
        calls = [call for call in calls if self.out.isdisjoint(call.by)]
        ran = await self.ways.run(at.tool.program, calls)
        self.calls += len(calls)
        at.results, refusals = [], list[tuple[_Call, JSON]]()
        for call, tried in zip(calls, ran, strict=True):
            if tried is None or isinstance(tried.outcome, TimedOut | OutOfMemory | Died):
                if at.removable:
                    self.out.add(at.tool.name)
                else:
                    self.undecided = at.tool.name
                return
            if not self.out.isdisjoint(call.by):
                continue
            value, refused = _said(tried)
            if refused:
                # Refusals of later calls would use up the budget of the third level.
                refusals += [(call, value)] if at.removable and not call.by else []
            elif at.computes is None and at.task.content(call.arguments) and not call.by:
                at.computes = await self._computes(at, call)
            if call.filler and at.computes:
                # With freely chosen arguments, a computing tool can return anything.
                continue
            # An error of a chain tool lists names without saying which is the answer.
            no_way = refused and not at.removable
            wanted = (
                one for one in self.vain.wanted if not (no_way or (refused and one.is_slight))
            )
            if any(one.is_in(value, call.arguments) for one in wanted):
                way = (at.tool.name, *reversed(call.by))
                gone = next((name for name in way if self.tools[name].removable), None)
                if gone is None:
                    self.fault = at.tool.name
                    return
                self.out.add(gone)
                if gone == at.tool.name:
                    return
            elif not (refused or call.probe):
                at.results.append((call, value))
        at.results += refusals

    async def _computes(self, at: _Tool, call: _Call) -> bool:
        """Whether a tool answers any arguments."""
        others = await self.ways.siblings(at.task, call.arguments)
        answered = [one.text for one in others if one.text and not _is_empty(one.value)]
        return len({*answered}) > 1 and len(answered) >= COMPUTES * len(others)

    def _revealed(self) -> list[tuple[tuple[str, ...], JSON]]:
        """Return the values in the last level's results, with the tools that gave them; the
        first values of all tools come first.
        """
        by_tool = []
        said = self.vain.text.casefold()
        for name, at in self._left():
            found = dict[str, tuple[tuple[str, ...], JSON]]()
            for call, value in at.results:
                given = {as_text(leaf) for _, leaf in scalars(call.arguments)}
                scalar = [leaf for _, leaf in scalars(value)]
                joined = [] if call.by else _joined(scalar)
                for leaf in (*scalar, *_keys(value), *joined):
                    text = as_text(leaf)
                    if len(found) >= MOST_REVEALED:
                        break
                    if leaf is None or isinstance(leaf, bool) or text in given:
                        continue
                    if not 0 < len(text) <= LONGEST_REVEALED or text.casefold() in said:
                        continue
                    if any(same_answer(text, known) for known in self.vain.known):
                        continue
                    found.setdefault(text, ((*call.by, name), leaf))
            by_tool.append(list(found.values()))
        rows = itertools.zip_longest(*by_tool)
        return [one for row in rows for one in row if one is not None]


def _new(task: Task, made: Iterable[_Call], seen: set[str]) -> list[_Call]:
    """Return the calls that the schema accepts and that are not in `seen`, and add them to it."""
    calls = list[_Call]()
    for call in made:
        key = key_of(call.arguments)
        if key not in seen and task.accepts(call.arguments):
            seen.add(key)
            calls.append(call)
    return calls


def _said(tried: Tried) -> tuple[JSON, bool]:
    """Return a call's value and whether it is an error; for an error, its texts and pieces."""
    value = tried.value
    if isinstance(tried.outcome, Raised):
        texts = [tried.outcome.message]
    elif tells_of_error(value):
        texts = [as_text(leaf) for _, leaf in scalars(value)]
    else:
        return value, not tried.text
    pieces = (piece.strip(" '\".[]{}") for text in texts for piece in re.split("[,;:()]", text))
    return [*texts, *pieces], True


def _joined(scalar: Sequence[JSON]) -> Iterator[str]:
    """Yield the values of a result joined into one text."""
    if 1 < len(scalar) <= MOST_JOINED:
        for joint in JOINTS:
            yield joint.join(map(as_text, scalar))


def _probing(at: _Tool) -> Iterator[_Call]:
    """Yield calls with `PROBES` in place of a text."""
    for base, content in at.bases:
        for leaf in content:
            if isinstance(leaf.value, str):
                for probe in PROBES:
                    yield _Call(with_value(base, leaf.path, probe), filler=True, probe=True)


def _bases(task: Task, calls: Sequence[_Call]) -> list[tuple[dict[str, JSON], list[Leaf]]]:
    """Return calls of a tool with distinct options or parameters, and their content leaves."""
    found = dict[str, tuple[dict[str, JSON], list[Leaf]]]()
    for call in calls[:LOOKED_AT]:
        content = task.content(call.arguments)
        places = [leaf.path for leaf in content]
        options = [pair for pair in scalars(dict(call.arguments)) if pair[0] not in places]
        found.setdefault(repr((options, places)), (call.arguments, content))
        if len(found) == BASES:
            break
    return [*found.values()]


def _possible(at: _Tool, revealed: Sequence[tuple[tuple[str, ...], JSON]]) -> int:
    """Return the maximum number of calls from `_composed`."""
    sizes = [len(content) for _, content in at.bases]
    first = min(MOST_REVEALED, len(revealed))
    several = first * (first - 1) * max(0, sum(sizes[:1]) - 1)
    if sizes and sizes[0] > 2:
        several += sum(max(0, len(row) - sizes[0] + 1) for row in _rows(revealed).values())
    return len(revealed) * sum(sizes) + several


def _composed(at: _Tool, revealed: Sequence[tuple[tuple[str, ...], JSON]]) -> Iterator[_Call]:
    """Yield calls with a revealed value at one place, consecutive values of one tool at all
    places, or two values at adjacent places.
    """
    for by, value in revealed:
        for base, content in at.bases:
            for leaf in content:
                if (given := _as_given(leaf.value, value)) is not None:
                    yield _Call(with_value(base, leaf.path, given), by)
    for base, content in at.bases[:1]:
        yield from _in_turn(base, content, revealed)
    for (by, one), (other_by, other) in itertools.permutations(revealed[:MOST_REVEALED], 2):
        for base, content in at.bases[:1]:
            for first, second in itertools.pairwise(content):
                values = _as_given(first.value, one), _as_given(second.value, other)
                if values[0] is not None and values[1] is not None:
                    arguments = with_value(base, first.path, values[0])
                    arguments = with_value(arguments, second.path, values[1])
                    yield _Call(arguments, tuple(dict.fromkeys((*by, *other_by))))


def _rows(
    revealed: Sequence[tuple[tuple[str, ...], JSON]],
) -> dict[tuple[str, ...], list[JSON]]:
    """Group the revealed values by the tools that gave them."""
    rows: dict[tuple[str, ...], list[JSON]] = {}
    for by, value in revealed:
        rows.setdefault(by, []).append(value)
    return rows


def _in_turn(
    base: dict[str, JSON],
    content: Sequence[Leaf],
    revealed: Sequence[tuple[tuple[str, ...], JSON]],
) -> Iterator[_Call]:
    """Yield calls with three or more places filled with consecutive values of one tool."""
    size = len(content)
    for by, row in _rows(revealed).items() if size > 2 else ():
        for start in range(len(row) - size + 1):
            pairs = zip(content, row[start:], strict=False)
            given = [(leaf, _as_given(leaf.value, value)) for leaf, value in pairs]
            if all(value is not None for _, value in given):
                arguments = base
                for leaf, value in given:
                    arguments = with_value(arguments, leaf.path, value)
                yield _Call(arguments, by)


def _as_given(held: JSON, value: JSON) -> JSON:
    """Convert a value to an argument's type; None if that is not possible."""
    if isinstance(held, str):
        return as_text(value)
    number = plain_number(as_text(value))
    if number is None or abs(number) >= 10**15 or isinstance(held, bool):
        return None
    whole = number == int(number)
    if isinstance(held, int):
        return int(number) if whole else None
    return int(number) if whole else float(number)


# -- finding an answer in a result -------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """An answer that must be out of reach; finds it in results in any notation."""

    gold: str

    @cached_property
    def number(self) -> float | None:
        """Value of the answer if it is a plain number; else None."""
        number = number_of(self.gold)
        return None if number is None else float(number)

    @cached_property
    def day(self) -> dt.date | None:
        """Value of the answer if it is a date; else None."""
        return whole_date(self.gold)

    @cached_property
    def half(self) -> float:
        """Half a unit of the number's last digit."""
        number = number_of(self.gold)
        exponent = number.as_tuple().exponent if number is not None else 0
        return 0.5 * 10.0 ** int(exponent)

    @cached_property
    def is_slight(self) -> bool:
        """Whether it can be hit by chance: a letter, or a number with few digits."""
        number = self.number
        few = number is not None and abs(number) < self.half * 2 * 10 ** (FEW_DIGITS - 1)
        return few or len(plain_text(self.gold)) == 1

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """Distinct significant words; all words if none is significant."""
        every = tuple(dict.fromkeys(words(self.gold)))
        some = [word for word in every if word not in FUNCTION_WORDS]
        return tuple(word for word in some if len(word) > 1) or every

    def is_in(self, value: JSON, arguments: Mapping[str, JSON]) -> bool:
        """Whether a result contains the answer and the arguments do not."""
        given = [leaf for _, leaf in scalars(dict(arguments))]
        if self.is_slight:
            same = any(same_answer(self.gold, as_text(leaf)) for leaf in given)
            return not same and judge(self.gold, value, dict(arguments)) is not None
        texts = (*_keys(value), *(leaf for _, leaf in scalars(value)))
        return any(map(self._is, texts)) and not any(map(self._is, given))

    def _is(self, leaf: JSON) -> bool:
        if isinstance(leaf, str):
            return self._is_in_text(leaf)
        if not isinstance(leaf, int | float) or isinstance(leaf, bool):
            return False
        return self._is_near(leaf)

    def _is_near(self, number: float) -> bool:
        """Whether a number equals the answer, within the answer's precision."""
        if self.number is None or abs(number) >= 10**300:
            return False
        return number == self.number or (
            not float(number).is_integer() and abs(number - self.number) <= self.half
        )

    @lru_cache(maxsize=20_000)  # noqa: B019 -- an answer lives as long as its family
    def _is_in_text(self, text: str) -> bool:
        said = words(text)
        if runs(words(self.gold), said):
            return True
        numbers = (plain_number(word) for word in said) if self.number is not None else ()
        return any(number is not None and self._is_near(float(number)) for number in numbers) or (
            self.day is not None and any(day == self.day for _, day in dates_in(text))
        )


def _keys(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from _keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part)


def _is_empty(value: JSON) -> bool:
    return tells_of_error(value) or all(leaf is None or leaf == "" for _, leaf in scalars(value))
