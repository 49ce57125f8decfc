"""Which function of a ToolHop row stands behind which tool schema.

A row names its tools in an object keyed by sub-question and its functions in a list, and some
copies of the file sort the keys. The list alone is in hop order (spec METRICS.md 3.1), so the
pairing goes by names, and by signatures where two hops share a name.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from toolhop_sandbox.outcome import JSON

MOST_TRIED = 6
"""Tools of one name in one row whose every order is tried; beyond, the order of the keys."""

_DEF = re.compile(r"^(?:async[ \t]+)?def\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Slot:
    """A sub-question's tool schema, seen as something that a function is wanted for."""

    name: str
    properties: frozenset[str]
    final: bool
    """Its sub-answer is the row's answer, so that the row's last function belongs here."""


def parse_source(source: str) -> ast.Module | None:
    """The syntax tree of foreign code, or None where it is not Python (of this version).

    Nothing of it runs; warnings about its escapes are not ours to show.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def top_functions(tree: ast.Module) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions at module level by name; of two with one name the last, as Python has it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: node for node in tree.body if isinstance(node, kinds)}


def literal_value(node: ast.expr | str) -> JSON:
    """The value of a literal of Python, as a syntax tree or as text, as JSON has it.

    Raises:
        NO_LITERAL: it is none, or no JSON.
    """
    text = json.dumps(ast.literal_eval(node), ensure_ascii=False, allow_nan=False)
    text.encode()  # a half of a surrogate pair is not text that a call could carry
    value: JSON = json.loads(text)
    return value


NO_LITERAL = (ValueError, TypeError, RecursionError, MemoryError, SyntaxError)
"""What reading a literal may raise."""


def default_nodes(args: ast.arguments) -> dict[str, ast.expr | None]:
    """By parameter the syntax of its default; None where a call has to give it.

    Parameters such as ``*args`` are left out.
    """
    positional = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    own = [None] * (len(positional) - len(args.defaults)) + [*args.defaults]
    keywords = [arg.arg for arg in args.kwonlyargs]
    return dict(zip((*positional, *keywords), (*own, *args.kw_defaults), strict=True))


def property_names(parameters: Mapping[str, JSON]) -> frozenset[str]:
    """Names that a JSON Schema gives to the arguments."""
    properties = parameters.get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def pair(sources: Sequence[str], slots: Sequence[Slot]) -> list[int]:
    """For each source the index of its slot; every slot is used once.

    A source belongs to the slot whose name it defines at module level. Of several with that name
    the parameters decide (share of names in common), except that the last source takes a
    ``final`` slot where it can; ties go by the order of the slots. A source that defines none of
    the names is left to the slots that nobody claimed.

    Args:
        sources: Python text, in hop order.
        slots: as many, in any order.
    """
    wanted = Counter(slot.name for slot in slots)
    claims = _claims(sources, wanted)
    chosen: dict[int, int] = {}
    for name in wanted:
        group = [index for index, slot in enumerate(slots) if slot.name == name]
        claimants = [index for index, claim in enumerate(claims) if claim == name]
        chosen.update(_best(claimants, group, sources, slots))
    left = [index for index in range(len(sources)) if index not in chosen]
    free = [index for index in range(len(slots)) if index not in set(chosen.values())]
    chosen.update(_best(left, free, sources, slots))
    return [chosen[index] for index in range(len(sources))]


def _claims(sources: Sequence[str], wanted: Counter[str]) -> list[str | None]:
    """The name that each source asks for; those with no choice are served first."""
    candidates = [_defined(source, wanted) for source in sources]
    room = wanted.copy()
    claims: list[str | None] = [None] * len(sources)
    for index in sorted(range(len(sources)), key=lambda i: len(candidates[i])):
        open_names = [name for name in candidates[index] if room[name] > 0]
        if names := open_names or candidates[index]:
            claims[index] = names[0]
            room[names[0]] -= 1
    return claims


def _defined(source: str, wanted: Iterable[str]) -> list[str]:
    """The wanted names that `source` defines at module level.

    The pattern finds all of them and perhaps more (a ``def`` inside a string), and needs no
    parsing: 3,900 sources take 0.05 s instead of 1.5. Where it finds several the syntax tree
    decides, if there is one.
    """
    names = set(wanted)
    found = [name for name in dict.fromkeys(_DEF.findall(source)) if name in names]
    if len(found) > 1 and (tree := parse_source(source)) is not None:
        return [name for name in found if name in top_functions(tree)]
    return found


def _best(
    members: Sequence[int], group: Sequence[int], sources: Sequence[str], slots: Sequence[Slot]
) -> dict[int, int]:
    """Members to slots of the group, as many as there are of the fewer, at the best fit."""
    if len(members) == len(group) == 1:
        return {members[0]: group[0]}
    if max(len(members), len(group)) > MOST_TRIED:
        return dict(zip(members, group, strict=False))
    names = {slots[at].name for at in group}
    parameters = {member: _parameters(sources[member], names) for member in members}
    last = len(sources) - 1

    def fit(pairs: Iterable[tuple[int, int]]) -> float:
        score = 0.0
        for member, at in pairs:
            score += _overlap(parameters[member], slots[at].properties)
            score += len(slots) if member == last and slots[at].final else 0
        return score

    if len(members) <= len(group):
        choices = [list(zip(members, at, strict=True)) for at in permutations(group, len(members))]
    else:
        choices = [list(zip(who, group, strict=True)) for who in permutations(members, len(group))]
    return dict(max(choices, key=fit))


def _parameters(source: str, names: Iterable[str]) -> frozenset[str]:
    """Of the function with one of the names, or of the first one."""
    tree = parse_source(source)
    functions = top_functions(tree) if tree else {}
    named = next((functions[name] for name in names if name in functions), None)
    function = named or next(iter(functions.values()), None)
    if function is None:
        return frozenset()
    return frozenset(a.arg for a in (*function.args.args, *function.args.kwonlyargs))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0
