"""What pages are put together from: files of this package, the scripts of each as one.

A page lets run its own scripts by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files


def asset(name: str, package: str = "toolhop_agents.report") -> str:
    """The text of a file under ``assets``."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def scoped(names: Sequence[str], *more: str) -> str:
    """Scripts as one, in a scope of its own; `more` are texts of further ones."""
    parts = "\n".join([*map(asset, names), *more])
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def hash_source(script: str) -> str:
    """A script as a content security policy names it."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def one_line(text: str) -> str:
    """A title without line breaks, control characters and halves of surrogate pairs."""
    return "".join(c if c.isprintable() else "�" for c in text)
