"""Removal of words that reveal the order of a task's steps.

A rule removes words such as "then", "after that," and "finally", and nothing else: clauses such as
"once the test is done" stay. This is weaker than the NesTools paper's rewriting by a model (table
10), but reproducible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ALONE = (
    "additionally", "afterwards", "furthermore", "moreover", "subsequently", "finally", "lastly",
    "firstly", "secondly", "thirdly", "meanwhile", "then",
)  # fmt: skip
BEFORE_A_COMMA = (
    "after that", "after this", "following that", "following this", "in addition", "first of all",
    "next", "first", "second", "third",
)  # fmt: skip
"""Connectives removed only before a comma: elsewhere they may belong to what follows, as in "in
addition to" or "next week"."""
_OPENING = re.compile(
    r"(?P<open>(?:^|[.!?;:]\s+|\n\s*))(?:and\s+)?"
    rf"(?:(?:{'|'.join(ALONE)})\b,?|(?:{'|'.join(BEFORE_A_COMMA)}),)\s+(?P<letter>\w)",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    r"(?P<before>,?\s+(?:and\s+)?)(?:then|afterwards|subsequently|finally|lastly),?\s+(?=[a-z])"
)


def without_connectives(task: str, kept: Iterable[str] = ()) -> str:
    """Remove connectives at the start of sentences and between clauses.

    Args:
        task: text of the task.
        kept: texts that must remain unchanged; if any is affected, the whole task stays as it is.
    """
    text = _OPENING.sub(lambda found: found["open"] + found["letter"].upper(), task)
    text = _WITHIN.sub(lambda found: found["before"], text)
    return text if all(one in text for one in kept if one in task) else task
