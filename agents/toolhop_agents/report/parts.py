"""Building blocks of pages: files of this package, with scripts joined into one.

A page allows only its own scripts to run, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files


def asset(name: str, package: str = "toolhop_agents.report") -> str:
    """Return the text of a file in the package's ``assets``."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def scoped(names: Sequence[str], *more: str) -> str:
    """Join scripts in one scope; `more` are texts of further scripts."""
    parts = "\n".join([*map(asset, names), *more])
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def hash_source(script: str) -> str:
    """Return a script's hash source for a content security policy."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def one_line(text: str) -> str:
    """Remove line breaks, control characters and lone surrogates from a title."""
    return "".join(c if c.isprintable() else "�" for c in text)
