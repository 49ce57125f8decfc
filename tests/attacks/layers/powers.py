"""Reads in its own status what it may still do. Played where its files can be opened.

Contained: no new privileges, and no capability but to read what is closed to others.
"""


def attack():
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    has = {name: int(status[name], 16) & ~4 for name in ("CapEff", "CapPrm", "CapInh")}
    has["NoNewPrivs"] = 1 - int(status["NoNewPrivs"])
    wide = {name: value for name, value in has.items() if value}
    return f"breach: {wide}" if wide else "held"
