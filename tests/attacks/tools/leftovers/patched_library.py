"""Replaces what the worker itself uses: json, socket, struct, os, and the worker's own functions.

Contained: it spoils its own reply at most; the next process has the library as it was.
"""

import json
import os
import socket
import struct
import sys


def attack():
    json.dumps = json.loads = lambda *_, **__: '"breach: patched"'
    struct.Struct.pack = None if False else struct.pack
    socket.socket.sendall = lambda *_: None
    for name, module in list(sys.modules.items()):
        if name.startswith("toolhop_sandbox.worker"):
            for key, value in list(vars(module).items()):
                if callable(value):
                    setattr(module, key, lambda *_, **__: b"")
    os._exit = lambda code: None
    return "held"
