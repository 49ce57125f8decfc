"""An engine that is reached over TCP, with and without TLS."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from toolhop_sandbox.base import Program
from toolhop_sandbox.docker import containers
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.outcome import Returned
from toolhop_sandbox.pool import PooledSandbox

ROOT = Path(__file__).parents[2]
ADD = Program("def f(a):\n    return a + 1", "f")
ECHO = Program("def f(a):\n    return a", "f")


@contextlib.contextmanager
def forwarded(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A port of this machine that leads to the engine's socket."""
    path = containers.engine_address().partition("://")[2]
    listener = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                if context is not None:
                    near = context.wrap_socket(near, server_side=True)
                far = socket.socket(socket.AF_UNIX)
                far.connect(path)
                opened.extend((near, far))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for one in opened:
            one.close()


@pytest.mark.docker
def test_a_whole_run_on_an_engine_behind_tcp(engine: None, tmp_path: Path) -> None:
    code = "from toolhop_agents.cli import main; main()"
    flags = ["--limit", "3", "--sandbox", "docker", "--log-dir", str(tmp_path), "--json"]
    with forwarded() as port:
        done = subprocess.run(
            [sys.executable, "-c", code, "run", *flags],
            cwd=ROOT,
            env={**os.environ, "DOCKER_HOST": f"tcp://127.0.0.1:{port}"},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert "standard streams" in done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "success"
    manifest = json.loads((Path(told["run"]) / "manifest.json").read_text())
    assert manifest["sandbox"]["transport"] == "attach"


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate of 127.0.0.1 under the names that docker looks for; a server's context."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        capture_output=True, check=True,
    )  # fmt: skip
    (folder / "ca.pem").write_bytes(cert.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


@pytest.mark.docker
@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_an_engine_behind_tls(
    engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "é" * 490_000

    async def run() -> None:
        async with PooledSandbox(DockerEngine()) as pool, pool.session() as session:
            for number in range(50):
                assert await session.call(ADD, {"a": number}) == Returned(str(number + 1))
            outcome = await session.call(ECHO, {"a": text})
            assert outcome == Returned(json.dumps(text, ensure_ascii=False))

    with forwarded(certificate(tmp_path)) as port:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{port}")
        # Requests would take these before what docker tells it.
        monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
        monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
        monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
        anyio.run(run)
