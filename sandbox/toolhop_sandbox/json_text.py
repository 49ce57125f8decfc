"""Checks whether a text is JSON, without building its values or blocking other threads.

`json.loads` takes 0.2 s for a hostile result of 1 MB and holds the interpreter lock throughout, so
even in a separate thread it would block the event loop. This check goes from token to token in
Python, and the interpreter can switch threads between any two of them.
"""

from __future__ import annotations

import math
import re

_TOKEN = re.compile(
    r"""[ \t\n\r]*+
    (?: (?P<string> "(?: [^"\\\x00-\x1f]++ | \\["\\/bfnrt] | \\u[0-9a-fA-F]{4} )*+" )
      | (?P<float> -?+(?: 0 | [1-9][0-9]*+ )(?: \.[0-9]++ (?: [eE][-+]?+[0-9]++ )?+
                                              | [eE][-+]?+[0-9]++ ) )
      | (?P<integer> -?+(?: 0 | [1-9][0-9]*+ ) )
      | (?P<word> true | false | null )
      | (?P<mark> [][{},:] )
      | (?P<end> \Z ) )""",
    re.VERBOSE,
)
MOST_DEPTH = 500
"""Maximum nesting of arrays and objects; half of what `json.loads` manages on an empty stack."""
MOST_DIGITS = 4300
"""Maximum number of digits of an integer, as in Python (sys.int_info.default_max_str_digits)."""

# What may come next: a value; a value or the end of an array; a key or the end of an object; a
# key; the colon after it; a comma or the end.
_VALUE, _FIRST, _KEY_OR_END, _KEY, _COLON, _AFTER = range(6)


def check(text: str) -> None:
    """Check that `text` is one JSON value whose numbers are finite and readable by Python.

    Raises:
        ValueError: it is not; the message has the reason and the position.
    """
    open_marks: list[str] = []
    wanted, position = _VALUE, 0
    while True:
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"no JSON at character {position}")
        position = found.end()
        kind = found.lastgroup or ""
        if kind == "end" and wanted == _AFTER and not open_marks:
            return
        if kind == "mark":
            wanted = _after_mark(found["mark"], wanted, open_marks)
        elif wanted in (_VALUE, _FIRST) and kind != "end":
            _see_number(kind, found[kind])
            wanted = _AFTER
        elif wanted in (_KEY, _KEY_OR_END) and kind == "string":
            wanted = _COLON
        else:
            wanted = -1
        if wanted < 0:
            raise ValueError(f"unexpected {found[0].strip()[:20]!r} before character {position}")


def _after_mark(mark: str, wanted: int, open_marks: list[str]) -> int:
    """Return what may follow a punctuation mark; -1 if the mark itself is out of place."""
    if mark in "[{" and wanted in (_VALUE, _FIRST):
        open_marks.append(mark)
        if len(open_marks) > MOST_DEPTH:
            raise ValueError(f"nested more than {MOST_DEPTH} deep")
        return _FIRST if mark == "[" else _KEY_OR_END
    if mark == ":" and wanted == _COLON:
        return _VALUE
    inside = open_marks[-1:]
    if mark == "," and wanted == _AFTER and inside:
        return _VALUE if inside == ["["] else _KEY
    closes = (mark == "]" and inside == ["["] and wanted in (_FIRST, _AFTER)) or (
        mark == "}" and inside == ["{"] and wanted in (_KEY_OR_END, _AFTER)
    )
    if closes:
        open_marks.pop()
    return _AFTER if closes else -1


def _see_number(kind: str, text: str) -> None:
    if kind == "float" and not math.isfinite(float(text)):
        raise ValueError(f"{text[:20]} is no JSON")
    if kind == "integer" and len(text.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"an integer of more than {MOST_DIGITS} digits")
