"""The words that host and worker exchange; both sides import this one module.

Two channels, so that untrusted code holds only the second:

*Control*: a ``SOCK_SEQPACKET`` pair between host and zygote. A packet is one letter, an 8-byte
standby number and at most one file descriptor.

*Connection*: a stream socket pair a standby, one end passed to the zygote with `SPAWN`. A frame
is a 4-byte big-endian length, one letter, and a body. The host sends `COMPILE`, or `LOAD` and
then `RUN`; the standby answers once, and ends or is put back.
"""

from __future__ import annotations

import struct

# Control, host to zygote
SPAWN = b"S"  # number, with the connection's descriptor; numbers whose calls are over may follow
SPAWN_ONCE = b"T"  # the same, of a standby that is a process of its own, with all a call may use
KILL = b"K"  # number: its call is over
WAIT = b"W"  # number: its EXIT is wanted, now or when it comes; before it is killed
RESET = b"R"  # number is echoed when all are dead but the standbys whose numbers follow
PING = b"P"  # number is echoed, then how many processes there are as far as the worker knows
# Control, zygote to host
HELLO = b"H"  # number 0, then JSON: what the worker is and what it could lock down
EXIT = b"E"  # answers WAIT: number, then a 4-byte signed exit code (negative: the signal)

# Connection, host to standby
COMPILE = b"C"  # JSON {source, policy}
LOAD = b"L"  # 4-byte length, lines function policy memory_mib cpu_s result_bytes, then code
RUN = b"X"  # JSON object of arguments
# Connection, standby to host
CODE = b"c"  # the compiled code, opaque to the host
RESULT = b"r"  # the returned value's JSON
OUTCOME = b"o"  # JSON {kind, ...} of an outcome that is no result

FAULT_EXIT_CODE = 70
"""How a standby ends through an exception of ours; EX_SOFTWARE of sysexits.h."""

PACKET = struct.Struct(">cQ")
STATUS = struct.Struct(">i")
NUMBER = struct.Struct(">Q")
LENGTH = struct.Struct(">I")

PACKET_BYTES = 4096
"""More than any control packet holds."""


def packet(letter: bytes, number: int, rest: bytes = b"") -> bytes:
    """A control packet."""
    return PACKET.pack(letter, number) + rest


def unpack(data: bytes) -> tuple[bytes, int, bytes]:
    """Letter, number and rest of a control packet.

    Raises:
        ValueError: `data` is shorter than a packet's head.
    """
    if len(data) < PACKET.size:
        raise ValueError(f"a control packet of {len(data)} bytes; at least {PACKET.size} expected")
    letter, number = PACKET.unpack_from(data)
    return letter, number, data[PACKET.size :]


def frame(letter: bytes, body: bytes) -> bytes:
    """A frame of the connection."""
    return LENGTH.pack(len(body) + 1) + letter + body
