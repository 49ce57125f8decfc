"""Connect to a Ray cluster as a driver, and explain why that fails."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading

ANSWER_S = 10.0
"""Seconds to wait for a connection to the cluster's head."""


class ClusterFault(Exception):
    """The cluster cannot be used as requested. Nothing was done, or the work can be resumed."""


def connect(address: str | None) -> None:
    """Connect to the cluster as a driver.

    Raises:
        ClusterFault: it does not answer, or has another version of Ray or Python.
    """
    # Ray reads this on import. On a busy disk a first start exceeds Ray's default of 30 s.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "150")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    head = os.environ.get("RAY_ADDRESS") or None if address is None else address
    if head is not None and head not in _ITS_OWN:
        _reach(head)
    # Its warnings are about internals, such as handlers not set outside of the main thread.
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        ray.init(
            address, include_dashboard=False, log_to_driver=False, configure_logging=False,
        )  # fmt: skip
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
        # A head that requires a token answers but refuses the connection. Ray then reports only
        # on standard error that the token is missing or wrong.
        by_token = getattr(ray.exceptions, "AuthenticationError", ConnectionError)
        fix = "start one with `ray start --head`, and give its --ray-address"
        if isinstance(error, by_token) or (head and isinstance(error, ConnectionError)):
            fix = (
                "most likely the cluster asks for a token: set RAY_AUTH_MODE=token here too, and "
                "give the head's token (`ray get-auth-token` prints it there) in RAY_AUTH_TOKEN or "
                "~/.ray/auth_token. Ray reads the file alone only where the mode is set"
            )
        raise ClusterFault(
            f"no Ray cluster could be used at {address or 'this machine'}: {error}\n  fix: {fix}"
        ) from error
    # Ray reports node events on stdout, which is reserved for data; we log them ourselves.
    ray._private.worker._worker_logs_enabled = False  # noqa: SLF001 -- there is no other way


_ITS_OWN = ("auto", "local")
"""Special values that Ray accepts as an address."""


def _reach(address: str) -> None:
    """Check that a Ray head answers at the address. Ray itself would retry for many minutes."""
    if "://" in address:
        raise ClusterFault(
            f"--ray-address {address}: the command has to be started on a machine of the cluster, "
            "and writes its files there\n  fix: start it there, and give HOST:PORT or nothing"
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ClusterFault(
            f"--ray-address {address!r} is no HOST:PORT, such as 10.0.0.5:6379"
            "\n  fix: give the one that `ray start --head` printed"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_S) as connection:
            is_head = os.environ.get("RAY_USE_TLS", "0") in _TRUE or _speaks_grpc(connection)
    except (OSError, UnicodeError) as error:
        raise ClusterFault(
            f"nothing answers at --ray-address {address}: {error}"
            "\n  fix: start the cluster with `ray start --head`, and give the address it prints"
        ) from error
    if not is_head:
        raise ClusterFault(
            f"what answers at --ray-address {address} is no head of a Ray cluster"
            "\n  fix: give the address that `ray start --head` printed, such as 10.0.0.5:6379; the "
            "ports of its dashboard and of `ray://` are others"
        )


_TRUE = ("1", "true", "True")
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""Beginning of an HTTP/2 connection, on which gRPC is based (RFC 9113, 3.4): a fixed text and an
empty settings frame. The server answers with a settings frame, which has type 4."""


def _speaks_grpc(connection: socket.socket) -> bool:
    """Whether a server answers in HTTP/2. A Ray head does; most other servers do not."""
    try:
        connection.sendall(_GREETING)
        said = b""
        while len(said) < 4 and (more := connection.recv(4 - len(said))):
            said += more
    except OSError:  # closed or silent
        return False
    return len(said) == 4 and said[3] == 4


def keep_signals() -> None:
    """Restore signal handling: Ray installs a C-level handler that aborts the process. Does
    nothing outside of the main thread, where handlers cannot be set.
    """
    if threading.current_thread() is threading.main_thread():
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.getsignal(one))
