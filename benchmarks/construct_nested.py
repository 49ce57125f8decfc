"""What `toolhop construct --kind nestools` accepts, rejects and keeps.

    python -m benchmarks.construct_nested real FILE       the checker on NesTools' own rows, as code
    python -m benchmarks.construct_nested forms           depths 2-6, widths 1-4, from a pool
    python -m benchmarks.construct_nested items           certified items
    python -m benchmarks.construct_nested plants          every kind of fault, at first and for good
    python -m benchmarks.construct_nested kills           killed over and over

Scripted constructors only; each part but the first leaves folders under ``--out``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.construct import (
    TOOLHOP,
    construct,
    fresh,
    interval,
    killed_over_and_over,
    rows,
)
from toolhop_agents.scripted.constructor.model import plant_of
from toolhop_agents.scripted.constructor.nest_plants import READ
from toolhop_agents.scripted.constructor.nest_plants_later import ALL, LATER
from toolhop_tools.construct.nested.code import Wanted, chain_findings
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.nested.writing import as_code

FILES = ("test_data.jsonl", "test_api_ids.jsonl", "test_prompt.jsonl", "provenance.jsonl",
         "books.jsonl", "funnel.json")  # fmt: skip
NESTED = ("--kind", "nestools", "--least-yield", "0")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def real(path: Path) -> None:
    """Rows as code, and back."""
    taken = same = 0
    found = lines(path)
    why: Counter[str] = Counter()
    for row in found:
        findings, nest = chain_findings(as_code(Nest.from_row(row)), Wanted())
        taken += findings.ok
        why.update(findings.failed)
        task = " ".join(row["task"].split())
        same += nest is not None and nest.to_row(row["test_id"], row["field"]) == {
            **row, "task": task
        }  # fmt: skip
    print(f"taken: {interval(taken, len(found))}; the same row comes back: {same}; {dict(why)}")


def certificates(out: Path, data: str, sandbox: str) -> str:
    path = out / f"{Path(data).stem}.certificates.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([*TOOLHOP, "certify", data, "--out", str(path), "--sandbox", sandbox],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return str(path)


def made(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        construct(*NESTED, *arguments, "--out", str(fresh(folder))),
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    print(done.stderr.strip())


def scored(folder: Path) -> None:
    """The gold and a wrong agent, by the benchmark's own command; by mode."""
    data = str(folder / "test_data.jsonl")
    done = subprocess.run(
        [*TOOLHOP, "data", "validate", data], check=False, capture_output=True, text=True
    )
    print(done.stdout.strip() or done.stderr.strip())
    for agent, mode in (("gold", "base"), ("gold", "calls"), ("all-tools", "base")):
        done = subprocess.run(
            [*TOOLHOP, "run", "--data", data, "--agent", agent, "--mode", mode, "--json",
             "--turn-limit", "30",
             "--log-dir", str(folder / "runs")],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        [summary] = json.loads(done.stdout)["summaries"]
        names = ("tree", "format", "selection_f1", "order_f1", "param_f1", "nested_f1", "average")
        values = {name: summary[name] for prefix in ("", "strict_") for name in
                  (f"{prefix}{one}" for one in names)}  # fmt: skip
        plain = {name: round(100 * one["value"], 1) for name, one in values.items() if one}
        print(f"{agent}, {mode}: {plain}")


def forms(out: Path, data: str, sandbox: str, each: int) -> None:
    folder = out / "forms"
    made(folder, "--pool", data, "--certificates", certificates(out, data, sandbox), "--items",
         str(20 * each), "--licence", "Apache-2.0", "--distractors", "5",
         "--sandbox", sandbox)  # fmt: skip
    found = lines(folder / "provenance.jsonl")
    print(sorted(Counter((row["depth"], row["width"]) for row in found).items()))
    print(Counter(row["structure"] for row in found))
    print(Counter(one["meaning"] for row in found for one in row["references"]))
    scored(folder)


def items(out: Path, data: str, sandbox: str) -> None:
    folder = out / f"items-{Path(data).stem}"
    made(folder, "--from", data, "--certificates", certificates(out, data, sandbox),
         "--licence", "as DATA has it", "--sandbox", sandbox)  # fmt: skip
    scored(folder)


def plants(out: Path, each: int, *, checker: bool) -> None:
    folder, count = fresh(out / "plants"), 2 * len(ALL) * each
    more = ["--checker", "scripted/honest"] if checker else []
    subprocess.run(
        construct(*NESTED, "--domain", "Harbour", "--items", str(count), "--depth", "3", "--width",
                  "2", "--model", "scripted/faulty", *more, "--out", str(folder)),
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    accepted: Counter[tuple[bool, bool]] = Counter()
    repaired = 0
    for row in rows(folder, "item"):
        kind, stubborn, _ = plant_of(row["item"], ALL)
        at_first = all(one["replies"] <= 1 and not one["returned"] for one in row["steps"])
        wrong = row["accepted"] and (stubborn or at_first)
        accepted[kind in LATER, wrong] += 1
        repaired += row["accepted"] and not stubborn and not at_first
        if wrong:
            print(f"  accepted: {row['item']} with {kind}")
        elif not stubborn and not row["accepted"]:
            print(f"  not repaired: {row['item']} with {kind}: {row['why']}")
    for later, title in ((False, "known kinds"), (True, "later kinds")):
        whole = accepted[later, True] + accepted[later, False]
        print(f"{title}: accepted with the fault: {interval(accepted[later, True], whole)}")
    print(f"{len(ALL)} kinds, {len(LATER)} of them later, {len(READ)} that only a reader finds")
    print(f"repairable ones repaired and accepted: {interval(repaired, count // 2)}")


def kills(out: Path, count: int, tasks: int) -> None:
    begin = [*NESTED, "--domain", "Harbour", "--items", str(tasks), "--depth", "2-4", "--width",
             "1-3", "--model", "scripted/clumsy", "--checker", "scripted/honest",
             "--distractors", "1"]  # fmt: skip
    killed_over_and_over(out, begin, FILES, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["real", "forms", "items", "plants", "kills"])
    parser.add_argument("data", nargs="?", default="builtin")
    parser.add_argument("--out", type=Path, default=Path("construct-nested-benchmark"))
    parser.add_argument("--sandbox", default="process")
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--no-checker", action="store_true")
    given = parser.parse_args()
    match given.what:
        case "real":
            real(Path(given.data))
        case "forms":
            forms(given.out, given.data, given.sandbox, given.each)
        case "items":
            items(given.out, given.data, given.sandbox)
        case "plants":
            plants(given.out, given.each, checker=not given.no_checker)
        case _:
            kills(given.out, given.kills, given.tasks)


if __name__ == "__main__":
    main()
