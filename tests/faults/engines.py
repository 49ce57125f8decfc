"""A Docker engine of the tests' own, which they may stop, kill and break as they like."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import docker
from docker import DockerClient
from docker.errors import ImageNotFound

from tests.waiting import CEILING_S, until


@dataclass
class Engine:
    """``dockerd`` with its own containerd, data and socket below one short folder."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def socket(self) -> Path:
        return self.folder / "d.sock"

    @property
    def address(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log_path = self.folder / "log"
        (self.folder / "dockerd.json").write_text("{}")
        places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid"}
        flags = [f"{flag}={self.folder / name}" for flag, name in places.items()]
        with log_path.open("ab") as log:
            self.process = subprocess.Popen(
                # In its own network: with --bridge=none an engine deletes docker0, which may be
                # another's.
                ["unshare", "--net", "dockerd", f"--host={self.address}",
                 f"--config-file={self.folder}/dockerd.json", "--bridge=none",
                 "--iptables=false", "--ip-masq=false", *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            until(self.answers, "the engine answers")
        except AssertionError as error:
            raise AssertionError(f"{error}: {log_path.read_text()[-3000:]}") from error

    def answers(self) -> bool:
        # By hand: the docker package leaks its socket where nobody answers.
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b"200" in connection.recv(64)
            except OSError:
                return False

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it by a signal."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(CEILING_S)
            self.process = None
        # An engine that finds this file and a process of that id, be it a zombie or another one,
        # waits in vain for it to be a containerd. The one named here dies with its engine.
        known = self.folder / "exec" / "containerd" / "containerd.pid"
        if known.exists():
            until(lambda: not self.alive(known.read_text()), "containerd ends")
            known.unlink()

    def alive(self, pid: str) -> bool:
        """Whether this is a process of this engine; a zombie has no command line."""
        try:
            return str(self.folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    @contextlib.contextmanager
    def client(self) -> Iterator[DockerClient]:
        client = docker.DockerClient(base_url=self.address, version="1.41", timeout=60)
        try:
            yield client
        finally:
            client.close()

    def said(self) -> str:
        """Its log so far."""
        return (self.folder / "log").read_text(errors="replace")

    def forget(self, image: str) -> None:
        """Take an image away, if it is there."""
        with self.client() as client, contextlib.suppress(ImageNotFound):
            client.api.remove_image(image, force=True)

    def containers(self, state: str = "") -> list[str]:
        """Ids of all containers, or those in one state."""
        with self.client() as client:
            found = client.api.containers(all=True)
        return [str(one["Id"]) for one in found if state in ("", one["State"])]

    def remove(self) -> None:
        """End it and everything that it started, and take its folder away."""
        try:
            self.end()
            for pid in [one.name for one in Path("/proc").iterdir() if one.name.isdecimal()]:
                if self.alive(pid):
                    # What holds a container together; its end is the container's.
                    os.kill(int(pid), signal.SIGKILL)
            until(lambda: not _mounted(self.folder), "nothing of the engine is mounted")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def _mounted(folder: Path) -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    found = [line.split()[1] for line in lines if line.split()[1].startswith(f"{folder}/")]
    for one in sorted(found, reverse=True):
        subprocess.run(["umount", "-l", one], capture_output=True)
    return found


@contextlib.contextmanager
def engine() -> Iterator[Engine]:
    """A started engine. Its folder is short: a Unix socket's path may have 107 bytes."""
    made = Engine(Path(tempfile.mkdtemp(prefix="faults-", dir="/tmp")))
    try:
        made.start()
        yield made
    finally:
        made.remove()


def can_start_engines() -> str:
    """Why this machine cannot have a second engine; empty where it can."""
    if os.geteuid() != 0:
        return "a second engine needs root"
    missing = [one for one in ("dockerd", "containerd", "unshare") if shutil.which(one) is None]
    if missing:
        return f"a second engine needs {', '.join(missing)}"
    return ""
