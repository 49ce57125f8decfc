"""Who is let in at the socket where a worker connects."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from toolhop_sandbox.docker import folders
from toolhop_sandbox.docker.meeting import USER, meeting
from toolhop_sandbox.docker.refusals import Unshared

CONNECT = """
import os, socket, sys
os.setuid(int(sys.argv[1]))
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
    one.connect(sys.argv[2])
    try:
        one.send(sys.argv[1].encode())
        print(len(one.recv(1)))
    except OSError:
        print(0)
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def connecting(user: int, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CONNECT, str(user), str(path)], stdout=subprocess.PIPE, text=True
    )


async def yes() -> bool:
    return True


async def no() -> bool:
    return False


def meet(users: list[int], *, maps_users: bool = False) -> str:
    """Who is let in of those that connect one after another."""

    async def run() -> str:
        async with meeting() as place:
            # As if the folder's own wall were not there.
            place.folder.parent.chmod(0o755)
            found = ""

            async def wait() -> None:
                nonlocal found
                mapped = yes if maps_users else no
                with await place.worker(60, yes, mapped) as connected:
                    await anyio.wait_readable(connected)
                    found = connected.recv(100).decode()
                    connected.send(b"x")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                for user in users:
                    one = connecting(user, place.folder / folders.SOCKET)
                    told, _ = await anyio.to_thread.run_sync(one.communicate)
                    # One that is turned away is told nothing.
                    assert (one.returncode, told) == (0, f"{int(user == users[-1])}\n")
            return found

    return anyio.run(run)


@as_root
@pytest.mark.parametrize("user", [USER, 0], ids=["nobody", "root"])
def test_the_worker_is_let_in(user: int) -> None:
    assert meet([user]) == str(user)


@as_root
@pytest.mark.parametrize("foreign", [1000, 1], ids=["a-person", "a-service"])
def test_a_process_of_another_user_is_turned_away(foreign: int) -> None:
    assert meet([foreign, USER]) == str(USER)


@as_root
def test_a_mapped_user_is_let_in_where_the_engine_maps_users_alone() -> None:
    assert meet([165_534], maps_users=True) == "165534"
    assert meet([165_534, USER]) == str(USER)
    assert meet([1000, USER], maps_users=True) == str(USER)


def test_a_container_that_ended_is_not_waited_for() -> None:
    async def run() -> None:
        async with meeting() as place:
            await place.worker(60, no, no)

    with pytest.raises(Unshared, match="without connecting"):
        anyio.run(run)


def test_the_socket_is_gone_afterwards() -> None:
    async def run() -> Path:
        async with meeting() as place:
            return place.folder

    folder = anyio.run(run)
    assert not folder.parent.exists()
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one,
        pytest.raises(FileNotFoundError),
    ):
        one.connect(str(folder / folders.SOCKET))
