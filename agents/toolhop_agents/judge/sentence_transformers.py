"""Similarity by all-MiniLM-L6-v2, run by the package sentence-transformers with torch.

It agrees with the judge `minilm` to within 1e-6, and is meant for users who have the package.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

import numpy as np

from toolhop_agents.judge.judges import JudgeError
from toolhop_agents.judge.minilm import KEPT_TEXTS, Floats, MiniLM
from toolhop_env.extras import install_command
from toolhop_tools.errors import why

PACKAGE, MODEL = "sentence_transformers", "sentence-transformers/all-MiniLM-L6-v2"
EXTRA = "sentence-transformers"


class SentenceTransformers(MiniLM):
    """A judge of similarity that uses sentence-transformers; see `MiniLM`."""

    name = "sentence-transformers"

    def __init__(self) -> None:
        """Load the model; the package downloads it if it is not on the machine.

        Raises:
            JudgeError: the package is not installed, or the model cannot be loaded.
        """
        try:
            package = import_module(PACKAGE)
        except ImportError as error:
            raise JudgeError(
                f"the judge {self.name} needs the package {EXTRA}, which cannot be imported "
                f"({error}): {install_command(EXTRA)}, several GB with torch; or take "
                "--judge minilm, which gives the same and needs 91 MB"
            ) from None
        try:
            self._model = package.SentenceTransformer(MODEL)
        except Exception as error:  # raised by whatever the package uses to download and load it
            raise JudgeError(f"{MODEL} cannot be loaded by {EXTRA}: {why(error)}") from error
        self.vector = lru_cache(KEPT_TEXTS)(self._vector)

    def _vector(self, text: str) -> Floats:
        whole = text.encode(errors="replace").decode()
        found = self._model.encode(whole, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32)
