"""Models that simulate tools and word the simulated user's replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.models.base import Model, ModelFault
from toolhop_env.messages import SystemMessage, UserMessage
from toolhop_env.reading import without_thoughts
from toolhop_env.user import UserReply
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import RecordedTable, Simulated, Tool
from toolhop_tools.replied import as_json

ASKED = """You stand in for a tool. Reply with what the tool returns for this call: JSON alone, with
no word around it.

The tool: {schema}
The arguments of the call: {arguments}"""


@dataclass(frozen=True, slots=True)
class ModelSimulator:
    """A `Responder` that asks a model for the results of simulated tools."""

    model: Model

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """Return the result that the model gives; if it is not JSON, return it as a string.

        Raises:
            SandboxFault: the model could not be asked: an infrastructure fault, not the tool's.
        """
        if not isinstance(tool.body, Simulated | RecordedTable):
            raise TypeError(f"{tool.name} is not simulated")
        shown = json.dumps(tool.schema.to_openai()["function"], ensure_ascii=False)
        given = json.dumps(dict(arguments), ensure_ascii=False)
        text = ASKED.replace("{schema}", shown).replace("{arguments}", given)
        try:
            messages = (SystemMessage(tool.body.instruction), UserMessage(text))
            reply = await self.model.reply(messages, ())
        except ModelFault as fault:
            who = f"the simulator {self.model.name}"
            raise SandboxFault(f"{who} could not be asked: {fault}") from fault
        return Returned(as_json(without_thoughts(reply.content)))


WORDING = """You word what the user of an assistant says. The assistant asked the user:
{question}

What the user has to say, all of it and no more:
{reply}

Say this in one or two plain sentences, as a person would. Keep every value exactly as it is written
and add no fact. Reply with these sentences alone."""


ASKED_FOR = """An assistant asks a user:
{question}

Which of these does it ask for?
{nouns}

Reply with that line alone, or with: none of them"""


@dataclass(frozen=True, slots=True)
class ModelWording:
    """A `toolhop_env.user.Wording` that asks a model."""

    model: Model

    async def worded(self, question: str, reply: UserReply) -> str:
        """Return the model's wording of the reply; the episode checks that it says the same thing.

        Raises:
            SandboxFault: the model could not be asked: an infrastructure fault.
        """
        return await self._said(
            WORDING.replace("{reply}", reply.text).replace("{question}", question)
        )

    async def asked_for(self, question: str, nouns: Sequence[str]) -> str:
        """Return the model's reply: the noun that the question asks for, or some other text.

        Raises:
            SandboxFault: the model could not be asked: an infrastructure fault.
        """
        lines = "\n".join(nouns)
        return await self._said(ASKED_FOR.replace("{nouns}", lines).replace("{question}", question))

    async def _said(self, text: str) -> str:
        try:
            said = await self.model.reply((UserMessage(text),), ())
        except ModelFault as fault:
            who = f"the user model {self.model.name}"
            raise SandboxFault(f"{who} could not be asked: {fault}") from fault
        return without_thoughts(said.content).strip()
