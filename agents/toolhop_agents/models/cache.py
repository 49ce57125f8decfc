"""A folder of cached replies, so that no question is paid for twice. Off by default.

    FOLDER/ab/abcd....json    one reply, named by the digest of everything that affects it

Entries are written atomically: after a kill, each is complete or absent. Unreadable entries are
ignored. Concurrent runs may share a folder.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from toolhop_agents.models.base import Model
from toolhop_agents.models.exchange import REPLY
from toolhop_agents.models.wire_sending import messages_to_wire
from toolhop_env.messages import Message, Origin, ReasoningHistory, Reply, remembered
from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.model import ToolSchema
from toolhop_tools.secrets import redacted

log = logging.getLogger(__name__)

FORMAT = 1
"""Version of the entry format. Part of every key, so entries of other versions are never found."""
SECRET = re.compile(
    r"(.*[-_])?(api[-_]?key|secret[-_]access[-_]key|authorization|(access|auth|session)[-_]token|"
    r"secret|password|credentials?)",
    re.IGNORECASE,
)
"""Names of options that hold credentials, which do not affect the reply and are left out of
keys."""

_numbers = itertools.count()


class CacheUnusable(Exception):
    """The folder cannot be created or written. The message names it and the fix."""


@dataclass(frozen=True, slots=True)
class ResponseCache:
    """A folder of cached replies."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> ResponseCache:
        """Open the cache in `folder`, creating the folder if needed.

        Raises:
            CacheUnusable: the folder cannot be written.
        """
        cache = cls(folder)
        try:
            cache.put("0" * 64, None)
        except OSError as error:
            raise CacheUnusable(
                f"the response cache {folder} cannot be written: {error.strerror or error}; "
                "pass another --cache"
            ) from error
        return cache

    def get(self, key: str) -> Reply | None:
        """Return the reply stored under `key`, marked as cached; None if there is none."""
        try:
            entry = json.loads(regular.content(self._path(key), below=2))
            if entry["format"] != FORMAT or entry["key"] != key:
                return None
            reply = REPLY.validate_python(entry["reply"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return replace(reply, origin=Origin.CACHED, retries=0)

    def put(self, key: str, reply: Reply | None) -> None:
        """Store `reply` under `key`. With None, only check that this is possible.

        Raises:
            OSError: the entry cannot be written. Nothing is stored.
        """
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic = path.with_name(f".{key}.{os.getpid()}.{next(_numbers)}")
        kept = None if reply is None else REPLY.dump_python(reply, mode="json")
        entry = {"format": FORMAT, "key": key, "reply": kept}
        try:
            atomic.write_text(redacted(json.dumps(entry)), encoding="utf-8")
            if reply is not None:
                atomic.replace(path)
        finally:
            atomic.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Everything besides messages and tools that affects a reply."""

    model: str
    """Provider and model, as in ``--model``."""
    base_url: str | None
    call_format: str
    epoch: int
    """Epochs are independent samples, so each has its own replies."""
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    extra: Mapping[str, JSON] = field(default_factory=dict)
    """Additional request parameters."""
    reasoning_history: ReasoningHistory = ReasoningHistory.AUTO
    """Which earlier thoughts are sent back with the messages."""

    def key(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
        """Return the hex digest of the whole question. It contains no API key."""
        parts: JSON = {
            "format": FORMAT,
            "model": self.model,
            "base_url": _without_user(self.base_url),
            "call_format": self.call_format,
            "epoch": self.epoch,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "extra": _without_secrets(dict(self.extra)),
            "messages": [*messages_to_wire(remembered(messages, self.reasoning_history))],
            "tools": [tool.to_openai() for tool in tools],
        }
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _without_secrets(value: JSON) -> JSON:
    if isinstance(value, dict):
        kept = {k: part for k, part in value.items() if not SECRET.fullmatch(k)}
        return {name: _without_secrets(part) for name, part in kept.items()}
    return value


def _without_user(base_url: str | None) -> str | None:
    if base_url is None:
        return None
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


@dataclass(frozen=True)
class CachedModel:
    """A model that looks up replies in a cache and stores new ones."""

    model: Model
    cache: ResponseCache
    asked: RequestContext

    @property
    def name(self) -> str:
        """Name of the wrapped model."""
        return self.model.name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`. A reply that cannot be stored is still returned."""
        began = time.perf_counter()
        key = self.asked.key(messages, tools)
        found = self.cache.get(key)
        if found is not None:
            return replace(found, wall_s=time.perf_counter() - began)
        reply = await self.model.reply(messages, tools)
        try:
            self.cache.put(key, reply)
        except OSError as error:
            log.warning("a reply could not be kept in %s: %s", self.cache.folder, error)
        return reply
