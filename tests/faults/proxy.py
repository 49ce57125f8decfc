"""A proxy in front of an engine's socket: it delays, cuts or refuses replies, or disappears."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MESSAGE = b'{"message": "no mount for now"}'
REFUSED = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(MESSAGE), MESSAGE)
)


@dataclass
class Proxy:
    """Passes bytes between clients and the engine at `target`. Enter it to have it listen."""

    path: Path
    target: Path
    late_s: tuple[float, float] = (0.0, 0.0)
    """Each reply is held back so long, drawn between the two."""
    cut: float = 0.0
    """Share of replies in whose place, or in whose middle, the connection ends."""
    refusals: int = 0
    """How many of the next empty replies, such as to a start, become server errors."""
    seed: int = 0
    replies: int = 0
    cuts: int = 0
    _listener: socket.socket | None = None
    _open: set[socket.socket] = field(default_factory=set)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"unix://{self.path}"

    def __enter__(self) -> Proxy:
        self.appear()
        return self

    def __exit__(self, *exc: object) -> None:
        self.vanish()
        for thread in self._threads:
            thread.join(10)

    def appear(self) -> None:
        """Make the socket and listen."""
        listener = self._listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(64)
        self._go(lambda: self._accept(listener))

    def vanish(self) -> None:
        """Take the socket away and end all connections."""
        self.path.unlink(missing_ok=True)
        with self._lock:
            for one in (self._listener, *self._open):
                if one is not None:
                    _hang_up(one)
            self._listener = None

    def _go(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        with listener, contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        far = socket.socket(socket.AF_UNIX)
        with self._lock:
            self._open |= {near, far}
        try:
            far.connect(str(self.target))
        except OSError:
            self._close(near, far)
        else:
            self._go(lambda: self._serve(near, far))

    def _serve(self, near: socket.socket, far: socket.socket) -> None:
        asked = threading.Event()

        def forward() -> None:
            with contextlib.suppress(OSError):
                while data := near.recv(1 << 16):
                    asked.set()
                    far.sendall(data)
            _hang_up(far)

        forwards = threading.Thread(target=forward, daemon=True)
        forwards.start()
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                if asked.is_set():
                    asked.clear()
                    if self._spoil(near, data):
                        break
                    data = self._refused(data)
                near.sendall(data)
        _hang_up(near)
        forwards.join(10)
        self._close(near, far)

    def _spoil(self, near: socket.socket, data: bytes) -> bool:
        """Hold a reply back; True where the connection ends in its place or its middle."""
        with self._lock:
            self.replies += 1
            late_s = self._random.uniform(*self.late_s)
            cut, part = self._random.random() < self.cut, self._random.random()
            self.cuts += cut
        time.sleep(late_s)
        if cut and part < 0.5:
            near.sendall(data[: int(len(data) * part * 2)])
        return cut

    def _refused(self, data: bytes) -> bytes:
        with self._lock:
            if not self.refusals or not data.startswith(b"HTTP/1.1 204"):
                return data
            self.refusals -= 1
        return REFUSED

    def _close(self, *both: socket.socket) -> None:
        with self._lock:
            self._open -= set(both)
        for one in both:
            _hang_up(one)
            one.close()


def _hang_up(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
