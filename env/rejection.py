"""What a model is told of a call that is refused before its code runs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from env.feedback import Level, render
from env.validation import Validator
from env.verdicts import Rejected
from sandbox.outcome import JSON
from toolhop_tools.model import ToolDocument


class Rejections:
    """The simulator's part in refusing invalid input. Compiles each document's schema once."""

    def __init__(self) -> None:
        self._document: ToolDocument | None = None
        self._validator: Validator | None = None

    def __call__(self, document: ToolDocument, arguments: Mapping[str, JSON]) -> str | None:
        """The detailed feedback to the call, or None for one that is run."""
        # One tool is asked about many times in a row.
        if document is not self._document or self._validator is None:
            self._document, self._validator = document, Validator([document])
        verdict = self._validator.check(document.name, json.dumps(arguments))
        if not isinstance(verdict, Rejected):
            return None
        return render(Level.DETAILED, document.name, verdict, None).text
