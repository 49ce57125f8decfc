"""Plants a secret in each place that a key can come from, and searches all that is written.

The product's own command as a process of its own, against servers that tell what they were sent.
"""

from __future__ import annotations

import ast
import base64
import gzip
import json
import os
import quopri
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import click
import pytest

from tests.agents.command import toolhop
from tests.agents.test_flags import flags
from tests.agents.test_relytoolbench_runs import data as data
from tests.launcher import SERVED, Launched
from tests.serving import Exchange, Server
from toolhop_env.runs.packing import Packing, pack
from toolhop_env.runs.segments import segments
from toolhop_env.runs.store import RunStore
from toolhop_tools.secrets import known

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
SECRETS = {
    "OPENAI_API_KEY": "sk-proj-Zq8/env+var==7731",
    "GATE_TOKEN": "gate-2290-header-Kx",
    "QUERY_SECRET": "query-5518-part-Wy",
    "PLAIN_HEADER": "plain-7402-unnamed-Vt",  # known only because it is sent
    "QUOTED_PASSWORD": 'pa"ss\\word-6613',
}
URL_SECRETS = ("user-part-9041", "url-query-3377")
OSC52, OSC8, CLEAR, C1 = "\x1b]52;c;cm0gLXJm\x07", "\x1b]8;;http://evil\x07", "\x1b[2J", "\x9b2J"
CLIENTS = ("openai/echo", "litellm/openai/echo")
CLIENT_MODULES = (*SERVED, "toolhop_agents.models.litellm_model")
OPTIONS = (
    "--request-option",
    'extra_headers={"X-Gate": "Bearer ${GATE_TOKEN}", "X-Org": "${PLAIN_HEADER}"}',
    "--request-option", 'extra_query={"sig": "${QUERY_SECRET}"}',
)  # fmt: skip


class Echo(Server):
    """Speaks chat completions and says what it was sent, in `said` of a request."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.seen: list[str] = []
        super().__init__(self._tell)
        self.url = f"{self.base_url}/v1"

    def _tell(self, exchange: Exchange) -> None:
        headers = exchange.headers
        sent_back = {"X-Echo": headers.get("Authorization", "")}
        if exchange.command == "GET":
            exchange.send({"object": "list", "data": []}, headers=sent_back)
            return
        told = f"{headers.get('Authorization')} {headers.get('X-Gate')} "
        told += f"{headers.get('X-Org')} {exchange.path} {SECRETS['QUOTED_PASSWORD']}"
        told += f" {headers.get('Proxy-Authorization')}"
        self.seen.append(told)
        told += " ".join(["", *_forms(SECRETS["OPENAI_API_KEY"])])
        if self.status == 200:
            exchange.send(_completion(json.loads(exchange.body), told), headers=sent_back)
        else:
            text = f"{told} {quote(told)} {OSC52}{OSC8}{CLEAR}{C1}"
            error = {"message": text, "type": told, "code": told}
            exchange.send({"error": error}, self.status, sent_back)


def _completion(body: Mapping[str, Any], told: str) -> dict[str, Any]:
    """A judge's verdict, a simulated answer, or an agent's call and then its answer; all tell."""
    asked = str(body["messages"][0]["content"]) + str(body["messages"][-1]["content"])
    message: dict[str, Any] = {"role": "assistant", "content": f"it was {told}"}
    if body.get("tools") and body["messages"][-1]["role"] != "tool":
        name = body["tools"][0]["function"]["name"]
        call = {"name": name, "arguments": json.dumps({"text": told})}
        message["tool_calls"] = [{"id": "1", "type": "function", "function": call}]
    elif "schema:" in asked:
        known = ("Relevant", "Truthful", "Solved")
        verdict = next((one for one in known if f'"{one}"' in asked.rsplit("schema:", 1)[1]), "")
        message["content"] = json.dumps({"reason": told, "verdict": verdict})
    elif not body.get("tools"):
        message["content"] = json.dumps({"error": "", "response": told})
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "echo",
            "choices": [choice], "usage": usage}  # fmt: skip


def ran(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """The command in `folder`, with all secrets in its environment; what it prints is kept."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOOLHOP")}
    number = len([*folder.glob("printed-*")])
    out, err = (folder / f"printed-{number}-{stream}" for stream in ("out", "err"))
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = Launched(
            *arguments, cwd=folder, env={**kept, **SECRETS, **env}, imports=CLIENT_MODULES,
            stdout=stdout.fileno(), stderr=stderr.fileno(),
        )  # fmt: skip
        code = process.wait(300)
    return subprocess.CompletedProcess(arguments, code, out.read_bytes(), err.read_bytes())


def leaks(folder: Path) -> dict[str, list[str]]:
    """The files below `folder`, printed output included, by the secrets that they hold."""
    found: dict[str, list[str]] = {}
    # Of base64, what no letter beside the secret changes.
    sought = {name: [*_forms(value)[:-1], _forms(value)[-1][4:-4]]
              for name, value in SECRETS.items()}  # fmt: skip
    sought |= {value: [value] for value in URL_SECRETS}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            raw = path.read_bytes()
            content = gzip.decompress(raw) if path.suffix == ".gz" else raw
            for name, forms in sought.items():
                if any(form.encode() in content for form in forms):
                    found.setdefault(str(path.relative_to(folder)), []).append(name)
    return found


def _forms(value: str) -> list[str]:
    once, raw = json.dumps(value)[1:-1], value.encode()
    hexes = [f"{byte:02x}" for byte in raw]
    return [
        value, once, json.dumps(once)[1:-1], once.replace("/", "\\/"),
        quote(value), quote(value, safe=""), value.replace("/", "%2f"),
        "%" + "%".join(hexes), "=" + "=".join(hexes).upper(), "\\x" + "\\x".join(hexes),
        "".join(f"&#{byte};" for byte in raw), value.replace("/", "&#x2F;").replace("+", "&plus;"),
        quopri.encodestring(raw, quotetabs=True).decode().replace("=\n", ""),
        base64.b64encode(f"me:{value}".encode()).decode(),
    ]  # fmt: skip


@pytest.mark.parametrize("model", CLIENTS)
def test_what_a_server_echoes_is_kept_and_printed_nowhere(model: str, tmp_path: Path) -> None:
    play = ("run", "--model", model, "--limit", "2", "--cache", "cache", "--log-dir", "logs",
            "--sandbox", "process", "--max-retries", "0", "--max-samples", "1",
            *OPTIONS)  # fmt: skip
    with Echo(401) as refusing:
        done = ran(tmp_path, *play, "--base-url", refusing.url)
        assert done.returncode == 1
    assert refusing.seen, done.stderr
    for name in ("OPENAI_API_KEY", "GATE_TOKEN", "QUERY_SECRET", "PLAIN_HEADER"):
        assert SECRETS[name] in refusing.seen[0], f"{name} was sent"
    with Echo() as telling:
        done = ran(tmp_path, *play, "--base-url", telling.url, "--json")
        assert done.returncode == 0, done.stderr
        run = json.loads(done.stdout)["run"]
        count = len(telling.seen)
        assert count
        again = ran(tmp_path, *play, "--base-url", telling.url)
        assert again.returncode == 0, again.stderr
        assert len(telling.seen) == count, "the cache answers, though it is redacted"
    with Echo() as telling:  # a run that was refused, resumed at another server
        (refused,) = {path.parent.name for path in tmp_path.glob("logs/*/manifest.json")
                      if json.loads(path.read_text())["status"] != "success"}  # fmt: skip
        moved = tmp_path / "logs" / refused / "manifest.json"
        moved.write_text(moved.read_text().replace(refusing.url, telling.url))
        resuming = ("run", "--resume", f"logs/{refused}", "--max-retries", "0")
        done = ran(tmp_path, *resuming)
        assert (done.returncode, telling.seen) == (2, [])
        assert f"that address, give --base-url {telling.url}".encode() in done.stderr
        done = ran(tmp_path, *resuming, "--base-url", telling.url)
        assert done.returncode == 0, done.stderr
    for view in (
        ("show", run),
        ("runs", "--json"),
        ("diagnose", run),
        ("report", run, "--out", "r.html"),
    ):
        assert ran(tmp_path, *view).returncode in (0, 1)
    assert leaks(tmp_path) == {}
    manifest = json.loads(moved.read_text())
    assert "${GATE_TOKEN}" in str(manifest["settings"]["request_options"])
    trace = next((tmp_path / "logs" / refused / "episodes").iterdir()).read_text()
    assert "[redacted]" in trace
    assert all(json.loads(line) for line in trace.splitlines())


def test_judges_and_simulators_are_clients_too(data: str, tmp_path: Path) -> None:
    with Echo() as telling:
        done = ran(tmp_path, "run", "--data", data, "--agent", "all-tools", "--log-dir", "logs",
                   "--judge", "litellm/openai/judge", "--judge-base-url", telling.url,
                   "--simulator", "openai/service", "--simulator-base-url", telling.url,
                   "--max-samples", "1", "--json")  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert telling.seen
    with Echo(401) as refusing:
        ran(tmp_path, "run", "--data", data, "--agent", "all-tools", "--log-dir", "more",
            "--judge", "openai/judge", "--judge-base-url", refusing.url,
            "--simulator", "litellm/openai/service", "--simulator-base-url", refusing.url,
            "--max-samples", "1", "--json")  # fmt: skip
    assert refusing.seen
    assert leaks(tmp_path) == {}


@pytest.mark.parametrize("model", CLIENTS)
@pytest.mark.parametrize("key", ["sk-line-7719\nbreak-4402", "sk space-8832-x", "sk-ümlaut-9921"])
def test_a_key_that_cannot_be_sent_is_named_and_not_shown(
    model: str, key: str, tmp_path: Path
) -> None:
    with Echo() as server:
        done = ran(tmp_path, "run", "--model", model, "--base-url", server.url, "--limit", "1",
                   "--log-dir", "logs", OPENAI_API_KEY=key)  # fmt: skip
    assert (done.returncode, server.seen) == (3, [])
    assert b"OPENAI_API_KEY" in done.stderr
    for part in (key[3:11], "4402", "8832", "9921"):
        assert part.encode() not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("option", [
    'extra_headers={"X-Gate": "literal-4471"}', 'extra_query={"api_key": "literal-4471"}',
    "extra_headers=literal-4471", 'headers={"X": "literal-4471"}', "api_key=literal-4471",
    'extra_body={"a": {"api_key": "literal-4471"}}', "aws_secret_access_key=literal-4471",
    'extra_headers={"X-Gate": "${NOT_SET_ANYWHERE}"}',
])  # fmt: skip
def test_a_literal_value_in_a_request_option_is_refused(option: str, tmp_path: Path) -> None:
    with Echo() as server:
        done = ran(tmp_path, "run", "--model", "openai/x", "--base-url", server.url, "--limit", "1",
                   "--log-dir", "logs", "--request-option", option)  # fmt: skip
    assert (done.returncode, server.seen) == (3 if "NOT_SET" in option else 2, [])
    assert b"literal-4471" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr
    assert not list(tmp_path.rglob("manifest.json"))


URL_FLAGS = sorted({(path, one.opts[0]) for path, one in flags() if "url" in (one.name or "")})
"""Found in the tree of commands: a flag that takes a URL says so in its name."""
GIVEN: Mapping[str, tuple[str, ...]] = {
    "data fetch": ("toolhop",),
    "why": ("run",),
    "certify": ("--readers", "openai/a"),
    "construct from-domain": ("A", "--items", "1", "--model", "openai/a", "--out", "made"),
    "construct from-seeds": ("seeds.jsonl", "--model", "openai/a", "--out", "made"),
    "construct resume": ("made",),
    "construct nested from-domain": ("A", "--items", "1", "--model", "openai/a", "--out", "made"),
    "construct nested from-items": ("--data", "builtin", "--model", "openai/a", "--out", "made"),
    "construct nested from-pool": ("--items", "1", "--model", "openai/a", "--out", "made"),
}


def test_flags_that_take_a_url_are_known_by_their_names() -> None:
    by_metavar = {(path, one.opts[0]) for path, one in flags()
                  if one.make_metavar(click.Context(click.Command(""))) == "URL"}  # fmt: skip
    stores = {(path, "--segments-to") for path in ("run", "ablate", "merge", "why")}
    assert by_metavar - stores == set(URL_FLAGS)


@pytest.mark.parametrize(("command", "flag"), URL_FLAGS)
@pytest.mark.parametrize("url", [
    "{}user-part-9041@{}", "{}me:user-part-9041@{}", "{}{}?api_key=url-query-3377",
    "{}{}#url-query-3377", "me:user-part-9041@h", "ftp://me:user-part-9041@h", "h:80",
])  # fmt: skip
def test_a_url_with_a_place_for_a_secret_is_refused(
    command: str, flag: str, url: str, tmp_path: Path
) -> None:
    with Echo() as server:
        given = url.format("http://", server.url.removeprefix("http://"))
        done = toolhop(*command.split(), *GIVEN.get(command, ()), flag, given, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert flag in done.stderr
    assert not any(secret in done.stdout + done.stderr for secret in URL_SECRETS)
    assert (server.seen, list(tmp_path.iterdir())) == ([], [])


def test_a_base_url_of_the_environment_is_checked_as_well(tmp_path: Path) -> None:
    with Echo() as server:
        url = server.url.replace("//", "//me:user-part-9041@")
        done = ran(tmp_path, "run", "--model", "openai/x", "--limit", "1", OPENAI_BASE_URL=url)
    assert (done.returncode, server.seen) == (2, [])
    assert b"OPENAI_BASE_URL" in done.stderr
    assert leaks(tmp_path) == {}


def test_a_fault_of_ours_shows_no_secret_and_no_raw_escape(tmp_path: Path) -> None:
    code = ("from toolhop_agents.cli import main, root\n"
            "import os, logging\n"
            "def broken(*_, **__):\n"
            "    key = os.environ['OPENAI_API_KEY']\n"
            f"    logging.getLogger('x').warning(key + {OSC52!r})\n"
            f"    print(key); raise RuntimeError(key + repr([key]) + {OSC52 + C1!r})\n"
            "root.get_command = broken\nmain()\n")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code, "run"], capture_output=True, check=False,
                          env={**os.environ, **SECRETS})  # fmt: skip
    assert done.returncode == 1
    assert b"RuntimeError: [redacted]" in done.stderr
    assert done.stdout == b"[redacted]\n"
    assert SECRETS["OPENAI_API_KEY"].encode() not in done.stderr
    assert not raw_controls(done.stderr)


def raw_controls(printed: bytes) -> list[str]:
    return [letter for letter in printed.decode() if (letter < " " and letter not in "\n\t")
            or "\x7f" <= letter <= "\x9f"]  # fmt: skip


def test_a_server_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    with Echo(401) as refusing:
        done = ran(tmp_path, "run", "--model", "openai/x", "--base-url", refusing.url, "--limit",
                   "1", "--log-dir", "logs", "--max-retries", "0")  # fmt: skip
    assert refusing.seen
    assert b"\\x1b]52" in done.stderr, "it is shown as text"
    assert not raw_controls(done.stderr + done.stdout)


def test_what_was_kept_before_is_found_and_redacted(tmp_path: Path) -> None:
    done = ran(
        tmp_path, "run", "--limit", "4", "--log-dir", "logs", "--sandbox", "process", "--json"
    )
    run = tmp_path / json.loads(done.stdout)["run"]
    before = json.loads(ran(tmp_path, "score", str(run), "--json").stdout)
    key = SECRETS["OPENAI_API_KEY"]
    store = RunStore.open(run)
    for path in sorted((run / "episodes").iterdir()):  # as an older version wrote them
        lines = path.read_text().splitlines()
        place = json.loads(lines[0]) | {"agent": f"oracle {key}"}
        path.write_text("\n".join([json.dumps(place), *lines[1:]]) + "\n")
    with store.held():
        store.repair_index()
        assert pack(store, Packing(begin=1, traces=2), all_left=True) == 4
    (tmp_path / "logs" / "note.txt").write_text(key)
    (tmp_path / "logs" / "binary").write_bytes(b"\0" + key.encode())
    for name in tmp_path.glob("printed-*"):
        name.unlink()
    found = ran(tmp_path, "runs", "logs", "--secrets")
    assert found.returncode == 1
    assert len(found.stdout.splitlines()) == 3, "two segments and a note"
    done = ran(tmp_path, "runs", "logs", "--secrets", "--redact")
    assert done.returncode == 0, done.stderr
    assert ran(tmp_path, "runs", "logs", "--secrets").stdout == b""
    assert set(leaks(tmp_path)) == {"logs/binary"}, "of what is no text nothing is known"
    assert {trace.started.agent for trace in store.traces()} == {"oracle [redacted]"}
    after = json.loads(ran(tmp_path, "score", str(run), "--json").stdout)
    assert [one["episodes"] for one in after] == [one["episodes"] for one in before] == [4]
    for segment in segments(run):
        segment.check()
    nothing = ran(tmp_path, "runs", "logs", "--secrets", **dict.fromkeys(SECRETS, ""))
    assert nothing.returncode == 2


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_the_password_of_a_proxy_is_kept_and_printed_nowhere(scheme: str, tmp_path: Path) -> None:
    """The server is the proxy too, and tells what it was sent as one."""
    password = "proxy%2F-1188-pass"  # noqa: S105 -- no real one
    login = base64.b64encode(f"me:{unquote(password)}".encode()).decode()
    with Echo() as telling:
        proxy = telling.url.removesuffix("/v1").replace("http://", f"{scheme}me:{password}@")
        asked = ("--model", "openai/x", "--base-url", telling.url, "--limit", "1")
        done = ran(tmp_path, "run", *asked, "--sandbox", "process", "--json", HTTP_PROXY=proxy,
                   NO_PROXY="")  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert login in telling.seen[0]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"[redacted]" in written
    assert not [form for form in (password, unquote(password), login) if form.encode() in written]


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("https_proxy", "http://me:proxy-1188-pass@h:3128", "proxy-1188-pass"),
        ("ALL_PROXY", "socks5://me:short@h", "me:short"),
        ("HTTP_PROXY", "me:proxy-1188-pass@h", "proxy-1188-pass"),
        ("PIP_INDEX_URL", "https://me:p%40ss-1188@h/simple", "p@ss-1188"),
        ("DOCKER_HOST", "ssh://administrator@machine-1188", ""),
        ("HTTP_PROXY", "http://h:3128/a@b-11882299", ""),
        ("MAIL", "somebody:else-1188@example.org", ""),
        ("SAID", "see http://me:proxy-1188-pass@h", ""),
    ],
    ids=range(8),  # pytest puts the name of a test into the environment
)
def test_logins_in_addresses_of_the_environment_are_secrets(
    name: str, value: str, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(known())
    monkeypatch.setenv(name, value)
    added = {form.decode() for form in set(known()) - before}
    assert secret in added if secret else not added
    assert not {part for part in added if part in "machine-1188 administrator"}


def test_words_numbers_and_placeholders_are_no_secrets(tmp_path: Path) -> None:
    words = {"SORT_KEY": "messages", "PIN_PASSWORD": "12345678", "A_KEY": "no-key-needed",
             "B_KEY": "test", "C_KEY": "dummy", "D_SECRET": "password", "HOME_KEY": str(ROOT),
             "OPENAI_API_KEY": ""}  # fmt: skip
    with Echo() as telling:
        done = ran(tmp_path, "run", "--model", "openai/x", "--base-url", telling.url, "--limit",
                   "1", "--log-dir", "logs", "--json", **words, **dict.fromkeys(
                       ("GATE_TOKEN", "QUERY_SECRET", "QUOTED_PASSWORD"), ""))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not [path for path in (tmp_path / "logs").rglob("*")
                if path.is_file() and b"[redacted]" in path.read_bytes()]  # fmt: skip


def test_only_the_printer_writes_on_standard_error() -> None:
    """Text may be foreign wherever it is said; `say` and `ErrorConsole` escape and redact it."""
    found = []
    for path in sorted((ROOT / "agents" / "toolhop_agents").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                words = {one.arg for one in node.keywords}
                called = ast.unparse(node.func)
                if (
                    (
                        words & {"err", "stderr"}
                        and called.split(".")[-1] in {"echo", "secho", "Console", "print"}
                    )
                    or (called == "print" and "file" in words)
                    or called.startswith("sys.stderr.write")
                ):
                    found.append(f"{path.name}: {ast.unparse(node)}")
    assert found == ["terminal.py: click.echo(visible(str(text)), err=True)"]
