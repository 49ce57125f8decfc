"""A model out of a GGUF file, served by llama.cpp on this machine: no key and no network.

The server is a process of its own, on a port of its own of the loopback interface, and ends with
whoever started it. It speaks OpenAI's protocol, so that the client is the one of any other server.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from toolhop_agents.models.base import NoSuchModel
from toolhop_env.extras import require

MAGIC = b"GGUF"
"""How every such file begins."""
CONTEXT = 16384
"""Tokens of a conversation that the server holds. A model made for more would take gigabytes, one
made for less has its own limit."""
CHATML = "chatml-tools"
"""The name of a chat template that shows tools; most small models are trained on ChatML."""
TIMEOUT_S = 3600.0
"""At least so long may a request take: such a server is slow on a small machine, never lost."""
LOOPBACK = "http://127.0.0.1"
"""Where any such model is asked."""
_LONGEST_LINE = 1024


def model_name(path: Path) -> str:
    """What a run calls the model: the file's name, asked by OpenAI's protocol."""
    return f"openai/{path.stem}"


def check(path: Path) -> None:
    """See that the file can be served here, without loading it.

    Raises:
        NoSuchModel: it cannot be read, or is not a GGUF file.
        MissingExtra: what serves it is not installed.
    """
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except OSError as error:
        raise NoSuchModel(
            f"the model {path} cannot be read: {error.strerror}\n  fix: give the path of a file "
            "that ends in .gguf; docs/local-model.md has a small one"
        ) from error
    if begins != MAGIC:
        raise NoSuchModel(
            f"{path} is not a GGUF file: it begins with {begins!r} and not with {MAGIC!r}\n"
            "  fix: give a file in llama.cpp's format; docs/local-model.md has a small one"
        )
    require("xllamacpp", extra="local", what="a GGUF model")


def digest(path: Path) -> str:
    """SHA-256 of the file; some seconds for one of several GB.

    Raises:
        OSError: it cannot be read.
    """
    facts = path.stat()
    return _digest(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(8)
def _digest(path: Path, _: int, __: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_chat_template(given: str) -> str:
    """The text of a chat template: the shipped one by its name, else a file's.

    Raises:
        ValueError: it cannot be read.
    """
    if given == CHATML:
        return (files("toolhop_agents") / "templates" / f"{CHATML}.jinja").read_text("utf-8")
    try:
        return Path(given).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{given} cannot be read: {why}; give {CHATML} or a file") from error


@asynccontextmanager
async def serving(
    path: Path,
    *,
    context: int = CONTEXT,
    slots: int = 1,
    threads: int | None = None,
    chat_template: str | None = None,
) -> AsyncIterator[str]:
    """The base URL of a server of the model, while it is open.

    Args:
        path: the GGUF file.
        context: tokens that each conversation may have.
        slots: conversations that are answered at a time.
        threads: processors that it takes; all if None.
        chat_template: Jinja text in the place of the file's own template.

    Raises:
        NoSuchModel, MissingExtra: see `check`; or llama.cpp cannot load the file.
    """
    check(path)
    asked = json.dumps([str(path), path.stem, context, slots, threads, chat_template])
    # -P: a file of the working folder must not stand in for a package.
    command = [sys.executable, "-P", "-m", "toolhop_agents.models.gguf_process", asked]
    with tempfile.TemporaryFile() as log:
        # In a session of its own Ctrl-C ends the run, and the run ends the server.
        async with await anyio.open_process(
            command, stdin=subprocess.PIPE, stderr=log, start_new_session=True
        ) as process:
            try:
                assert process.stdout is not None  # noqa: S101 -- it is a pipe unless said otherwise
                replies = BufferedByteReceiveStream(process.stdout)
                try:
                    address = await replies.receive_until(b"\n", _LONGEST_LINE)
                except anyio.IncompleteRead as error:
                    log.seek(0)
                    raise NoSuchModel(
                        _not_loaded(path, log.read().decode(errors="replace"))
                    ) from error
                yield f"{address.decode()}/v1"
            finally:
                with suppress(ProcessLookupError):  # it may have ended by itself
                    process.kill()


def _not_loaded(path: Path, log: str) -> str:
    """What llama.cpp says of a file that it cannot load: its first line about an error."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.partition(" E ")[2] for line in lines if " E " in line]
    why = next(iter([*errors, *reversed(lines)]), "it says nothing")
    return f"llama.cpp cannot load {path}: {why}\n  fix: take another file, or a newer xllamacpp"
