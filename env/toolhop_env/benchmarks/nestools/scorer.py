"""NesTools (Han et al. 2024): plan nested calls in one reply, with placeholders for responses.

Each measure has two versions: official, as the released code counts, and strict. Where the code
would raise, the official figure is left out and `official_raises` counts the episode.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from toolhop_env import official as setup
from toolhop_env.benchmark import Benchmark, Conditions, Grouping, Presentation
from toolhop_env.benchmarks.nestools import counts as counting
from toolhop_env.benchmarks.nestools import stub
from toolhop_env.benchmarks.nestools.counts import (
    ERRORS,
    TOOL_ERRORS,
    Count,
    Counts,
    NestedCall,
    OfficialRaises,
)
from toolhop_env.benchmarks.nestools.shape import depth, labelled, structure
from toolhop_env.benchmarks.nestools.stub import types_of
from toolhop_env.benchmarks.nestools.values import Predicted, calls_in
from toolhop_env.measures import Measure, Scorer
from toolhop_env.official import Condition, Manifest, settings_of
from toolhop_env.questions import Answers
from toolhop_env.score import Parts, Values
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item

CALLS = "calls"
"""The mode in which the agent makes real calls and results are made up (`stub`)."""
STRICT = "strict_"
"""Prefix of the strict scorer's measures."""
COUNTED = {
    "selection": "A gold call was made",
    "order": "Two calls follow each other as they have to",
    "param": "A parameter has the gold value",
    "nested": "A parameter refers to the right response",
}
SHARES = {"p": ("P", "of those given"), "r": ("R", "of those wanted"), "f1": ("F1", "of both")}


def gold_calls(gold: JSON) -> list[NestedCall]:
    """Return the calls in a trace's gold.

    Raises:
        ValueError: the gold has another form.
    """
    match gold:
        case {"calls": list(calls)}:
            return [NestedCall(**call) for call in calls if isinstance(call, dict)]
        case _:
            raise ValueError("the gold of a NesTools trace has a list of calls")


def gold_of(item: Item) -> JSON:
    """Return an item's gold calls, with the tool names shown to the agent."""
    names = {tool.facts.get("id"): name for name, tool in reversed([*item.tools.items()])}
    gold = item.gold["calls"]
    calls: list[JSON] = [
        {**call, "name": names.get(call["id"], call["name"])}
        for call in (gold if isinstance(gold, list) else [])
        if isinstance(call, dict)
    ]
    wanted = {str(call["id"]) for call in calls if isinstance(call, dict)}
    tools = {str(tool.facts.get("id")): tool for tool in item.tools.values()}
    types: dict[str, JSON] = {
        number: types_of(tool) for number, tool in tools.items() if number in wanted
    }
    return {"calls": calls, "types": types}


def gold_types(gold: JSON) -> dict[str, dict[str, str]]:
    """Return the response types of the gold tools, by id; empty for traces that lack them."""
    match gold:
        case {"types": dict(types)}:
            return {
                number: {name: str(kind) for name, kind in one.items()}
                for number, one in types.items()
                if isinstance(one, dict)
            }
        case _:
            return {}


def _by_calls(trace: Trace) -> Values:
    """Return the values in the mode `CALLS`: strict only, as the official code lacks this mode."""
    gold = trace.started.gold
    counts = stub.counts(gold_calls(gold), gold_types(gold), trace)
    found = _values(STRICT, counts, valid=True)
    calls = stub.made_calls(trace)
    empty = {f"{STRICT}format": None, "empty": (float(not calls), 1.0)}
    return {**dict.fromkeys(_names()), **found, **empty}


def calls_right(trace: Trace) -> bool:
    """Whether a trace in the mode `CALLS` made exactly the gold calls, by the strict scorer."""
    gold = trace.started.gold
    return stub.counts(gold_calls(gold), gold_types(gold), trace).tree


def score(trace: Trace, _: Answers) -> Values:
    """Return the values of `MEASURES`, from the trace alone.

    The official code skips an episode that ended without a reply, as a failed request; the strict
    scorer counts it as an unreadable answer.
    """
    if trace.started.mode == CALLS:
        return _by_calls(trace)
    gold = gold_calls(trace.started.gold)
    predicted = calls_in(trace.final_text)
    found: dict[str, Parts | None] = {
        **_values(STRICT, counting.strict(gold, predicted), valid=predicted is not None),
        "empty": (float(predicted == []), 1.0),
        **_tool_errors(gold, predicted, trace),
    }
    if trace.final_text is None:
        return {**dict.fromkeys(_names()), **found}
    try:
        counts = counting.official(gold, predicted)
    except OfficialRaises:
        return {**dict.fromkeys(_names()), **found, "official_raises": (1.0, 1.0)}
    errors = counting.errors(gold, predicted, trace.started.question)
    wanted = {"nest": counts.nested.gold, "para": counts.param.gold}
    return {
        **found,
        **_values("", counts, valid=predicted is not None),
        **{name: (float(errors[name]), float(wanted[name[:4]])) for name in ERRORS},
        "official_raises": (0.0, 1.0),
    }


def _tool_errors(
    gold: Sequence[NestedCall], predicted: Sequence[Predicted] | None, trace: Trace
) -> Values:
    of = counting.tool_errors(gold, predicted, trace.started.tools)
    return {f"tool_error_{name}": parts for name, parts in of.items()}


def _names() -> list[str]:
    return [one.name for one in MEASURES if not one.mean_of]


def _values(prefix: str, counts: Counts, *, valid: bool) -> dict[str, Parts | None]:
    found: dict[str, Parts | None] = {
        "format": (float(valid), 1.0),
        "tree": (float(valid and counts.tree), 1.0),
    }
    for name in COUNTED:
        one: Count = getattr(counts, name)
        found[f"{name}_p"] = (one.correct, float(one.predicted))
        found[f"{name}_r"] = (one.correct, float(one.gold))
        found[f"{name}_f1"] = (2 * one.correct, float(one.predicted + one.gold))
    return {f"{prefix}{name}": parts for name, parts in found.items()}


def explain_gap(trace: Trace) -> str | None:
    """Return the first part that one scorer finds wholly correct and the other does not; None if
    their trees agree or the official code raises.
    """
    if trace.started.mode == CALLS:
        return None
    gold, predicted = gold_calls(trace.started.gold), calls_in(trace.final_text)
    try:
        ours, theirs = counting.strict(gold, predicted), counting.official(gold, predicted)
    except OfficialRaises:
        return None
    parts = ("selection", "order", "nested", "param")
    unlike = [name for name in parts if getattr(ours, name).whole != getattr(theirs, name).whole]
    return unlike[0] if unlike and ours.tree != theirs.tree else None


def given(trace: Trace) -> str | None:
    """Return the plan; in the mode `CALLS`, the calls made."""
    if trace.started.mode != CALLS:
        return trace.final_text
    calls = stub.made_calls(trace)
    return json.dumps([{one.tool: dict(one.arguments)} for one in calls], ensure_ascii=False)


def facets(gold: JSON) -> dict[str, str]:
    """Return the groups of the paper's figures: nesting depth, and structure with its arrows."""
    calls = gold_calls(gold)
    return {"depth": str(depth(calls)), "structure": labelled(structure(calls))}


def answer_text(gold: JSON) -> str:
    """Return the gold answer as an agent would write it."""
    calls = gold_calls(gold)
    return json.dumps(
        [
            {
                "api_name": one.name,
                "api_id": one.id,
                "parameters": one.parameters,
                "responses": one.responses,
            }
            for one in calls
        ],
        ensure_ascii=False,
    )


def _measures(prefix: str, scorer: Scorer) -> list[Measure]:
    found = [
        Measure(f"{prefix}tree", "The whole answer is right.", topic="Tree", scorer=scorer,
                binary=True, leads=scorer is Scorer.STRICT),
        Measure(f"{prefix}format", "The answer is a list of calls.", topic="Format",
                scorer=scorer),
    ]  # fmt: skip
    for name, says in COUNTED.items():
        for short, (title, of) in SHARES.items():
            found.append(
                Measure(f"{prefix}{name}_{short}", f"{says}, {of}.", scorer=scorer,
                        topic=f"{name.capitalize()} {title}", in_tables=short == "f1",
                        zero=short == "p" and scorer is Scorer.OFFICIAL)
            )  # fmt: skip
    means = tuple(f"{prefix}{name}_f1" for name in COUNTED)
    average = Measure(f"{prefix}average", "The mean of the four F1.", topic="Average",
                      scorer=scorer, mean_of=means)  # fmt: skip
    return [*found, average]


MEASURES = (
    *(
        one
        for both in zip(
            _measures(STRICT, Scorer.STRICT), _measures("", Scorer.OFFICIAL), strict=True
        )
        for one in both
    ),
    Measure(
        "empty", "The answer is a list without a call, whose format is valid.", in_tables=False
    ),
    Measure(
        "official_raises",
        "The official code stops at the answer; it has no official figure.",
        title="official: raises",
    ),
    *(
        Measure(
            name,
            f"Official error counter, by gold {what}.",
            title=name.replace("_", " "),
            in_tables=False,
        )
        for name in ERRORS
        for what in ("reference" if name.startswith("nest") else "parameter",)
    ),
    *(
        Measure(f"tool_error_{name}", says, title=f"tool error {name}", in_tables=False)
        for name, says in TOOL_ERRORS.items()
    ),
)

OFFICIAL_LISTS = "5 for each tool, the nearest by gte-large-en-v1.5"
NOT_STATED = "not stated"
LEAST_LISTED = 12
"""Minimum length of an official list: two needed tools and five distractors for each."""


def _distractors(manifest: Manifest) -> str:
    """Return how distractors were chosen; only the data's own long lists are official."""
    shown = str(settings_of(manifest).get("perturbation"))
    if "distractors=" in shown:
        return f"ours, {shown}"
    data = manifest.get("data")
    fewest = data.get("fewest_tools") if isinstance(data, dict) else None
    if not isinstance(fewest, int):
        return NOT_STATED
    return OFFICIAL_LISTS if fewest >= LEAST_LISTED else "none"


def _order(manifest: Manifest) -> str | None:
    """Return the tool order; None if the list is official, which implies the official order."""
    found = _distractors(manifest)
    return None if found in (OFFICIAL_LISTS, NOT_STATED) else setup.tool_order("").of(manifest)


OFFICIAL = (
    setup.prompt("paper, table 9"),
    setup.of_model("temperature", 0),
    setup.of_model("reasoning_effort", None, why="the published code asks for no thinking"),
    setup.of_model("max_tokens", 768),
    setup.items(1000),
    setup.setting("epochs", 1),
    setup.modes("base"),
    Condition(
        "distractors",
        (OFFICIAL_LISTS,),
        _distractors,
        (NOT_STATED,),
        "without distractors choice and order of tools are given away",
    ),
    Condition("tool order", ("shuffled",), _order),
)
"""The released inference code and sections 4.1 and B.2 of the paper. The paper's settings
without types and without conjunctions have no released code."""

BENCHMARK = Benchmark(
    name="nestools",
    version="2",
    modes=("base", "no-types", "no-conjunctions", "no-connectives", CALLS),
    measures=MEASURES,
    gold=gold_of,
    score=score,
    presentation=Presentation(
        "NesTools",
        answer_text,
        given,
        categories=(*(f"tool_error_{name}" for name in TOOL_ERRORS), *ERRORS),
        explain_gap=explain_gap,
    ),
    grouping=Grouping(facets),
    conditions=Conditions(OFFICIAL),
)
