"""The protocol between host and worker; both sides import this module.

There are two channels, so that untrusted code holds only the second:

*Control*: a ``SOCK_SEQPACKET`` pair between host and zygote. A packet is one letter, an 8-byte
standby number and at most one file descriptor.

*Connection*: one stream socket pair per standby, one end of which is passed to the zygote with
`SPAWN`. A frame is a 4-byte big-endian length, one letter, and a body. The host sends `COMPILE`, or
`LOAD` and then `RUN`; the standby answers once and ends.
"""

from __future__ import annotations

import struct

# Control, host to zygote
SPAWN = b"S"  # number, with the connection's descriptor; may be followed by numbers to end first
KILL = b"K"  # number: end it, without reporting how
END = b"E"  # number, then 4-byte milliseconds that it may take to end by itself; answered
RESET = b"R"  # end all standbys except those whose numbers follow; number is echoed when done
PING = b"P"  # number is echoed, followed by the number of the worker's processes
# Control, zygote to host
HELLO = b"H"  # number 0, then JSON: facts about the worker and its lockdown
ENDED = b"e"  # answers END: number, then `STATUS`; no status if it could not be forked

# Connection, host to standby
COMPILE = b"C"  # JSON {source, policy}
LOAD = b"L"  # 4-byte length, lines function policy memory_mib cpu_s result_bytes, then code
RUN = b"X"  # JSON object of arguments
# Connection, standby to host
CODE = b"c"  # the compiled code, opaque to the host
RESULT = b"r"  # the returned value's JSON
OUTCOME = b"o"  # JSON {kind, ...} of an outcome that is not a result

FAULT_EXIT_CODE = 70
"""Exit code of a standby that fails through our own exception; EX_SOFTWARE of sysexits.h."""

PACKET = struct.Struct(">cQ")
STATUS = struct.Struct(">i?")
"""Exit code (negative for a signal), and whether the worker had to kill it."""
NUMBER = struct.Struct(">Q")
MILLISECONDS = struct.Struct(">I")
LENGTH = struct.Struct(">I")

PACKET_BYTES = 4096
"""Upper bound of a control packet's size."""


def packet(letter: bytes, number: int, rest: bytes = b"") -> bytes:
    """Return a control packet."""
    return PACKET.pack(letter, number) + rest


def unpack(data: bytes) -> tuple[bytes, int, bytes]:
    """Return the letter, number and rest of a control packet.

    Raises:
        ValueError: `data` is shorter than a packet's header.
    """
    if len(data) < PACKET.size:
        raise ValueError(f"a control packet of {len(data)} bytes; at least {PACKET.size} expected")
    letter, number = PACKET.unpack_from(data)
    return letter, number, data[PACKET.size :]


def frame(letter: bytes, body: bytes) -> bytes:
    """Return a frame for the connection."""
    return LENGTH.pack(len(body) + 1) + letter + body
