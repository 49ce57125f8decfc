"""A task without the words that tell in what order its parts are to be done.

A rule takes out words such as "then", "after that," and "finally", and nothing else: clauses such
as "once the test is done" stay. So it is weaker than to have a model write the task anew, as the
NesTools paper does (table 10), and it is the same for everybody.
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
"""Without a comma they may belong to what follows, as in "in addition to" or "next week"."""
_OPENING = re.compile(
    r"(?P<open>(?:^|[.!?;:]\s+|\n\s*))(?:and\s+)?"
    rf"(?:(?:{'|'.join(ALONE)})\b,?|(?:{'|'.join(BEFORE_A_COMMA)}),)\s+(?P<letter>\w)",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    r"(?P<before>,?\s+(?:and\s+)?)(?:then|afterwards|subsequently|finally|lastly),?\s+(?=[a-z])"
)


def without_connectives(task: str, kept: Iterable[str] = ()) -> str:
    """The task without such words at the start of sentences and between clauses.

    Args:
        task: what is asked.
        kept: texts that must stand as they did; where one does not, the task stays as it is.
    """
    text = _OPENING.sub(lambda found: found["open"] + found["letter"].upper(), task)
    text = _WITHIN.sub(lambda found: found["before"], text)
    return text if all(one in text for one in kept if one in task) else task
