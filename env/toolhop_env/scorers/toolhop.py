"""ToolHop (paper section 4.1): is the final answer right, and how far did the chain of calls come.

The gold of an item is its chain: the answer, and by hop the tool and the sub-answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolhop_env.benchmark import Benchmark, Milestone
from toolhop_env.measures import Measure, Scorer, Unit
from toolhop_env.questions import Answers
from toolhop_env.reading import tagged_answer
from toolhop_env.results import holds_answer
from toolhop_env.score import Values
from toolhop_env.scorers.toolhop_answers import official, strict
from toolhop_env.scorers.toolhop_gaps import Gap, gap
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item


@dataclass(frozen=True, slots=True)
class Chain:
    """What scoring needs of an item."""

    answer: str
    tools: tuple[str, ...]
    """Tool name by hop."""
    answers: tuple[str, ...]
    """Gold sub-answer by hop."""

    @classmethod
    def of(cls, gold: JSON) -> Chain:
        """The chain in a trace's gold.

        Raises:
            ValueError: it has another form.
        """
        match gold:
            case {"answer": str(answer), "hops": list(hops)}:
                pairs = [(h["tool"], h["answer"]) for h in hops if isinstance(h, dict)]
                tools, answers = [str(tool) for tool, _ in pairs], [str(said) for _, said in pairs]
                return cls(answer, tuple(tools), tuple(answers))
            case _:
                raise ValueError("the gold of a ToolHop trace has an answer and a list of hops")


def chain_of(item: Item) -> JSON:
    """An item's gold, as it goes into the trace."""
    hops: list[JSON] = [{"tool": hop.tool.name, "answer": hop.answer} for hop in item.hops]
    return {"answer": item.answer, "hops": hops}


def given(trace: Trace) -> str | None:
    """The answer as the strict scorer reads it: the last tag's content, else the whole text."""
    text = trace.final_text
    tagged = None if text is None else tagged_answer(text)
    return text if tagged is None else tagged


def hops(trace: Trace) -> Sequence[Milestone]:
    """By hop: whether a call of the hop's tool returned the hop's gold sub-answer."""
    chain = Chain.of(trace.started.gold)
    return [
        Milestone(tool, answer, _solved(trace, tool, answer))
        for tool, answer in zip(chain.tools, chain.answers, strict=True)
    ]


def _solved(trace: Trace, tool: str, answer: str) -> bool:
    return any(call.raw.name == tool and holds_answer(call, answer) for call in trace.calls)


def score(trace: Trace, _: Answers) -> Values:
    """The values of `MEASURES`, from the trace alone."""
    chain, calls = Chain.of(trace.started.gold), trace.calls
    solved = [hop.reached for hop in hops(trace)]
    accepted = official(chain.answer, trace.conversation())
    last = bool(calls) and holds_answer(calls[-1], chain.answer)
    return {
        "strict": _share(strict(chain.answer, trace.final_text)),
        "official": _share(bool(accepted)),
        "hops_solved": (float(sum(solved)), float(len(solved))),
        "chain": (float([*solved, False].index(False)), float(len(solved))),
        "failed_calls_by_hop": (float(sum(c.error is not None for c in calls)), float(len(solved))),
        "in_last_feedback": _share(last),
        "official_unset": _share(accepted is None),
    }


def explain_gap(trace: Trace) -> Gap | None:
    """Why the official scorer and the strict one differ on a trace; None where they agree."""
    return gap(Chain.of(trace.started.gold).answer, trace)


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
    Measure("hops_solved", "A hop's tool returned the hop's gold, in any order.", "hops solved"),
    Measure(
        "chain",
        "Hops solved from the first on without a gap.",
        "hops solved in a row",
        in_tables=False,
    ),
    Measure(
        "failed_calls_by_hop",
        "Failed calls of an episode, by the item's hops.",
        "failed calls a hop",
        Unit.CALLS,
        in_tables=False,
    ),
    Measure(
        "in_last_feedback",
        "The last tool result holds the gold: the official rule gives credit for it.",
        "gold in the last result",
        binary=True,
        in_tables=False,
    ),
    Measure(
        "official_unset",
        "The conversation does not end with a text, so that the official rule sets no answer.",
        "official unset",
        binary=True,
        in_tables=False,
    ),
)

TOOLHOP = Benchmark(
    name="toolhop",
    title="ToolHop",
    version="2",
    modes=("mandatory", "free", "direct"),
    measures=MEASURES,
    gold=chain_of,
    score=score,
    given=given,
    must_call=frozenset({"mandatory"}),
    milestones=hops,
    milestone="hop",
    explain_gap=explain_gap,
)
