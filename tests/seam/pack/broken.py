"""A benchmark with bugs: `--data broken:PART@N` breaks one part from item N on."""

from toolhop_agents.benchmarks.binding import Binding
from toolhop_env.benchmark import Benchmark
from toolhop_env.measures import Measure
from toolhop_env.messages import RawCall, Reply, UserMessage
from toolhop_sandbox.outcome import Returned
from toolhop_tools.model import DataSet, Described, Item, Tool, ToolSchema
from toolhop_tools.readers.reader import Reader
from toolhop_tools.readers.record import Survey


def _item(n, part):
    gold = {"unreadable": {n}} if part == "item" else {"breaks": part}
    tool = Tool(ToolSchema("look", "Looks.", {"type": "object"}), Described({"breaks": part}))
    return Item(f"broken-{n}", "Which?", "", (), "shop", "name", others=(tool,),
                benchmark="broken", gold=gold)  # fmt: skip


def _survey(path, *, last_wins):
    part, _, first = path.partition("@")
    items = (_item(n, part if n >= int(first) else "") for n in range(4))
    return Survey(DataSet("broken", path, tuple(items)), ())


def _breaks(facts, part, value):
    if facts["breaks"] == part:
        raise KeyError("price")
    return None if facts["breaks"] == f"{part}-none" else value


class Look:
    async def respond(self, tool, arguments):
        return _breaks(tool.facts, "described", Returned("1"))


def _gold(item):
    return _breaks(item.gold, "gold", dict(item.gold))


def _prompt(ask):
    return _breaks(ask.item.gold, "prompt", [UserMessage(ask.item.question)])


def _looks(item, seed, messages, tools):
    reply = Reply("", (RawCall("c1", "look", "{}"),)) if len(messages) == 1 else Reply("done")
    return _breaks(item.gold, "agent", reply)


MEASURES = (Measure("right", "Always.", binary=True, leads=True),)
BENCHMARK = Benchmark("broken", "1", ("ask",), MEASURES, _gold, lambda *_: {"right": (1.0, 1.0)})
BINDING = Binding(BENCHMARK, _prompt, agents={"looks": _looks}, described=Look())
READER = Reader("items that break", _survey)
