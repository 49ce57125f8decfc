"""Compare nodes: they must have the same code, interpreter and isolation."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from re import match

from toolhop_sandbox.outcome import JSON

DISTRIBUTION = "toolhop-env"
ROOMS = ("toolhop_sandbox", "toolhop_tools", "toolhop_env", "toolhop_agents")


def software() -> dict[str, JSON]:
    """Return the versions of the interpreter and dependencies, and a digest of this project's
    code.
    """
    found: dict[str, JSON] = {"python": sys.version.split()[0], "code": code_digest()}
    for name in (DISTRIBUTION, *_needed()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _needed() -> list[str]:
    """Return the names of the distributions that a plain install requires."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        lines = []
    names = (match(r"[A-Za-z0-9._-]+", line) for line in lines if "extra ==" not in line)
    return [found.group() for found in names if found]


def code_digest() -> str:
    """Return the SHA-256 of all package files and their paths. Edits in an editable install
    change it.
    """
    found = hashlib.sha256()
    for room in ROOMS:
        spec = find_spec(room)
        for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    found.update(f"{room}/{path.relative_to(folder)}\0".encode())
                    found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def differences(here: Mapping[str, JSON], there: Mapping[str, JSON]) -> list[str]:
    """Return the differences of two descriptions, each as ``NAME: HERE here, THERE there``."""
    return [
        f"{name}: {_shown(here.get(name))} here, {_shown(there.get(name))} there"
        for name in dict.fromkeys((*here, *there))
        if here.get(name) != there.get(name)
    ]


def _shown(value: JSON) -> str:
    text = "none" if value is None else str(value)
    return text[:12] if match(r"[0-9a-f]{64}$", text) else text
