"""Packages that a single format or command needs, and that a plain install does not bring."""

from __future__ import annotations

from importlib.util import find_spec


class MissingExtra(Exception):
    """Packages are not installed; carries the command that installs them."""


def require(package: str, *, extra: str, what: str) -> None:
    """See that `package` can be imported.

    Raises:
        MissingExtra: it cannot.
    """
    if find_spec(package) is None:
        raise MissingExtra(
            f"{what} needs the package {package}, which is not installed\n"
            f"  fix: pip install 'toolhop-env[{extra}]'"
        )
