"""Calls in a form that no tool-call format has: attempts to call that are read as the answer.

The published evaluator takes every reply without a native call for the final answer. A model that
writes its call in another way so ends its episode. What is found here changes no official score;
it says what the reply was.

A reply is a malformed call where it gives no answer of its own, holds a call in one of the forms
of `Form`, and stops there: what follows may be more calls, an observation that it made up, or the
word that it waits. A call that an answer mentions is none.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from toolhop_env.lenient import first_object, objects
from toolhop_env.messages import RawCall, Reply
from toolhop_env.reading import CallFormat, tagged_answer
from toolhop_env.verdicts import ErrorCode, Problem
from toolhop_sandbox.outcome import JSON


class Form(StrEnum):
    """How a call was written."""

    LABELS = "labels"
    """`Action: NAME Action Input: {...}` on one line, numbered or in small letters, `Tool: NAME`
    and the like."""
    JSON_OBJECT = "json_object"
    """`{"name": ..., "arguments": ...}`, bare or in a code fence."""
    TAGS = "tags"
    """The mark-up of some model's template, such as `<tool_call>`."""
    PYTHON = "python"
    """`NAME(argument=value)` as all there is, or as the code block that ends the reply."""
    NATIVE = "native"
    """A native call where calls are written as text."""
    PROVIDER = "provider"
    """The provider says that the model's call could not be read, and keeps it to itself."""


@dataclass(frozen=True, slots=True)
class MalformedCall:
    """A call as far as it can be made out."""

    form: Form
    name: str = ""
    """Empty where none can be told."""
    arguments: str = ""
    """Their text."""

    @property
    def says(self) -> str:
        """What it is in a few words."""
        return f"{_WORDS[self.form]}: {self.name}" if self.name else _WORDS[self.form]

    def raw(self, call_id: str) -> RawCall:
        """As a call."""
        return RawCall(call_id, self.name, self.arguments)

    def problem(self, call_format: CallFormat) -> Problem:
        """What is wrong with it, and how calls are written."""
        return Problem(ErrorCode.MALFORMED_CALL, "", _WORDS[self.form], _HOW[call_format])


_WORDS = {
    Form.LABELS: "labels in another form",
    Form.JSON_OBJECT: "a JSON object in the text",
    Form.TAGS: "mark-up in the text",
    Form.PYTHON: "Python code in the text",
    Form.NATIVE: "a native call",
    Form.PROVIDER: "something that the provider could not read",
}
_HOW = {
    CallFormat.NATIVE: "Call a tool by way of function calling, and not in the text.",
    CallFormat.TEXT: "Write `Action: NAME` on a line, and `Action Input: {...}` on the next.",
}


LONGEST_CHARS = 20_000
"""Of a longer reply its end is looked at."""
MOST_OBJECTS = 20
"""Braces at which an object is looked for."""
MOST_LENIENT = 3
LENIENT_CHARS = 4_000
"""How often a text that is no JSON is read leniently, which takes up to 5 ms, and up to what
length."""


def malformed_call(reply: Reply, tools: Collection[str]) -> MalformedCall | None:
    """The call that a reply without a readable call holds; None where it is an answer.

    Args:
        reply: one in which no call was read.
        tools: names of the tools on offer; without any there is nothing to call.
    """
    if not tools:
        return None
    if reply.calls and not reply.content.strip():
        return MalformedCall(Form.NATIVE, reply.calls[0].name, reply.calls[0].arguments)
    if "malformed" in reply.finish_reason.lower():
        return MalformedCall(Form.PROVIDER)
    # DeepSeek's special tokens have a full-width bar.
    text = _THOUGHTS.sub("", reply.content)[-LONGEST_CHARS:].replace("｜", "|")
    tagged = tagged_answer(text)
    return call_in(text if tagged is None else tagged, tools)


def in_name(call: RawCall, tools: Collection[str]) -> MalformedCall | None:
    """The whole call that stands where the text format has a tool's name; None for a mere name."""
    if call.arguments or call.name in tools or not re.search(r"[\s(\[{]", call.name):
        return None
    return call_in(f"Action: {call.name}", tools)


_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def call_in(text: str, tools: Collection[str]) -> MalformedCall | None:
    """The first of the calls that a text ends with, if it gives no answer beside them."""
    known = {_letters(tool): tool for tool in tools}
    found = sorted((*_labelled(text, known), *_objects(text, known)), key=lambda one: one.start)
    if not found:
        return _tagged(text, known) or _python(text, known)
    outside = "".join(_between(text, found))
    after = text[max(one.end for one in found) :]
    first = found[0]
    if _ANSWERS.search(outside) or _told(text[: first.start]) or not _stops(after, first.call):
        return None
    form = Form.TAGS if _MARKUP.search(outside) else first.call.form
    return MalformedCall(form, first.call.name, first.call.arguments)


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    call: MalformedCall


def _between(text: str, found: list[_Found]) -> Iterator[str]:
    """What stands before, between and after calls."""
    end = 0
    for one in found:
        yield text[end : max(end, one.start)]
        end = max(end, one.end)
    yield text[end:]


_ANSWERS = re.compile(
    r"\banswer[\"'` \t*_]*(?:is|was|:|=)[ \t*_]*(?!not\b|unknown|still|yet\b|to\b|found)[^\s*_]"
    r"|\bfinal (?:answer[ \t*_]*:|result[ \t]+is\b)"
    r"|\b(?:antwort|ergebnis)\b.{0,20}?\b(?:ist|lautet)\b|\br[ée]ponse\b.{0,10}?\best\b"
    r"|\brespuesta\b.{0,10}?\bes\b|\brisposta\b.{0,10}?\bè\b|答案(?:是|为|：|:)|\bответ\s*[:—-]",
    re.IGNORECASE,
)
"""An answer is stated in words."""
_TELLS = re.compile(
    r"\b(?:calls?|requests?|query|function|tool)\b.{0,20}\b(?:was|were)\b"
    r"|\b(?:I|we) (?:\w+ )?(?:called|used|ran|made|asked|queried|issued|sent|tried)\b",
    re.IGNORECASE,
)
"""A call that was made is told of."""
_DRESSING = re.compile(r"</?[\w|▁=-]+>|<\|[^|>]*\|>|\[/?[A-Z_]+\]|[\W_]")
_OBSERVED = re.compile(
    r"\W*(?:\d+\W+)?(?:(?:tool|function)[ _]?)?"
    r"(?:observation|result|output|response|thought|action|stop)\b",
    re.IGNORECASE,
)
_WAITS = re.compile(
    r"\b(?:wait(?:ing)?|await(?:ing)?|I(?:'ll|’ll| will| shall| can then)"
    r"|(?:call|function|tool|this)\b[^.]{0,40}\bwill"
    r"|please (?:run|execute|call|provide|send|give))\b",
    re.IGNORECASE,
)
WAITING_CHARS = 300
"""Longest remark that an agent waits for its call."""


def _told(before: str) -> bool:
    """Whether what stands right before a call says that it was made."""
    text = re.sub(r"```\w*\Z", "", before.rstrip()).rstrip(" \t\r\n:`")
    return _TELLS.search(re.split(r"[.;,!?\n]", text)[-1]) is not None


def _stops(after: str, call: MalformedCall) -> bool:
    """Whether a reply stops at the call before `after`, as one does who waits for its result.

    A list of tools, inputs and results in plain words is an account and no call.
    """
    if not _DRESSING.sub("", after) or (_OBSERVED.match(after) and "{" in call.arguments):
        return True
    return len(after) <= WAITING_CHARS and _WAITS.search(after) is not None


def _letters(name: str) -> str:
    """A name without what models add to it: prefix, quotes, case, underscores."""
    return re.sub(r"[\W_]", "", name.strip().rpartition(".")[2]).casefold()


# --- labels ----------------------------------------------------------------------------------

_KEY = r"[ \t]*\d*[*_`]*[ \t]*[:=：][*_`]*"
_NAMED = re.compile(
    r"(?P<line>^[ \t>*+•#-]*(?:\(?\d+[.):]+[ \t]*)?[*_`]*)?"
    r"(?P<label>\b(?:action|(?:use |call )?(?:tool|function))(?:[ _](?:name|call|to use))?)"
    rf"{_KEY}\s*[`\"'*]*(?P<name>[\w.-]+)[`\"'*]*(?:\(\))?[ \t,;.]*",
    re.MULTILINE | re.IGNORECASE,
)
_INPUT = re.compile(
    r"[\s*_`#>+•-]*(?:\(?\d+[.):]+[ \t]*)?[*_`]*"
    rf"(?:(?:action|tool|function)[ _])?(?:input|arguments?|args|parameters?|params){_KEY}",
    re.IGNORECASE,
)
_BARE_INPUT = re.compile(
    rf"^[ \t*_`#>-]*action[ _]input{_KEY}\s*(?=\{{)", re.MULTILINE | re.IGNORECASE
)
_OPENING = re.compile(r"\s*(?:```\w*\s*)?(?=\{)")
_REST = re.compile(r"[ \t]*(?:\n[ \t]+\S[^\n]*)+|[^\n]*")
_CALLED = re.compile(r"(?<=\w)\(\s*(?:[{)\"'\d\[]|\w+\s*=)|(?<=\w)\[")


def _labelled(text: str, known: dict[str, str]) -> Iterator[_Found]:
    end = -1
    for found in _NAMED.finditer(text):
        if found.start() < end:
            continue
        name, tool = found["name"], known.get(_letters(found["name"]))
        at_line, after = found["line"] is not None, found.end()
        labelled = _INPUT.match(text, after)
        opening = _OPENING.match(text, labelled.end() if labelled else after)
        action = found["label"].lower().startswith("action")
        if labelled and opening and (tool or action):
            end = _closing(text, opening.end())
        elif at_line and tool and labelled:
            end = _line_end(text, labelled.end())
        elif at_line and tool and (opening or _CALLED.match(text, after)):
            end = _closing(text, opening.end() if opening else after)
        elif at_line and tool and action and not _DRESSING.sub("", text[after:]):
            end = len(text)
        else:
            continue
        opened = opening.end() if opening else labelled.end() if labelled else after
        yield _Found(
            found.start("label"), end, MalformedCall(Form.LABELS, tool or name, text[opened:end])
        )
    if end < 0 and (bare := _BARE_INPUT.search(text)):
        end = _closing(text, bare.end())
        call = MalformedCall(Form.LABELS, "", text[bare.end() : end])
        yield _Found(bare.start(), end, call)


def _closing(text: str, start: int) -> int:
    """Where what is opened at `start` closes; the text's end where it does not."""
    if text[start] == "{":
        return start + len(first_object(text[start:]))
    found = text.find({"(": ")", "[": "]"}[text[start]], start)
    return found + 1 if found >= 0 else len(text)


def _line_end(text: str, start: int) -> int:
    """The end of the line, or of the indented lines after an empty one."""
    found = _REST.match(text, start)
    return found.end() if found else len(text)


# --- objects ---------------------------------------------------------------------------------

_NAME_KEYS = (
    "name", "tool", "tool_name", "function", "function_name", "action", "recipient_name",
)  # fmt: skip
_ARGUMENT_KEYS = (
    "arguments", "parameters", "args", "tool_input", "action_input", "input", "tool_args",
    "params", "kwargs",
)  # fmt: skip
_NO_CALL = frozenset({
    "description", "output", "result", "response", "observation", "answer", "final_answer", "value",
})  # fmt: skip
"""Keys of a schema, or of an account of a call."""
_WRAPPERS = ("function", "function_call", "tool_call", "tool_calls", "calls", "action")


def _objects(text: str, known: dict[str, str]) -> Iterator[_Found]:
    start, tried, lenient = text.find("{"), 0, MOST_LENIENT
    while start >= 0 and tried < MOST_OBJECTS:
        tried += 1
        chunk = first_object(text[start:])
        value = _strict(chunk)
        if value is None and lenient and len(chunk) <= LENIENT_CHARS:
            lenient -= 1
            value = _lenient(chunk, known)
        calls = list(_calls(value, known))
        if calls:
            yield _Found(start, start + len(chunk), calls[0])
        # An object that is no call may be an answer that lists the calls made: not entered.
        start = text.find("{", start + (1 if value is None else len(chunk)))


def _strict(chunk: str) -> JSON:
    try:
        value: JSON = json.loads(chunk, strict=False)
    except (ValueError, RecursionError):
        return None
    return value


def _lenient(chunk: str, known: dict[str, str]) -> JSON:
    """What is cut, or a Python literal, where it names a tool."""
    letters = re.sub(r"[\W_]", "", chunk).casefold()
    if not any(name in letters for name in known):
        return None
    return next((value for value, _ in objects(chunk)), None)


def _calls(value: JSON, known: dict[str, str]) -> Iterator[MalformedCall]:
    """The calls of tools on offer in an object."""
    if isinstance(value, list):
        for one in value:
            yield from _calls(one, known)
    if not isinstance(value, dict) or _NO_CALL & value.keys():
        return
    for key in _WRAPPERS:
        if isinstance(value.get(key), dict | list):
            yield from _calls(value[key], known)
    names = [value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)]
    tool = next((known[_letters(str(one))] for one in names if _letters(str(one)) in known), None)
    given = [value[key] for key in _ARGUMENT_KEYS if key in value]
    if tool is not None and given and _are_arguments(given[0]):
        text = given[0] if isinstance(given[0], str) else json.dumps(given[0], ensure_ascii=False)
        yield MalformedCall(Form.JSON_OBJECT, tool, text)


def _are_arguments(value: JSON) -> bool:
    if isinstance(value, str):
        return value.lstrip().startswith("{")
    return value is None or (isinstance(value, dict) and "properties" not in value)


# --- mark-up and code ------------------------------------------------------------------------

_MARKUP = re.compile(
    r"<\|?(?:\w+[|:])?(?:tool|function)[_▁ -]?(?:calls?|use)(?:[▁_]\w+)?\b[^>]*>|<\|python_tag\|>"
    r"|<(?:function|invoke|tool)(?:=| name=)[\"']?[\w.-]+[\"']?>|\[TOOL_CALLS?\]"
    r"|\bto=functions\.",
    re.IGNORECASE,
)


_TAG = re.compile(r"(?<!\w)<([A-Za-z][\w.-]*)(?:\s[^<>]*=[^<>]*>|\s*/>|>(?=\s*[<{]))")
"""With arguments in it or right behind it: `<year>1997</year>` is an answer."""


def _tagged(text: str, known: dict[str, str]) -> MalformedCall | None:
    """Mark-up of calls with no object of a known tool in it: a name or an object follows."""
    own = (tag for tag in _TAG.finditer(text) if _letters(tag[1]) in known)
    found = _MARKUP.search(text) or next(own, None)
    if found is None or _ANSWERS.search(text[: found.start()]):
        return None
    rest = text[found.start() :]
    names = [word for word in re.findall(r"[\w-]+", rest) if _letters(word) in known]
    if names:
        return MalformedCall(Form.TAGS, known[_letters(names[0])], rest.partition(names[0])[2])
    return MalformedCall(Form.TAGS, "", rest) if "{" in rest else None


_FENCED = re.compile(r"```\w*\s*\n(?P<code>(?:(?!```).)*)```\s*\Z", re.DOTALL)


def _python(text: str, known: dict[str, str]) -> MalformedCall | None:
    """Nothing but calls of tools: the whole text, the code block that ends it, or its last line."""
    block = _FENCED.search(text)
    before = text[: block.start()] if block else ""
    if _ANSWERS.search(before) or _told(before):
        return None
    code = (block["code"] if block else text).strip().strip("`")
    found = _python_call(code, known)
    if found is None and block is None:
        last = code.rpartition("\n")
        if not _ANSWERS.search(last[0]) and not _told(last[0]):
            found = _python_call(last[2], known)
    return found


def _python_call(code: str, known: dict[str, str]) -> MalformedCall | None:
    """The first of the calls that code is, where it is nothing else."""
    if not _PYTHON_CALL.search(code):
        return None
    try:
        with warnings.catch_warnings():
            # The parser has opinions on a stranger's escapes and number suffixes.
            warnings.simplefilter("ignore")
            body = ast.parse(code.strip()).body
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    calls = [_call_of(value, known) for statement in body for value in _values(statement)]
    return calls[0] if calls and all(calls) else None


_PYTHON_CALL = re.compile(r"\b[A-Za-z_]\w*\(")


def _values(statement: ast.stmt) -> list[ast.expr | None]:
    """The expressions that a statement evaluates; None where it does something else."""
    if not isinstance(statement, ast.Expr | ast.Assign):
        return [None]
    value = statement.value
    return [*value.elts] if isinstance(value, ast.List | ast.Tuple) else [value]


def _call_of(value: ast.expr | None, known: dict[str, str]) -> MalformedCall | None:
    """A call of a tool on offer, or `print` of one."""
    if not isinstance(value, ast.Call):
        return None
    name = ast.unparse(value.func)
    if name == "print" and len(value.args) == 1:
        return _call_of(value.args[0], known)
    tool = known.get(_letters(name))
    if tool is None:
        return None
    given = ", ".join(map(ast.unparse, (*value.args, *value.keywords)))
    return MalformedCall(Form.PYTHON, tool, given)
