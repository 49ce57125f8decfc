"""What `toolhop construct` makes of scripted constructors: items, kills, caches.

    python -m studies.construct sixty                 60 items, checked by other commands
    python -m studies.construct kills [--kills 50]    killed over and over, and resumed
    python -m studies.construct cache [--kills 50]    the same, each time into a new folder

The scripts are served by a process that survives the kills. ``--readers`` adds a second
implementation, three readers, changes of wording and a closed book; ``cache`` has none of these.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from studies.constructor.serving import respond
from studies.running import ENVIRONMENT, first_object, fresh, rows, run, scripts, toolhop
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env.messages import Reply
from toolhop_tools.construct.accept import CONSTANTS

FILES = ("items.jsonl", "certificates.jsonl", "books.jsonl", "funnel.json")
Lines = Iterator[str]


def command(
    script: str, address: str, items: int, sandbox: str, *more: str, readers: bool = False
) -> list[str]:
    """A command that makes items, without the folder."""
    asked = ["--model", f"openai/{script}", "--base-url", address]
    if readers:
        names = ",".join(f"openai/honest@{number}" for number in (1, 2, 3))
        asked += ["--readers", names, "--reader-base-url", address]
        asked += ["--closed-book", "openai/honest@4", "--closed-book-base-url", address]
    return ["construct", "from-domain", "General", "--items", str(items), "--least-yield", "0",
            "--sandbox", sandbox, *asked, *more]  # fmt: skip


def sixty(out: Path, sandbox: str, items: int, *, readers: bool) -> Lines:
    """Items of an honest constructor, put to other commands."""
    folder, started = fresh(out / "sixty"), time.monotonic()
    with scripts() as address:
        run(*command("honest", address, items, sandbox, readers=readers), "--out", str(folder))
    finished = rows(folder, "item")
    accepted = sum(row["accepted"] for row in finished)
    hops = sum(len(row["plan"]) for row in finished if row["accepted"])
    yield f"{accepted} of {items} accepted, {hops} hops, {time.monotonic() - started:.0f} s"
    yield from (f"  {row['item']}: {row['why']}" for row in finished if not row["accepted"])
    data, again = str(folder / "items.jsonl"), folder / "again.jsonl"
    for arguments in (
        ["data", "validate", "--data", data],
        [
            "certify",
            "--data",
            data,
            "--out",
            str(again),
            "--json",
            "--exit-zero",
            "--sandbox",
            sandbox,
        ],
        ["check", "--data", data, "--sandbox", sandbox, "--store", str(folder / "store")],
    ):
        done = run(*arguments, check=False)
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        yield f"{arguments[0]}: exit code {done.returncode}; {' '.join(said)}"
    verdicts = Counter(json.loads(line)["verdict"] for line in again.read_text().splitlines())
    same = sorted(again.read_bytes().splitlines())
    kept = sorted((folder / "certificates.jsonl").read_bytes().splitlines())
    yield f"certified anew: {dict(verdicts)}; the certificates that came with it: {same == kept}"
    agents = ["oracle", "do-nothing", *(f"constant:{text}" for text in CONSTANTS)]
    for kind, own in (("process", agents), ("docker", agents[:1])):
        for agent in own:
            done = run("run", "--data", data, "--agent", agent, "--sandbox", kind,
                       "--log-dir", str(folder / "runs"), "--json", check=False)  # fmt: skip
            yield f"{agent} in {kind}: exit code {done.returncode}; {_strict(done.stdout)}"


def _strict(text: str) -> str:
    try:
        [summary] = first_object(text)["summaries"]
        return f"strict {summary['strict']['value']:.3f} over {summary['strict']['count']}"
    except (KeyError, ValueError):
        return text[-300:]


def kills(out: Path, sandbox: str, count: int, items: int, *, readers: bool) -> Lines:
    """A command that is killed and resumed, beside one that is not."""
    plain, killed = fresh(out / "unkilled"), fresh(out / "killed")
    with scripts() as address:
        begin = command("clumsy", address, items, sandbox, readers=readers)
        run(*begin, "--out", str(plain))
        wanted, done, rng = len(rows(plain, "reply")), 0, random.Random(7)
        now = [*begin, "--out", str(killed)]
        while done < count:
            more = rng.randint(1, max(2, 2 * wanted // count))
            before = _lines(killed)
            if not _killed(now, partial(_lines, killed), before + more):
                break
            done += 1
            now = ["construct", "resume", str(killed)] if killed.exists() else now
        run("construct", "resume", str(killed))
    keys = [row["key"] for row in rows(killed, "reply")]
    yield f"{done} kills; {wanted} replies without a kill"
    yield f"replies in the killed folder's ledger: {len(keys)}, twice: {len(keys) - len({*keys})}"
    yield from _same(plain, killed, [*FILES, "refused.jsonl"] if readers else FILES)


def cache(out: Path, sandbox: str, count: int, items: int) -> Lines:
    """A command that is killed and begun anew, with a cache, beside one without."""
    plain, kept, cut, last = (fresh(out / name) for name in ("uncached", "cache", "cut", "last"))
    asked, rng, done = Counter[str](), random.Random(7), 0

    def counted(request: Request) -> Reply:
        asked[json.dumps(request.body["messages"])] += 1
        return respond(request)

    with LoopbackServer(respond) as server:
        run(*command("clumsy", server.base_url, items, sandbox), "--out", str(plain))
    wanted = len(rows(plain, "reply"))
    with LoopbackServer(counted) as server:
        begin = command("clumsy", server.base_url, items, sandbox, "--cache", str(kept))
        while done < count:
            more, before = rng.randint(1, max(2, 2 * wanted // count)), server.requests
            now = [*begin, "--out", str(fresh(cut))]
            if not _killed(now, lambda: server.requests, before + more):
                break
            done += 1
        run(*begin, "--out", str(last))
    total = asked.total()
    yield f"{done} kills, each into a new folder; {wanted} replies without cache or kill"
    yield f"requests {total}, asked again as they were under way: {total - len(asked)}"
    yield from _same(plain, last, FILES)


def _killed(arguments: Sequence[str], count: Callable[[], int], enough: int) -> bool:
    """Start a command, and kill it once a count is enough; False if it ended before."""
    process = subprocess.Popen(
        toolhop(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, env=ENVIRONMENT,
    )  # fmt: skip
    while process.poll() is None and count() < enough:
        time.sleep(0.02)
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.wait()
    return True


def _same(one: Path, other: Path, names: Sequence[str]) -> Lines:
    for name in names:
        same = (one / name).read_bytes() == (other / name).read_bytes()
        yield f"{name}: {'the same bytes' if same else 'DIFFERENT'}"


def _lines(folder: Path) -> int:
    path = folder / "ledger.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["sixty", "kills", "cache"])
    parser.add_argument("--out", type=Path, default=Path("studies-construct"))
    parser.add_argument("--sandbox", default="process")
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--readers", action="store_true")
    given = parser.parse_args()
    if given.what == "sixty":
        lines = sixty(given.out, given.sandbox, given.items or 60, readers=given.readers)
    elif given.what == "kills":
        number = given.items or 6
        lines = kills(given.out, given.sandbox, given.kills, number, readers=given.readers)
    else:
        lines = cache(given.out, given.sandbox, given.kills, given.items or 3)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
