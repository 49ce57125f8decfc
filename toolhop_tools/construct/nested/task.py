"""The text of a nested task: a plain one made by rule, and what any text has to hold. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.nested.model import MARK, PLACEHOLDER, Nest
from toolhop_tools.construct.nested.naming import in_words
from toolhop_tools.construct.stages import Findings, judged
from toolhop_tools.construct.text import says
from toolhop_tools.words import as_text

SHORTEST, LONGEST = 20, 6000
SHORT = 2
"""Letters of a result below which it stands in a text by chance."""
TEXT_CHECKS = ("length", "values-said", "no-tool-name", "no-placeholder", "no-result")
_VARIABLE = re.compile(r"\bdata\d+\b")


def plain_task(nest: Nest) -> str:
    """A text made by rule: a step a call, in order, each with its values in quotes.

    It is dull, and gives the order away; a model is to write a better one from it.
    """
    made = {
        text: (at, name)
        for at, call in enumerate(nest.calls, 1)
        for name, text in zip(nest.by_name[call.api].responses, call.responses, strict=True)
    }

    def shown(value: JSON) -> str:
        if isinstance(value, str) and value in made:
            at, name = made[value]
            single = len(nest.calls[at - 1].responses) == 1
            return f"what step {at} gives" if single else f"the {in_words(name)} of step {at}"
        if isinstance(value, list):
            return " and ".join(map(shown, value)) if value else "none"
        return f'"{value}"' if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    steps = []
    for at, call in enumerate(nest.calls, 1):
        api = nest.by_name[call.api]
        given = "; ".join(f"{in_words(k)}: {shown(v)}" for k, v in call.parameters.items())
        text = f"Step {at}. {_first_sentence(api.description)}"
        steps.append(f"{text} ({given})." if given else f"{text}.")
    return " ".join(steps)


def _first_sentence(text: str) -> str:
    first = re.split(r"(?<=[.!?])\s|\n", text.strip(), maxsplit=1)[0]
    return first.rstrip(".!? ")


def task_findings(task: str, nest: Nest, results: Sequence[JSON] = ()) -> Findings:
    """The checks of a text.

    Args:
        task: the text.
        nest: the tools and calls.
        results: values that calls gave and others took, where they are known: no text says one.
    """
    return (
        judged("length", _length(task))
        + judged("values-said", _lacking(task, nest))
        + judged("no-tool-name", _tools(task, nest))
        + judged("no-placeholder", _code(task))
        + judged("no-result", _given_away(task, nest, results))
    )


def _length(task: str) -> Iterator[str]:
    if not SHORTEST <= len(task) <= LONGEST:
        yield f"The text has {len(task)} letters; {SHORTEST} to {LONGEST} are wanted."


def _lacking(task: str, nest: Nest) -> Iterator[str]:
    for at, name, value in nest.literals():
        if not isinstance(value, bool) and not said_in(task, value):
            api = nest.calls[at].api
            yield f"It does not say {as_text(value)!r}, the {in_words(name)} of {api}."


def said_in(task: str, value: JSON) -> bool:
    """Whether a text says a value as it is written: words in any case, numbers by digits."""
    forms = {as_text(value)}
    if isinstance(value, int | float) and not isinstance(value, bool):
        forms |= {f"{value:,}", f"{value:g}"}
        forms |= {f"{value:.0f}", f"{value:,.0f}"} if value == int(value) else set()
    elif isinstance(value, str):
        forms.add(value.replace("_", " "))
    return any(says(task, one) or (not _has_word(one) and one in task) for one in forms)


def _has_word(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _tools(task: str, nest: Nest) -> Iterator[str]:
    for name in nest.by_name:
        # A name of one word, and the words of a name, may be what anybody would say; its words
        # run together, by _ or - or capitals, are not.
        together = name.replace("_", "[_-]?")
        if "_" in name and re.search(rf"(?<!\w){together}(?!\w)", task, re.IGNORECASE):
            yield f"It names the tool {name}; say what is wanted in other words."


def _code(task: str) -> Iterator[str]:
    if found := PLACEHOLDER.search(task) or re.search(MARK, task) or _VARIABLE.search(task):
        yield f"It says {found[0]!r}; describe what an earlier step gives."


def _given_away(task: str, nest: Nest, results: Sequence[JSON]) -> Iterator[str]:
    own = {as_text(value) for _, _, value in nest.literals()}
    about = " ".join(api.description for api in nest.apis)
    for value in results:
        text = as_text(value) if not isinstance(value, dict | list | bool) else ""
        if len(text) > SHORT and text not in own and says(task, text) and not says(about, text):
            yield f"It says {text!r}, which a call gives."
