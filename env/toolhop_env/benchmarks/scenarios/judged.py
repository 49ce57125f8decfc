"""Questions to a judge about a scenario: the calls that the rules leave open, and some others."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from toolhop_env.benchmarks.scenarios.calls import Finding
from toolhop_env.benchmarks.scenarios.played import VERDICTS, Played, question_id
from toolhop_env.questions import LlmQuestion
from toolhop_env.trace import Called, Trace
from toolhop_sandbox.outcome import JSON

CONTROLS = 5
"""One in this many of the calls that the rules decide also goes to the judge, only to measure its
agreement with the rules."""
MOST_CHARS = 4000
"""Maximum length of each call's result as shown to the judge, in characters."""
PROMPT = """Judge whether an agent made something up in a call of a tool. Hallucinated: the tool is
of no use for the task, the call only repeats one that succeeded, or a value is not said by the
task, by the user or by an earlier result, and is not a choice that the tool leaves open. Clean:
neither. A value may be written otherwise, follow from what was said, or be common knowledge."""


def questions(trace: Trace) -> Sequence[LlmQuestion]:
    """Ask whether a call is made up: for each call that the rules leave open, and for a sample
    (`CONTROLS`) of the others, with the rules' verdict.
    """
    one, found = Played.of(trace), list[LlmQuestion]()
    for at, judged in enumerate(one.by_rule):
        prompt = _prompt(one, judged.call)
        known = judged.finding is not Finding.UNKNOWN
        if known and zlib.crc32(prompt.encode()) % CONTROLS:
            continue
        by_rule: JSON = {"verdict": judged.finding.value, "reason": judged.why} if known else None
        schema: dict[str, JSON] = {
            "type": "object",
            "properties": {"reason": {"type": "string"}, "verdict": {"enum": [*VERDICTS]}},
            "required": ["verdict"],
        }
        about = "made_up_call"
        found.append(LlmQuestion(question_id(at), prompt, schema, about=about, by_rule=by_rule))
    return found


def _prompt(one: Played, call: Called) -> str:
    before = [other for other in one.trace.calls if other.turn < call.turn]
    parts: dict[str, JSON] = {
        "task": one.task.question,
        "earlier": [
            {
                "call": other.raw.name,
                "arguments": other.raw.arguments,
                "result": other.feedback[:MOST_CHARS],
            }
            for other in before
        ],
        "tool": dict(one.task.tools.get(call.raw.name, {})),
        "call": {"name": call.raw.name, "arguments": call.raw.arguments},
    }
    return f"{PROMPT}\n\n{json.dumps(parts, ensure_ascii=False, indent=1)}"


# -- the benchmark -----------------------------------------------------------------------------
