"""Values that no file and no terminal may show, and text without them.

A value is a secret if the variable of the environment that has it is named ``...KEY``,
``...TOKEN``, ``...SECRET``, ``...PASSWORD`` or ``...CREDENTIALS``, or if it was sent in a header or
a query by ``${NAME}``. So is the password of a URL in the environment, such as that of
``HTTPS_PROXY``. Values that ordinary text may hold are none (`_is_secret`). What is written
passes `toolhop_tools.atomic` or `toolhop_tools.growing`, which redact it.
"""

from __future__ import annotations

import base64
import json
import mmap
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, quote, quote_plus, unquote, urlsplit

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
"""Of the names of variables that hold secrets, in capitals."""
PROXY = "_PROXY"
"""Of those that hold an address, with or without its scheme."""
LEAST, WORD = 8, 20
"""Characters: a shorter value is no secret, nor is one word that is shorter than `WORD`."""
PLACEHOLDERS = frozenset({"no-key-needed", "not-needed", "no-api-key", "your-api-key"})
"""What is set where a server wants no key."""
REDACTED = b"[redacted]"
REFERENCE = re.compile(r"((?:[A-Za-z]+ )?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A value out of the environment, after a scheme such as ``Bearer`` if it has one."""

ADDRESS_WITH_LOGIN = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?([^/?#\s:]*:[^/?#\s]+)@[^@/?#\s]*(?:[/?#]\S*)?"
)

_UTF8 = ("utf-8", "surrogatepass")
_expanded: set[str] = set()


def redacted(text: str) -> str:
    """The text with `REDACTED` in place of each secret, also where it is escaped or encoded."""
    return redacted_bytes(text.encode(*_UTF8)).decode(*_UTF8) if known() else text


def redacted_bytes(content: bytes) -> bytes:
    """As `redacted`, of UTF-8. Lines of JSON stay lines of JSON."""
    for form in known():
        content = content.replace(form, REDACTED)
    return content


def cleaned(kind: TypeAdapter[T], value: T) -> T:
    """A value of a type that is kept as JSON, redacted; the same object where it has no secret."""
    raw = json.dumps(kind.dump_python(value, mode="json")) if known() else ""
    clean = redacted(raw)
    return value if clean == raw else kind.validate_python(json.loads(clean))


def redact_file(path: Path) -> None:
    """Redact a file in place, if it is a text: one without a NUL byte."""
    if holds_secret(path):
        path.write_bytes(redacted_bytes(path.read_bytes()))


def holds_secret(path: Path) -> bool:
    """Whether a text has a secret in it; of other files nothing is known."""
    forms = known()
    if not forms or not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return any(view.find(form) >= 0 for form in forms) and view.find(b"\0") < 0


def expanded(text: str) -> str:
    """A `REFERENCE` with the variable's value, which is a secret from now on.

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
    """The value of a variable that is sent in a header; empty where it is not set.

    Raises:
        ValueError: it has a letter that no key has; the message does not show it.
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
    """The parts of a URL that may stand in files and messages.

    Raises:
        ValueError: it is none, or has a place for a secret; the message does not show it.
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
    """The URL of a server that requests can be sent to.

    Raises:
        ValueError: it is none, or has a place for a secret.
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
    """All that secrets are written as, the longest first; none where nothing is secret.

    The environment is looked at anew: it may change at any time.
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
    """``user:password`` and the password of each, as the URL has it and as it is sent."""
    logins = []
    for parts in filter(None, map(ADDRESS_WITH_LOGIN.fullmatch, addresses)):
        for text in (parts[1], parts[1].partition(":")[2]):
            logins += [text, unquote(text)]
    return tuple(logins)


@lru_cache(maxsize=4)
def _forms_of(values: tuple[str, ...]) -> tuple[bytes, ...]:
    secrets = {value.strip() for value in values if _is_secret(value.strip())}
    forms = {form.encode(*_UTF8) for value in secrets for form in _written(value)}
    return tuple(
        sorted((one for one in forms if len(one) >= LEAST), key=lambda one: (-len(one), one))
    )


def _is_secret(value: str) -> bool:
    """Whether a value can be taken out of any text, JSON included, without harm to the rest.

    Numbers, words and absolute paths also occur in ordinary text and in traces.
    """
    if len(value) < LEAST or value in PLACEHOLDERS or re.fullmatch(r"[0-9.eE+-]+", value):
        return False
    if len(value) < WORD and re.fullmatch(r"[a-z_]+|[A-Z_]+", value):
        return False
    return not (value.startswith("/") and Path(value).exists())


def _written(value: str) -> Iterator[str]:
    """The value as JSON, JSON within JSON, Python, URLs and base64 write it."""
    yield value
    yield repr(value)[1:-1]
    for is_ascii in (True, False):
        once = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        yield once
        yield json.dumps(once)[1:-1]
    raw = value.encode(*_UTF8)
    for safe in ("/", ""):
        yield quote(raw, safe=safe)
        yield quote_plus(raw, safe=safe)
    # Of `user:value`, whatever the user: the part of the base64 that the value alone decides.
    for before, lost in ((0, 0), (1, 2), (2, 3)):
        coded = base64.b64encode(b"\0" * before + raw).rstrip(b"=").decode()
        whole = coded[lost : len(coded) - ((before + len(raw)) % 3 > 0)]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")
