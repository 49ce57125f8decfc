"""What happens when a real, small model makes items and reads them.

    python -m studies.small_model FILE.gguf [--items 2] [--read 6] [--out FOLDER]

The model is served from its file on this machine (extra ``local``; docs/local-model.md). It makes
items for a domain, and it reads some of the items that `studies.readers` keeps. Slow: one reply
takes seconds to minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from studies.blind_replies import Asked, Kept, read_all
from studies.readers import FOLDER
from studies.running import ENVIRONMENT, fresh, rows, run, toolhop
from toolhop_agents.models.gguf import model_name

TIMEOUT_S = 1800.0
MOST_TOKENS = 500
"""Of one reply: a model of this size seldom ends by itself."""


@contextmanager
def served(path: Path, threads: int) -> Iterator[str]:
    """The address of a model out of a file."""
    command = toolhop("serve", "--gguf", str(path), "--gguf-threads", str(threads))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 -- a pipe was asked for
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def constructs(model: str, address: str, items: int, out: Path) -> Iterator[str]:
    """The model as a constructor."""
    started = time.monotonic()
    done = run(
        "construct", "from-domain", "Geography", "--items", str(items), "--model", model,
        "--base-url", address, "--max-tokens", str(MOST_TOKENS), "--timeout", str(TIMEOUT_S),
        "--repairs", "2", "--max-samples", "1", "--least-yield", "0", "--sandbox", "process",
        "--out", str(fresh(out)), check=False,
    )  # fmt: skip
    finished, replies = rows(out, "item"), rows(out, "reply")
    accepted = sum(row["accepted"] for row in finished)
    yield (
        f"as a constructor: exit code {done.returncode}, traceback "
        f"{'Traceback' in done.stderr}; {accepted} of {len(finished)} accepted, {len(replies)} "
        f"replies, {time.monotonic() - started:.0f} s"
    )
    usage = [row["usage"] for row in replies]
    tokens = [sum(own[name] or 0 for own in usage) for name in ("input_tokens", "output_tokens")]
    yield f"    tokens {tokens[0]:,} in, {tokens[1]:,} out"
    for row in finished:
        stage = row.get("place", ["", 0])[0]
        yield f"    {row['item']}: {stage}: {row.get('why', 'accepted')}: {row.get('problems')}"
    for row in replies[:2]:
        yield f"    begins: {row['text'][:160]!r}"


def reads(model: str, address: str, count: int, out: Path) -> Iterator[str]:
    """The model as a reader of items that people wrote."""
    started, kept = time.monotonic(), Kept.open(fresh(out))
    items = Kept.open(FOLDER).items[:count]

    async def ask() -> Counter[str]:
        asked = [Asked("small", model, address)]
        ballots = await read_all(
            items, asked, kept, timeout_s=TIMEOUT_S, at_a_time=1, max_tokens=MOST_TOKENS
        )
        return Counter(ballot.vote.value for own in ballots.values() for ballot in own)

    votes = anyio.run(ask)
    yield (
        f"as a reader of {len(items)} items: {dict(votes)}, {len(kept.replies)} replies, "
        f"{time.monotonic() - started:.0f} s"
    )
    for text in [*kept.replies.values()][:2]:
        yield f"    begins: {text[:160]!r}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--items", type=int, default=2)
    parser.add_argument("--read", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("studies-small-model"))
    given = parser.parse_args()
    if not given.file.is_file():
        parser.error(f"{given.file}: there is no such file; docs/local-model.md says where from")
    with served(given.file, given.threads) as address:
        model = model_name(given.file)
        for line in constructs(model, address, given.items, given.out / "made"):
            print(line, flush=True)
        for line in reads(model, address, given.read, given.out / "read"):
            print(line, flush=True)
    print(json.dumps({"model": model, "most_tokens": MOST_TOKENS}))


if __name__ == "__main__":
    main()
