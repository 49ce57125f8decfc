"""Plants hooks: for imports, audits, tracing, exceptions, garbage, threads, finalizers and exits.

Contained: none is there in the next process, and the worker runs none.
"""

import atexit
import gc
import sys
import threading
import time
import weakref


class Lasting:
    def __del__(self):
        time.sleep(0.01)


def attack():
    sys.meta_path.insert(0, Lasting())
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    sys.addaudithook(lambda *_: None)
    sys.setprofile(lambda *_: None)
    threading.settrace(lambda *_: None)
    sys.excepthook = sys.unraisablehook = sys.displayhook = lambda *_: None
    gc.callbacks.append(lambda *_: None)
    gc.set_threshold(1)
    weakref.finalize(attack, time.sleep, 60)
    atexit.register(time.sleep, 60)
    global kept
    kept = Lasting()
    return "held"
