"""Pack JSON for a page: deflated and in base64, so that no text of an episode can be markup."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field

from toolhop_sandbox.outcome import JSON

CHUNK_BYTES = 512 * 1024
"""Size of a chunk as JSON, in bytes. A page unpacks a whole chunk to open one episode: about 5
ms at this size. Smaller chunks take more space in total, as repeated prompts compress well."""


def packed(value: JSON) -> str:
    """Return a value as base64 of its deflated JSON.

    The JSON is plain ASCII: lone surrogates, which UTF-8 cannot encode, stay escaped.
    """
    return packed_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")))


def packed_text(text: str) -> str:
    """Return a text as base64 of its deflated UTF-8."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


@dataclass
class Chunks:
    """Episodes collected for a page. Each chunk is packed once it is full, to save memory."""

    done: list[str] = field(default_factory=list)
    """Full chunks, packed. Each is a JSON list of episodes."""
    _open: list[str] = field(default_factory=list)
    _size: int = 0

    def add(self, value: JSON) -> tuple[int, int]:
        """Add an episode; return its chunk's number and its index there."""
        text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
        if self._open and self._size + len(text) > CHUNK_BYTES:
            self.close()
        self._open.append(text)
        self._size += len(text)
        return len(self.done), len(self._open) - 1

    def close(self) -> None:
        """Pack the last chunk."""
        if self._open:
            self.done.append(packed_text(f"[{','.join(self._open)}]"))
            self._open, self._size = [], 0
