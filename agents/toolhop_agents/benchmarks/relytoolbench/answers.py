"""RelyToolBench's official answer files: the converted answers of a set in ``SET.json``.

Each query id maps to ``{query, available_tools, answer}``. The ``answer_details`` of the answer are
a chain of nodes ``{role, message, next}``, read along each first child. A call is a node with the
role ``tool`` and a message ``{name, arguments, response}``, after the assistant node that made it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from toolhop_agents.benchmarks.binding import ANY_MODE, Answers, PredictionFile, Turn
from toolhop_env.benchmarks.relytoolbench.rules import NOT_COUNTED
from toolhop_env.benchmarks.relytoolbench.scorer import played, response_of
from toolhop_env.messages import RawCall, Reply
from toolhop_env.trace import Called, Replied, Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataError, DataNotFound, DataProblem, shown
from toolhop_tools.readers.datafile import parse, read_bytes
from toolhop_tools.readers.record import Record

METHOD = "CoT@1"
"""The files' name for an ordinary episode: one chain of calls without backtracking."""


def _read(path: Path) -> Answers:
    """Read the answers of one set, or of a folder of sets; each file is named after its set.

    Raises:
        DataError: a file has another form; the message names each query.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise DataNotFound("no file SET.json in this folder", origin=str(path))
    found: dict[tuple[str, str], Sequence[Turn]] = {}
    problems: list[DataProblem] = []
    for file in files:
        whole = parse(read_bytes(file), str(file))
        if not isinstance(whole, dict):
            given = shown(whole)
            problems.append(
                DataProblem("wrong-type", file.name, "", "an object by query id", given)
            )
            continue
        for query, one in whole.items():
            place = f"{file.name}, query {query}"
            record = Record(one if isinstance(one, dict) else {}, place, problems)
            found[f"{file.stem}-{query}", ANY_MODE] = _turns(record)
    if problems:
        raise DataError("the answers cannot be used", problems, origin=str(path))
    return found


def _turns(row: Record) -> Sequence[Turn]:
    """Read the turns of an answer; consecutive texts and the calls after them form one reply."""
    answer = row.value.get("answer")
    details = answer.get("answer_details") if isinstance(answer, dict) else None
    if not isinstance(details, list):
        row.note(
            "no-answer", "answer", expected="an answer with answer_details", given=shown(answer)
        )
        return ()
    turns: list[Turn] = []
    nodes = (one for one in _chain(details) if one.get("role") in ("assistant", "tool"))
    texts: list[str] = []
    for role, group in groupby(nodes, key=lambda one: one["role"]):
        if role == "assistant":
            texts = [str(one.get("message") or "") for one in group]
            continue
        calls, results = list[RawCall](), list[str]()
        for node in group:
            said = node.get("message")
            if not isinstance(said, dict) or not isinstance(said.get("name"), str):
                expected = "name, arguments and response"
                row.note("wrong-type", "tool node", expected=expected, given=shown(said))
                continue
            number = f"call_{len(turns) + 1}_{len(calls) + 1}"
            calls.append(RawCall(number, said["name"], _text(said.get("arguments"))))
            results.append(_text(said.get("response")))
        turns.append(Turn(Reply("\n".join(texts), tuple(calls)), tuple(results)))
        texts = []
    return [*turns, Turn(Reply("\n".join(texts)))] if texts else turns


def _chain(nodes: JSON) -> Iterator[dict[str, Any]]:
    while isinstance(nodes, list) and nodes and isinstance(nodes[0], dict):
        yield nodes[0]
        nodes = nodes[0].get("next")


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _write(traces: Sequence[Trace]) -> Mapping[str, str]:
    sets: dict[str, dict[str, JSON]] = defaultdict(dict)
    for trace in traces:
        gold: Any = trace.started.gold
        query = trace.started.item.removeprefix(f"{gold['set']}-")
        sets[gold["set"]][query] = _converted(trace)
    return {
        f"{name}.json": json.dumps(found, ensure_ascii=False, indent=1) + "\n"
        for name, found in sets.items()
    }


def _converted(trace: Trace) -> JSON:
    gold: Any = trace.started.gold
    nodes: list[dict[str, JSON]] = [
        {"role": one.role, "message": one.content} for one in trace.started.messages
    ]
    for event in trace.events:
        match event:
            case Replied(reply=reply):
                nodes.append({"role": "assistant", "message": reply.content})
            case Called(raw=raw):
                said: JSON = {
                    "name": raw.name,
                    "arguments": raw.arguments,
                    "response": "" if event.ends else response_of(event),
                }
                nodes.append({"role": "tool", "message": said})
            case _:
                pass
    chain: list[JSON] = []
    for node in reversed(nodes):
        chain = [{**node, "next": chain}]
    names: list[JSON] = [call.raw.name for call in trace.calls]
    tools: list[JSON] = [
        {"type": "function", "function": {"name": name, **one}}
        for name, one in gold["functions"].items()
    ]
    return {
        "query": trace.started.question,
        "available_tools": tools,
        "answer": {
            "method": METHOD,
            "total_steps": len(nodes),
            "total_tool_calling": sum(name not in NOT_COUNTED for name in names),
            "tool_calling_names": names,
            "final_answer": played(trace).asked.final_answer,
            "answer_details": chain,
        },
    }


ANSWERS = PredictionFile(_read, _write)
