"""The command line that makes a counter-example's call again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from toolhop_sandbox.base import Limits
from toolhop_tools.properties.model import CounterExample, Subject

DEFAULT = Limits(wall_s=2.0)
"""What ``toolhop call`` allows a call where no flag says otherwise."""


def lines(
    found: CounterExample, subject: Subject, data: str, *, limits: Limits, sandbox: str = "auto"
) -> Iterator[str]:
    """Command lines, one for each setting that matters; none where nothing is called."""
    if found.arguments is None:
        return
    head = ["toolhop", "call", "--data", data, subject.id]
    if found.property in ("bad-input", "gold-call", "examples"):
        head.append("--as-model")
    if found.property == "arguments-kept":
        head.append("--after")
    if sandbox != "auto":
        head += ["--sandbox", sandbox]
    if limits.wall_s != DEFAULT.wall_s:
        head += ["--tool-timeout", f"{limits.wall_s:g}"]
    if limits.memory_mib != DEFAULT.memory_mib:
        head += ["--tool-memory", str(limits.memory_mib)]
    sets = [json.dumps(dict(one)) for one in (*found.earlier, found.arguments)]
    if found.property == "independent":
        yield shlex.join([*head, sets[-1]])
        yield shlex.join([*head, *sets])
        return
    for setting in found.settings:
        yield shlex.join(head) + setting.flags + f" {shlex.quote(sets[-1])}"
