"""What `toolhop construct` accepts, rejects and keeps, by its scripted constructors.

    python -m benchmarks.construct plants [--each 2]     every kind of fault, at first and for good
    python -m benchmarks.construct sixty                 60 items, checked by other commands
    python -m benchmarks.construct kills [--kills 50]    killed over and over
    python -m benchmarks.construct cache [--kills 50]    the same, each time into a new folder

Each is a folder under ``--out`` that `toolhop construct --show` reads. No model is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.scripted.constructor.hostile import KINDS
from toolhop_agents.scripted.constructor.model import constructing, plant_of
from toolhop_env.messages import Reply
from toolhop_env.statistics.agreement import wilson
from toolhop_tools.construct.accept import CONSTANTS

KEY = {**os.environ, "OPENAI_API_KEY": "none is needed on loopback"}
TOOLHOP = [sys.executable, "-c", "from toolhop_agents.cli import main; main()"]


def construct(*arguments: str) -> list[str]:
    return [*TOOLHOP, "construct", *arguments]


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    found = []
    for line in (folder / "ledger.jsonl").read_text(encoding="utf-8").split("\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["kind"] == kind:
            found.append(row)
    return found


def interval(part: int, whole: int) -> str:
    low, high = wilson(part / whole, whole)
    return f"{part} of {whole} (95 %: {100 * low:.1f} to {100 * high:.1f} %)"


def plants(out: Path, sandbox: str, each: int) -> None:
    folder, count = fresh(out / "plants"), 2 * len(KINDS) * each
    subprocess.run(
        construct("--domain", "General", "--items", str(count), "--model", "scripted/faulty",
                  "--out", str(folder), "--least-yield", "0", "--sandbox", sandbox,
                  "--at-a-time", "3"),
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    passed: Counter[tuple[str, bool]] = Counter()
    unseen: Counter[str] = Counter()
    wrong = []
    for row in rows(folder, "item"):
        kind, stubborn, _ = plant_of(row["item"])
        passed[kind, stubborn] += row["accepted"]
        at_first = all(one["replies"] <= 1 and not one["returned"] for one in row["steps"])
        unseen[kind] += row["accepted"] and at_first and not stubborn
        if row["accepted"] == stubborn or (row["accepted"] and at_first):
            wrong.append((row["item"], kind, row.get("why", "accepted")))
    print(f"{len(KINDS)} kinds, {count} plants")
    accepted = sum(passed[kind, True] for kind in KINDS)
    repaired = sum(passed[kind, False] for kind in KINDS)
    print(f"accepted with the fault: {interval(accepted + unseen.total(), count)}")
    print(f"repairable ones repaired and accepted: {interval(repaired, count // 2)}")
    for item, kind, why in wrong:
        print(f"  {item}: {kind}: {why}")


def sixty(out: Path, sandbox: str, items: int) -> None:
    folder = fresh(out / "sixty")
    started = time.monotonic()
    subprocess.run(
        construct("--domain", "General", "--items", str(items), "--model", "scripted/honest",
                  "--out", str(folder), "--sandbox", sandbox),
        check=True,
    )  # fmt: skip
    print(f"{time.monotonic() - started:.0f} s")
    data, again = str(folder / "items.jsonl"), folder / "again.jsonl"
    for title, arguments in (
        ("data validate", ["data", "validate", data]),
        ("certify anew", ["certify", data, "--out", str(again), "--json", "--sandbox", sandbox]),
        ("check", ["check", data, "--sandbox", sandbox, "--store", str(folder / "store")]),
    ):
        done = subprocess.run([*TOOLHOP, *arguments], capture_output=True, text=True, check=False)
        print(f"{title}: exit code {done.returncode}; {done.stderr.strip().splitlines()[-1:]}")
    verdicts = Counter(json.loads(line)["verdict"] for line in again.read_text().splitlines())
    print(f"certificates made anew: {dict(verdicts)}")
    same = again.read_bytes().splitlines()
    kept = (folder / "certificates.jsonl").read_bytes().splitlines()
    print(f"the same certificates as those that came with it: {sorted(same) == sorted(kept)}")
    agents = ["oracle", "do-nothing", *(f"constant:{text}" for text in CONSTANTS)]
    for kind in ("process", "docker"):
        for agent in agents if kind == "process" else agents[:1]:
            done = subprocess.run(
                [*TOOLHOP, "run", "--data", data, "--agent", agent, "--sandbox", kind,
                 "--log-dir", str(folder / "runs"), "--json"],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            print(f"{agent} in {kind}: exit code {done.returncode}: {strict(done.stdout)}")


def strict(text: str) -> str:
    try:
        [found] = json.loads(text)["summaries"]
    except (ValueError, LookupError):
        return text[-300:]
    return f"strict {found['strict']['value']:.3f} over {found['strict']['count']}"


def kills(out: Path, sandbox: str, count: int, items: int) -> None:
    begin = ["--domain", "General", "--items", str(items), "--model", "scripted/clumsy",
             "--least-yield", "0", "--sandbox", sandbox]  # fmt: skip
    files = ("items.jsonl", "certificates.jsonl", "books.jsonl", "funnel.json")
    killed_over_and_over(out, begin, files, count)


def killed_over_and_over(out: Path, begin: list[str], files: Sequence[str], count: int) -> None:
    plain, killed = fresh(out / "unkilled"), fresh(out / "killed")
    subprocess.run(construct(*begin, "--out", str(plain)), check=True, stdout=subprocess.DEVNULL)
    wanted, rng, done = len(rows(plain, "reply")), random.Random(7), 0
    command = construct(*begin, "--out", str(killed))
    while done < count:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        before = size(killed)
        more = rng.randint(1, max(2, 2 * wanted // count))
        while process.poll() is None and size(killed) < before + more:
            time.sleep(0.02)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        done += 1
        command = construct("--resume", str(killed))
    subprocess.run(construct("--resume", str(killed)), check=True, stdout=subprocess.DEVNULL)
    keys = [row["key"] for row in rows(killed, "reply")]
    twice = len(keys) - len({*keys})
    print(f"{done} kills; {wanted} replies without a kill")
    print(f"replies in the killed folder's ledger: {len(keys)}, keys twice: {twice}")
    for name in files:
        same = (plain / name).read_bytes() == (killed / name).read_bytes()
        print(f"{name}: {'the same bytes' if same else 'DIFFERENT'}")


def cache(out: Path, sandbox: str, count: int, items: int) -> None:
    plain, kept = fresh(out / "uncached"), fresh(out / "cache")
    begin = ["--domain", "General", "--items", str(items), "--least-yield", "0",
             "--sandbox", sandbox, "--model", "openai/scripted"]  # fmt: skip
    play, asked, rng = constructing("clumsy"), Counter[str](), random.Random(7)

    def counted(request: Request) -> Reply:
        asked[json.dumps(request.body["messages"])] += 1
        return play(request)

    def command(folder: Path, url: str) -> list[str]:
        own = ["--base-url", url, "--cache", str(kept), "--out", str(folder)]
        return construct(*begin, *own)

    with LoopbackServer(play) as server:
        subprocess.run(
            construct(*begin, "--base-url", server.base_url, "--out", str(plain)),
            check=True, stdout=subprocess.DEVNULL, env=KEY,
        )  # fmt: skip
    wanted, done = len(rows(plain, "reply")), 0
    with LoopbackServer(counted) as server:
        while done < count:
            process = subprocess.Popen(
                command(fresh(out / "cut"), server.base_url), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True, env=KEY,
            )  # fmt: skip
            before, more = server.requests, rng.randint(1, max(2, 2 * wanted // count))
            while process.poll() is None and server.requests < before + more:
                time.sleep(0.01)
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGKILL)
            process.wait()
            done += 1
        last = fresh(out / "last")
        subprocess.run(
            command(last, server.base_url), check=True, stdout=subprocess.DEVNULL, env=KEY
        )
    total = asked.total()
    print(f"{done} kills, each into a new folder; {wanted} replies without cache or kill")
    print(f"requests {total}, of which asked again as they were under way: {total - len(asked)}")
    for name in ("items.jsonl", "certificates.jsonl", "books.jsonl", "funnel.json"):
        a, b = ((folder / name).read_bytes() for folder in (plain, last))
        print(f"{name}: {'the same bytes' if a == b else 'DIFFERENT'}")


def size(folder: Path) -> int:
    path = folder / "ledger.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["plants", "sixty", "kills", "cache"])
    parser.add_argument("--out", type=Path, default=Path("construct-benchmark"))
    parser.add_argument("--sandbox", default="process")
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--kills", type=int, default=50)
    given = parser.parse_args()
    if given.what == "plants":
        plants(given.out, given.sandbox, given.each)
    elif given.what == "sixty":
        sixty(given.out, given.sandbox, given.items or 60)
    elif given.what == "cache":
        cache(given.out, given.sandbox, given.kills, given.items or 3)
    else:
        kills(given.out, given.sandbox, given.kills, given.items or 6)


if __name__ == "__main__":
    main()
