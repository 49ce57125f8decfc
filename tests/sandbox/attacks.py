"""What hostile code tries, as tables. Called without a policy: the isolation alone has to hold.

`HOSTILE` ends in an outcome of its own. `ATTEMPTS` are statements that must each be refused.
`LEAVING` change what they can reach; the call after each of them must not notice.
"""

from __future__ import annotations

import re
import sys

from tests.sandbox.programs import Case, Like, function, module
from toolhop_sandbox.outcome import Died, NotJson, OutOfMemory, Raised, Returned, TimedOut

FORGE = """
import os, struct, threading, time

def send(*frames):
    for descriptor in range(3, 24):
        try:
            for frame in frames:
                os.write(descriptor, frame)
        except OSError:
            pass

def frame(letter, body):
    return struct.pack(">I", len(body) + 1) + letter + body

def hang_up():
    os.closerange(3, 24)

def f():
"""


def forging(name: str, body: str, expected: Died | Returned | Raised | NotJson | Like) -> Case:
    lines = "\n".join("    " + line for line in body.splitlines())
    return Case(name, FORGE + lines, expected)


def died(reason: str) -> Like:
    return Like(Died, reason=re.compile(f".*{reason}.*"))


FORGED = [
    forging("result", "send(frame(b'r', b'[1]'))\nos._exit(0)", Returned("[1]")),
    forging("result-then-spin", "send(frame(b'r', b'[1]'))\nwhile True: pass", Returned("[1]")),
    forging("two-results", "send(frame(b'r', b'1'), frame(b'r', b'2'))", Returned("1")),
    forging("result-is-no-json", "send(frame(b'r', b'{'))", Like(NotJson)),
    forging("result-is-no-utf-8", "send(frame(b'r', b'\\xff'))", Like(NotJson)),
    forging("result-is-nan", "send(frame(b'r', b'NaN'))", Like(NotJson)),
    forging("result-is-infinite", "send(frame(b'r', b'[1e999]'))", Like(NotJson)),
    forging("result-is-empty", "send(frame(b'r', b''))", Like(NotJson)),
    forging("result-is-deep", "send(frame(b'r', b'[' * 500000))", Like(NotJson)),
    forging("oversized", "send(b'\\xff\\xff\\xff\\xff' + b'r' * 1000)", died("written it itself")),
    forging("nothing-in-it", "send(b'\\0\\0\\0\\0')", died("written it itself")),
    forging("garbage", "send(b'\\0\\0\\0\\5zzzzz')", died("written it itself")),
    forging("truncated", "send(b'\\0\\0\\0\\x63r123')\nos._exit(0)", died("exit code 0")),
    forging("code", "send(frame(b'c', b'evil'))", died("written it itself")),
    forging("outcome-is-no-json", "send(frame(b'o', b'{'))", died("written it itself")),
    forging("outcome-of-no-kind", "send(frame(b'o', b'{}'))", died("written it itself")),
    *(
        forging(f"claims-{kind}", f"send(frame(b'o', b'{text}'))", died("written it itself"))
        for kind, text in {
            "returned": '{"kind": "returned", "json_text": "[1]"}',
            "timed-out": '{"kind": "timed_out", "limit_s": 1.0}',
            "refused": '{"kind": "refused", "reason": "x"}',
            "died": '{"kind": "died", "reason": "x"}',
        }.items()
    ),
    forging(
        "raised-at-length",
        'send(frame(b\'o\', b\'{"kind": "raised", "error": "%s", "message": "%s"}\''
        " % (b'E' * 9999, b'm' * 9999)))",
        Raised("E" * 200, "m" * 4000),
    ),
    forging("hang-up-and-spin", "hang_up()\nwhile True: pass", died("closed its connection")),
    forging("hang-up-and-exit", "hang_up()\nos._exit(5)", died("exit code 5")),
    forging(
        "byte-by-byte",
        "for byte in frame(b'r', b'[1]'):\n    send(bytes([byte]))\n    time.sleep(0.001)",
        Returned("[1]"),
    ),
]

ENDING = [
    module("exit", "import os\ndef f():\n    os._exit(7)", died("exit code 7")),
    module("exit-0", "import os\ndef f():\n    os._exit(0)", died("exit code 0")),
    module("exit-at-module-level", "import os\nos._exit(7)", died("exit code 7")),
    module("segfault", "import ctypes\ndef f():\n    ctypes.string_at(0)", died("signal 11")),
    module("abort", "import os\ndef f():\n    os.abort()", died("signal 6")),
    module(
        "stack-overflow",
        """
        import sys
        def f():
            sys.setrecursionlimit(10 ** 9)
            value = 0
            for _ in range(10 ** 6):
                value = [value]
            return repr(value)
        """,
        # Newer interpreters count recursion in C as well.
        Like(Raised, error="RecursionError")
        if sys.version_info >= (3, 12)
        else died("signal 11"),
    ),
    module(
        "sleep", "import time\ndef f():\n    time.sleep(60)", TimedOut(0.3), wall_s=0.3
    ),
    module(
        "sleeping-threads",
        """
        import threading, time
        def f():
            for _ in range(5):
                threading.Thread(target=time.sleep, args=(60,)).start()
            while True:
                time.sleep(1)
        """,
        TimedOut(0.3),
        wall_s=0.3,
    ),
    module(
        "blocked-signals",
        """
        import signal
        def f():
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
            while True:
                pass
        """,
        TimedOut(0.3),
        wall_s=0.3,
    ),
    module(
        "memory-caught",
        """
        def f():
            kept = []
            while True:
                try:
                    kept.append(bytearray(1 << 20))
                except MemoryError:
                    return kept.nothing
        """,
        Raised("AttributeError", "'list' object has no attribute 'nothing'", 7),
    ),
    module(
        "memory-by-mmap",
        "import mmap\ndef f():\n    mmap.mmap(-1, 1 << 40)",
        Like(Raised, error="OSError"),
    ),
    module(
        "no-memory-to-say-so",
        """
        def f():
            global kept
            kept, size = [], 1 << 20
            while size:
                try:
                    kept.append(bytearray(size))
                except MemoryError:
                    size >>= 1
            raise MemoryError
        """,
        OutOfMemory(256),
    ),
    module(
        "lying-exception",
        """
        class Meta(type):
            __name__ = property(lambda cls: 1 / 0)
        class Odd(Exception, metaclass=Meta):
            __traceback__ = property(lambda self: 1 / 0)
            def __str__(self):
                class Text(str):
                    def __getitem__(self, key):
                        return object()
                return Text("é")
        def f():
            raise Odd
        """,
        Raised("Odd", "é", 11),
    ),
    function("long-name", "raise type('A' * 10 ** 6, (Exception,), {})('b')",
             Raised("A" * 200, "b", 2)),
    module(
        "value-with-code",
        "class D(dict):\n    def items(self):\n        raise SystemExit\n"
        "def f():\n    return D(a=1)",
        Like(NotJson),
    ),
]  # fmt: skip

ATTEMPTS = {
    "fork": "os.fork()",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "exec": "os.execv('/proc/self/exe', ['x'])",
    "subprocess": "subprocess.run(['true'])",
    "socket": "socket.socket()",
    "unix-socket": "socket.socket(socket.AF_UNIX)",
    "kill-parent": "os.kill(os.getppid(), 9)",
    "kill-all": "os.kill(-1, 0)",
    "kill-init": "os.kill(1, 9)",
    "kill-group": "os.killpg(0, 9)",
    "limit-parent": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))",
    "limit-init": "resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))",
    "signal-owner": "fcntl.fcntl(fd, fcntl.F_SETOWN, os.getppid())",
    "owner-signal": "fcntl.fcntl(fd, 10, 9)",
    "signal-owner-by-ioctl": "fcntl.ioctl(fd, 0x8901, struct.pack('i', os.getppid()))",
    "thread-of-parent": "libc('tgkill', 234, os.getppid(), os.getppid(), 9)",
    "ptrace": "libc('ptrace', 101, 16, os.getppid(), 0, 0)",
    "read-memory": "open('/proc/%d/mem' % os.getppid(), 'rb')",
    "own-memory": "open('/proc/self/mem', 'r+b')",
    "descriptors": "os.listdir('/proc/%d/fd' % os.getppid())",
    "environment-of-parent": "open('/proc/%d/environ' % os.getppid(), 'rb')",
    "passwords": "open('/etc/passwd')",
    "home": "os.listdir('/root')",
    "root": "os.listdir('/')",
    "write-temporary": "open('/tmp/toolhop-left', 'w')",
    "write-shared-memory": "open('/dev/shm/toolhop-left', 'w')",
    "write-library": "open(os.__file__, 'a')",
    "make-folder": "os.mkdir('/tmp/toolhop-left')",
    "temporary-file": "tempfile.TemporaryFile()",
    "change-folder": "os.chdir('/tmp')",
    "change-user": "os.setuid(0)",
    "change-root": "os.chroot('/')",
    "mount": "libc('mount', 165, 0, b'/', 0, 0, 0)",
    "namespace": "libc('unshare', 272, 0x10000000)",
    "system-v-memory": "libc('shmget', 29, 1, 4096, 0o1777)",
    "message-queue": "libc('mq_open', 240, b'left', 0o102, 0o666, 0)",
    "memory-file": "os.memfd_create('left')",
    "keys": "libc('add_key', 248, b'user', b'left', b'x', 1, -4)",
    "dumpable": "libc('prctl', 157, 4, 1, 0, 0, 0)",
    "more-files": "[os.dup(fd) for _ in range(100)]",
    "priority": "os.nice(5)",
}
"""Statements that must raise OSError; call numbers are those of x86-64."""

ATTEMPT = """
import ctypes, fcntl, os, resource, socket, struct, subprocess, tempfile

def libc(name, number, *arguments):
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    given = [ctypes.c_long(a) if type(a) is int else a for a in arguments]
    if call(ctypes.c_long(number), *given) < 0:
        raise OSError(ctypes.get_errno(), name)

def f():
    fd = os.dup(0)
    try:
        %s
    except OSError as error:
        return type(error).__name__
    return "done"
"""

LEAVING = {
    "globals": "global LEFT\nLEFT = 1",
    "builtins": "import builtins\nbuiltins.len = lambda _: 42\nbuiltins.LEFT = 1",
    "no-builtins": "import builtins\nvars(builtins).clear()",
    "json": "import json\njson.dumps = lambda *_, **__: '666'\njson.loads = None",
    "socket": "import socket\nsocket.socket.sendall = None",
    "worker": "import sys\nsys.modules['toolhop_sandbox.worker.standby'].run = None\n"
    "sys.modules['toolhop_sandbox.worker.wire'].frame = None",
    "modules": "import sys\nsys.modules.clear()",
    "path": "import sys\nsys.path[:] = ['/tmp']",
    "random": "import random\nrandom.seed(1)",
    "environment": "import os\nos.environ['LEFT'] = '1'\nos.environ.pop('TZ', None)",
    "time-zone": "import os, time\nos.environ['TZ'] = 'Asia/Tokyo'\ntime.tzset()",
    "locale": "import locale\nlocale.setlocale(locale.LC_ALL, 'C')",
    "recursion": "import sys\nsys.setrecursionlimit(50)",
    "digits": "import sys\nsys.set_int_max_str_digits(0)",
    "decimal": "import decimal\ndecimal.getcontext().prec = 2",
    "hooks": "import sys\nsys.settrace(lambda *_: None)\nsys.excepthook = None",
    "signals": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.alarm(1)",
    "collector": "import gc\ngc.disable()",
    "limits": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 27, 1 << 27))",
    "descriptors": "import os\nos.closerange(0, 3)",
    "umask": "import os\ntry:\n    os.umask(0o777)\nexcept OSError:\n    pass",
    "exit-handler": "import atexit, time\natexit.register(time.sleep, 60)",
    "thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
    "busy-thread": "import threading\ndef spin():\n    while True:\n        pass\n"
    "threading.Thread(target=spin).start()",
    "many-threads": "import threading, time\ntry:\n    while True:\n"
    "        threading.Thread(target=time.sleep, args=(60,)).start()\n"
    "except (RuntimeError, MemoryError):\n    pass",
    "small-threads": "import threading, time\nthreading.stack_size(65536)\ntry:\n"
    "    for _ in range(500):\n"
    "        threading.Thread(target=time.sleep, args=(60,)).start()\n"
    "except (RuntimeError, MemoryError):\n    pass",
}
"""Statements of a function that then returns 1."""

MAY_LOSE_ITS_REPLY = {"builtins", "no-builtins", "json", "socket", "worker", "modules", "recursion"}
"""Those that break their own process: what comes of them is their affair."""
