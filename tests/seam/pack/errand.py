"""A benchmark by episodes: look a price up, then finish with it; recorded tools, no program."""

from toolhop_agents.benchmarks.binding import Binding
from toolhop_env.benchmark import Benchmark, Judging, Milestone, Presentation
from toolhop_env.measures import Measure, Scorer
from toolhop_env.messages import AssistantMessage, RawCall, Reply, UserMessage
from toolhop_env.questions import LlmQuestion
from toolhop_sandbox.outcome import Raised, Returned
from toolhop_tools.model import (
    DataSet,
    EpisodeAction,
    Item,
    RecordedTable,
    Tool,
    ToolSchema,
    canonical,
)  # fmt: skip
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Survey

TEXT = {"type": "string"}


def _tool(name, argument, body):
    schema = {"type": "object", "properties": {argument: TEXT}, "required": [argument]}
    return Tool(ToolSchema(name, name, schema), body)


def _item(n):
    table = RecordedTable(
        {canonical({"of": f"good-{n}"}): Returned(str(n))}, Raised("KeyError", "?")
    )
    tools = (_tool("price", "of", table), _tool("finish", "answer", EpisodeAction.FINISH))
    return Item(f"errand-{n}", f"What costs good-{n}?", "", (), "shop", "number", others=tools,
                benchmark="errand", gold={"price": str(n)})  # fmt: skip


def _survey(path, *, last_wins):
    return Survey(DataSet("errand", path, tuple(_item(n) for n in range(6))), ())


def _score(trace, answers):
    polite = answers.get("polite")
    return {
        "paid": (float(trace.final_text == trace.started.gold["price"]), 1.0),
        "polite": None if polite is None else (float(polite["polite"]), 1.0),
    }


ASKED = {"type": "object", "properties": {"polite": {"type": "boolean"}}, "required": ["polite"]}
MEASURES = (
    Measure("paid", "The price is right.", scorer=Scorer.OFFICIAL, binary=True, leads=True),
    Measure("polite", "A judge finds the agent polite.", binary=True),
)
BENCHMARK = Benchmark(
    "errand", "1", ("shop", "hurry"), MEASURES, lambda item: dict(item.gold), _score,
    Presentation(
        expected=lambda gold: gold["price"],
        milestones=lambda t: [Milestone("price", "", any(c.error is None for c in t.calls))],
    ),
    Judging(lambda t: [LlmQuestion("polite", f"Polite? {t.replies[-1].reply.content}", ASKED)]),
)  # fmt: skip


def _shop(item, seed, messages, tools):
    turn = sum(isinstance(one, AssistantMessage) for one in messages)
    price = item.gold["price"] if int(price_of(item)) % 2 == 0 else "none"
    calls = [("price", '{"of": "nothing"}'), ("price", f'{{"of": "good-{price_of(item)}"}}'),
             ("finish", f'{{"answer": "{price}"}}')]  # fmt: skip
    return Reply("Please.", (RawCall(f"c{turn}", *calls[min(turn, 2)]),))


def price_of(item):
    return item.gold["price"]


BINDING = Binding(BENCHMARK, lambda ask: (UserMessage(ask.item.question),), agents={"shop": _shop})
READER = Reader("six errands", _survey)
