"""A folder of replies, so that what was asked once need not be asked again. Off unless asked for.

    FOLDER/ab/abcd....json    one reply; its name is the digest of everything that matters to it

An entry is written atomically: a kill at any moment leaves it whole or not there. What cannot be
read is as good as not there. Runs may share a folder while they are under way.
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
"""Version of the entries. It is part of every key: another version's entries are not found."""
SECRET = re.compile(
    r"(.*[-_])?(api[-_]?key|secret[-_]access[-_]key|authorization|(access|auth|session)[-_]token|"
    r"secret|password|credentials?)",
    re.IGNORECASE,
)
"""Options named like this hold no part of the question, and are kept out of the keys."""

_numbers = itertools.count()


class CacheUnusable(Exception):
    """The folder cannot be made or written; says which, and what to do."""


@dataclass(frozen=True, slots=True)
class ResponseCache:
    """The folder."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> ResponseCache:
        """The cache in `folder`, which is made where it is missing.

        Raises:
            CacheUnusable: it cannot be written.
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
        """The reply under `key`, marked as cached; None where there is none."""
        try:
            entry = json.loads(regular.content(self._path(key), below=2))
            if entry["format"] != FORMAT or entry["key"] != key:
                return None
            reply = REPLY.validate_python(entry["reply"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return replace(reply, origin=Origin.CACHED, retries=0)

    def put(self, key: str, reply: Reply | None) -> None:
        """Keep `reply` under `key`; None only tries whether that can be done.

        Raises:
            OSError: it cannot be written. Nothing is kept.
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
    """What a question depends on beside its messages and tools."""

    model: str
    """As ``--model`` takes it: provider and model."""
    base_url: str | None
    call_format: str
    epoch: int
    """Epochs are independent samples: each has replies of its own."""
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    extra: Mapping[str, JSON] = field(default_factory=dict)
    """Further parameters of the request."""
    reasoning_history: ReasoningHistory = ReasoningHistory.AUTO
    """Which thoughts are sent: they are part of the messages, others of no question."""

    def key(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
        """The digest of the whole question, in hex. No API key is in it."""
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
    """A model whose replies are looked up first, and kept."""

    model: Model
    cache: ResponseCache
    asked: RequestContext

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`. A reply that cannot be kept is given all the same."""
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
