"""Optional packages, each needed by only one format or command."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "toolhop-env"


class MissingExtra(Exception):
    """A required package is not installed; the message has the command that installs it."""


def require(package: str, *, extra: str, what: str) -> None:
    """Check that `package` can be imported.

    Raises:
        MissingExtra: the package is not installed.
    """
    if find_spec(package) is None:
        raise MissingExtra(
            f"{what} needs the package {package}, which is not installed\n"
            f"  fix: {install_command(extra)}"
        )


def install_command(extra: str) -> str:
    """Return the command that installs an extra from the source of the installed package."""
    try:
        noted = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        return f"pip install '.[{extra}]'  # in a clone of the repository"
    return command_from(extra, json.loads(noted) if noted else None)


def command_from(extra: str, direct: Any) -> str:  # noqa: ANN401 -- JSON of the installer
    """Return the command for a ``direct_url.json`` record (PEP 610); None means an index."""
    if direct is None:
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    url, commit = str(direct["url"]), direct.get("vcs_info", {})
    if direct.get("dir_info", {}).get("editable"):
        return f"pip install -e {shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    if commit:
        url = f"{commit['vcs']}+{url}@{commit['commit_id']}"
    return f"pip install {shlex.quote(f'{DISTRIBUTION}[{extra}] @ {url}')}"
