"""Malformed calls: attempts to call a tool that would otherwise be read as the answer.

The published evaluator accepts every reply without a native call as the final answer, so a model
that writes its call in another form ends its episode. The detection here changes no official score;
it says what the reply was. A reply is a malformed call if it gives no answer of its own, has a call
in one of the forms of `Form`, and stops there. Only more calls, an invented observation, or a
remark that the agent is waiting may follow. A call that an answer merely mentions does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from toolhop_env import call_forms
from toolhop_env.call_forms import Form, Found, MalformedCall
from toolhop_env.messages import RawCall, Reply
from toolhop_env.reading import tagged_answer, without_thoughts

LONGEST_CHARS = 20_000
"""Maximum length of the text examined, in characters; only the end of a longer reply is."""


def malformed_call(reply: Reply, tools: Collection[str]) -> MalformedCall | None:
    """Return the malformed call in a reply; None if the reply is an answer.

    Args:
        reply: a reply in which no call was recognised.
        tools: names of the tools on offer; if empty, nothing is a call.
    """
    if not tools:
        return None
    if reply.calls and not reply.content.strip():
        return MalformedCall(Form.NATIVE, reply.calls[0].name, reply.calls[0].arguments)
    if "malformed" in reply.finish_reason.lower():
        return MalformedCall(Form.PROVIDER)
    # DeepSeek's special tokens have a full-width bar.
    text = without_thoughts(reply.content)[-LONGEST_CHARS:].replace("｜", "|")
    tagged = tagged_answer(text)
    return call_in(text if tagged is None else tagged, tools)


def in_name(call: RawCall, tools: Collection[str]) -> MalformedCall | None:
    """Return a whole call written in place of a tool's name in the text format; None for a name."""
    if call.arguments or call.name in tools or not re.search(r"[\s(\[{]", call.name):
        return None
    return call_in(f"Action: {call.name}", tools)


def call_in(text: str, tools: Collection[str]) -> MalformedCall | None:
    """Return the first of the calls at the end of a text; None if the text also gives an answer."""
    found = call_forms.calls(text, tools)
    if not found:
        return None
    outside = "".join(_between(text, found))
    before, after = text[: found[0].start], text[max(one.end for one in found) :]
    call = found[0].call
    if (
        _ANSWERS.search(outside)
        or _past_call(before)
        or _gives(before, call)
        or not _stops(after, call)
    ):
        return None
    return replace(call, form=Form.TAGS) if call_forms.MARKUP.search(outside) else call


def _between(text: str, found: list[Found]) -> Iterator[str]:
    """Yield the text before, between and after calls."""
    end = 0
    for one in found:
        yield text[end : max(end, one.start)]
        end = max(end, one.end)
    yield text[end:]


_ANSWERS = re.compile(
    r"\banswer[\"'` \t*_]*(?:is|was|:|=)[\s*_]*(?!not\b|unknown|still|yet\b|to\b|found)[^\s*_]"
    r"|\bfinal (?:answer[ \t*_]*:[\s*_`]*[^\s*_`]|result[ \t]+is\b)"
    r"|\b(?:antwort|ergebnis)\b.{0,20}?\b(?:ist|lautet)\b|\br[ée]ponse\b.{0,10}?\best\b"
    r"|\brespuesta\b.{0,10}?\bes\b|\brisposta\b.{0,10}?\bè\b|答案(?:是|为|：|:)|\bответ\s*[:—-]",
    re.IGNORECASE,
)
"""Words that state an answer."""
_TELLS = re.compile(
    r"\b(?:calls?|requests?|query|function|tool)\b.{0,20}\b(?:was|were)\b"
    r"|\b(?:I|we) (?:\w+ )?(?:called|used|ran|made|asked|queried|issued|sent|tried)\b"
    r"|\byou (?:can|could|may|might)\b|\bhow to\b|\bcan be\b",
    re.IGNORECASE,
)
"""Words about a call that was made, or that the reader may make."""
_PLANS = re.compile(
    r"\b(?:thought|plan|I(?:['’](?:ll|m)| will| need| must| should| have to| want| can)"
    r"|let me|let['’]?s|let us|now|next|first|then|needs?|needed|going to)\b",
    re.IGNORECASE,
)
_LEADS_IN = re.compile(r"[^\w\s]*[^\W\d][^.!?。\n]{0,80}[:：]\W*|(?:\*\*|__|#+ )[^\W\d][^\n]{0,40}")
"""A heading, or words that end in a colon."""
_STATES = re.compile(
    r"(?:[^\W\d][^\n:：=]{0,40}[:：=])?[\W_]*(\d[\d.,:/-]*(?:\s+[^\W\d]+){0,2})[\W_]*"
    r"|.*\b(?:is|are|was|were|ist|war|sind|est|était|es|era|è|é|är)\b[\W_]*"
    r"((?-i:[\d\"“«'A-ZÀ-ÖØ-ÞА-Я])\S*(?:\s+\S+){0,4}?)[\W_]*"
    r"|.*(?:是|为|は)\s*(\w{1,12})(?:です)?[\W_]*"
    r"|(?!(?:sure|ok|okay|certainly|right|good|great|yes|hm|understood|thank|think|plan|goal|task"
    r"|step|question|reason|tool|function|action|call|observation|searching|calling|looking|using)\w*\b)"
    r"(?:[^\W\d][^\n:：=]{0,40}[:：]\s*)?((?:(?=[^\W\d_])(?-i:[^a-zà-öø-ÿа-я])[\w'’.-]*\s?){1,3})",
    re.DOTALL | re.IGNORECASE,
)
"""A sentence that is a number or a name, or ends in `is` followed by one."""
STATED_CHARS = 300
"""Maximum length of a sentence that states a value, in characters."""


def _past_call(before: str) -> bool:
    """Whether the words right before a call say that it was already made."""
    text = re.sub(r"```\w*\Z", "", before.rstrip()).rstrip(" \t\r\n:`")
    return _TELLS.search(re.split(r"[.;,!?\n]", text)[-1]) is not None


def _gives(before: str, call: MalformedCall) -> bool:
    """Whether the last sentence before a call states a value that the call does not use.

    Text that leads in to the call, such as a heading, is skipped.
    """
    for piece in reversed(_SENTENCES.split(before)):
        piece = re.sub(r"</?\w+>", "", piece)
        if not re.sub(r"```\w*|^\W*\d+[.):]+\W*$|[\W_]", "", piece):
            continue
        if len(piece) > STATED_CHARS or _PLANS.search(piece) or piece.rstrip().endswith("?"):
            return False
        if _LEADS_IN.fullmatch(piece.strip()):
            continue
        stated = _STATES.fullmatch(piece.strip().strip(">#*-•` "))
        if stated is None:
            return False
        value = next(group for group in stated.groups() if group is not None)
        given = call.arguments.casefold()
        return not any(word in given for word in re.findall(r"\w{3,}|\d+", value.casefold()))
    return False


_SENTENCES = re.compile(r"(?<=[.!?。])(?:\s+|(?<=。))|\n+")


_OBSERVED = re.compile(
    r"\W*(?:\d+\W+)?(?:(?:tool|function)[ _]?)?"
    r"(?:observation|result|output|response|thought|action|stop|pause)\b",
    re.IGNORECASE,
)
_WAITS = re.compile(
    r"\b(?:wait(?:ing)?|await(?:ing)?|pause|I(?:'ll|’ll| will| shall| can then)"
    r"|(?:call|function|tool|this)\b[^.]{0,40}\bwill"
    r"|please (?:run|execute|call|provide|send|give))\b",
    re.IGNORECASE,
)
WAITING_CHARS = 300
"""Maximum length of a remark that the agent is waiting for its call, in characters."""
_ECHOES = re.compile(r"[\W_]*(?:print|console\.log)\([\w.]+\)[\W_]*")
"""Code that prints a call's result."""


def _stops(after: str, call: MalformedCall) -> bool:
    """Whether a reply stops at the call before `after`, as if to wait for its result.

    A list of tools, inputs and results in plain words is a report, not a call.
    """
    if not call_forms.DRESSING.sub("", after) or _ECHOES.fullmatch(after):
        return True
    if _OBSERVED.match(after) and "{" in call.arguments:
        return not _gives(after.strip().rpartition("\n\n")[2], call)
    return len(after) <= WAITING_CHARS and _WAITS.search(after) is not None
