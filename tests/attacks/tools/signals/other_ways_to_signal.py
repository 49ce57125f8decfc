"""Signals the worker by thread, queue, pidfd, timer and the owner of a descriptor.

Contained: each of these calls is refused, or allowed for the caller only.
"""

import ctypes
import fcntl
import os
import signal


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    parent, sent = os.getppid(), []
    # Signal 0 asks only whether one could.
    if libc.tgkill(parent, parent, 0) == 0:
        sent.append("tgkill")
    if libc.sigqueue(parent, 0, 0) == 0:
        sent.append("sigqueue")
    if libc.syscall(434, parent, 0) >= 0:
        sent.append("pidfd_open")
    if libc.syscall(424, 3, 0, 0, 0) >= 0 or ctypes.get_errno() != 1:
        sent.append("pidfd_send_signal")
    event = (ctypes.c_int * 16)(0, 0, 9, 4, parent)  # SIGEV_THREAD_ID
    if libc.timer_create(1, event, (ctypes.c_int * 4)()) == 0:
        sent.append("timer_create")
    pipe = os.pipe()[0]
    for command, value in ((8, parent), (10, signal.SIGURG), (15, 0), (1024, 0), (1026, 1)):
        try:
            fcntl.fcntl(pipe, command, value)
        except OSError:
            continue
        sent.append(f"fcntl {command}")
    for request in (0x8901, 0x8902, 0x5410):
        try:
            fcntl.ioctl(pipe, request, parent.to_bytes(4, "little"))
        except OSError:
            continue
        sent.append(f"ioctl {request:#x}")
    return f"breach: {sent}" if sent else "held"
