"""Switches each guard of the policy off in turn, and says which tests notice.

    python -m tests.attacks.sabotage_policy

Prints JSON: guard to the probes and attacks that end otherwise without it. Probes are the sources
of tests/sandbox/policy_refused.py, which say how they must end; attacks are those of the family
``policy`` that the policy itself stops. Exits with 1 where a guard is missed by none.

Nothing can switch a guard off but code that replaces it, as this does in a process of its own. What
a probe changes ends with that process: each that notices is the last of its process.
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.attacks import suite
from tests.attacks.expected import LEAVES, allowed
from tests.sandbox.policy_refused import ATTEMPTS, OTHER_ERRORS, REFUSED
from toolhop_sandbox.worker.policy import (
    ALL_GUARDS,
    PolicyViolation,
    compile_restricted,
    modules,
    restricted_globals,
)
from toolhop_sandbox.worker.policy.replaced import REPLACED
from toolhop_sandbox.worker.policy.transformer import CHECKS, SYNTAX, Checks

LIMIT_S = 20
"""For all probes of one process: without a guard one may run for ever."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A source, and whether the way that it ended is as it must be."""

    name: str
    source: str
    fits: Callable[[str], bool]
    is_attack: bool = False


def probes() -> Iterator[Probe]:
    """All that must end as they do under the whole policy."""
    for name, (source, line) in REFUSED.items():
        yield Probe(f"refused: {name}", source, f"refused {line}".__eq__)
    for name, source in ATTEMPTS.items():
        yield Probe(f"reached: {name}", source, "raised PolicyViolation".__eq__)
    for name, (source, error) in OTHER_ERRORS.items():
        yield Probe(f"reached: {name}", source, _raises(error))
    for attack in suite.attacks():
        if attack.family == "policy" and attack.name not in LEAVES:
            yield Probe(attack.name, attack.source, _ends(attack.name), is_attack=True)


def _raises(error: type[Exception]) -> Callable[[str], bool]:
    kinds = {"raised " + one.__name__ for one in (error, *error.__subclasses__())}
    return kinds.__contains__


def _ends(name: str) -> Callable[[str], bool]:
    return lambda word: allowed(name, "process", "restricted", word)


@dataclass(frozen=True, slots=True)
class Sabotage:
    """The policy but for one guard."""

    checks: Checks = CHECKS
    guards: Mapping[str, object] | None = None
    prepare: Callable[[], None] = lambda: None
    """Run in the process of its own, before the first probe."""
    about: str = ""
    """A word that a source must have for the guard to concern it."""


_UNGUARDED: Mapping[str, object] = {
    "<read>": getattr,
    "<private>": lambda owner, _: owner,
    "<write>": lambda owner: owner,
    "<type>": type,
}


def sabotages() -> dict[str, Sabotage]:
    """Name of a guard to the policy without it."""
    found: dict[str, Sabotage] = {}
    for check in Checks._fields:
        if check != "syntax":
            off: dict[str, Any] = {check: lambda *_: None}
            found[f"names {check}"] = Sabotage(CHECKS._replace(**off))
    for name in SYNTAX:
        rest = {key: why for key, why in SYNTAX.items() if key != name}
        found[f"syntax {name}"] = Sabotage(CHECKS._replace(syntax=rest))
    for name in ALL_GUARDS:
        plain = _UNGUARDED.get(name) or getattr(builtins, name)
        found[f"guard {name}"] = Sabotage(guards={**ALL_GUARDS, name: plain})
    for module in (*modules.HIDDEN, *modules.ONLY):
        found[f"hidden names of {module}"] = Sabotage(prepare=_shows(module), about=module)
    for module, make in REPLACED.items():
        for name in make():
            found[f"{module}.{name}"] = Sabotage(prepare=_unchecks(module, name), about=name)
    return found


def _shows(module: str) -> Callable[[], None]:
    def prepare() -> None:
        for table in ("HIDDEN", "ONLY"):
            kept = {key: names for key, names in getattr(modules, table).items() if key != module}
            setattr(modules, table, kept)
        modules.curated.cache_clear()

    return prepare


def _unchecks(module: str, name: str) -> Callable[[], None]:
    def prepare() -> None:
        rest = {key: one for key, one in REPLACED[module]().items() if key != name}
        setattr(modules, "REPLACED", {**REPLACED, module: lambda: rest})  # noqa: B010 -- it is final
        modules.curated.cache_clear()

    return prepare


def ended(probe: Probe, sabotage: Sabotage) -> str:
    """How a source ends under a policy, in a word or two."""
    try:
        code = compile_restricted(probe.source, checks=sabotage.checks)
    except PolicyViolation as violation:
        return "refused" if probe.is_attack else f"refused {violation.problems[0][0]}"
    except SyntaxError:
        return "no Python"
    namespace: dict[str, Any] = restricted_globals(guards=sabotage.guards)
    try:
        exec(code, namespace)  # noqa: S102 -- the probe
        return str(namespace["attack"]()).partition(":")[0] if probe.is_attack else "ended"
    except BaseException as error:  # noqa: BLE001 -- hostile code may raise anything
        return f"raised {type(error).__name__}"


def noticing(sabotage: Sabotage, left: list[Probe]) -> list[str]:
    """Names of the probes that end otherwise than they must."""
    found: list[str] = []
    while left:
        read, write = os.pipe()
        if not (pid := os.fork()):
            _play(sabotage, left, write)
        os.close(write)
        with os.fdopen(read) as pipe:
            begun = pipe.read().split()
        os.waitpid(pid, 0)
        if begun[-1] == "all":
            break
        # Where the process died or was ended, it was by the last probe that it began.
        found.append(left[int(begun[-1])].name)
        left = left[int(begun[-1]) + 1 :]
    return found


def _play(sabotage: Sabotage, left: list[Probe], write: int) -> None:
    signal.alarm(LIMIT_S)
    sabotage.prepare()
    for place, probe in enumerate(left):
        os.write(write, f"{place} ".encode())
        if not probe.fits(ended(probe, sabotage)):
            os._exit(0)
    os.write(write, b"all")
    os._exit(0)


def results() -> dict[str, list[str]]:
    """Guard to the probes that notice that it is off; the whole policy stands first."""
    everything = list(probes())
    guards = {"nothing": Sabotage(), **sabotages()}
    return {
        name: noticing(off, [one for one in everything if off.about in one.source])
        for name, off in guards.items()
    }


def main() -> int:
    """Print what notices each guard."""
    found = results()
    json.dump(found, sys.stdout, indent=1)
    return int(
        bool(found["nothing"]) or not all(found[name] for name in found if name != "nothing")
    )


if __name__ == "__main__":
    sys.exit(main())
