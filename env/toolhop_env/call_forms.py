"""Malformed calls: calls in a form that no tool-call format has, and their place in a text."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from toolhop_env.lenient import first_object, objects
from toolhop_env.messages import RawCall
from toolhop_env.reading import CallFormat
from toolhop_env.verdicts import ErrorCode, Problem
from toolhop_sandbox.outcome import JSON


class Form(StrEnum):
    """The form of a malformed call."""

    LABELS = "labels"
    """`Action: NAME Action Input: {...}` on one line, numbered or in lower case, `Tool: NAME`
    and the like."""
    JSON_OBJECT = "json_object"
    """`{"name": ..., "arguments": ...}`, bare or in a code fence."""
    TAGS = "tags"
    """The mark-up of a model's chat template, such as `<tool_call>`."""
    PYTHON = "python"
    """`NAME(argument=value)` as the whole reply, or as the code block that ends it."""
    NATIVE = "native"
    """A native call although calls are to be written as text."""
    PROVIDER = "provider"
    """A call that the provider reports as unreadable, without showing it."""


@dataclass(frozen=True, slots=True)
class MalformedCall:
    """A malformed call, as far as it can be read."""

    form: Form
    name: str = ""
    """Name of the tool; empty if unknown."""
    arguments: str = ""
    """Text of the arguments."""

    @property
    def says(self) -> str:
        """A short description of the call."""
        return f"{_WORDS[self.form]}: {self.name}" if self.name else _WORDS[self.form]

    def raw(self, call_id: str) -> RawCall:
        """Return the call as a `RawCall`."""
        return RawCall(call_id, self.name, self.arguments)

    def problem(self, call_format: CallFormat) -> Problem:
        """Return the problem with the call, and how calls are to be written."""
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


MOST_OBJECTS = 20
"""Maximum number of braces at which to look for an object."""
MOST_LENIENT = 3
LENIENT_CHARS = 4_000
"""Limits on lenient reading of text that is not JSON, which takes up to 5 ms: attempts per text,
and characters per attempt."""


@dataclass(frozen=True, slots=True)
class Found:
    """A call and its place in the text: the characters from `start` up to, not including, `end`."""

    start: int
    end: int
    call: MalformedCall


def calls(text: str, tools: Collection[str]) -> list[Found]:
    """Return the calls in a text, in order; mark-up is tried only if no other form is found."""
    known = {letters(tool): tool for tool in tools}
    code = _code(text, known)
    if code is not None:
        return [code]
    found = [*_labelled(text, known), *_objects(text, known), *_named(text, known)]
    if not found and (tagged := _tagged(text, known)) is not None:
        return [tagged]
    return sorted(found, key=lambda one: one.start)


def letters(name: str) -> str:
    """Reduce a name to its letters and digits: no prefix, quotes, underscores or case."""
    return re.sub(r"[\W_]", "", name.strip().rpartition(".")[2]).casefold()


# --- labels ----------------------------------------------------------------------------------

DRESSING = re.compile(r"</?[\w|▁=-]+>|<\|[^|>]*\|>|\[/?[A-Z_]+\]|[\W_]")
"""Mark-up and punctuation around a call."""
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
_REST = re.compile(r"[ \t]*(?:\n(?:[ \t]+|[-*•][ \t]*)\S[^\n]*)+|[^\n]*")
_CALLED = re.compile(r"(?<=\w)\(\s*(?:[{)\"'\d\[]|\w+\s*[=:])|(?<=\w)\[")


def _labelled(text: str, known: dict[str, str]) -> Iterator[Found]:
    end = -1
    for found in _NAMED.finditer(text):
        if found.start() < end:
            continue
        name, tool = found["name"], known.get(letters(found["name"]))
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
        elif at_line and tool and action and not DRESSING.sub("", text[after:]):
            end = len(text)
        else:
            continue
        opened = opening.end() if opening else labelled.end() if labelled else after
        yield Found(
            found.start("label"), end, MalformedCall(Form.LABELS, tool or name, text[opened:end])
        )
    if end < 0 and (bare := _BARE_INPUT.search(text)):
        end = _closing(text, bare.end())
        call = MalformedCall(Form.LABELS, "", text[bare.end() : end])
        yield Found(bare.start(), end, call)


def _closing(text: str, start: int) -> int:
    """Return the end of what opens at `start`; the end of the text if it never closes."""
    if text[start] == "{":
        return start + len(first_object(text[start:]))
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        if len(found[0]) == 1:
            depth += 1 if found[0] in "([" else -1
        if depth == 0:
            return found.end()
    return len(text)


_BRACKETS = re.compile(r"\"(?:[^\"\\\n]|\\.)*+\"|(?<!\w)'(?:[^'\\\n]|\\.)*+'|[()\[\]]")


def _line_end(text: str, start: int) -> int:
    """Return the end of the line, or of the indented lines that follow an empty one."""
    found = _REST.match(text, start)
    return found.end() if found else len(text)


# --- a tool's name and its arguments ---------------------------------------------------------

_LEAD = re.compile(
    r"(?:<[^<>\n]*>|[^\w\n<({])*(?:\d+[.):]+[ \t]*)?[*_`]*"
    r"(?:(?P<label>[^\W\d][^\n:：=({]{0,40}?[:：→])[^\w\n({]*|[^\W\d][^\n:：=({]{0,40}=\s*)?"
    r"(?:(?:await|return|call|invoke|run|use|execute|calling|using|running)\s+|print\()*[\"'`*_]*"
    r"|.*\b(?:I(?:['’]ll| will|['’]m going to| am going to)|let me|let['’]s|let us)\b[^.!?:]*",
    re.IGNORECASE,
)
"""What may precede a call on its line: mark-up, a label in any language, a variable that receives
the result, or words that announce the call."""
_THEN = re.compile(
    r"(?:[ \t`\"'*_|:：✿]|</?[\w-]+>\s*)*"
    r"(?:(?:\n|[,;|])[^\w\n{]*(?P<key>[^\W\d][^\n:：{}()]{0,40}?)[:：][^\w\n{]*"
    r"|\s(?:with|using|on)\b(?:[ ]\w+){0,3}[: `]*)?"
    r"(?:\s*(?:```\w*\s*)?(?P<object>(?=\{\s*(?:[\"']?\w[\w -]*[\"']?\s*:|\})))"
    r"|[ \t]*(?=\n[ \t]+[-*•]?[ \t]*\w[\w-]*[ \t]*[:=]))"
)
"""What may stand between a tool's name and its arguments, which are an object or indented lines."""
_RESULT_KEY = re.compile(r"\W*(?:observation|result|output|response|answer)", re.IGNORECASE)


def _named(text: str, known: dict[str, str]) -> Iterator[Found]:
    """Yield calls that start a line with a tool's name, followed directly by its arguments."""
    tried, end = 0, 0
    for word in _WORD.finditer(text):
        if word.start() < end:
            continue
        if word[0] == "{":
            end = word.start() + len(first_object(text[word.start() :]))
            tried += 1
        elif (tool := known.get(letters(word[0]))) is not None:
            tried += 1
            line = text.rfind("\n", 0, word.start()) + 1
            lead = _LEAD.fullmatch(text, max(line, word.start() - LEAD_CHARS), word.start())
            given = _given(text, word.end()) if lead else None
            if lead and given:
                end = given[1]
                label = lead["label"] is not None or text[given[0]] != "("
                form = Form.LABELS if label else Form.PYTHON
                inside = slice(given[0] + (text[given[0]] == "("), end - (text[given[0]] == "("))
                yield Found(lead.start(), end, MalformedCall(form, tool, text[inside].strip()))
        if tried >= MOST_OBJECTS:
            return


_WORD = re.compile(r"[\w.-]+|\{")
LEAD_CHARS = 200


def _given(text: str, start: int) -> tuple[int, int] | None:
    """Return the start and end of the arguments that follow a name; None without arguments."""
    if _CALLED.match(text, start) and text[start] == "(":
        return start, _closing(text, start)
    then = _THEN.match(text, start)
    if then is None or (then["key"] and _RESULT_KEY.match(then["key"])):
        return None
    if then["object"] is not None:
        return then.end(), _closing(text, then.end())
    return (then.end(), _line_end(text, then.end())) if then["key"] else None


# --- objects ---------------------------------------------------------------------------------

_NO_CALL = frozenset({
    "description", "output", "result", "response", "observation", "answer", "final_answer", "value",
    "final", "final_result", "solution",
})  # fmt: skip
"""Keys of a schema, or of a report about a call."""
_BESIDE = frozenset({
    "id", "type", "role", "index", "step", "turn", "status", "model", "version", "confidence",
    "name", "action", "thought", "thoughts", "reasoning", "plan", "comment",
})  # fmt: skip
"""Keys that may accompany a call without making the object an answer."""


def _objects(text: str, known: dict[str, str]) -> Iterator[Found]:
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
            yield Found(start, start + len(chunk), calls[0])
        # Do not search an object that is not a call: it may be an answer that lists the calls made.
        start = text.find("{", start + (1 if value is None else len(chunk)))


def _strict(chunk: str) -> JSON:
    try:
        value: JSON = json.loads(chunk, strict=False)
    except (ValueError, RecursionError):
        return None
    return value


def _lenient(chunk: str, known: dict[str, str]) -> JSON:
    """Parse a truncated object or Python literal that names a tool; None if it cannot be parsed."""
    letters = re.sub(r"[\W_]", "", chunk).casefold()
    if not any(name in letters for name in known):
        return None
    return next((value for value, _ in objects(chunk)), None)


def _calls(value: JSON, known: dict[str, str]) -> Iterator[MalformedCall]:
    """Yield the calls of known tools in a value."""
    if isinstance(value, list):
        for one in value:
            yield from _calls(one, known)
    if not isinstance(value, dict) or _NO_CALL & value.keys():
        return
    inner = [one for one in value.values() if isinstance(one, dict | list)]
    if not _gives(value):
        for one in inner:
            yield from _calls(one, known)
    if value and all(letters(key) in known and _are_inputs(one) for key, one in value.items()):
        for key, one in value.items():
            yield MalformedCall(
                Form.JSON_OBJECT, known[letters(key)], json.dumps(one, ensure_ascii=False)
            )
    tools = [one for one in value.values() if isinstance(one, str) and letters(one) in known]
    given = [one for key, one in value.items() if _ARGUMENTS.search(key) and _are_arguments(one)]
    if tools and given:
        text = given[0] if isinstance(given[0], str) else json.dumps(given[0], ensure_ascii=False)
        yield MalformedCall(Form.JSON_OBJECT, known[letters(tools[0])], text)


_ARGUMENTS = re.compile(r"arg|param|input|data|payload|values?$|kwargs", re.IGNORECASE)


def _gives(value: dict[str, JSON]) -> bool:
    """Whether an object has a number or a few words beside its calls, and is thus an answer."""
    beside = (one for key, one in value.items() if key.casefold() not in _BESIDE)
    return any(
        (isinstance(one, int | float) and not isinstance(one, bool))
        or (isinstance(one, str) and 0 < len(one.split()) <= ANSWER_WORDS)
        for one in beside
    )


ANSWER_WORDS = 4
"""Maximum length of an answer beside calls, in words; longer texts are thoughts."""


def _are_inputs(value: JSON) -> bool:
    return isinstance(value, dict) and not (_NO_CALL - {"value"}) & value.keys()


def _are_arguments(value: JSON) -> bool:
    if isinstance(value, str):
        return value.lstrip().startswith("{")
    return value is None or (isinstance(value, dict) and "properties" not in value)


# --- mark-up and code ------------------------------------------------------------------------

MARKUP = re.compile(
    r"<\|?(?:\w+[|:])?[\w▁-]*(?:tool|function)(?:[_▁ -]?(?:calls?|use|name))?(?:[▁_]\w+)?"
    r"(?:=[\w.-]+)?(?:\s[^<>]*)?[|>]"
    r"|<invoke(?:=| name=)|<\|python_tag\|>|\[TOOL_CALLS?\]|\bto=functions\.",
    re.IGNORECASE,
)


_TAG = re.compile(r"(?<!\w)<([A-Za-z][\w.-]*)(?:\s[^<>]*=[^<>]*>|\s*/>|>(?=\s*[<{]))")
"""A tag with arguments in it or right after it; `<year>1997</year>` is an answer instead."""


def _tagged(text: str, known: dict[str, str]) -> Found | None:
    """Return a call marked up without a readable object; a tool's name or an object must follow."""
    own = (tag for tag in _TAG.finditer(text) if letters(tag[1]) in known)
    found = MARKUP.search(text) or next(own, None)
    if found is None:
        return None
    end = text.rfind(">") + 1 if "</" in text[found.start() :] else len(text)
    rest = text[found.start() : end]
    names = [word for word in re.findall(r"[\w-]+", rest) if letters(word) in known]
    if not names and "{" not in rest:
        return None
    name = known[letters(names[0])] if names else ""
    call = MalformedCall(Form.TAGS, name, rest.partition(names[0])[2] if names else rest)
    return Found(found.start(), end, call)


_FENCED = re.compile(r"```\w*\s*\n(?P<code>(?:(?!```).)*)```\s*\Z", re.DOTALL)


def _code(text: str, known: dict[str, str]) -> Found | None:
    """Return a call from Python code: the whole text, or the code block that ends it."""
    block = _FENCED.search(text)
    code = (block["code"] if block else text).strip().strip("`").strip()
    if not _PYTHON_CALL.search(code):
        return None
    try:
        with warnings.catch_warnings():
            # The parser warns about unknown escapes and number suffixes.
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    nodes = (one for one in ast.walk(tree) if isinstance(one, ast.Name))
    stored = {one.id for one in nodes if isinstance(one.ctx, ast.Store)}
    calls = [call for statement in tree.body for call in _calls_of(statement, known, stored)]
    if not calls or None in calls:
        return None
    first = next(call for call in calls if call is not None)
    return Found(block.start() if block else 0, len(text), first)


_PYTHON_CALL = re.compile(r"\b[A-Za-z_]\w*\(")


def _calls_of(
    statement: ast.stmt, known: dict[str, str], stored: set[str]
) -> Iterator[MalformedCall | None]:
    """Yield the tool calls that a statement makes; None if it does something else."""
    match statement:
        case ast.Try(body=body):
            for one in body:
                yield from _calls_of(one, known, stored)
        case ast.Import() | ast.ImportFrom():
            return
        case ast.Expr(value=value) | ast.Assign(value=value) if not isinstance(value, ast.Constant):
            named = isinstance(value, ast.Name) and value.id not in stored
            if named or isinstance(value, ast.Compare | ast.UnaryOp):
                yield None
            for node in ast.walk(value):
                if isinstance(node, ast.Call) and letters(ast.unparse(node.func)) in known:
                    given = ", ".join(map(ast.unparse, (*node.args, *node.keywords)))
                    tool = known[letters(ast.unparse(node.func))]
                    yield MalformedCall(Form.PYTHON, tool, given)
        case _:
            yield None
