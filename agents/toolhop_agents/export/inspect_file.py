"""A log file of Inspect's, to which samples are added one at a time. Needs inspect_ai.

Inspect's `write_eval_log` takes a log with all its samples. Its file is an archive with a member a
sample, the samples' summaries, and the rest of the log, which is what is written here; Inspect's
classes check and write each part.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from toolhop_agents.export.facts import Plain


class LogFile:
    """A log that is being written; on leaving it without a fault, what is not a sample."""

    def __init__(self, path: Path, document: Callable[[Plain | None], Plain]) -> None:
        """`document` gives the log without its samples, from what these used."""
        self.usage: Plain | None = None
        self._path, self._document = path, document
        self._open = ExitStack()

    def __enter__(self) -> LogFile:
        with ExitStack() as stack:
            archive = zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED)
            self._archive = stack.enter_context(archive)
            self._summaries = stack.enter_context(tempfile.TemporaryFile())
            self._open = stack.pop_all()
        self._summaries.write(b"[")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        with self._open:
            if kind is None:
                self._finish()

    def add(self, sample: Plain, usage: Plain) -> None:
        """Write a sample; `usage` is that of all samples so far."""
        from inspect_ai.log import EvalSample, condense_sample

        whole = condense_sample(EvalSample.model_validate(sample))
        name = f"samples/{whole.id}_epoch_{whole.epoch}.json"
        self._archive.writestr(name, whole.model_dump_json(exclude_none=True))
        self._summaries.write(b"," if self.usage is not None else b"")
        self._summaries.write(whole.summary().model_dump_json(exclude_none=True).encode())
        self.usage = usage

    def _finish(self) -> None:
        from inspect_ai.log import EvalLog

        self._summaries.write(b"]")
        self._summaries.seek(0)
        with self._archive.open("summaries.json", "w", force_zip64=True) as member:
            shutil.copyfileobj(self._summaries, member)
        log = EvalLog.model_validate(self._document(self.usage))
        start = log.model_dump_json(include={"version", "eval", "plan"}, exclude_none=True)
        self._archive.writestr("_journal/start.json", start)
        self._archive.writestr("header.json", log.model_dump_json(exclude_none=True))
