"""Whether a model knows an answer without tools: asked through the ledger, scored strictly."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from toolhop_agents.construct.ask import Asker
from toolhop_agents.construct.oracle import right_without_tools
from toolhop_agents.prompts import Mode, prompt, shipped
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.constructor.model import PREFIX
from toolhop_agents.scripted.model import ScriptedModel
from toolhop_env.messages import Message
from toolhop_env.reading import CallFormat
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.accept import Criterion, Judged
from toolhop_tools.construct.seeds import Seed, World
from toolhop_tools.construct.stages import Place, Stage
from toolhop_tools.model import Item

PLACE = Place(Stage.ACCEPT)


@dataclass(frozen=True)
class DirectCheck:
    """A model that is asked in ToolHop's direct mode."""

    name: str
    asker: Asker
    samples: int

    async def judge(self, item: Item, seed: Seed, number: Callable[[], int], sandbox: Sandbox) -> (
        Judged
    ):  # fmt: skip
        """The share of replies that are right. In a closed world it has to be 0: there is nothing
        to know; in the real world it is kept alone.

        Args:
            item: the whole item.
            seed: what it is made from.
            number: of the next reply within the item.
            sandbox: an entered one; nothing runs in it.

        Raises:
            RunLimitReached, ItemLimitReached, ModelFault, LedgerError: as `Asker.ask`.
        """
        messages = prompt(Mode.DIRECT, CallFormat.NATIVE, item.question, ())
        ask = self._asking(item, seed, messages)
        right = 0
        for _ in range(self.samples):
            right += await right_without_tools(item, sandbox, await ask(number()), messages)
        figure: dict[str, JSON] = {
            "model": self.name,
            "asked": self.samples,
            "right": right,
            "share": right / self.samples,
        }
        return Judged(Criterion.DIRECT, not right or seed.world is not World.CLOSED, figure)

    def _asking(
        self, item: Item, seed: Seed, messages: Sequence[Message]
    ) -> Callable[[int], Awaitable[str]]:
        version = hashlib.sha256(shipped(Mode.DIRECT.value).encode()).hexdigest()[:12]
        asker = self.asker
        if self.name.startswith(PREFIX):
            # A scripted agent knows the item that it plays.
            agent = choose(self.name.removeprefix(PREFIX))
            asker = replace(asker, model=ScriptedModel(self.name, agent, item))

        async def ask(number: int) -> str:
            return await asker.ask(seed, PLACE, number, version, messages)

        return ask
