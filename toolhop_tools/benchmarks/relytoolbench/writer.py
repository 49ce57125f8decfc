"""Write RelyToolBench's three sets of a group from scenario items, and recorded replies.

| set | scenario | correct ending |
|---|---|---|
| G1_instruction | plain | give_answer |
| G1_instruction_missing_all_arguments | missing-parameter | talk to user |
| G1_instruction_with_unmatched_tools | unmatched | change tools |

The rows of a family share a ``query_id`` in all sets. The replies are the tools' actual results for
the gold calls; nothing is made up. The calls and the answer, for which the official rows have no
fields, are in a separate file. Folders are named as the official code expects: queries and ids as
in the release, documents as its ``tool_root_dir``, replies as its server's ``cache_folder``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations

from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.benchmarks.relytoolbench.official_api import (
    CATEGORY,
    PROVIDER,
    Names,
    api,
    arguments,
    as_function,
    defaults_of,
)
from toolhop_tools.benchmarks.relytoolbench.reader import GROUPS, KINDS, QUERIES
from toolhop_tools.benchmarks.relytoolbench.replies import RESPONSE_CHARS, response, service_name
from toolhop_tools.model import Tool
from toolhop_tools.reading import read_result
from toolhop_tools.scenarios.families import (
    ORIGINS,
    Family,
    Files,
    Labelled,
    Reason,
    as_lines,
    as_rows,
    reads_like,
)
from toolhop_tools.scenarios.label import Scenario
from toolhop_tools.scenarios.labels import Results
from toolhop_tools.scenarios.scene import gold_of
from toolhop_tools.words import as_text, runs, scalars, words

QUERY_IDS, DOCUMENTS = "solvable_queries/test_query_ids", f"tools/{CATEGORY}/{PROVIDER}.json"
REPLIES, GOLD = "tool_response_cache", "gold.jsonl"
CACHE = f"{REPLIES}/{CATEGORY}/{PROVIDER}_for_{CATEGORY}"
MOST_PERMUTED = 3
"""Maximum number of arguments for which a call is recorded in every order: the server looks up
arguments in the order given."""
SOLVABLE = GROUPS[0]
UNMATCHED, MISSING = (f"{SOLVABLE}_{part}" for part in KINDS)
Row = dict[str, JSON]


def used(family: Family) -> list[Labelled]:
    """Return the items of a family that become rows."""
    plain = family.own(Scenario.PLAIN)
    if plain is None:
        return []
    kinds = (Scenario.MISSING_PARAMETER, Scenario.UNMATCHED, Scenario.RESERVE)
    return [plain, *(one for kind in kinds if (one := family.own(kind)) is not None)]


@dataclass
class _Book:
    """Collects the output while it is produced."""

    files: Files
    names: Names = field(default_factory=Names)
    rows: dict[str, list[Row]] = field(
        default_factory=lambda: {name: [] for name in (SOLVABLE, MISSING, UNMATCHED)}
    )
    origins: list[Row] = field(default_factory=list)
    replies: dict[str, dict[str, JSON]] = field(default_factory=dict)
    """Replies by cache file and then by the text of the arguments."""
    gold: list[Row] = field(default_factory=list)
    documents: dict[str, Row] = field(default_factory=dict)
    """APIs by name, as the official code reads them."""


async def write(found: Iterable[Family], results: Results) -> Files:
    """Build the sets, the replies and the origin of each row.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    book = _Book(Files())
    for number, family in enumerate(found, start=1):
        plain = family.own(Scenario.PLAIN)
        if plain is None:
            book.files.leave(SOLVABLE, Reason.NO_PLAIN)
            continue
        played = await _played(plain, results, book.names)
        if isinstance(played, Reason):
            book.files.leave(SOLVABLE, played)
            continue
        if _add(book, SOLVABLE, number, plain, plain):
            for name, kept in played.replies.items():
                book.replies.setdefault(name, {}).update(kept)
            row: Row = {"row": f"{SOLVABLE}-{number}", "answer": plain.item.answer}
            book.gold.append({**row, "calls": [*played.calls]})
            for name, one in (
                (MISSING, family.own(Scenario.MISSING_PARAMETER)),
                (UNMATCHED, family.own(Scenario.UNMATCHED)),
            ):
                if one is not None:
                    _add(book, name, number, one, plain, family)
    files = book.files
    for name, rows in book.rows.items():
        files.rows[name] = len(rows)
        if rows:
            files.data = (*files.data, f"{QUERIES}/{name}.json")
            files.texts[files.data[-1]] = as_rows(rows)
            ids: dict[str, JSON] = {str(row["query_id"]): 0 for row in rows}
            files.texts[f"{QUERY_IDS}/{name}.json"] = _as_json(ids)
    for name, kept in sorted(book.replies.items()):
        files.texts[f"{CACHE}/{name}.json"] = _as_json(kept)
    files.texts[DOCUMENTS] = _as_json(
        {
            "tool_name": PROVIDER,
            "tool_description": "Tools of several kinds.",
            "api_list": [*book.documents.values()],
        }
    )
    files.texts[GOLD] = as_lines(book.gold)
    files.texts[ORIGINS] = as_lines(book.origins)
    return files


def _as_json(value: Mapping[str, JSON]) -> str:
    return json.dumps(dict(value), ensure_ascii=False, indent=2) + "\n"


def _add(
    book: _Book,
    name: str,
    number: int,
    one: Labelled,
    plain: Labelled,
    family: Family | None = None,
) -> bool:
    """Add an item's row to a set; False if the item cannot be a row."""
    shown, relevant = _listed(one, plain), list[JSON]()
    if not shown:
        book.files.leave(name, Reason.NO_OTHER)
        return False
    listed = [api(tool, book.names.of(tool)) for tool in shown]
    if refused := [each for each in listed if isinstance(each, Reason)]:
        book.files.leave(name, refused[0])
        return False
    for one_api in listed:
        if isinstance(one_api, dict):
            own = {key.removeprefix("api_"): value for key, value in one_api.items()}
            book.documents[str(own["name"])] = {
                key: own[key] for key in own if key not in ("category_name", "tool_name")
            }
    for hop in plain.item.hops:
        key: JSON = [PROVIDER, book.names.of(hop.tool)]
        relevant += [key] if key not in relevant else []
    row: Row = {
        "api_list": [each for each in listed if isinstance(each, dict)],
        "query": one.item.question,
        "relevant APIs": relevant,
        "query_id": number,
    }
    if one.label.hidden:
        row["orig_query"] = plain.item.question
    book.rows[name].append(row)
    book.origins.append(_origin(book, name, number, one, family))
    return True


def _listed(one: Labelled, plain: Labelled) -> list[Tool]:
    """Return the item's own tools on offer, and the tools that do not read like one of them."""
    own = [hop.tool for hop in plain.item.hops]
    return [
        tool
        for name, tool in one.available.items()
        if name in plain.hop_tools or not any(reads_like(tool, each) for each in own)
    ]


def _origin(book: _Book, name: str, number: int, one: Labelled, family: Family | None) -> Row:
    label = one.label
    hidden: list[JSON] = [
        {"hop": each.hop, "parameter": each.parameter, "value": each.value} for each in label.hidden
    ]
    row: Row = {
        "row": f"{name}-{number}",
        "family": label.family,
        "scenario": label.scenario.value,
        "item": one.item.id,
        "tools_tried_in_vain": label.checks.tools,
    }
    row |= {"hidden": hidden} if hidden else {}
    reserve = family.own(Scenario.RESERVE) if family and name == UNMATCHED else None
    if reserve is not None:
        tools = [reserve.item.all_tools[each] for each in reserve.label.reserve]
        row["reserve"] = [as_function(book.names.of(tool)) for tool in tools]
        row["reserve_item"] = reserve.item.id
    return row


@dataclass
class _Played:
    """Results of running an item's gold calls."""

    replies: dict[str, dict[str, JSON]] = field(default_factory=dict)
    """Replies by cache file, including those of the calls with defaults omitted or spelled out."""
    calls: list[Row] = field(default_factory=list)
    """Calls in the form of `toolhop_tools.benchmarks.relytoolbench.reader.KnownCall`."""


async def _played(plain: Labelled, results: Results, names: Names) -> _Played | Reason:
    """Run an item's gold calls; a `Reason` if the format cannot hold them."""
    found, earlier = _Played(), list[str]()
    for hop in plain.item.hops:
        tool, gold = hop.tool, dict(gold_of(hop).arguments)
        written, name = arguments(tool, gold), names.of(tool)
        if isinstance(written, Reason):
            return written
        known = found.replies.setdefault(service_name(name, reserved=True), {})
        told: list[JSON] = [one for one, value in written.items() if _stems(value, earlier)]
        found.calls.append({"name": as_function(name), "arguments": written, "from_results": told})
        for given in _same_calls(tool, gold):
            outcome, converted = await results(tool, given), arguments(tool, given)
            if not isinstance(outcome, Returned) or isinstance(converted, Reason):
                continue
            value = read_result(outcome.json_text)
            if given == gold:
                earlier.append(_text(value))
            if given == gold and len(_text(value)) > RESPONSE_CHARS:
                return Reason.TOO_LONG
            for order in _orders(converted):
                known.setdefault(str(order), response(value))
    return found


def _orders(given: Mapping[str, JSON]) -> Iterator[dict[str, JSON]]:
    """Yield the arguments in every order, if there are few."""
    few = len(given) <= MOST_PERMUTED
    for pairs in permutations(given.items()) if few else [given.items()]:
        yield dict(pairs)


def _stems(value: JSON, results: Iterable[str]) -> bool:
    """Whether a value, or a scalar within it if it is JSON, occurs in a result."""
    try:
        inner = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        inner = value
    texts = [words(as_text(one)) for _, one in scalars(inner) if not isinstance(one, bool)]
    return any(runs(text, words(result)) for text in texts for result in results)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _same_calls(tool: Tool, gold: Mapping[str, JSON]) -> list[dict[str, JSON]]:
    """Return the gold call, unchanged, with defaults omitted, and with all defaults spelled out."""
    defaults = defaults_of(tool)
    less = {name: value for name, value in gold.items() if defaults.get(name, ...) != value}
    return [dict(gold), less, {**defaults, **gold}]
