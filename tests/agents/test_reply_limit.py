"""Replies that never end or unpack to more than memory holds, by both clients."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from toolhop_agents.models.bounded import reply_limit

MAX_TOKENS = 256
ANSWER = {
    "id": "1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "4"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}  # fmt: skip
MESSAGE = {
    "id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "4"}], "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
FLOODS = ("chunks", "gzip", "told", "error", "events")
ZEROS = b"0" * 2**20
CHUNK = ANSWER | {
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "0" * 1000}, "finish_reason": None}],
}
EVENT = b"data: %s\n\n" % json.dumps(CHUNK).encode()
PIECES = b",".join([b'{"index":0,"function":{}}'] * 35_000)
EVENTS = {
    "events": EVENT,
    "events-small": b'data:{"choices":[{"delta":{"content":"0"}}]}\n\n' * 20,
    "events-comments": b":\n" * 20_000,
    "events-pieces": b'data:{"choices":[{"delta":{"tool_calls":[%s]}}]}\n\n' % PIECES,
}


class Server(ThreadingHTTPServer):
    """Answers each request with a flood of one kind, until the client goes."""

    daemon_threads = True
    requests = 0
    kind = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.paths: list[str] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.requests += 1
        self.server.paths.append(self.path)
        kind = self.server.kind
        body = json.dumps(MESSAGE if "messages" in self.path else ANSWER).encode()
        self.send_response(500 if kind == "error" else 200)
        self.send_header(
            "content-type", "text/event-stream" if kind in EVENTS else "application/json"
        )
        if kind == "small":
            packed = gzip.compress(body)
            self.send_header("content-encoding", "gzip")
            self.send_header("content-length", str(len(packed)))
            self.end_headers()
            self.wfile.write(packed)
            return
        if kind == "told":
            self.send_header("content-length", str(2**31))
        elif kind == "gzip":
            self.send_header("content-encoding", "gzip")
            self.send_header("connection", "close")
        else:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self.flood(kind)
        except OSError:
            self.close_connection = True

    def flood(self, kind: str) -> None:
        packer = zlib.compressobj(9, wbits=31)
        for _ in range(2048):
            if kind == "told":
                self.wfile.write(ZEROS)
            elif kind == "gzip":
                self.wfile.write(packer.compress(ZEROS))
            else:
                part = EVENTS.get(kind, ZEROS)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(packer.flush() if kind == "gzip" else b"0\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(kind: str) -> Iterator[Server]:
    running = Server()
    running.kind = kind
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


ASK = """
import resource, sys
import anyio
from toolhop_agents.models.base import ModelFault
from toolhop_agents.models.exchange import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_env.messages import UserMessage

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def ask(opened):
    try:
        return (await opened.reply([UserMessage("2 + 2?")], [])).content
    except ModelFault as fault:
        return str(fault)

async def main(model, small, *floods):
    options = dict(max_tokens=256, timeout_s=60, max_retries=2)
    async with open_model(model, ModelOptions(base_url=small, **options)) as opened:
        print(await ask(opened))  # what the libraries need for any reply
    before = peak()
    for flood in floods:
        extra = {"stream": True} if "events" in flood else {}
        given = ModelOptions(base_url=flood, extra=extra, **options)
        async with open_model(model, given) as opened:
            print(" ".join((await ask(opened)).split()))
    print(peak() - before)

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.parametrize("model", ["openai/m", "litellm/openai/m", "anthropic/claude-sonnet-4-5"])
def test_a_flood_ends_with_a_clear_error_after_one_request_and_little_memory(model: str) -> None:
    """One process for all kinds: `litellm` takes seconds to import."""
    with ExitStack() as stack:
        small, *floods = [stack.enter_context(serving(kind)) for kind in ("small", *FLOODS)]
        addresses = [f"http://127.0.0.1:{one.server_port}/{one.kind}" for one in (small, *floods)]
        done = subprocess.run(
            [sys.executable, "-c", ASK, model, *addresses],
            capture_output=True, text=True,
            env={**os.environ, "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer, *said, more_mib = done.stdout.splitlines()
    assert answer == "4"
    for kind, message in zip(FLOODS, said, strict=True):
        assert f"the reply has more than {reply_limit(MAX_TOKENS):,} bytes" in message, kind
        assert "--max-tokens" in message, kind
    assert int(more_mib) < 64
    assert [flood.requests for flood in floods] == [1] * len(FLOODS)


def test_litellm_makes_no_more_of_a_stream_than_its_tokens_need() -> None:
    """It makes kilobytes of each event, and of each piece of a call within one."""
    kinds = {
        "events-small": "events and pieces of calls",
        "events-comments": "lines",
        "events-pieces": "commas, brackets and braces in a line",
    }
    with ExitStack() as stack:
        small, *floods = [stack.enter_context(serving(kind)) for kind in ("small", *kinds)]
        addresses = [f"http://127.0.0.1:{one.server_port}/{one.kind}" for one in (small, *floods)]
        done = subprocess.run(
            [sys.executable, "-c", ASK, "litellm/openai/m", *addresses],
            capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": "k"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _, *said, more_mib = done.stdout.splitlines()
    for message, unit in zip(said, kinds.values(), strict=True):
        assert f" {unit} fix: " in message
    assert int(more_mib) < 64
    assert [flood.requests for flood in floods] == [1] * len(kinds)


OTHERS = """
import sys
import anyio
from toolhop_agents.models.litellm_model import LiteLLMModel, litellm
from toolhop_agents.models.exchange import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_env.messages import UserMessage

async def main(url):
    async def others():
        messages = [{"role": "user", "content": "2 + 2?"}]
        reply = await litellm.acompletion("openai/m", messages, base_url=url, num_retries=0)
        print(reply.choices[0].message.content)

    await others()
    options = dict(base_url=url, extra={"extra_query": {"q": "${QUERY}"}})
    async with open_model("litellm/openai/m", ModelOptions(**options)) as opened:
        print((await opened.reply([UserMessage("2 + 2?")], [])).content)
    await others()

anyio.run(main, *sys.argv[1:])
"""


def test_litellm_works_as_before_for_others_in_the_process() -> None:
    """Their requests have neither a limit nor a model's query, also after a model was asked."""
    with serving("small") as server:
        done = subprocess.run(
            [sys.executable, "-c", OTHERS, f"http://127.0.0.1:{server.server_port}/v1"],
            capture_output=True, text=True,
            env={**os.environ, "OPENAI_API_KEY": "k", "QUERY": "of-the-model"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4"] * 3
    assert ["of-the-model" in path for path in server.paths] == [False, True, False]


def test_the_limit_follows_what_is_asked_for() -> None:
    assert reply_limit(2048) == 2**20 + 2048 * 512
    assert reply_limit(None) > reply_limit(100_000)
