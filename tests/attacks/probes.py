"""The honest tools that are called after each attack, to see whether they find anything changed."""

from __future__ import annotations

from tests.sandbox.conformance import FINGERPRINT
from toolhop_sandbox.base import Policy, Program

FULL = (
    FINGERPRINT
    + """
import atexit, math, random, resource

def refused(use):
    try:
        use()
    except OSError as error:
        return error.errno
    return 0

def g(a):
    found = f(a)
    places = ("/tmp", "/dev/shm", "/dev/mqueue", "/run", ".", "/var/tmp")
    names = ("left", "left-flood", "left-folder", "left-pipe", "left-link", "left-hard")
    paths = [f"{place}/toolhop-{name}" for place in places for name in names]
    names = ("AS", "CORE", "CPU", "FSIZE", "NOFILE")
    return found | {
        "process": {"pid": os.getpid(), "parent": os.getppid()},
        "limits": {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names},
        "walls": [refused(lambda: os.open("/proc/self/status", 0)), refused(os.fork)],
        "hash": hash("left"),
        "timers": [signal.getitimer(n) for n in (0, 1, 2)],
        "handlers": [str(signal.getsignal(n)) for n in range(1, 32)],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "profiling": [sys.getprofile() is None, threading.gettrace() is None],
        "importing": [len(sys.meta_path), len(sys.path_hooks), "colorsys" in sys.modules],
        "garbage": [len(gc.callbacks), gc.get_threshold()],
        "exits": atexit._ncallbacks(),
        "switching": sys.getswitchinterval(),
        "root": math.sqrt(2),
        "clock": time.time() > 1.7e9 and time.monotonic() != time.monotonic() - 1,
        # Each container has a name of its own.
        "environment": sorted(item for item in os.environ.items() if item[0] != "HOSTNAME"),
        "files": [path for path in paths if os.path.lexists(path)],
        "drawn": random.random(),
    }
"""
)
"""Without a policy: the fingerprint that the sandboxes' own tests compare, and more."""

PLAIN = """
import collections, datetime, decimal, json, math, random, re, string

def g(a):
    return {
        "argument": a,
        "json": json.dumps(json.loads('{"a": [1, null]}')),
        "root": math.sqrt(2),
        "hash": hash("left"),
        "order": list({"a", "b", "c", "d"}),
        "date": str(datetime.datetime(2020, 1, 31, tzinfo=datetime.timezone.utc)),
        "division": str(decimal.Decimal(1) / decimal.Decimal(3)),
        "match": re.sub("b+", "x", "abbbc"),
        "count": collections.Counter("aab").most_common(1),
        "names": sorted(dir(string)),
        # A library's module is behind this name, and tools are not given one.
        "policy": not hasattr(json, "codecs"),
        "drawn": random.random(),
    }
"""
"""Under the policy: what an honest tool may do."""

HUNGRY = Program("def f(mib):\n    return len(bytearray(b'x') * (mib << 20))", "f")
"""An honest tool that needs much of the memory that it is promised."""


def program(policy: Policy) -> Program:
    """The probe for a policy."""
    return Program(FULL if policy == "none" else PLAIN, "g")
