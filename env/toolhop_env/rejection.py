"""Feedback on calls that are rejected before their code runs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolhop_env.feedback import Level, render
from toolhop_env.validation import Validator
from toolhop_env.verdicts import Rejected
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema


class Rejections:
    """Gives the simulator's feedback on invalid input. Compiles each document's schema once."""

    def __init__(self) -> None:
        self._document: ToolSchema | None = None
        self._validator: Validator | None = None

    def __call__(self, document: ToolSchema, arguments: Mapping[str, JSON]) -> str | None:
        """Return the detailed feedback if the call is rejected; None if it is valid."""
        # Consecutive calls are often of the same tool.
        if document is not self._document or self._validator is None:
            self._document, self._validator = document, Validator([document])
        verdict = self._validator.check(document.name, json.dumps(arguments))
        if not isinstance(verdict, Rejected):
            return None
        return render(Level.DETAILED, document.name, verdict, None).text
