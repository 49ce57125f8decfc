"""Starts the product's command as processes of its own, many times, and imports it once.

Reads a JSON list of arguments a line; answers with the process's id, and when it has ended with
its wait status. What it prints goes to the file that comes first in the list.
"""

from __future__ import annotations

import json
import os
import sys

import anyio._backends._asyncio
import openai.resources.chat

import toolhop_agents.cli

__all__ = ["anyio", "openai", "toolhop_agents"]


def child(output: str, arguments: list[str]) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in ((null, 0), (file, 1), (file, 2)):
        os.dup2(ours, theirs)
    sys.argv = ["toolhop", *arguments]
    code = 1
    try:
        toolhop_agents.cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    for line in sys.stdin:
        output, *rest = json.loads(line)
        pid = os.fork()
        if pid == 0:
            child(output, rest)
        print(pid, flush=True)  # noqa: T201 -- the answer
        _, status = os.waitpid(pid, 0)
        print(status, flush=True)  # noqa: T201 -- the answer
