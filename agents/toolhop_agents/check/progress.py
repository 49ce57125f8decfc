"""A check as it goes: tools done, examples, failures."""

from __future__ import annotations

from toolhop_agents.check.view import executed
from toolhop_agents.cli.progress import Steps
from toolhop_tools.properties.model import ToolReport


class Tools(Steps):
    """Tools of a check, as they are done."""

    _examples = _failing = 0

    def report(self, made: ToolReport) -> None:
        """Count a tool that is done."""
        self._examples += sum(executed(verdict) for verdict in made.verdicts.values())
        self._failing += bool(made.failed)
        self.step()

    @property
    def figures(self) -> str:
        """Examples and failing tools so far."""
        return f"{self._examples:,} examples, {self._failing} with failures"
