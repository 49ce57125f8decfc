"""What a second implementation catches of tools that are not as their documents say.

    python -m studies.second                                        replays what is kept
    python -m studies.second FILE.jsonl ... --base-url U --base-url V    asks a second and a third

The items are those of `studies.readers`: by people who had not read the product. A model sees a
tool's document alone and writes the function; it is run beside the tool's own code on
calls made from the schema. Where they differ, the third's function decides.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import anyio

from studies.authored import Authored, records_of
from studies.blind_replies import Kept, KeptAsk, NotKeptError
from studies.running import interval
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_agents.models.rate import Connections
from toolhop_env.messages import Message, SystemMessage, UserMessage
from toolhop_sandbox.base import Limits, Program, Sandbox
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.batch import run_batch
from toolhop_tools.construct.facts import table as table_text
from toolhop_tools.construct.prompts import inputs, load
from toolhop_tools.construct.replies import Code, Pair, Pairs
from toolhop_tools.construct.second import call_set, decided, differences
from toolhop_tools.construct.stages import Problem, Stage
from toolhop_tools.construct.text import resolved
from toolhop_tools.construct.verify import result_of
from toolhop_tools.declared import declared, required
from toolhop_tools.model import Tool

FOLDER = Path(__file__).parent / "data" / "second"
NAMES = ("second", "third")
ROWS = {
    "A": "tools that are not as their documents, caught",
    "C": "tools of items that nobody can tell, sent back",
    "right": "tools of right items, sent back",
}
"""What is counted, by the sort of the item."""


@dataclass(frozen=True)
class Documented:
    """A computing tool of an item."""

    item: str
    tool: Tool
    calls: Sequence[Mapping[str, JSON]]
    """The chain's call, and the same with the keys of other records."""
    sort: str
    """A key of `SORTS`: of the tool at fault, or of all tools of the item."""

    @property
    def key(self) -> str:
        """Names it among all tools."""
        return f"{self.item}/{self.tool.name}"


def computing(items: Sequence[Authored]) -> list[Documented]:
    """The tools that compute, or look up with options; of items with a wrong tool, that one."""
    tools = []
    for item in items:
        for hop in item.row["hops"] if item.sort in ROWS else ():
            faulty = bool(hop.get("right_code"))
            plain = records_of(hop["code"]) and not _has_options(hop["tool"]["parameters"])
            if plain or (item.sort == "A" and not faulty):
                continue
            name = hop["tool"]["name"]
            tool = next(tool for tool in item.tools if tool.name == name)
            answers = [str(own["answer"]) for own in item.row["hops"]]
            call = resolved(hop["arguments"], answers, tool.schema.parameters)
            calls = _calls(cast("dict[str, JSON]", call), records_of(hop["code"]))
            tools.append(Documented(item.id, tool, calls, item.sort))
    return tools


def _has_options(parameters: Mapping[str, JSON]) -> bool:
    return len(declared(parameters)) > len(required(parameters))


def _calls(call: dict[str, JSON], records: Sequence[Mapping[str, JSON]]) -> list[dict[str, JSON]]:
    """A call, and the same with other records' values of a field in the place of its own."""
    return [call] + [
        {**call, name: record[field]}
        for name, value in call.items()
        for field in {field for record in records for field in record if record[field] == value}
        for record in records
        if field in record
    ]


def asked(documented: Documented) -> list[Message]:
    """What whoever writes the function sees."""
    document = documented.tool.schema.to_openai()["function"]
    values: dict[str, JSON] = {"tool": document, "contract": {}}
    if records := records_of(documented.tool.program.source):
        values["records"] = [*records[:2]]
    text = inputs(Stage.SECOND, values)
    return [SystemMessage(load().texts["second"]), UserMessage(text)]


async def compared(
    documented: Documented, codes: Sequence[str], sandbox: Sandbox
) -> tuple[Stage | None, str]:
    """Whose fault the differences of three implementations are."""
    tool = documented.tool
    facts = Pairs(pairs=[Pair(arguments=dict(call), result=None) for call in documented.calls])
    calls = call_set(tool.schema, facts, 0)

    async def results(source: str) -> list[JSON]:
        async with sandbox.session() as session:
            runs = await run_batch(session, Program(source, tool.name), calls)
        return [result_of(None if run is None else run.outcome) for run in runs]

    records = records_of(tool.program.source)
    table = f"{table_text(records)}\n\n" if records else ""
    sources = (tool.program.source, *(table + code for code in codes))
    own, second, third = [await results(source) for source in sources]
    unlike = differences(calls, own, second)
    by_call = {str(call): result for call, result in zip(calls, third, strict=True)}
    if not unlike:
        return None, ""
    return decided(unlike, [by_call[str(row.call)] for row in unlike])


async def ask_all(
    tools: Sequence[Documented], urls: Sequence[str], kept: Kept, timeout_s: float, at_a_time: int
) -> dict[str, list[str]]:
    """The functions written for each tool, by item and tool; fewer where a reply is no function."""
    codes: dict[tuple[str, str], str] = {}
    version = load().version("second")

    async def write(documented: Documented, name: str, ask: KeptAsk) -> None:
        key = documented.key
        try:
            reply = Code.read(await ask(0, 1, key, version, asked(documented)))
        except NotKeptError:
            return
        if not isinstance(reply, Problem):
            codes[key, name] = reply.code

    async with anyio.create_task_group() as group:
        for at, name in enumerate(NAMES):
            model = None
            if urls:
                options = ModelOptions(
                    base_url=urls[at % len(urls)], temperature=None, timeout_s=timeout_s,
                    max_retries=0, connections=Connections(at_a_time),
                )  # fmt: skip
                model = open_model("openai/reader", options)
            for documented in tools:
                group.start_soon(write, documented, name, KeptAsk(name, kept, model))
    return {
        tool.key: [codes[tool.key, name] for name in NAMES if (tool.key, name) in codes]
        for tool in tools
    }


async def run(given: argparse.Namespace) -> None:
    """Ask or replay, compare, and print the table."""
    kept = Kept.open(given.keep)
    if given.files:
        kept.keep_items(given.files)
    tools = computing(kept.items)
    written = await ask_all(tools, given.base_url, kept, given.timeout, given.at_a_time)
    counts = {sort: [0, 0] for sort in ROWS}
    async with await open_sandbox("process", limits=Limits(wall_s=2.0), max_workers=2) as sandbox:
        for documented in tools:
            codes = written[documented.key]
            if len(codes) < len(NAMES):
                print(f"{documented.key}: not written")
                continue
            stage, why = await compared(documented, codes, sandbox)
            counts[documented.sort][0] += stage is not None
            counts[documented.sort][1] += 1
            if given.list and (stage is not None) != (documented.sort == "A"):
                print(f"{documented.key}: {stage or 'none'}. {why}")
    for sort, title in ROWS.items():
        print(f"{title}: {interval(*counts[sort])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--base-url", action="append", default=[])
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--at-a-time", type=int, default=8)
    parser.add_argument("--keep", type=Path, default=FOLDER)
    parser.add_argument("--list", action="store_true")
    anyio.run(run, parser.parse_args())


if __name__ == "__main__":
    main()
