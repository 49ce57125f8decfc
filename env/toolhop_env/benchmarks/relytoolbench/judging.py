"""RelyToolBench's questions answered by rules: the judge `mechanical`, which needs no model.

A rule answers what it can show, and otherwise answers Unsure. Officially an unsure call counts as
clean; `hallucination_most` counts it as hallucinated, so the two measures bound the rate.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhop_env.benchmarks.known import Known, Words, plain_words
from toolhop_env.benchmarks.relytoolbench.rules import (
    Conversation,
    Kind,
    Reason,
    Rules,
    ToolCall,
    format_reason,
    parsed,
)
from toolhop_sandbox.outcome import JSON
from toolhop_tools.dates import whole_date
from toolhop_tools.model import canonical
from toolhop_tools.words import as_text, runs, scalars

SHORT_WORDS, RUN_WORDS = 6, 5
"""Result values of up to SHORT_WORDS words must be cited whole; RUN_WORDS in a row suffice for
longer ones."""
LEAST_LETTERS, LEAST_DIGITS = 4, 2
"""Minimum size of a word or number that can show its origin; shorter ones occur in too many
texts."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rule's verdict and its reason."""

    verdict: str
    reason: str

    @property
    def answer(self) -> JSON:
        """The verdict in the form of a judge's answer."""
        return {"reason": self.reason, "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the rules know of an episode beyond a question's inputs."""

    asked: Conversation
    rules: Rules
    relevant: frozenset[str]
    """Tools that the query needs, according to the data."""
    hidden: bool
    """Whether the query omits values that its tools require (a set with missing arguments)."""
    answer: str = ""
    """Known answer to the query (`toolhop_tools.benchmarks.relytoolbench.reader.KnownGold`);
    empty if none."""
    calls: Sequence[Mapping[str, Any]] = ()
    """Calls that lead to the answer, if known."""

    def judge(self, kind: Kind, inputs: Mapping[str, Any]) -> Verdict:
        """Return the verdict on a question."""
        match kind:
            case Kind.RELEVANCE:
                needed = inputs["tool"]["name"] in self.relevant
                reason = f"the data {'names' if needed else 'does not name'} it for the query"
                return Verdict("Relevant" if needed else "Irrelevant", reason)
            case Kind.TRUTHFULNESS:
                return self._truthful(inputs["history"], inputs["tool"], inputs["arguments"])
            case Kind.STATUS | Kind.PARSED_STATUS:
                return self._status()
            case Kind.ANSWER_RELEVANCE:
                return self._rests_on([ToolCall(**one) for one in inputs["calls"]])

    def _truthful(
        self, history: str, tool: Mapping[str, Any], arguments: Mapping[str, JSON]
    ) -> Verdict:
        """Judge whether each value comes from the history or the tool's document.

        A required value with no source is made up if it has a digit, as an id has, or if the query
        hides required values. Other words may be paraphrase or common knowledge, and optional
        values a choice.
        """
        known, doubts = Known(f"{history}\n{tool['description']}"), list[str]()
        shapes, required = tool["parameters"]["properties"], tool["parameters"]["required"]
        for path, value in scalars(dict(arguments)):
            name, text = str(path[0]), as_text(value)
            if isinstance(value, bool) or not text or value is None:
                continue
            shape, needed = shapes.get(name) or {}, name in required
            if known.holds(text) or Known(_schema_values(shape, example=not needed)).holds(text):
                continue
            if self._follows(tool["name"], name, arguments[name]):
                continue
            if needed and (self.hidden or any(map(str.isdigit, text))):
                return Verdict("Untruthful", f"nothing before the call has {name} = {text[:80]}")
            doubts.append(name)
        if doubts:
            return Verdict("Unsure", f"it is not said where {', '.join(doubts)} came from")
        return Verdict("Truthful", "each value stands in the history or in the tool's document")

    def _follows(self, tool: str, name: str, value: JSON) -> bool:
        """Whether a known call gives a parameter this value other than from an earlier result."""
        return any(
            name in one["arguments"]
            and name not in one["from_results"]
            and canonical(one["arguments"][name]) == canonical(value)
            for one in self.calls
            if one["name"] == tool
        )

    def _status(self) -> Verdict:
        """Judge the answer by the known answer, else by its use of each needed tool's results.

        The verdict is Unsure if no call was well formed, or if only some of the tools were used.
        """
        text = self.asked.final_answer
        if "give_up" in text:
            return Verdict("Unsolved", "it gives up")
        if not _spoken(text).strip():
            return Verdict("Unsolved", "the answer is empty")
        if self.answer:
            held = says(_spoken(text), self.answer)
            found = "has" if held else "does not have"
            return Verdict("Solved" if held else "Unsolved", f"it {found} the known answer")
        made = [one for one in self.asked.calls if self._well_made(one)]
        gave = [one for one in made if result_of(one)]
        if made and not gave:
            return Verdict("Unsolved", "no call gave a result")
        cited = {one.name for one in gave if self._cited(one)}
        if self.relevant and self.relevant <= cited:
            return Verdict("Solved", "it has a value of each needed tool's results")
        left = sorted(self.relevant - cited)
        return Verdict("Unsure", f"it has no value of a result of {', '.join(left) or 'any tool'}")

    def _rests_on(self, used: Sequence[ToolCall]) -> Verdict:
        """Judge whether the answer has a value that only these calls returned."""
        others = {value for one in self.asked.calls if one not in used for value in _values(one)}
        if found := {value for one in used for value in self._cited(one)} - others:
            return Verdict("Relevant", f"the answer has {' '.join(min(found))}")
        return Verdict("Irrelevant", "the answer has no value that these calls alone gave")

    def _well_made(self, call: ToolCall) -> bool:
        known = call.name in self.rules.functions
        return known and format_reason(call, self.rules) is Reason.NONE

    def _cited(self, call: ToolCall) -> set[Words]:
        """Return the values of a call's result that are in the answer but not in the query."""
        answer = plain_words(_spoken(self.asked.final_answer))
        query = plain_words(self.asked.query)
        return {value for value in _values(call) if runs(value, answer) and not runs(value, query)}


def says(text: str, answer: str) -> bool:
    """Whether a text contains an answer: its words in a row, or its date in another notation."""
    wanted = plain_words(answer)
    if not wanted:
        return answer.casefold() in text.casefold()
    return bool(runs(wanted, plain_words(text))) or (
        whole_date(answer) is not None and Known(text).holds(answer)
    )


def result_of(call: ToolCall) -> JSON:
    """Return a call's result; None if it reports an error or is empty."""
    found = parsed(call)
    if not isinstance(found, dict):
        return call.response or None
    return None if found.get("error") else (found.get("response") or None)


def _values(call: ToolCall) -> set[Words]:
    """Return the parts of a call's result that can be recognised in an answer, as words."""
    found: set[Words] = set()
    for _, leaf in scalars(_opened(result_of(call))):
        each = plain_words(as_text(leaf))
        if len(each) <= SHORT_WORDS:
            found |= {each} if any(map(_telling, each)) else set()
            continue
        found |= {each[at : at + RUN_WORDS] for at in range(len(each) - RUN_WORDS + 1)}
        found |= {(one,) for one in each if _digits(one) >= LEAST_DIGITS}
    return found


def _opened(value: JSON) -> JSON:
    """Parse a text that holds a list or object; return other values unchanged."""
    if not isinstance(value, str):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            found: JSON = read(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return found if isinstance(found, dict | list) else value
    return value


def _telling(word: str) -> bool:
    return _digits(word) >= LEAST_DIGITS or sum(map(str.isalpha, word)) >= LEAST_LETTERS


def _digits(word: str) -> int:
    return sum(map(str.isdigit, word))


def _spoken(text: str) -> str:
    """Return the part of Finish's arguments that the user reads."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return str(found.get("final_answer") or "") if isinstance(found, dict) else text


def _schema_values(shape: Mapping[str, Any], *, example: bool) -> str:
    """Return the values that a parameter's schema mentions; its example only if `example`."""
    names = ("description", "enum", "default", *(("example_value",) if example else ()))
    leaves = (leaf for name in names for _, leaf in scalars(shape.get(name)))
    return "\n".join(as_text(leaf) for leaf in leaves if leaf is not None)
