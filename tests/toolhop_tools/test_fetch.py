from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from toolhop_tools.benchmarks.toolhop.reader import PIN as PIN_OF_TOOLHOP
from toolhop_tools.benchmarks.toolhop.reader import SOURCE
from toolhop_tools.errors import FetchError
from toolhop_tools.readers.fetch import (
    Pin,
    adopt,
    cache_folder,
    default_url,
    fetch,
    is_pinned,
)

CONTENT = b"[1, 2, 3]" * 20_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
PIN = Pin("who/What", "0123456789abcdef", "data/What.json", len(CONTENT), DIGEST)


class Handler(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        match self.path:
            case "/moved":
                self.send_response(302)
                self.send_header("Location", "/good")
                self.end_headers()
            case "/good":
                self.reply(CONTENT, len(CONTENT))
            case "/other":
                self.reply(CONTENT[::-1], len(CONTENT))
            case "/short":
                self.reply(CONTENT[:-1], len(CONTENT) - 1)
            case "/long":
                self.reply(CONTENT * 50, len(CONTENT) * 50)
            case "/cut":
                self.reply(CONTENT[:5000], len(CONTENT))
            case _:
                self.send_error(404)

    def reply(self, content: bytes, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the client has read enough
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_the_file_is_kept_and_then_nothing_is_asked(tmp_path: Path, server: str) -> None:
    target, told = tmp_path / "deep" / "What.json", list[tuple[int, int]]()
    path = fetch(
        url=f"{server}/moved",
        target=target,
        pin=PIN,
        progress=lambda done, total: told.append((done, total)),
    )
    assert path == target
    assert target.read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert told == sorted(told)
    Handler.asked.clear()
    assert fetch(url=f"{server}/good", target=target, pin=PIN) == target
    assert Handler.asked == []
    assert list(target.parent.iterdir()) == [target]


def test_a_damaged_copy_is_replaced(tmp_path: Path, server: str) -> None:
    target = tmp_path / "What.json"
    target.write_bytes(CONTENT[::-1])
    fetch(url=f"{server}/good", target=target, pin=PIN)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/other", "has SHA-256 "),
        ("/short", "has 179,999 bytes, not 180,000; nothing was kept"),
        ("/long", "has more than 180,000 bytes, not 180,000; nothing was kept"),
        ("/cut", "no download from"),
        ("/none", "answered 404 Not Found"),
    ],
)
def test_nothing_is_kept_of_another_answer(
    tmp_path: Path, server: str, path: str, message: str
) -> None:
    target = tmp_path / "What.json"
    target.write_bytes(b"before")
    with pytest.raises(FetchError) as caught:
        fetch(url=f"{server}{path}", target=target, pin=PIN)
    assert message in str(caught.value)
    assert "--copy FILE" in caught.value.fix
    assert PIN.url("https://huggingface.co") in caught.value.fix
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_port_that_nobody_listens_on(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/x"
        with pytest.raises(FetchError, match="no download from") as caught:
            fetch(url=url, target=tmp_path / "x", pin=PIN)
    assert "HTTPS_PROXY" in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "no url", "http://[", ""])
def test_what_is_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str, url: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server)
    with pytest.raises(FetchError):
        fetch(url=url, target=tmp_path / "x", pin=PIN)


def test_a_folder_that_cannot_be_written(tmp_path: Path, server: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="TOOLHOP_CACHE"):
        fetch(url=f"{server}/good", target=tmp_path / "file" / "x", pin=PIN)


def test_a_copy_is_imported_under_the_same_check(tmp_path: Path) -> None:
    copy, target = tmp_path / "copy", tmp_path / "cache" / "What.json"
    copy.write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(FetchError, match="has SHA-256"):
        adopt(copy, target=target, pin=PIN)
    assert not target.exists()
    copy.write_bytes(CONTENT)
    assert adopt(copy, target=target, pin=PIN) == target
    assert is_pinned(target, PIN)
    with pytest.raises(FetchError, match="No such file"):
        adopt(tmp_path / "none", target=target, pin=PIN)
    assert is_pinned(target, PIN)


def test_the_cache_folder_follows_the_environment() -> None:
    home = Path.home() / ".cache" / "toolhop"
    assert cache_folder({}) == home
    assert cache_folder({"XDG_CACHE_HOME": "/var/c"}) == Path("/var/c/toolhop")
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == home
    assert cache_folder({"XDG_CACHE_HOME": "/c", "TOOLHOP_CACHE": "~/mine"}) == Path.home() / "mine"
    assert SOURCE.path.name == "ToolHop-b439d727.json"


def test_the_address_names_the_revision_and_follows_hf_endpoint() -> None:
    place = "datasets/bytedance-research/ToolHop/resolve/b439d7279af359fda46e8117ae4f0245b75f5c6b"
    assert default_url(PIN_OF_TOOLHOP, {}) == f"https://huggingface.co/{place}/data/ToolHop.json"
    mirror = default_url(PIN_OF_TOOLHOP, {"HF_ENDPOINT": "https://mirror.test/"})
    assert mirror == f"https://mirror.test/{place}/data/ToolHop.json"
