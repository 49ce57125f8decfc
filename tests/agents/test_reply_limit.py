"""Replies that never end or unpack to more than memory holds, by both clients."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import zlib
from contextlib import ExitStack

import pytest

from tests.serving import Exchange, Server
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


class Flood(Server):
    """Answers each request with a flood of one kind, until the client goes."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.paths: list[str] = []
        """Of the requests."""
        super().__init__(self._answer)

    def _answer(self, exchange: Exchange) -> None:
        self.paths.append(exchange.path)
        body = MESSAGE if "messages" in exchange.path else ANSWER
        match self.kind:
            case "small":
                packed = gzip.compress(json.dumps(body).encode())
                exchange.send(packed, headers={"Content-Encoding": "gzip"})
                return
            case "told":
                headers = {"Content-Length": str(2**31)}
            case "gzip":
                headers = {"Content-Encoding": "gzip", "Connection": "close"}
            case _:
                headers = {"Transfer-Encoding": "chunked"}
        if self.kind in EVENTS:
            headers["Content-Type"] = "text/event-stream"
        exchange.close_connection = True
        exchange.begin(500 if self.kind == "error" else 200, headers)
        packer = zlib.compressobj(9, wbits=31)
        for _ in range(2048):
            if self.kind == "told":
                exchange.wfile.write(ZEROS)
            elif self.kind == "gzip":
                exchange.wfile.write(packer.compress(ZEROS))
            else:
                part = EVENTS.get(self.kind, ZEROS)
                exchange.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        exchange.wfile.write(packer.flush() if self.kind == "gzip" else b"0\r\n\r\n")


ASK = """
import resource, sys
import anyio
from toolhop_agents.models.base import ModelFault
from toolhop_agents.models.clients import open_model
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
        small, *floods = [stack.enter_context(Flood(kind)) for kind in ("small", *FLOODS)]
        addresses = [f"{one.base_url}/{one.kind}" for one in (small, *floods)]
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
    assert [len(flood.paths) for flood in floods] == [1] * len(FLOODS)


def test_litellm_makes_no_more_of_a_stream_than_its_tokens_need() -> None:
    """It makes kilobytes of each event, and of each piece of a call within one."""
    kinds = {
        "events-small": "events and pieces of calls",
        "events-comments": "lines",
        "events-pieces": "commas, brackets and braces in a line",
    }
    with ExitStack() as stack:
        small, *floods = [stack.enter_context(Flood(kind)) for kind in ("small", *kinds)]
        addresses = [f"{one.base_url}/{one.kind}" for one in (small, *floods)]
        done = subprocess.run(
            [sys.executable, "-c", ASK, "litellm/openai/m", *addresses],
            capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": "k"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _, *said, more_mib = done.stdout.splitlines()
    for message, unit in zip(said, kinds.values(), strict=True):
        assert f" {unit} fix: " in message
    assert int(more_mib) < 64
    assert [len(flood.paths) for flood in floods] == [1] * len(kinds)


OTHERS = """
import sys
import anyio
from toolhop_agents.models.litellm_model import LiteLLMModel, litellm
from toolhop_agents.models.clients import open_model
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
    with Flood("small") as server:
        done = subprocess.run(
            [sys.executable, "-c", OTHERS, f"{server.base_url}/v1"],
            capture_output=True, text=True,
            env={**os.environ, "OPENAI_API_KEY": "k", "QUERY": "of-the-model"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4"] * 3
    assert ["of-the-model" in path for path in server.paths] == [False, True, False]


def test_the_limit_follows_what_is_asked_for() -> None:
    assert reply_limit(2048) == 2**20 + 2048 * 512
    assert reply_limit(None) > reply_limit(100_000)
