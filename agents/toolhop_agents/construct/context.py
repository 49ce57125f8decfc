"""What the building of one item needs and a value cannot hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.blind.readers import Readers
from toolhop_agents.construct.ask import Asker
from toolhop_agents.construct.ledger import key_of
from toolhop_agents.construct.talk import Ask, Talk
from toolhop_env.messages import Message
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.prompts import Prompts, inputs
from toolhop_tools.construct.replies import ReplyModel
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import FINDINGS, VERSION, Findings, Place, Stage
from toolhop_tools.construct.verify import Verifier


@dataclass(frozen=True)
class Models:
    """The models that are asked, each with the ledger and the budget that they share."""

    author: Asker
    """Makes the items."""
    second: Asker | None = None
    """Writes each function once more, from its document alone."""
    third: Asker | None = None
    """Writes one where the two differ."""
    readers: tuple[Asker, ...] = ()
    votes: int = 0
    """Of the readers, on an item."""
    wording: int = 0
    """Changes of its chain by which an item's wording is tested."""
    closed_book: Asker | None = None
    """Is asked each question without tools."""
    closed_book_samples: int = 1


@dataclass
class Context:
    """One item's seed, prompts, models and sandboxes."""

    seed: Seed
    prompts: Prompts
    models: Models
    verifier: Verifier
    repairs: int
    basis: Mapping[str, JSON]
    """How thoroughly is verified: part of each verdict's key."""
    asked: int = 0

    def asking(self, asker: Asker) -> Ask:
        """A model's voice, for the conversations of this item."""

        async def ask(place: Place, version: str, messages: Sequence[Message]) -> str:
            return await asker.ask(self.seed, place, self.next_number(), version, messages)

        return ask

    def readers(self, votes: int, stage: Stage) -> Readers:
        """The readers, with so many votes on a question together."""
        askers = self.models.readers

        async def ask(
            reader: int, sample: int, key: str, version: str, messages: Sequence[Message]
        ) -> str:
            del sample, key  # the number of the reply tells them apart
            return await self.asking(askers[reader])(Place(stage), version, messages)

        names = [asker.model.name for asker in askers[:votes]]
        return Readers(names, votes, ask, self.verifier.basis.seed)

    def next_number(self) -> int:
        """Of the next reply within the item: the same in every session, as all is gone through."""
        self.asked += 1
        return self.asked

    def talk(
        self,
        place: Place,
        prompt: str,
        values: Mapping[str, JSON],
        shape: type[ReplyModel],
        repairs: int | None = None,
    ) -> Talk:
        """A stage's conversation, not yet begun."""
        own: dict[str, JSON] = {"item": self.seed.id, "domain": self.seed.domain}
        text = inputs(place.stage, {**own, "world": self.seed.world.value, **values})
        most = self.repairs if repairs is None else repairs
        return Talk(place, self.prompts, prompt, text, shape, most)

    async def remembered(
        self, what: str, parts: JSON, run: Callable[[], Awaitable[Findings]]
    ) -> Findings:
        """A verdict, out of the ledger where it is there: what was found once is found again."""
        key, ledger = key_of(what, VERSION, dict(self.basis), parts), self.models.author.ledger
        if (row := ledger.get("verdict", key)) is not None:
            return FINDINGS.validate_python(row["findings"])
        findings = await run()
        facts: dict[str, JSON] = {"item": self.seed.id, "what": what}
        ledger.add("verdict", key, {**facts, "findings": findings.to_json()})
        return findings
