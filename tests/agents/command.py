"""The product's own command: as a process of its own, or within this one where that is the same.

A process spends most of a second on imports. So what a command says and writes is tested here
within the tests' own process; kills, signals, what a terminal sees and what is imported are tested
on `TOOLHOP`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner

from toolhop_agents.cli import main

TOOLHOP = [sys.executable, "-c", "from toolhop_agents.cli import main; main()"]
"""As this interpreter runs it, wherever its script was installed."""


def toolhop(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What the command with these arguments comes to, within this process.

    Args:
        arguments: what follows ``toolhop``.
        cwd: the folder that it runs in; this one's if None.
        env: the whole environment; if None, this one's without the product's settings.
    """
    if env is None:
        ours = ("TOOLHOP", "COLUMNS")
        env = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    env, before, arguments_before = dict(env), dict(os.environ), sys.argv
    with chdir(cwd or Path.cwd()), CliRunner().isolation() as (out, err, _):
        try:
            os.environ.clear()
            os.environ.update(env)
            sys.argv = ["toolhop", *arguments]
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        finally:
            sys.argv = arguments_before
            os.environ.clear()
            os.environ.update(before)
        sys.stdout.flush()
        sys.stderr.flush()
        texts = out.getvalue().decode(), err.getvalue().decode()
    return subprocess.CompletedProcess(["toolhop", *arguments], code, *texts)
