"""Show an episode as a readable conversation in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from toolhop_agents.table import value_text
from toolhop_agents.terminal import plain
from toolhop_env.benchmarks import named, score
from toolhop_env.divergence import Divergence, first_divergence
from toolhop_env.messages import Thoughts
from toolhop_env.questions import NO_ANSWERS, Answers
from toolhop_env.reading import thoughts_apart
from toolhop_env.results import injection_label
from toolhop_env.score import Errored
from toolhop_env.trace import Called, Ended, FeedbackSet, Replied, Started, ToolsChanged, Trace
from toolhop_env.verdicts import Rejected
from toolhop_tools.perturb.order import tool_order

FOLDED_CHARS = 100
"""Maximum length of thoughts as shown, in characters; `toolhop export` writes them in full."""


def episode_lines(trace: Trace, answers: Answers = NO_ANSWERS) -> list[RenderableType]:
    """Return where the episode left its chain, all events in order, then the verdict.

    `answers` are those of a judge.
    """
    lines: list[RenderableType] = [*_divergences(first_divergence(trace, answers=answers).all)]
    milestone = named(trace.started.benchmark).presentation.milestone
    for event in trace.events:
        match event:
            case Started():
                lines.extend(_start(event))
            case Replied():
                lines.extend(_reply(event))
            case Called():
                lines.append(Padding(_call(event, milestone), (0, 0, 0, 4)))
            case FeedbackSet(level):
                lines.append(Text(f"feedback is {level} from here on", style="yellow"))
            case ToolsChanged(tools):
                lines.append(plain(f"tools on offer from here on: {', '.join(tools)}", "yellow"))
            case Ended(ending, wall_s, reason):
                text = f"ended: {ending} after {wall_s:.3f} s"
                lines.append(plain(f"{text}: {reason}" if reason else text, "bold"))
    if label := injection_label(trace):
        lines.append(plain(f"injected instruction: {label}", "bold"))
    lines.append(verdict_text(trace, answers))
    return lines


def _divergences(found: Sequence[Divergence]) -> Iterator[RenderableType]:
    if not found:
        return
    one, *others = found
    call = "" if one.call is None else f", call {one.call + 1}"
    good = "" if one.made_good is None else f" Made good in turn {one.made_good}."
    head = f"first divergence: {one.kind.words}, turn {one.turn}{call}."
    yield plain(f"{head} {one.evidence}{good}", "bold yellow")
    if others:
        text = ", ".join(f"{one.kind.words} (turn {one.turn})" for one in others)
        yield plain(f"later: {text}", "dim")


def _start(start: Started) -> Iterator[RenderableType]:
    yield Rule(plain(start.episode))
    yield plain(
        f"{start.agent}, {start.mode}, {start.call_format} calls, {start.feedback} feedback, "
        f"epoch {start.epoch}, attempt {start.attempt}, seed {start.seed}; "
        f"tools in {tool_order(start.perturbation)} order",
        "dim",
    )
    if start.parent:
        yield plain(f"resumes {start.parent} after turn {start.prefix_turns}", "dim")
    for message in start.messages:
        yield Text(f"{message.role}:", style="bold")
        yield Padding(plain(message.content), (0, 0, 0, 4))


def _reply(event: Replied) -> Iterator[RenderableType]:
    usage = event.reply.usage
    tokens = usage.input_tokens + usage.output_tokens
    cost = f", {tokens} tokens" if tokens else ""
    cost += f", {usage.reasoning_tokens} of thoughts" if usage.reasoning_tokens else ""
    yield Text(f"turn {event.turn} ({event.reply.wall_s:.3f} s{cost}):", style="bold cyan")
    thoughts, said = thoughts_apart(event.reply)
    if thoughts is not None:
        yield Padding(_folded(thoughts), (0, 0, 0, 4))
    if said:
        yield Padding(plain(said), (0, 0, 0, 4))


def _folded(thoughts: Thoughts) -> RenderableType:
    """Shorten thoughts to one line: their beginning and their length."""
    begins = " ".join(thoughts.text.split())
    if thoughts.digest:
        return plain(f"thought: {thoughts.chars:,} characters, not kept", "dim")
    if not begins:
        form = "in a form that only the provider reads" if thoughts.signed else "empty"
        return plain(f"thought, {form}", "dim")
    more = f" … {len(thoughts.text):,} characters" if len(begins) > FOLDED_CHARS else ""
    return plain(f"thought: {begins[:FOLDED_CHARS]}{more}", "dim")


def _call(event: Called, milestone: str) -> RenderableType:
    step = "" if event.hop is None else f"  [{milestone} {event.hop + 1}]"
    step = step if event.action is None else f"  [{event.action}]"
    lines = [plain(f"{event.raw.name}({event.raw.arguments}){step}", "cyan")]
    if event.error is None:
        lines.append(plain(event.feedback, "green"))
        return Group(*lines)
    lines.append(plain(f"{event.error}: {event.feedback}", "red"))
    if isinstance(event.verdict, Rejected) and event.verdict.repair is not None:
        repaired = event.verdict.repair
        steps = ", ".join(repaired.steps)
        lines.append(plain(f"a lenient parser would have run it after: {steps}", "dim"))
    return Group(*lines)


def verdict_text(trace: Trace, answers: Answers = NO_ANSWERS) -> Text:
    """Return the score as one paragraph."""
    verdict = score(trace, answers)
    if isinstance(verdict, Errored):
        return plain(f"errored: {verdict.reason}", "yellow")
    benchmark = named(trace.started.benchmark)
    found = [f"gold answer: {benchmark.presentation.expected(trace.started.gold)}"]
    own = [one for one in benchmark.measures if not one.mean_of]
    found += [f"{one.heading} {value_text(one, verdict)}" for one in own]
    codes = ", ".join(f"{count} {code}" for code, count in verdict.conduct.errors.items())
    text = f"{'; '.join(found)}; {verdict.conduct.calls} calls"
    return plain(f"{text}, failed: {codes}" if codes else text, "bold")
