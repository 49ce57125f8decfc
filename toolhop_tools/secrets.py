"""Find secrets, and redact them in text.

A value is a secret if its environment variable is named ``...KEY``, ``...TOKEN``, ``...SECRET``,
``...PASSWORD`` or ``...CREDENTIALS``, or if it was inserted into a header or a query by
``${NAME}``. The password of a URL in the environment, such as that of ``HTTPS_PROXY``, is one too.
Values that may occur in ordinary text are not secrets (`_is_secret`). All output is written through
`toolhop_tools.atomic` or `toolhop_tools.growing`, which redact it.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
"""Upper-case endings of the names of variables that contain secrets."""
PROXY = "_PROXY"
"""Ending of the names of variables that contain an address, with or without its scheme."""
LEAST, WORD = 8, 20
"""Minimum length of a secret, and of a secret that is a single word, in characters."""
PLACEHOLDERS = frozenset({"no-key-needed", "not-needed", "no-api-key", "your-api-key"})
"""Placeholders for servers that need no key."""
REDACTED = b"[redacted]"
REFERENCE = re.compile(r"((?:[A-Za-z]+ )?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A reference to an environment variable, optionally after a scheme such as ``Bearer``."""

ADDRESS_WITH_LOGIN = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?([^/?#\s:]*:[^/?#\s]+)@[^@/?#\s]*(?:[/?#]\S*)?"
)

_HEX = "[0-9A-Fa-f]"
ESCAPE = re.compile(
    rf"%{_HEX}{{2}}"  # a URL's
    rf"|&(?:#[0-9]{{1,8}}|#[xX]{_HEX}{{1,8}}|[A-Za-z][A-Za-z0-9]{{1,31}});"  # HTML's
    rf"|\\u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"  # JSON's surrogate pair
    rf"|\\(?:u{_HEX}{{4}}|u\{{{_HEX}{{1,6}}\}}|U{_HEX}{{8}}|x{_HEX}{{2}}|.)",  # JSON's, programs'
    re.DOTALL,
)
"""An escaped character in a URL, HTML, JSON or program.

The pattern reads no byte twice, so the time is linear in the length of the text.
"""
QUOTED = re.compile(rf"={_HEX}{{2}}|=[ \t]*\r?\n")
"""An escaped character or a soft line break in quoted-printable mail."""
PLAIN, MAIL = (ESCAPE,) * 4, (QUOTED, ESCAPE) * 3
"""Decoding steps, applied in order: a text may be JSON within JSON in a URL.

There are two sequences because the ``=`` of a query only looks like quoted-printable.
"""
_LETTERS = str.maketrans("bfnrt", "\b\f\n\r\t")
"""Letters after a backslash; other characters stand for themselves."""
PART_BYTES, OVERLAP_BYTES = 2**22, 2**16
"""Bytes read at a time when searching a file, and bytes repeated in the next part, since a
secret may cross the boundary."""

_UTF8 = ("utf-8", "surrogatepass")
_BYTES = "latin-1"
"""One character per byte: joining such texts takes a sixth of the memory that joining bytes
takes."""
_expanded: set[str] = set()


def redacted(text: str) -> str:
    """Return the text with `REDACTED` in place of each secret, escaped or encoded ones included."""
    return redacted_bytes(text.encode(*_UTF8)).decode(*_UTF8) if known() else text


def redacted_bytes(content: bytes) -> bytes:
    """As `redacted`, for UTF-8 bytes. JSON Lines stay JSON Lines."""
    parts, end = [], 0
    for begin, stop in sorted(_places(content)):
        if begin >= end:
            parts += [content[end:begin], REDACTED]
        end = max(end, stop)
    return b"".join(parts) + content[end:]


def cleaned(kind: TypeAdapter[T], value: T) -> T:
    """Redact a value that is serialized as JSON; the same object if it contains no secret."""
    raw = json.dumps(kind.dump_python(value, mode="json")) if known() else ""
    clean = redacted(raw)
    return value if clean == raw else kind.validate_python(json.loads(clean))


def redact_file(path: Path) -> None:
    """Redact a file in place if it is a text file (no NUL byte)."""
    if holds_secret(path):
        path.write_bytes(redacted_bytes(path.read_bytes()))


def holds_secret(path: Path) -> bool:
    """Whether a text file contains a secret; False for other files."""
    if not known():
        return False
    is_found, before = False, b""
    with path.open("rb") as file:
        while part := file.read(PART_BYTES):
            if b"\0" in part:
                return False
            is_found = is_found or any(_places(before + part))
            before = part[-OVERLAP_BYTES:]
    return is_found


def expanded(text: str) -> str:
    """Expand a `REFERENCE`; from now on the variable's value is a secret.

    Raises:
        ValueError: the variable is not set, or cannot be sent (`checked`).
    """
    found = REFERENCE.fullmatch(text)
    if found is None:
        raise ValueError("the value does not come from the environment: write ${NAME}")
    value = checked(found[2])
    if not value:
        raise ValueError(f"the variable {found[2]} is not set: export it, or put it into .env")
    _expanded.add(value)
    return found[1] + value


def checked(name: str) -> str:
    """Return the value of a variable to be sent in a header; empty if it is not set.

    Raises:
        ValueError: it has a character that no key can have; the message does not show it.
    """
    value = os.environ.get(name, "")
    if not re.fullmatch(r"[!-~]*", value):
        raise ValueError(
            f"the variable {name} has a space, a line break, or a character that is not ASCII, "
            "and no key has one: set it again, without what was copied with it"
        )
    return value


ADDRESS = "give one such as http://127.0.0.1:8000/v1"


def public_url(text: str) -> SplitResult:
    """Parse a URL that may appear in files and messages.

    Raises:
        ValueError: it is not a URL, or has a part that may contain a secret; the message does not
            show it.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        shown = "it" if "@" in text else repr(text)
        raise ValueError(f"{shown} is not an address; {ADDRESS}") from None
    if "@" in parts.netloc or ("@" in text and not parts.netloc):
        raise ValueError(
            "the URL has a user or a password in it, which would stand in the manifest; give keys "
            "by the environment, such as OPENAI_API_KEY, and the bare URL here"
        )
    if "?" in text or "#" in text:
        raise ValueError(
            "the URL has a query or a fragment in it, which would stand in the manifest and be "
            "lost in requests; give the bare URL, and a model's query by --request-option "
            "extra_query="
        )
    if not text.isprintable() or " " in text:
        raise ValueError(f"{text!r} has a space or a line break in it, and no URL has one")
    return parts


def http_url(text: str) -> str:
    """Check that a URL names a server that requests can be sent to, and return it.

    Raises:
        ValueError: it is not such a URL, or has a part that may contain a secret.
    """
    parts = public_url(text)
    try:
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"{text!r} is not an address; {ADDRESS}")
    return text


def known() -> tuple[bytes, ...]:
    """Return all forms in which secrets may occur in decoded text; empty if there are no secrets.

    The environment is read each time, since it may change.
    """
    named, addresses = [], []
    for name, value in os.environ.items():
        if name.upper().endswith(ENDINGS):
            named.append(value)
        elif "@" in value and ("://" in value or name.upper().endswith(PROXY)):
            addresses.append(value)
    return _forms_of((*named, *_logins(tuple(addresses)), *sorted(_expanded)))


@lru_cache(maxsize=4)
def _logins(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``user:password`` and the password of each, both as in the URL and as sent."""
    logins = []
    for parts in filter(None, map(ADDRESS_WITH_LOGIN.fullmatch, addresses)):
        for text in (parts[1], parts[1].partition(":")[2]):
            logins += [text, unquote(text)]
    return tuple(logins)


@lru_cache(maxsize=4)
def _forms_of(values: tuple[str, ...]) -> tuple[bytes, ...]:
    secrets = {value.strip() for value in values if _is_secret(value.strip())}
    forms = {form for value in secrets for form in _written(value)}
    return tuple(sorted(form for form in forms if len(form) >= LEAST))


def _is_secret(value: str) -> bool:
    """Whether a value can be removed from any text, JSON included, without harming the rest.

    Numbers, words and absolute paths also occur in ordinary text and in traces.
    """
    if len(value) < LEAST or value in PLACEHOLDERS or re.fullmatch(r"[0-9.eE+-]+", value):
        return False
    if len(value) < WORD and re.fullmatch(r"[a-z_]+|[A-Z_]+", value):
        return False
    return not (value.startswith("/") and Path(value).exists())


def _written(value: str) -> Iterator[bytes]:
    """Yield the forms to search for in a text and in its decoded versions."""
    for text in {value, value.replace(" ", "+")}:
        for escapes in (PLAIN, MAIL):
            yield from (form.encode(_BYTES) for form in _decoded(text.encode(*_UTF8), escapes))
    raw = value.encode(*_UTF8)
    # In the base64 of `user:value`, the part that does not depend on the user.
    for before, lost in ((0, 0), (1, 2), (2, 3)):
        coded = base64.b64encode(b"\0" * before + raw).rstrip(b"=")
        whole = coded[lost : len(coded) - ((before + len(raw)) % 3 > 0)]
        yield whole
        yield whole.replace(b"+", b"-").replace(b"/", b"_")


# --- finding secrets in a text that may be encoded --------------------------------------------


def _places(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each secret in a text; the ranges may overlap."""
    forms = [form.decode(_BYTES) for form in known()]
    if not forms:
        return
    texts = _decoded(content, PLAIN)
    yield from _places_in(texts, PLAIN, forms)
    if any(map(QUOTED.search, texts)):
        yield from _places_in(_decoded(content, MAIL), MAIL, forms)


def _places_in(
    texts: Sequence[str], escapes: Sequence[re.Pattern[str]], forms: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """As `_places`, in a text and in its decoded versions."""
    origins: list[_Origins] = []
    for depth, text in enumerate(texts):
        if depth and text is texts[depth - 1]:
            continue
        for form in forms:
            begin = text.find(form)
            while begin >= 0:
                made = len(origins)
                origins += map(_Origins, texts[made:depth], escapes[made:depth])
                place = begin, begin + len(form)
                for origin in reversed(origins[:depth]):
                    place = origin[place[0]], origin[place[1]]
                yield place
                begin = text.find(form, begin + len(form))


def _decoded(content: bytes, escapes: Sequence[re.Pattern[str]]) -> list[str]:
    """Return the text and its decoded version after each kind of escape; all as `_BYTES`."""
    texts = [content.decode(_BYTES)]
    for escape in escapes:
        text, count = escape.subn(_character_of, texts[-1])
        texts.append(text if count else texts[-1])
    return texts


def _character_of(escape: re.Match[str]) -> str:
    return _character(escape[0])


@lru_cache(maxsize=4096)
def _character(escape: str) -> str:
    """Decode one `ESCAPE` or `QUOTED` match."""
    kind, rest = escape[0], escape[1:]
    if kind in "%=":
        return chr(int(rest, 16)) if rest.isalnum() else ""
    if kind == "&":
        character = html.unescape(escape)
    elif len(rest) == 1:
        return rest.translate(_LETTERS)
    elif rest.startswith("u") and "{" not in rest:
        character = str(json.loads(f'"{escape}"'))  # joins a surrogate pair
    else:
        number = int(rest.strip("uUx{}"), 16)
        character = chr(number) if number <= sys.maxunicode else escape
    return character.encode(*_UTF8).decode(_BYTES)


class _Origins:
    """Map positions in a decoded text to positions in the text before decoding."""

    def __init__(self, before: str, escape: re.Pattern[str]) -> None:
        self._decoded, self._before = array("q", [0]), array("q", [0])
        shorter = 0
        for found in escape.finditer(before):
            begin, end = found.span()
            self._decoded.append(begin - shorter)
            self._before.append(begin)
            shorter += end - begin - len(_character_of(found))
            self._decoded.append(end - shorter)
            self._before.append(end)

    def __getitem__(self, place: int) -> int:
        last = bisect_right(self._decoded, place) - 1
        return self._before[last] + place - self._decoded[last]
