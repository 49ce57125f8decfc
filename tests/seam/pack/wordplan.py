"""A benchmark by planning: name the tools that a task needs, in order, in one reply."""

import json

from toolhop_agents.benchmarks.binding import Ask, Binding, Interaction
from toolhop_env.benchmark import Benchmark, Grouping, Judging, Presentation
from toolhop_env.measures import Measure, Scorer, Unit
from toolhop_env.messages import Reply, UserMessage
from toolhop_env.questions import SimilarityQuestion
from toolhop_sandbox.outcome import Returned
from toolhop_tools.model import DataSet, Item, RecordedTable, Tool, ToolSchema
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Survey

TOOLS = tuple(
    Tool(ToolSchema(name, f"Does {name}.", {"type": "object"}), RecordedTable({}, Returned("1")))
    for name in ("boil", "pour", "stir")
)


def _survey(path, *, last_wins):
    items = tuple(
        Item(f"plan-{n}", f"Plan task {n}.", "", (), "tea", "plan", others=TOOLS,
             benchmark="wordplan", gold={"plan": ["boil", "pour", "stir"][: n % 3 + 1]})
        for n in range(6)
    )  # fmt: skip
    return Survey(DataSet("wordplan", path, items), ())


def _plan(trace):
    try:
        return json.loads(trace.final_text or "")
    except ValueError:
        return None


def _score(trace, answers):
    wanted, found = trace.started.gold["plan"], _plan(trace) or []
    alike = answers.get("alike")
    hits = len(set(wanted) & set(found))
    return {
        "same_plan": (float(found == wanted), 1.0),
        "recall": (float(hits), float(len(wanted))),
        "alike": None if alike is None else (float(alike), 1.0),
    }


MEASURES = (
    Measure("same_plan", "The plan is the gold.", scorer=Scorer.STRICT, binary=True, leads=True),
    Measure("recall", "A wanted tool is in the plan.", scorer=Scorer.OFFICIAL),
    Measure("alike", "How alike the texts are, by a judge.", unit=Unit.POINTS),
)
BENCHMARK = Benchmark(
    "wordplan", "1", ("plan",), MEASURES, lambda item: dict(item.gold), _score,
    Presentation("WordPlan", lambda gold: " ".join(gold["plan"])),
    Judging(lambda t: [
        SimilarityQuestion("alike", json.dumps(t.started.gold["plan"]), t.final_text or "")
    ]),
    Grouping(lambda gold: {"length": str(len(gold["plan"]))}),
)  # fmt: skip


def _prompt(ask: Ask):
    return (UserMessage(f"{ask.item.question} Tools: {[s.name for s in ask.schemas]}"),)


def _gold(item, seed, messages, tools):
    return Reply(json.dumps(item.gold["plan"]))


BINDING = Binding(BENCHMARK, _prompt, Interaction.PLANNING, agents={"gold": _gold})
READER = Reader("six plans", _survey)
