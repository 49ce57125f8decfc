"""Training data of one small family, for what trains on it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.env import scenes
from toolhop_tools.readers.native import to_row


def write_data(folder: Path, toolhop: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Write items as `family.jsonl`, chats into `sft` and pairs into `dpo`.

    Args:
        folder: an empty one.
        toolhop: runs a command, given its words.
    """
    items, sandbox = str(folder / "family.jsonl"), ("--sandbox", "process")
    rows = (json.dumps(to_row(item)) + "\n" for item in scenes.family())
    (folder / "family.jsonl").write_text("".join(rows))
    done = [toolhop("align", "sft", items, "--repaired", "1", "--mix", "0.6,0.2,0.2", *sandbox,
                    "--out", str(folder / "sft"))]  # fmt: skip
    played = ("run", "--data", items, *sandbox, "--log-dir", str(folder / "logs"), "--agent")
    done += [toolhop(*played, agent) for agent in ("repairing:1", "invents", "goes-on")]
    runs = map(str, sorted((folder / "logs").iterdir()))
    done.append(toolhop("align", "dpo", *runs, "--faults", *sandbox, "--out", str(folder / "dpo")))
    assert [one.returncode for one in done] == [0] * len(done), done[-1].stderr
