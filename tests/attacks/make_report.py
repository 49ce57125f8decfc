"""Write the tables of results.md: every attack in every setting, and every step left out.

    python -m tests.attacks.make_report

Takes two minutes and needs a Docker engine. What stands above the tables is written by hand and
stays. Exits with 1 where something got out, or where a step is missed by nothing.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio

from tests.attacks import sabotage, sabotage_policy, steps_table, suite
from tests.attacks.expected import LIMITS_S
from tests.attacks.suite import Attack, Verdict
from toolhop_sandbox.base import Policy

TARGET = Path(__file__).with_name("results.md")
MARKER = "<!-- What follows is written by tests/attacks/make_report.py. -->\n"
Results = Mapping[tuple[str, Policy], Mapping[str, Verdict]]
WORDS = {"value": "its own result", "escaped": "leaves the policy", "seen": "**names seen**"}


def play(kind: str, policy: Policy, attacks: list[Attack]) -> dict[str, Verdict]:
    """Every attack's verdict in one setting."""
    found = {}
    with (
        tempfile.TemporaryDirectory(prefix="attacked-") as folder,
        suite.arena(suite.MAKERS[kind], policy, Path(folder)) as arena,
    ):
        for attack in attacks:
            found[attack.name] = verdict = arena.play(attack)
            for problem in verdict.problems:
                sys.stderr.write(f"{kind} {policy} {attack.name}: {problem}\n")
    return found


def ended(attack: Attack, policy: Policy, verdict: Verdict) -> str:
    """How an attack ended, for the table; the same in every run."""
    if verdict.problems:
        return "**got through**"
    if attack.family == "policy" and policy == "none":
        # What the interpreter alone makes of it says nothing of the sandbox.
        return "no policy to leave"
    if attack.name in ("leftovers/patched_builtins", "leftovers/patched_library"):
        return "spoils its own reply"
    if attack.name in LIMITS_S and verdict.ended == "out of memory":
        return "timed out"
    first, _, rest = verdict.ended.partition(" ")
    if first == "raised" and len(rest) > 40:
        return "raised, cut to length"
    return WORDS.get(first, verdict.ended)


def rows(attacks: list[Attack], results: Results) -> Iterator[str]:
    """One line of the table for each attack."""
    for attack in attacks:
        cells, differs = [], []
        contained = True
        for policy in ("none", "restricted"):
            docker = results["docker", policy][attack.name]
            process = results["process", policy][attack.name]
            contained = contained and not docker.problems and not process.problems
            cells.append(ended(attack, policy, docker))
            if (other := ended(attack, policy, process)) != cells[-1]:
                differs.append(other)
        verdict = "contained" if contained else "**breach**"
        note = f" in Docker only; in the process sandbox: {', '.join(differs)}" if differs else ""
        tries = attack.tries.replace("|", "\\|")
        stops = attack.contained.replace("|", "\\|")
        yield f"| `{attack.name}` | {tries} | {cells[0]} | {cells[1]} | {verdict}{note}: {stops} |"


def table(attacks: list[Attack], results: Results) -> str:
    """The generated part of the page."""
    families = Counter(attack.family for attack in attacks)
    counted = ", ".join(f"{name} {count}" for name, count in families.items())
    total = Counter(
        (setting, not verdict.problems and verdict.ended != "seen")
        for setting, verdicts in results.items()
        for verdict in verdicts.values()
    )
    summary = [
        f"| {kind} | {policy} | {len(attacks)} | {total[(kind, policy), True]} |"
        for kind, policy in suite.SETTINGS
    ]
    return "\n".join(
        [
            f"{len(attacks)} attacks: {counted}.\n",
            "| sandbox | policy | attacks | contained |\n|---|---|---|---|",
            *summary,
            "\n| attack | what it tries | policy none | policy restricted | verdict |",
            "|---|---|---|---|---|",
            *rows(attacks, results),
            "",
        ]
    )


def main() -> int:
    """Play, write, and say whether all was contained and each step missed."""
    attacks = suite.attacks()
    results = {(kind, policy): play(kind, policy, attacks) for kind, policy in suite.SETTINGS}
    seen = {kind: anyio.run(sabotage.play, kind) for kind in suite.MAKERS}
    guards = sabotage_policy.results()
    prose, marker, _ = TARGET.read_text(encoding="utf-8").partition(MARKER)
    made = table(attacks, results) + steps_table.HEADING + steps_table.table(seen, guards)
    TARGET.write_text(prose + (marker or MARKER) + "\n" + made, encoding="utf-8")
    missed = [key for kind, one in seen.items() for key in one.missed(kind)]
    sys.stderr.write("".join(f"not noticed as it must be: {key}\n" for key in missed))
    got_out = any(verdict.problems for found in results.values() for verdict in found.values())
    return int(got_out or bool(missed))


if __name__ == "__main__":
    sys.exit(main())
