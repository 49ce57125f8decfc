"""Where thoughts are once a run is over: everywhere, or with ``--keep-thoughts off`` nowhere."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.agents.test_thoughts import OWN, assert_all_right, run, scripted, told, traces
from tests.agents.thinking_servers import (
    FORMS,
    Body,
    OwnProtocol,
    Responses,
    signature,
    thinking,
    thought,
)
from toolhop_agents.export.formats import FORMATS
from toolhop_agents.models.loopback import LoopbackServer, Request, RequestResponder
from toolhop_env.messages import AssistantMessage, Reply, Thoughts
from toolhop_env.reading import thoughts_apart, thoughts_forgotten
from toolhop_env.runs.store import RunStore

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

HOLDS = FORMATS.keys() - {"predictions"}
"""Formats that hold thoughts. An official file of answers has no place for any, and ToolHop has no
such file."""


def secrets(turn: int) -> tuple[str, ...]:
    """What no file may hold of a thought."""
    return f"turn {turn}: should I answer", signature(thought(turn))


def in_text(begin: str, end: str) -> RequestResponder:
    """An agent that thinks within its text."""
    play = scripted()

    def answer(request: Request) -> Reply:
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        reply = play(request)
        return Reply(f"{begin}{thought(turn)}{end}{reply.content}", reply.calls)

    return answer


def cut_in_text(_: Request) -> Reply:
    return Reply(f"<think>{thought(0)}", finish_reason="length")


def loopback(answer: RequestResponder) -> Callable[[], AbstractContextManager[Any]]:
    return partial(LoopbackServer, answer)


KINDS: dict[str, tuple[str, Callable[[], AbstractContextManager[Any]], tuple[str, ...]]] = {
    **{form: ("openai/m", loopback(thinking(scripted(), form)), ()) for form in FORMS},
    **{model: (model, partial(kind, scripted()), ()) for model, kind in OWN.items()},
    "responses": ("openai/m", partial(Responses, scripted()), ("--api", "responses")),
    "block": ("openai/m", loopback(in_text("<think>", "</think>")), ()),
    "thinking": ("openai/m", loopback(in_text("<thinking>", "</thinking>\n\n")), ()),
    "closed": ("openai/m", loopback(in_text("", "</think>")), ()),
    "text": ("openai/m", loopback(in_text("<think>", "</think>")), ("--call-format", "text")),
    "cut": ("openai/m", loopback(cut_in_text), ()),
}
"""Each form of thoughts: model, its server, flags."""


def texts(place: Path) -> Iterator[bytes]:
    """All that can be read in a file or in the files of a folder, however packed."""
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.is_file():
            yield from unpacked(path.read_bytes())


def unpacked(data: bytes) -> Iterator[bytes]:
    yield data
    if data.startswith(b"PAR1"):
        parquet = pytest.importorskip("pyarrow.parquet")
        yield repr(parquet.read_table(io.BytesIO(data)).to_pylist()).encode()
    elif data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield archive.read(name)
    elif data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data)
    for packed in re.findall(rb"[A-Za-z0-9+/]{200,}={0,2}", data):  # what the report's page holds
        try:
            yield zlib.decompress(base64.b64decode(packed))
        except (ValueError, zlib.error):
            continue


def found(place: Path, turn: int = 0) -> list[str]:
    """Which secrets are there."""
    every = list(texts(place))
    assert every
    return [one for one in secrets(turn) if any(one.encode() in text for text in every)]


def made(run_folder: str, to: Path) -> dict[str, Path]:
    """The run in all formats, as a page and as it is shown."""
    places = {}
    for kind in HOLDS:
        places[kind] = to / kind
        more = ("--include-wrong",) if kind == "chat" else ()
        done = toolhop("export", run_folder, "--to", kind, "--out", str(places[kind]), *more)
        assert done.returncode == 0, done.stderr
    places["report"] = to / "report.html"
    done = toolhop("report", run_folder, "--out", str(places["report"]))
    assert done.returncode == 0, done.stderr
    (one,) = RunStore.open(Path(run_folder)).traces()
    places["show"] = to / "shown.txt"
    places["show"].write_text(toolhop("show", run_folder, one.started.episode).stdout)
    return places


@pytest.mark.parametrize("kind", KINDS)
def test_thoughts_that_are_not_kept_are_nowhere(kind: str, tmp_path: Path) -> None:
    model, server, flags = KINDS[kind]
    with server() as at:
        flags = (*flags, "--limit", "1", "--keep-thoughts", "off")
        answer = run(tmp_path / "logs", model, at.base_url, *flags)
    if kind != "cut":
        assert_all_right(answer, 1)
    (played,) = traces(answer)
    kept = [one for one in told(played) if one is not None]
    assert kept
    assert all(len(one.digest) == 64 and not (one.text or one.fields) for one in kept)
    assert any(one.chars >= len(thought(0)) for one in kept) or kind == "google"
    assert played.lacks_thoughts
    places = {"run": Path(answer["run"]), **made(answer["run"], tmp_path / "made")}
    assert {name: found(place) for name, place in places.items()} == {name: [] for name in places}
    again = toolhop("score", answer["run"], "--json")
    assert again.returncode == 0, again.stderr


class Breaks(OwnProtocol):
    """Sends each reply up to the middle of its thought, whichever protocol is asked for."""

    def respond(self, body: Body) -> Body:
        said = {"type": "thinking", "thinking": thought(0), "reasoning_content": thought(0)}
        return {"content": [said], "choices": [{"index": 0, "message": said}]}

    def events(self, said: Body) -> list[Body]:
        return [{"choices": [{"index": 0, "delta": {"reasoning": thought(0)}}]}]

    def sent(self, text: bytes) -> bytes:
        return text.rpartition(b"call <tool_call>")[0]


@pytest.mark.parametrize("streamed", ["on", "off"])
@pytest.mark.parametrize("model", ["openai/m", "anthropic/claude-sonnet-4-5"])
def test_a_reply_that_breaks_off_leaves_no_thought_in_the_reason(
    model: str, streamed: str, tmp_path: Path
) -> None:
    with Breaks(scripted()) as server:
        flags = ("--limit", "1", "--keep-thoughts", "off", "--stream", streamed)
        answer = run(tmp_path, model, server.base_url, *flags, "--max-retries", "0")
    assert answer["summaries"][0]["errored"] == 1
    reasons = [trace.ended.reason for trace in traces(answer) if trace.ended]
    assert all("unusable response" in one or "json" in one.lower() for one in reasons)
    assert found(tmp_path) == []


def test_thoughts_that_are_kept_are_in_every_format(tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), "deepseek")) as server:
        answer = run(tmp_path / "logs", "openai/m", server.base_url, "--limit", "1")
    places = made(answer["run"], tmp_path / "made")
    assert [kind for kind, place in places.items() if not found(place)] == []


def test_a_cache_keeps_whole_replies_and_goes_with_no_thoughts_forgotten(tmp_path: Path) -> None:
    flags = ("--model", "openai/m", "--keep-thoughts", "off", "--cache", str(tmp_path / "cache"))
    done = toolhop("run", *flags, cwd=tmp_path)
    assert done.returncode == 2
    assert "--cache keeps whole replies" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_models_run_is_no_game_to_play_on(tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), "deepseek")) as server:
        answer = run(tmp_path, "openai/m", server.base_url, "--limit", "1")
    done = toolhop("play", "--resume", answer["run"])
    assert done.returncode == 2
    assert "was played by openai/m and not by a person" in done.stderr


@pytest.mark.parametrize("content", ["<think>why</think>said", "why</think>said", "<think>why"])
def test_what_is_said_stays_when_thoughts_are_forgotten(content: str) -> None:
    reply = Reply(content, thoughts=Thoughts("field", {"reasoning": "field"}))
    thoughts, said = thoughts_apart(reply)
    assert thoughts is not None
    assert thoughts.text.startswith("field\n")
    assert "why" in thoughts.text
    forgotten = thoughts_forgotten(reply)
    left, still_said = thoughts_apart(forgotten)
    assert (still_said, left) == (said, forgotten.thoughts)
    assert left is not None
    assert (left.text, left.chars) == ("", len(thoughts.text))
    assert thoughts_forgotten(Reply("said")) == Reply("said")


def test_what_is_said_around_a_thought_is_no_thought() -> None:
    thoughts, said = thoughts_apart(Reply("Plan:\n<think>why</think>\n6"))
    assert (thoughts, said) == (Thoughts("<think>why</think>"), "Plan:\n\n6")
    assert thoughts_apart(Reply("6</think>")) == (None, "6")


def test_a_thought_within_the_text_is_folded(tmp_path: Path) -> None:
    with LoopbackServer(in_text("<think>", "</think>")) as server:
        answer = run(tmp_path / "logs", "openai/m", server.base_url, "--limit", "1")
    (played,) = traces(answer)
    shown = toolhop("show", answer["run"], played.started.episode)
    assert "thought: <think>turn 0: should I answer" in shown.stdout
    assert thought(0) not in shown.stdout.replace("\n    ", " ")
