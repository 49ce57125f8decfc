"""Makes a call of 32-bit Linux by `int 0x80`, whose numbers mean other calls (2 is `fork`).

Contained: killed on the spot; the filter knows the architecture of a call.
"""

import ctypes
import mmap
import os


def attack():
    if os.uname().machine != "x86_64":
        return "held: not this machine"
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x02\x00\x00\x00\xcd\x80\xc3")  # mov eax, 2; int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if result == 0:
        os._exit(0)
    return f"breach: {result}"
