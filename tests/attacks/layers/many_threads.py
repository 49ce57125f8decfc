"""Starts a hundred threads that wait.

Contained: in a container there is room for some forty.
"""

import threading


def attack():
    threading.stack_size(32768)
    end, started = threading.Event(), []
    try:
        for _ in range(100):
            started.append(threading.Thread(target=end.wait, daemon=True))
            started[-1].start()
    except RuntimeError:
        return "held"
    finally:
        end.set()
    return f"breach: {len(started)} threads"
