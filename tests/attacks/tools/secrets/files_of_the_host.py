"""Reads the data sets, answers, keys and histories that a host may hold, by every path it knows.

Contained: no file outside the standard library can be opened.
"""

import os

HOMES = ("/root", "/home/user")


def attack(paths):
    opened = []
    guesses = [
        "/etc/passwd",
        "/etc/shadow",
        "/etc/hosts",
        "/var/run/docker.sock",
        "/srv",
        "/home",
        "/root",
        "/tmp",
        "/",
        "/var/log/syslog",
        "/run/secrets",
        "/.dockerenv",
        "/etc/resolv.conf",
        *(f"{home}/{name}" for home in HOMES for name in (".ssh/id_rsa", ".bash_history")),
        *(f"/proc/{process}/root/etc/passwd" for process in ("1", "self")),
    ]
    for path in [*paths, *guesses]:
        for flags in (os.O_RDONLY, os.O_RDWR, os.O_DIRECTORY):
            try:
                number = os.open(path, flags)
            except OSError:
                continue
            try:
                text = os.read(number, 200).decode("latin-1")
            except OSError as error:
                text = error.strerror
            opened.append(f"{path}: {text}")
            os.close(number)
    return f"breach: {opened}" if opened else "held"
