"""RelyToolBench's measures, its totals, and the settings of its published figures."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl

from toolhop_env import official as setup
from toolhop_env.benchmarks.relytoolbench.rules import (
    TYPES,
)
from toolhop_env.measures import Measure, Scorer, Total, Unit
from toolhop_env.official import Condition, Manifest, settings_of
from toolhop_env.trace import ResultOrigin
from toolhop_tools.benchmarks.relytoolbench.reader import GROUPS, KINDS, RETURNS

MEASURES = (
    Measure(
        "reliable_pass",
        "The answer passes and rests on no hallucinated call (RePR); half where it is unsure.",
        topic="RePR",
        scorer=Scorer.OFFICIAL,
        leads=True,
    ),
    Measure(
        "strict",
        "Solved without hallucinated calls, or deferred in the one right way: changed tools where "
        "they do not match, asked the user where a value is missing.",
        topic="RePR",
        scorer=Scorer.STRICT,
        binary=True,
    ),
    Measure(
        "pass",
        "The answer passes; of an unsolvable task every answer that ends in Finish does.",
        topic="pass",
        scorer=Scorer.OFFICIAL,
    ),
    Measure(
        "hallucination",
        "The share of an episode's tool calls that are hallucinated.",
        topic="H",
        scorer=Scorer.OFFICIAL,
    ),
    Measure(
        "hallucination_most",
        "As H, with the calls that the judge is unsure of: the rate is no higher.",
        title="H at most",
    ),
    Measure(
        "utility",
        "Reward less cost: 20 for a reliable pass, -10 for a hallucinated answer, 1 a call.",
        topic="utility",
        unit=Unit.POINTS,
        scorer=Scorer.OFFICIAL,
    ),
    Measure(
        "open",
        "A figure of the episode waits for a judge; means leave such figures out.",
        binary=True,
    ),
    Measure(
        "made_up",
        "A reply of a tool was made up: by a model or from a template, and none was recorded.",
        title="replies made up",
    ),
    Measure(
        "tool_calls",
        "Tool calls, Finish apart.",
        title="tool calls",
        unit=Unit.CALLS,
        in_tables=False,
    ),
    Measure("solve", "The judge finds the query solved.", scorer=Scorer.OFFICIAL, in_tables=False),
    *(
        Measure(
            name,
            f"The share of an episode's calls with a hallucination of {name}.",
            title=f"H, {name}",
            scorer=Scorer.OFFICIAL,
            in_tables=False,
            family="types",
        )
        for name in TYPES
    ),
    Measure(
        "strict_hallucination",
        "As H; a parameter of type NUMBER takes any number.",
        topic="H",
        scorer=Scorer.STRICT,
    ),
    Measure(
        "strict_utility",
        "As utility, of strict passes, with calls costing up to 10.",
        topic="utility",
        unit=Unit.POINTS,
        scorer=Scorer.STRICT,
    ),
    Measure("unknown_names", "A call names no tool on offer.", in_tables=False),
    Measure("malformed", "A call's arguments are not as the schema says.", in_tables=False),
    Measure("repeated", "A call and its reply are those of an earlier one.", in_tables=False),
    Measure("no_finish", "The episode did not end with Finish.", binary=True, in_tables=False),
    *(
        Measure(way, f"Finish returned {way}.", binary=True, in_tables=False, family="ways")
        for way in RETURNS
    ),
    *(
        Measure(
            f"reply_{one}",
            f"The origin of a tool's reply is: {one}.",
            in_tables=False,
            family="origins",
        )
        for one in ResultOrigin
    ),
)
NAMES = tuple(measure.name for measure in MEASURES)
TOTALLED = tuple(one.name for one in MEASURES if one.topic)
PARTS = (
    *(("kind", kind) for kind in ("solvable", *reversed(KINDS.values()))),
    *(("group", group) for group in GROUPS),
)
TOTALS = (
    *(
        Total(
            part,
            f"The mean of the means of the {part} sets.",
            TOTALLED,
            over="set",
            where=(facet, part),
        )
        for facet, part in PARTS
    ),
    Total("all sets", "The mean of the means of all sets.", TOTALLED, over="set"),
)
"""Totals as in the official tables: each set has the same weight, whatever its size."""


def _data_option(name: str, default: str) -> Callable[[Manifest], str]:
    """Return a reader of an option in the query string of the data's path."""

    def of(manifest: Manifest) -> str:
        _, _, query = str(settings_of(manifest).get("data")).partition("?")
        return dict(parse_qsl(query)).get(name, default)

    return of


def _replies(manifest: Manifest) -> str:
    """Return the sources of services' replies, in the order in which they are tried."""
    recorded = ["recorded"] if _data_option("replies", "")(manifest) else []
    simulator = settings_of(manifest).get("simulator")
    simulated = [f"made up by {simulator}"] if simulator else []
    return ", then ".join([*recorded, *simulated, "made up from the data's templates"])


OFFICIAL = (
    setup.prompt("ToolBench's, with the ways to give up"),
    setup.of_model("temperature", 0),
    setup.of_model("reasoning_effort", None, why="the published code asks for no thinking"),
    setup.of_model("max_tokens", 1024),
    setup.items(958),
    setup.setting("epochs", 1),
    setup.setting("turn_limit", 50),
    setup.of_model("call_format", "text", why="the models were asked for Thought, Action, Input"),
    setup.setting("perturbation", "as-is", title="tools"),
    Condition(
        "schemas", ("published",), _data_option("schemas", "published"),
        why="official schemas lack the optional parameters of tools that require none",
    ),
    Condition(
        "replies of services", ("recorded, then the live service, then made up by a model",),
        _replies, why="what a service would have said decides on answers",
    ),
    setup.always(
        "calls that do not fit their schema", "answered with the error", "passed to the service"
    ),
    setup.judge(
        "openai/gpt-4o",
        why="judges differ; the scripts of the release have gpt-4o-mini and gpt-3.5-turbo-16k",
    ),
    setup.setting("judge_votes", 1),
    setup.always("the judge's prompts", "in our words", "those of the release"),
)  # fmt: skip
"""The settings in the released code and in section 4.1 of the paper."""
