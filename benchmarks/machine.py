"""The machine in words, for figures that mean nothing without it."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def described() -> str:
    """Processors, memory, kernel and Python, without names of hosts."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Machine: {os.cpu_count()} processors ({_model()}), {memory:.0f} GiB, "
        f"{platform.system()} {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}."
    )


def _model() -> str:
    path = Path("/proc/cpuinfo")
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
