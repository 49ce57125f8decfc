"""Parse a file's bytes into JSON values: UTF-8, strict JSON, one list or one value per line.

Stricter than `json.loads` where Python is laxer than RFC 8259: ``NaN``, ``Infinity``, numbers
beyond a float's range and lone surrogates are errors, since they could not be written back.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, cast

from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.errors import DataError, DataNotFound, DataProblem, counted

DEEPEST = 200
"""Maximum nesting depth of a value; pydantic has the same limit."""
LONGEST_INTEGER = 4000
"""Maximum number of digits of an integer; Python itself converts at most 4,300."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _BadNumberError(ValueError):
    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.token = token


def read_bytes(path: Path) -> bytes:
    """Return the file's content.

    Raises:
        DataNotFound: there is no such file.
        DataError: the file cannot be read.
    """
    try:
        return regular.content(path, below=0)
    except FileNotFoundError:
        raise DataNotFound("there is no such file", origin=str(path)) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", origin=str(path)) from None


def parse_rows(data: bytes, *, lines: bool, origin: str) -> list[tuple[str, JSON]]:
    """Parse the rows of a data file, each with its place, such as ``row 3`` or ``line 3``.

    Args:
        data: the file's content, UTF-8 with or without a byte order mark.
        lines: one value per line (blank lines are skipped) instead of one list.
        origin: the file's name, for errors.

    Raises:
        DataError: not UTF-8, not JSON (with `lines`, every broken line is listed), not a list, or
            no rows.
    """
    text = decode(data, origin)
    rows = _from_lines(text, origin) if lines else _from_list(text, origin)
    if not rows:
        raise DataError("has no items; give a file with at least one", origin=origin)
    return rows


def parse_list(path: Path, mistaken: Callable[[dict[str, JSON]], str]) -> list[tuple[str, JSON]]:
    """Read the rows of a file: JSON Lines if it ends in ``.jsonl``, else one list.

    Args:
        path: the file.
        mistaken: describes an object found instead of the list; empty if unknown.

    Raises:
        DataError: see `parse_rows`.
    """
    data, origin, lines = read_bytes(path), str(path), path.suffix.lower() == ".jsonl"
    try:
        return parse_rows(data, lines=lines, origin=origin)
    except DataError:
        value, _ = _loads(decode(data, origin))
        what = mistaken(value) if isinstance(value, dict) else ""
        if what:
            raise DataError(f"this file is not a list of tasks but {what}", origin=origin) from None
        raise


FIRST_ROW_CHARS = 1_000_000
"""Maximum length, in characters, of a first row that is read to recognize a file."""


def fields_of(path: Path) -> frozenset[str]:
    """Return the fields of a file's first row (list or JSON Lines); empty if it has none."""
    try:
        with io.TextIOWrapper(regular.reading(path, below=0), "utf-8-sig") as file:
            text = file.read(FIRST_ROW_CHARS)
        row, _ = json.JSONDecoder().raw_decode(text.lstrip().removeprefix("[").lstrip())
    except (OSError, ValueError, RecursionError):
        return frozenset()
    return frozenset(row) if isinstance(row, dict) else frozenset()


def parse(data: bytes, origin: str) -> JSON:
    """Parse one JSON value.

    Raises:
        DataError: not UTF-8 or not JSON; gives the line, the column and the text found there.
    """
    text = decode(data, origin)
    value, problem = _loads(text)
    if problem is not None:
        raise DataError("not a JSON file", [problem], origin=origin)
    return value


def decode(data: bytes, origin: str) -> str:
    """Decode UTF-8 without a byte order mark.

    Raises:
        DataError: not UTF-8; gives line and offset of the first invalid byte.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        utf16 = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
        given = "UTF-16" if utf16 else f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise _single(origin, "not-utf8", f"line {line}", "UTF-8 text", given) from None


def _single(origin: str, rule: str, where: str, expected: str, given: str) -> DataError:
    return DataError(
        "not a data file", [DataProblem(rule, where, "", expected, given)], origin=origin
    )


def _from_list(text: str, origin: str) -> list[tuple[str, JSON]]:
    value, problem = _loads(text)
    if problem is not None:
        first, _, rest = text.lstrip().partition("\n")
        if rest.strip() and isinstance(_loads(first)[0], dict):
            expected, given = "one JSON list of rows", "an object a line; name the file .jsonl"
            raise _single(origin, "not-a-list", "line 1", expected, given)
        raise DataError("not a JSON file", [problem], origin=origin)
    if not isinstance(value, list):
        kind = "an object" if isinstance(value, dict) else json.dumps(value)[:60]
        raise _single(origin, "not-a-list", "", "one JSON list of rows", kind)
    return [(f"row {number}", row) for number, row in enumerate(value, 1)]


def _from_lines(text: str, origin: str) -> list[tuple[str, JSON]]:
    rows: list[tuple[str, JSON]] = []
    problems: list[DataProblem] = []
    # Not splitlines(): JSON text may contain U+2028 and similar unescaped.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        value, problem = _loads(line, first_line=number)
        if problem is None:
            rows.append((f"line {number}", value))
        else:
            problems.append(problem)
    if problems:
        broken = counted(len(problems), "broken line")
        raise DataError(f"not a file of JSON lines: {broken}", problems, origin=origin)
    return rows


def _loads(text: str, *, first_line: int = 1) -> tuple[JSON, DataProblem | None]:
    try:
        value = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, parse_int=_short_integer
        )
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        given = f"the lone surrogate U+{ord(error.object[error.start]):04X}"
        return None, DataProblem("bad-text", f"line {first_line}", "", "Unicode text", given)
    except json.JSONDecodeError as error:
        expected = error.msg.removeprefix("Expecting ").split(":")[0]
        return None, _fault(text, error.pos, f"JSON ({expected})", first_line)
    except _BadNumberError as error:
        place = _position(text, error.token)
        return None, _fault(text, place, "a number that JSON and Python can hold", first_line)
    except RecursionError:
        return None, _too_deep(first_line)
    return (None, _too_deep(first_line)) if _is_deep(value) else (cast("JSON", value), None)


def _too_deep(line: int) -> DataProblem:
    given = "lists or objects nested too deeply"
    return DataProblem("bad-json", f"line {line}", "", f"JSON of at most {DEEPEST} levels", given)


def _is_deep(value: JSON) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [part for one in level if isinstance(one, dict | list)
                 for part in (one.values() if isinstance(one, dict) else one)]  # fmt: skip
        if not level:
            return False
    return True


def _fault(text: str, position: int, expected: str, first_line: int) -> DataProblem:
    line = text.count("\n", 0, position) + first_line
    column = position - text.rfind("\n", 0, position)
    rest = text[position : position + 20].split("\n")[0]
    given = json.dumps(rest, ensure_ascii=False) if rest else _end(text, position)
    return DataProblem("bad-json", f"line {line}, column {column}", "", expected, given)


def _end(text: str, position: int) -> str:
    return "the end of the line" if position < len(text) else "the end of the text"


def _position(text: str, token: str) -> int:
    """Return the position of `token` outside strings."""
    pattern = re.compile(r'"(?:[^"\\]|\\.)*"|(' + re.escape(token) + ")", re.DOTALL)
    return next((hit.start(1) for hit in pattern.finditer(text) if hit.group(1)), 0)


def _refuse(token: str) -> NoReturn:
    raise _BadNumberError(token)


def _finite(token: str) -> float:
    value = float(token)
    return value if math.isfinite(value) else _refuse(token)


def _short_integer(token: str) -> int:
    return int(token) if len(token) <= LONGEST_INTEGER else _refuse(token)
