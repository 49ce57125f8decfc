"""What the building of one item needs and a value cannot hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from toolhop_agents.construct.ask import Asker
from toolhop_agents.construct.direct import DirectCheck
from toolhop_agents.construct.ledger import key_of
from toolhop_agents.construct.talk import Talk
from toolhop_env.messages import Message
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.prompts import Prompts, inputs
from toolhop_tools.construct.replies import ReplyModel
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import VERSION, Findings, Place
from toolhop_tools.construct.verify import Verifier


@dataclass
class Context:
    """One item's seed, prompts, model and sandboxes."""

    seed: Seed
    prompts: Prompts
    asker: Asker
    verifier: Verifier
    repairs: int
    basis: Mapping[str, JSON]
    """How thoroughly is verified: part of each verdict's key."""
    direct: DirectCheck | None = None
    checker: Asker | None = None
    """Another model, which has to come to the answer too."""
    asked: int = 0
    memory: dict[str, Findings] = field(default_factory=dict)
    """Verdicts that items have in common."""

    async def ask(self, place: Place, version: str, messages: Sequence[Message]) -> str:
        """See `Asker.ask`."""
        return await self.asker.ask(self.seed, place, self.next_number(), version, messages)

    def next_number(self) -> int:
        """Of the next reply within the item: the same in every session, as all is gone through."""
        self.asked += 1
        return self.asked

    def talk(
        self, place: Place, prompt: str, values: Mapping[str, JSON], shape: type[ReplyModel]
    ) -> Talk:
        """A stage's conversation, not yet begun."""
        own: dict[str, JSON] = {"item": self.seed.id, "domain": self.seed.domain}
        text = inputs(place.stage, {**own, "world": self.seed.world.value, **values})
        return Talk(place, self.prompts, prompt, text, shape, self.repairs)

    async def remembered(
        self, what: str, parts: JSON, run: Callable[[], Awaitable[Findings]]
    ) -> Findings:
        """A verdict, out of the ledger where it is there: what was found once is found again."""
        key = key_of(what, VERSION, dict(self.basis), parts)
        if key in self.memory:
            return self.memory[key]
        row = self.asker.ledger.get("verdict", key)
        if row is not None:
            found = Findings.from_json(row["findings"])
        else:
            found = await run()
            facts: dict[str, JSON] = {"item": self.seed.id, "what": what}
            self.asker.ledger.add("verdict", key, {**facts, "findings": found.to_json()})
        self.memory[key] = found
        return found
