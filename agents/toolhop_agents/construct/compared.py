"""Compare a tool's code with a second implementation, and with a third if the two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from toolhop_agents.construct.ask import Context
from toolhop_agents.construct.talk import Failed, by
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.code import code_findings, program
from toolhop_tools.construct.replies import Code, Pairs, Records
from toolhop_tools.construct.second import Difference, call_set, decided, differences, invented
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.construct.text import as_json
from toolhop_tools.model import ToolSchema


@dataclass(frozen=True)
class Compared:
    """One hop's tool, as shown to the model that writes its function."""

    context: Context
    hop: int
    schema: ToolSchema
    facts: Records | Pairs
    values: Mapping[str, JSON]
    """Inputs of the stage."""
    thirds: dict[str, str | None]
    """Third implementations by stage inputs, so that none is paid for twice."""

    async def findings(self, own: str, second: str) -> Findings:
        """Compare two implementations; a third decides whether the code or the document is at
        fault.
        """
        findings = code_findings(second, self.schema, self.facts, None)
        if not findings.ok:
            return findings
        unlike = await self._unlike(own, second)
        if not unlike:
            return judged("second", ())
        key = as_json(dict(self.values))
        if key not in self.thirds:
            self.thirds[key] = await self._third()
        third = self.thirds[key]
        results = None if third is None else await self._results(third, unlike)
        stage, why = decided(unlike, results)
        place = None if stage is None else Place(stage, self.hop)
        return judged("second", [why] if place else (), place)

    async def _unlike(self, own: str, second: str) -> list[Difference]:
        """Return the calls for which the two results differ."""
        verifier = self.context.verifier

        async def run() -> Findings:
            calls = call_set(self.schema, self.facts, verifier.basis.seed)
            rows: list[JSON] = []
            for table, facts in enumerate(invented(self.facts)):
                sources = [program(self.schema, code, facts) for code in (own, second)]
                results = [await verifier.results(source, calls) for source in sources]
                unlike = differences(calls, results[0], results[1], table)
                rows += [[*row] for row in unlike[:20]]
            return Findings(figures={"unlike": rows})

        parts: list[JSON] = [self.schema.to_openai(), self.facts.model_dump(mode="json")]
        findings = await self.context.remembered("second", [*parts, own, second], run)
        rows = cast("list[list[Any]]", findings.figures.get("unlike", []))
        return [Difference(*row) for row in rows]

    async def _third(self) -> str | None:
        """Ask for a third implementation; return None if the reply is not valid."""
        asker = self.context.models.third or self.context.models.author
        place = Place(Stage.SECOND, self.hop)
        talk = self.context.talk(place, Stage.SECOND.value, self.values, Code, repairs=1)

        judge = by(lambda reply: code_findings(reply.code, self.schema, self.facts, None))
        outcome = await talk.settle(self.context.asking(asker), judge)
        return None if isinstance(outcome, Failed) else cast("Code", outcome).code

    async def _results(self, code: str, unlike: Sequence[Difference]) -> list[JSON]:
        tables, results = invented(self.facts), list[JSON]()
        for row in unlike:
            source = program(self.schema, code, tables[row.table])
            results += await self.context.verifier.results(source, [row.call])
        return results
