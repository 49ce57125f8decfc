"""ToolHop (paper section 4.1): is the final answer correct, and how many hops were solved?

The gold of an item is its chain: the answer, and the tool and sub-answer of each hop. If a
certificate proves the hop, the gold also has the call's arguments, and the place of the answer in
its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolhop_env import official as setup
from toolhop_env.benchmark import Benchmark, Conditions, Milestone, Presentation
from toolhop_env.benchmarks.results import gives
from toolhop_env.benchmarks.toolhop.answers import official, strict
from toolhop_env.benchmarks.toolhop.gaps import Gap, gap
from toolhop_env.chain import Chain, steps_of
from toolhop_env.measures import Measure, Scorer, Unit
from toolhop_env.official import Condition, settings_of, text_of
from toolhop_env.questions import Answers
from toolhop_env.reading import tagged_answer, without_thoughts
from toolhop_env.score import Parts, Values, holds_answer, holds_at
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Hop, Item
from toolhop_tools.reading import (
    Reading,
    reading_from_json,
    reading_to_json,
)


@dataclass(frozen=True, slots=True)
class Gold:
    """What scoring needs from an item."""

    answer: str
    tools: tuple[str, ...]
    """Tool name of each hop."""
    answers: tuple[str, ...]
    """Gold sub-answer of each hop."""
    places: tuple[Reading | None, ...]
    """Place of each hop's answer in the tool's result; None without a certificate."""

    @classmethod
    def of(cls, gold: JSON) -> Gold:
        """Read the chain from a trace's gold.

        Raises:
            ValueError: the gold has another form.
        """
        match gold:
            case {"answer": str(answer), "hops": list(hops)}:
                given = [hop for hop in hops if isinstance(hop, dict)]
                return cls(
                    answer,
                    tuple(str(hop["tool"]) for hop in given),
                    tuple(str(hop["answer"]) for hop in given),
                    tuple(reading_from_json(h["place"]) if "place" in h else None for h in given),
                )
            case _:
                raise ValueError("the gold of a ToolHop trace has an answer and a list of hops")


def chain_of(item: Item) -> JSON:
    """Return an item's gold, as stored in the trace."""
    return {"answer": item.answer, "hops": [_gold_hop(hop) for hop in item.hops]}


def _gold_hop(hop: Hop) -> JSON:
    plain: dict[str, JSON] = {"tool": hop.tool.name, "answer": hop.answer}
    if hop.gold is None:
        return plain
    plain["arguments"] = dict(hop.gold.arguments)
    place = hop.gold.reading
    return plain if place is None else {**plain, "place": reading_to_json(place)}


def given(trace: Trace) -> str | None:
    """Return the answer as scored strictly: the last tag's content, else the whole text."""
    text = trace.final_text
    if text is None:
        return None
    tagged = tagged_answer(text)
    return without_thoughts(text) if tagged is None else tagged


def hops(trace: Trace) -> Sequence[Milestone]:
    """Return whether a call of each hop's tool returned the hop's gold sub-answer."""
    chain = Gold.of(trace.started.gold)
    return [
        Milestone(tool, answer, _solved(trace, tool, answer))
        for tool, answer in zip(chain.tools, chain.answers, strict=True)
    ]


def _solved(trace: Trace, tool: str, answer: str) -> bool:
    return any(call.raw.name == tool and holds_answer(call, answer) for call in trace.calls)


def _placed(trace: Trace, chain: Gold, solved: Sequence[bool]) -> Values:
    """Return the values that also accept answers at the certificate's places, if any."""
    if not any(chain.places):
        return {"hops_solved_at_place": None, "chain_at_place": None}
    hops = zip(chain.tools, chain.answers, chain.places, strict=True)
    found = [
        plain or any(call.raw.name == tool and holds_at(call, gold, place) for call in trace.calls)
        for plain, (tool, gold, place) in zip(solved, hops, strict=True)
    ]
    return {"hops_solved_at_place": _count(found), "chain_at_place": _row(found)}


def score(trace: Trace, _: Answers) -> Values:
    """Return the values of `MEASURES`, from the trace alone."""
    chain, calls = Gold.of(trace.started.gold), trace.calls
    solved = [hop.reached for hop in hops(trace)]
    accepted = official(chain.answer, trace.conversation())
    last = bool(calls) and holds_answer(calls[-1], chain.answer)
    return {
        "strict": _share(strict(chain.answer, trace.final_text)),
        "official": _share(bool(accepted)),
        "hops_solved": _count(solved),
        "hops_given": _count(
            [any(gives(call, step) for call in calls) for step in steps_of(trace.started.gold)]
        ),
        "chain": _row(solved),
        **_placed(trace, chain, solved),
        "failed_calls_by_hop": (float(sum(c.error is not None for c in calls)), float(len(solved))),
        "in_last_feedback": _share(last),
        "official_unset": _share(accepted is None),
    }


def chain(trace: Trace, _: Answers) -> Chain:
    """Return the chain in a trace's gold."""
    gold, said = trace.started.gold, given(trace) or ""
    steps, answer = steps_of(gold), Gold.of(gold).answer
    return Chain(steps, answer, said, strict(answer, trace.final_text), len(steps))


def explain_gap(trace: Trace) -> Gap | None:
    """Return why the official and strict scorers differ on a trace; None if they agree."""
    return gap(Gold.of(trace.started.gold).answer, trace)


def _count(solved: Sequence[bool]) -> Parts:
    return float(sum(solved)), float(len(solved))


def _row(solved: Sequence[bool]) -> Parts:
    """Return the number of hops solved in a row from the first, and the number of hops."""
    return float([*solved, False].index(False)), float(len(solved))


def _share(found: bool) -> tuple[float, float]:
    return (float(found), 1.0)


MEASURES = (
    Measure(
        "strict",
        "The tagged answer equals the gold.",
        scorer=Scorer.STRICT,
        binary=True,
        leads=True,
    ),
    Measure(
        "official",
        "ToolHop's released answer rule accepts the conversation (paper section 4.1).",
        scorer=Scorer.OFFICIAL,
        binary=True,
    ),
    Measure(
        "hops_solved",
        "A hop's own tool returned the hop's gold as a value, in any order.",
        title="hops by own tool",
    ),
    Measure(
        "hops_given",
        "A call returned the hop's gold in any form, or any tool did as a value. Steps done in the "
        "head are not counted.",
        title="hops in results",
    ),
    Measure(
        "chain",
        "Hops solved from the first on without a gap.",
        title="hops by own tool in a row",
        in_tables=False,
    ),
    Measure(
        "hops_solved_at_place",
        "The same, or the hop's gold stands where the item's certificate has it in the result.",
        title="hops by own tool at place",
    ),
    Measure(
        "chain_at_place",
        "Such hops from the first on without a gap.",
        title="hops by own tool at place in a row",
        in_tables=False,
    ),
    Measure(
        "failed_calls_by_hop",
        "Failed calls of an episode, by the item's hops.",
        title="failed calls a hop",
        unit=Unit.CALLS,
        in_tables=False,
    ),
    Measure(
        "in_last_feedback",
        "The last tool result holds the gold: the official rule gives credit for it.",
        title="gold in the last result",
        binary=True,
        in_tables=False,
    ),
    Measure(
        "official_unset",
        "The conversation does not end with a text, so that the official rule sets no answer.",
        title="official unset",
        binary=True,
        in_tables=False,
    ),
)

OFFICIAL = (
    setup.prompt("the evaluator's"),
    setup.of_model("temperature", 0),
    setup.of_model("reasoning_effort", None, why="the published code asks for no thinking"),
    setup.of_model("max_tokens", 256, 1024, why="the evaluators of closed and of open models"),
    setup.items(995),
    setup.setting("epochs", 1),
    setup.setting("turn_limit", 9),
    setup.setting("call_format", "native", why="GPT-4o differs by 6 points (paper, table 11)"),
    setup.setting("perturbation", "as-is", title="tools"),
    setup.tool_order("published"),
    setup.setting("last_wins", True, title="the last of two tools of one name wins",
                  why="7 of 100 items have such tools"),
    setup.setting("answer_malformed", False, title="calls in a wrong form are answered"),
    setup.setting("policy", "none", why="a tool that the policy refuses fails here alone"),
    setup.setting("tool_timeout_s", 10, title="seconds a call"),
    Condition(
        "error messages",
        ("an error occured when call NAME: MESSAGE",),
        lambda manifest: f"in our words, {text_of(settings_of(manifest).get('feedback'))}",
    ),
)  # fmt: skip
"""The settings in `evaluation_closed.py`, `evaluation_open.py` and section 4.1 of the paper."""

BENCHMARK = Benchmark(
    name="toolhop",
    version="2",
    modes=("mandatory", "free", "direct"),
    measures=MEASURES,
    gold=chain_of,
    score=score,
    chain=chain,
    presentation=Presentation(
        "ToolHop", given=given, milestones=hops, milestone="hop", explain_gap=explain_gap
    ),
    conditions=Conditions(OFFICIAL),
)
