"""The table of results.md that says of each step what notices its absence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.attacks.sabotage import Seen
from tests.attacks.steps import Step, steps

HEADING = "\n## Every step, and what notices its absence\n"
SHOWN = 3
"""Names in a cell; of the others their number."""
_PROSE = """
Each step was left out, and the attacks and probes named beside it were played: none of them was
contained then, and all of them were with the step in place. Where another step stops the same
first, that one was left out in both trials. Probes are `tests/attacks/layers/*.py`, which ask the
kernel, and functions of `tests/attacks/host_probes.py`, which look from the host's side.
"""
_POLICY = """
Of the policy, each guard was left out and its probes were played: sources that must be refused
(`tests/sandbox/policy_refused.py`), and attacks.

| guard of the policy | what notices |
|---|---|
"""


def names(found: list[str]) -> str:
    """Some names for a cell."""
    shown = ", ".join(f"`{name}`" for name in found[:SHOWN])
    return shown + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def _cell(step: Step, seen: Seen, kind: str) -> str:
    if step.key not in seen.without:
        return "no container" if kind == "process" else "as beside"
    noticed = [name for name, problems in seen.without[step.key].items() if problems]
    return names(noticed) or "another wall holds"


def rows(seen: Mapping[str, Seen]) -> Iterator[str]:
    """One line for each step."""
    for key, step in steps().items():
        process, docker = (_cell(step, seen[kind], kind) for kind in ("process", "docker"))
        behind = ", ".join(step.behind)
        yield f"| {key} | {step.stops} | {process} | {docker} | {behind} |"


def table(seen: Mapping[str, Seen], guards: Mapping[str, list[str]]) -> str:
    """The part of the page, without its heading; `guards` is of `sabotage_policy.results`."""
    head = "| step | what it stops | noticed by, process sandbox | in Docker | left out besides |"
    policy = [f"| {key} | {names(found)} |" for key, found in guards.items() if key != "nothing"]
    return "\n".join(
        [_PROSE, head, "|---|---|---|---|---|", *rows(seen), _POLICY.rstrip(), *policy, ""]
    )
