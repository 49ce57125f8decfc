"""Opens judges by name, as `--judge` takes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from toolhop_agents.judge.judges import Judge, JudgeError, ModelJudge, Overlap, Panel, labels
from toolhop_agents.models.clients import open_model
from toolhop_tools.packages import added, object_of, wrong_kind

GROUP = "toolhop.judges"
"""Entry points of judges in packages of one's own: each gives a `Judge`."""
MINILM, SENTENCE_TRANSFORMERS = "minilm", "sentence-transformers"


@asynccontextmanager
async def open_judge(names: str, *, base_url: str | None = None) -> AsyncIterator[Judge]:
    """The judges of a list with commas, each for what those before it leave open.

    Args:
        names: ``overlap``, ``minilm``, ``sentence-transformers``, ``file:PATH``,
            ``PROVIDER/MODEL``, or the name of an entry point.
        base_url: where models are asked instead of their providers' own addresses.

    Raises:
        JudgeError: there is no such judge.
        NoSuchModel, NoKey: a model that cannot be asked.
    """
    async with AsyncExitStack() as stack:
        found = [await _opened(name.strip(), base_url, stack) for name in names.split(",")]
        yield found[0] if len(found) == 1 else Panel(tuple(found))


async def _opened(name: str, base_url: str | None, stack: AsyncExitStack) -> Judge:
    if name == Overlap.name:
        return Overlap()
    if name == MINILM:
        from toolhop_agents.judge.minilm import open_minilm  # numpy takes its time

        return open_minilm()
    if name == SENTENCE_TRANSFORMERS:
        from toolhop_agents.judge.sentence_transformers import SentenceTransformers

        return SentenceTransformers()
    if name.startswith("file:"):
        return labels(Path(name.removeprefix("file:")))
    if "/" in name:
        client = open_model(name, base_url=base_url, temperature=0.0)
        return ModelJudge(await stack.enter_async_context(client))
    more = added(GROUP)
    if name in more:
        judge = object_of(more[name])
        if not isinstance(judge, Judge):
            raise wrong_kind(more[name], judge, "Judge")
        return judge
    own = (Overlap.name, MINILM, SENTENCE_TRANSFORMERS, "file:PATH", "PROVIDER/MODEL")
    known = ", ".join([*own, *sorted(more)])
    raise JudgeError(f"there is no judge {name!r}; give {known}, several with commas")
