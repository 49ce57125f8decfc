"""The container's first process if the host can reach only its standard streams.

It plays the host's part towards the zygote, which it forks: standard input goes to local sockets,
and their output goes to standard output (`attach.mux`). It is trusted code in a separate process,
and only forwards what calls send, without interpreting it.

It is PID 1, so no call can kill it, whatever the kernel lacks. It ends, and everything with it,
when standard input ends (the host is gone) or the zygote does. The zygote may therefore still kill
every process that it sees, as PID 1 is not among them.

    python -m toolhop_sandbox.attach.relay
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys

from toolhop_sandbox.attach import mux
from toolhop_sandbox.worker import lockdown


class StandardStreams:
    """Standard input and output as one stream; implements `mux.Stream`."""

    def __init__(self) -> None:
        os.set_blocking(0, False)
        os.set_blocking(1, False)

    def descriptors(self) -> tuple[int, int]:
        """See `mux.Stream`."""
        return 0, 1

    def read(self) -> bytes:
        """See `mux.Stream`."""
        return os.read(0, mux.CHUNK_BYTES)

    def write(self, data: bytearray) -> int:
        """See `mux.Stream`."""
        return os.write(1, data)

    def close(self) -> None:
        """See `mux.Stream`."""
        os.close(0)
        os.close(1)


def start_zygote() -> socket.socket:
    """Fork the zygote and return the host's end of its control socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        # The child must never return, whatever happens.
        try:
            ours.close()
            from toolhop_sandbox.worker import zygote

            zygote.run(theirs, in_container=True)
        finally:
            os._exit(0)
    theirs.close()
    return ours


def main() -> None:
    """Serve until the host or the zygote is gone.

    Raises:
        SystemExit: this is not a container, where the zygote would kill every process of the
            machine.
    """
    if os.getpid() != 1:
        sys.exit(
            "toolhop_sandbox.attach.relay is the first process of a container and runs nowhere else"
        )
    lockdown.hide()
    lockdown.no_new_privileges()
    control = start_zygote()
    # Orphans of the zygote are adopted here, and their exit codes ignored. Only now, as the
    # zygote waits for its own children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(mux.Hangup, mux.Broken):
        mux.Mux(StandardStreams(), control, leads=False).run()


if __name__ == "__main__":
    main()
