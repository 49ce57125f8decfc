"""What a checker writes down as it reads code: by check, with the line."""

from __future__ import annotations

from collections.abc import Iterable

from toolhop_tools.construct.stages import Findings, judged


class Notes:
    """Problems by check."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, check: str, line: int, text: str) -> None:
        """Something that a check says of a line."""
        self._found.setdefault(check, []).append(f"Line {line}: {text}")

    def has(self, checks: Iterable[str]) -> bool:
        """Whether any of the checks says something."""
        return any(check in self._found for check in checks)

    def findings(self, checks: Iterable[str]) -> Findings:
        """The findings of these checks: those that say nothing hold."""
        found = Findings()
        for check in checks:
            found += judged(check, self._found.get(check, ()))
        return found
