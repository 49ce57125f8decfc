"""How often rules of `toolhop construct` that read texts speak against items that are there.

    python -m benchmarks.construct_rules FILE      # or: builtin

Texts are judged as a seed's would be that a model wrote. Where gold calls are known, the promises
of the documents are held against them in the process sandbox. No model is asked.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import anyio

from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.batch import run_batch
from toolhop_tools.construct.claims import unlike_arguments
from toolhop_tools.construct.documents import all_said, other_key
from toolhop_tools.construct.orders import orders
from toolhop_tools.construct.plan import of_answers
from toolhop_tools.construct.promised import trials
from toolhop_tools.construct.promises import disagreements, other_failures
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import NewTool, ToolDocument
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.text import texts
from toolhop_tools.construct.trials import FAILED, Call
from toolhop_tools.construct.verify import called
from toolhop_tools.construct.vocabulary import plain
from toolhop_tools.construct.wording import limited, said_alone, unspoken
from toolhop_tools.failures import tells_of_error
from toolhop_tools.load import load
from toolhop_tools.model import GoldCall, Hop, Item, Tool, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.words import scalars

OF_QUESTIONS = ("same-operations", "asked-of-the-same", "kind-as-asked", "no-order")


def documents(hop: Hop) -> frozenset[str]:
    """The rules that speak against a sub-question and its tool's document."""
    schema, given = hop.tool.schema, [one for _, one in scalars(_arguments(hop))]
    own = ToolDocument(
        name=schema.name, description=schema.description, parameters=dict(schema.parameters)
    )
    new = NewTool(analysis="", kind="lookup", tool=own, arguments=_arguments(hop))
    word = partial(
        unspoken,
        hop.question,
        all_said(schema, _arguments(hop)),
        off=any(one is False for one in given),
        numbered=any(isinstance(one, int) and not isinstance(one, bool) for one in given),
    )
    said = [schema.description, *texts(dict(schema.parameters)), hop.question]
    rules: dict[str, Iterable[str]] = {
        OF_DOCUMENTS[0]: word(computes=False),
        OF_DOCUMENTS[1]: word(computes=True),
        OF_DOCUMENTS[2]: limited(schema.description, hop.question),
        OF_DOCUMENTS[3]: other_key(new, hop.question),
        OF_DOCUMENTS[4]: disagreements(schema),
        OF_DOCUMENTS[5]: orders(said, "A text"),
    }
    return frozenset(name for name, noted in rules.items() if [*noted])


OF_DOCUMENTS = (
    "every-word-known", "the same, of tools that compute", "knows-what-is-asked",
    "key-of-what-is-asked", "agrees-with-itself", "no-order",
)  # fmt: skip


def _arguments(hop: Hop) -> dict[str, JSON]:
    return dict(hop.gold.arguments) if hop.gold else {}


def marked(hop: Hop) -> bool:
    """Whether people are shown a word; names aside where no call is known that may take them."""
    known = all_said(hop.tool.schema, _arguments(hop))
    return bool(said_alone(hop.question if hop.gold else plain(hop.question), known))


def started(hop: Hop) -> Hop:
    """With names of the question for a gold call, where none is known."""
    if hop.gold:
        return hop
    names = re.findall(r"(?<=[^\s.?!:] )[A-Z][\w'-]*(?: [A-Z][\w'-]*)*", hop.question)
    given: dict[str, JSON] = {f"name_{at}": name for at, name in enumerate(names)}
    return Hop(hop.question, hop.answer, hop.tool, GoldCall(given, "names"))


def questions(item: Item) -> frozenset[str]:
    answers = tuple((hop.question, hop.answer) for hop in item.hops)
    plan = [one.question for one in of_answers(Seed(item.id, item.domain, sub_task=answers)).hops]
    return question_findings(item.question, [started(hop) for hop in item.hops], plan).failed


async def promises(tools: Mapping[str, tuple[Tool, list[Call]]]) -> dict[str, list[str]]:
    """By tool: what its gold calls say against its document."""
    found: dict[str, list[str]] = {}
    async with (
        await open_sandbox("process", max_workers=1) as sandbox,
        sandbox.session() as session,
    ):
        for tool, calls in tools.values():
            own = [*trials(tool.schema, calls, partial(called, tool.name))]
            sets = {canonical(call): call for one in own for call in one.calls}
            runs = await run_batch(session, tool.program, [*sets.values()])
            results = dict(zip(sets, (_value(run and run.outcome) for run in runs), strict=True))
            said = [one.wrong([results[canonical(call)] for call in one.calls]) for one in own]
            said += unlike_arguments(tool.schema, calls, all_of=True)
            found[tool.name] = [one for one in said if one]
    return found


def _value(outcome: object) -> JSON:
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else FAILED
    return FAILED if tells_of_error(value) else value


def shown(title: str, rules: Iterable[str], found: list[tuple[str, frozenset[str]]]) -> None:
    counts = Counter(rule for _, failed in found for rule in failed)
    for rule in rules:
        print(f"{rule}: {counts[rule]} of {len(found)} {title}")
        for text in [text for text, failed in found if rule in failed][:20]:
            print(f"    {text[:140]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="builtin")
    given = parser.parse_args()
    items = load(given.data if given.data == "builtin" else Path(given.data)).items
    hops = [hop for item in items for hop in item.hops]
    shown("sub-questions", OF_DOCUMENTS, [(hop.question, documents(hop)) for hop in hops])
    shown("questions", OF_QUESTIONS, [(item.question, questions(item)) for item in items])
    tools: dict[str, tuple[Tool, list[Call]]] = {}
    for hop in hops:
        key = hop.tool.name + hop.tool.schema.description
        tools.setdefault(key, (hop.tool, []))
        if hop.gold:
            tools[key][1].append(dict(hop.gold.arguments))
    odd = [one for one, _ in tools.values() if [*other_failures(one.schema, lookup=True)]]
    print(f"promised failures: {len(odd)} of {len(tools)} documents")
    print(f"a word for people: {sum(map(marked, hops))} of {len(hops)} sub-questions")
    called_tools = {name: one for name, one in tools.items() if one[1]}
    broken = {name: one for name, one in anyio.run(promises, called_tools).items() if one}
    print(f"promises against calls: {len(broken)} of {len(called_tools)} tools with gold calls")
    for name, noted in broken.items():
        print(f"    {name}: {noted[0][:200]}")


if __name__ == "__main__":
    main()
