"""Open judges by name, as given to `--judge`."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from toolhop_agents.judge.judges import (
    Judge,
    JudgeError,
    Mechanical,
    ModelJudge,
    Overlap,
    Panel,
    labels,
)
from toolhop_agents.models.base import Model
from toolhop_agents.models.cache import CachedModel, RequestContext, ResponseCache
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_tools.packages import added, object_of, wrong_kind

GROUP = "toolhop.judges"
"""Entry point group for judges from other packages; each entry returns a `Judge`."""
MINILM, SENTENCE_TRANSFORMERS = "minilm", "sentence-transformers"
FILES = ("file", "stub")
"""Judges that read files: people's labels, and answers that replace a judge in a trial."""


@asynccontextmanager
async def open_judge(
    names: str, *, base_url: str | None = None, votes: int = 1, cache: Path | None = None
) -> AsyncIterator[Judge]:
    """Open a comma-separated list of judges; each answers what the previous ones leave open.

    Args:
        names: ``mechanical``, ``overlap``, ``minilm``, ``sentence-transformers``, ``file:PATH``,
            ``stub:PATH``, ``PROVIDER/MODEL``, or the name of an entry point.
        base_url: address at which to ask models, instead of their providers' own.
        votes: number of times a model is asked each question.
        cache: folder in which a model's replies are looked up and stored.

    Raises:
        JudgeError: no such judge exists.
        NoSuchModel, NoKey: a model cannot be asked.
        CacheUnusable: the cache folder cannot be written.
    """
    async with AsyncExitStack() as stack:

        async def model(name: str) -> Judge:
            client = open_model(
                name, ModelOptions(base_url=base_url, temperature=0.0, temperature_optional=True)
            )
            return _of_model(await stack.enter_async_context(client), name, base_url, votes, cache)

        each = [name.strip() for name in names.split(",")]
        if twice := [name for name, count in Counter(each).items() if count > 1]:
            raise JudgeError(f"the judge {twice[0]} is given twice; give it once")
        found = [await _opened(name, model) for name in each]
        yield found[0] if len(found) == 1 else Panel(tuple(found))


def _of_model(
    model: Model, name: str, base_url: str | None, votes: int, cache: Path | None
) -> Judge:
    if cache is not None and votes == 1:  # a cache would repeat the first vote
        context = RequestContext(name, base_url, "judge", 1, 0.0, None, None)
        model = CachedModel(model, ResponseCache.open(cache), context)
    return ModelJudge(model, votes)


async def _opened(name: str, model: Callable[[str], Awaitable[Judge]]) -> Judge:
    for own in (Mechanical, Overlap):
        if name == own.name:
            return own()
    if name == MINILM:
        from toolhop_agents.judge.minilm import open_minilm  # importing numpy is slow

        return open_minilm()
    if name == SENTENCE_TRANSFORMERS:
        from toolhop_agents.judge.sentence_transformers import SentenceTransformers

        return SentenceTransformers()
    kind, colon, path = name.partition(":")
    if colon and kind in FILES:
        return labels(Path(path), kind)
    if "/" in name:
        return await model(name)
    more = added(GROUP)
    if name in more:
        judge = object_of(more[name])
        if not isinstance(judge, Judge):
            raise wrong_kind(more[name], judge, "Judge")
        return judge
    ours = (Mechanical.name, Overlap.name, MINILM, SENTENCE_TRANSFORMERS)
    files = (*(f"{one}:PATH" for one in FILES), "PROVIDER/MODEL")
    known = ", ".join([*ours, *files, *sorted(more)])
    raise JudgeError(f"there is no judge {name!r}; give {known}, several with commas")
