"""Serve a GGUF model file with llama.cpp on this machine, without API key or network.

The server is a separate process on a loopback port and ends with the process that started it. It
speaks OpenAI's protocol, so the ordinary client is used.
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
"""First bytes of every GGUF file."""
CONTEXT = 16384
"""Context size in tokens. A model's full context could take gigabytes; a model with a smaller
context keeps its own limit."""
CHATML = "chatml-tools"
"""Name of the bundled chat template with tools; most small models are trained on ChatML."""
TIMEOUT_S = 3600.0
"""Minimum timeout of a request in seconds: a small machine is slow, but does not lose requests."""
LOOPBACK = "http://127.0.0.1"
"""Base URL that identifies a locally served model."""
_LONGEST_LINE = 1024


def model_name(path: Path) -> str:
    """Return the model name used by a run: the file's name under ``openai/``."""
    return f"openai/{path.stem}"


def check(path: Path) -> None:
    """Check that the file can be served here, without loading it.

    Raises:
        NoSuchModel: the file cannot be read, or is not a GGUF file.
        MissingExtra: xllamacpp is not installed.
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
    """Return the SHA-256 of the file, which takes seconds for several GB.

    Raises:
        OSError: the file cannot be read.
    """
    facts = path.stat()
    return _digest(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(8)
def _digest(path: Path, _: int, __: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_chat_template(given: str) -> str:
    """Return the text of a chat template, bundled (by name) or read from a file.

    Raises:
        ValueError: the file cannot be read.
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
    """Serve the model while the context is open, and yield the server's base URL.

    Args:
        path: the GGUF file.
        context: maximum tokens per conversation.
        slots: number of conversations served concurrently.
        threads: number of threads; None uses all processors.
        chat_template: Jinja text that replaces the file's own template.

    Raises:
        NoSuchModel: llama.cpp cannot load the file; or see `check`.
        MissingExtra: see `check`.
    """
    check(path)
    asked = json.dumps([str(path), path.stem, context, slots, threads, chat_template])
    # -P: a file in the working directory must not shadow a package.
    command = [sys.executable, "-P", "-m", "toolhop_agents.models.gguf_process", asked]
    with tempfile.TemporaryFile() as log:
        # With a separate session, Ctrl-C ends the run and the run ends the server.
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
                with suppress(ProcessLookupError):  # it may have exited already
                    process.kill()


def _not_loaded(path: Path, log: str) -> str:
    """Return the first error line in llama.cpp's log."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.partition(" E ")[2] for line in lines if " E " in line]
    why = next(iter([*errors, *reversed(lines)]), "it says nothing")
    return f"llama.cpp cannot load {path}: {why}\n  fix: take another file, or a newer xllamacpp"
