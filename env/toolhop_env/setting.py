"""The settings of an episode, and the first event of its trace, which records them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from toolhop_env import benchmarks
from toolhop_env.feedback import Level, Verbosity
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import SystemMessage, UserMessage
from toolhop_env.offered import shown_chars
from toolhop_env.reading import CallFormat, read_calls
from toolhop_env.results import results_of
from toolhop_env.trace import Started, Trace
from toolhop_tools.model import Item, Tool


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything that defines an episode besides its item; all of it is recorded in the trace."""

    agent: str = "unnamed"
    mode: str = "mandatory"
    call_format: CallFormat = CallFormat.NATIVE
    feedback: Verbosity = Level.DETAILED
    epoch: int = 1
    seed: int = 0
    attempt: int = 1
    messages: tuple[SystemMessage | UserMessage, ...] = ()
    """The prompt; if empty, the item's question alone."""
    offer_tools: bool = True
    """Whether the item's tools can be called; False in direct mode."""
    answer_malformed: bool = False
    """Whether a malformed call gets feedback; otherwise it ends the episode."""
    single_reply: bool = False
    """Planning: the first reply is the answer whatever it says, and no calls are read."""
    single_shot: bool = False
    """Whether asking the user and changing the tools end the episode, as giving up does."""
    perturbation: str = "as-is"
    """Label of the perturbation of the item's tools; the item is already perturbed."""
    results: str = "as-is"
    """Treatment of successful results (`toolhop_env.results`)."""
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)


def started(
    item: Item, setting: Setting, name: str, tools: Iterable[Tool], resume_from: Trace | None
) -> Started:
    """Return the first event of an episode.

    Args:
        item: the item to play.
        setting: the settings of the episode.
        name: id of the episode.
        tools: the tools on offer, in the order shown.
        resume_from: turns of another episode to continue from, if any.
    """
    offered = tuple(tools)
    text = setting.call_format is CallFormat.TEXT
    start = Started(
        episode=name,
        item=item.id,
        item_digest=item.digest,
        question=item.question,
        gold=benchmarks.named(item.benchmark).gold(item),
        agent=setting.agent,
        mode=setting.mode,
        call_format=setting.call_format,
        feedback=setting.feedback,
        epoch=setting.epoch,
        seed=setting.seed,
        messages=setting.messages or (UserMessage(item.question),),
        tools=tuple(tool.schema.name for tool in offered),
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        attempt=setting.attempt,
        perturbation=setting.perturbation,
        benchmark=item.benchmark,
        answer_malformed=setting.answer_malformed,
        single_shot=setting.single_shot,
        # In the text format, schemas are part of the messages.
        tool_chars=0 if text else sum(shown_chars(tool.schema) for tool in offered),
        results=results_of(setting.results, offered, item.digest),
    )
    if resume_from is None:
        return start
    before = resume_from.started
    return replace(
        start,
        feedback=before.feedback,
        messages=setting.messages or before.messages,
        parent=before.episode,
        prefix_turns=len(resume_from.replies),
    )


def check_resumable(trace: Trace, item: Item, setting: Setting) -> None:
    """Check that an episode of `item` can continue from the turns of `trace`.

    Raises:
        ValueError: it cannot; the message says why.
    """
    begun = trace.started
    if begun.item_digest != item.digest:
        raise ValueError(f"the trace is of another item ({begun.item}) or another version of it")
    if begun.call_format is not setting.call_format:
        raise ValueError(
            f"the trace is in the {begun.call_format} tool-call format, not {setting.call_format}"
        )
    if trace.lacks_thoughts:
        raise ValueError(
            "the trace's thoughts were not kept (--keep-thoughts off); a model would go on without "
            "them; run it again with --keep-thoughts on"
        )
    turn = len(trace.replies)
    if trace.ended is not None:
        raise ValueError(f"the trace has ended; before_turn({turn + 1}) takes the end away")
    if turn:
        answered = [call for call in trace.calls if call.turn == turn]
        wanted = len(read_calls(begun.call_format, trace.replies[-1].reply, turn))
        if not wanted and answered:  # a malformed call, which `read_calls` ignores
            wanted = 1
        if not 0 < wanted == len(answered):
            what = "answers" if not wanted else "was cut off"
            raise ValueError(f"the trace's last turn {what}; before_turn({turn}) leaves it out")
