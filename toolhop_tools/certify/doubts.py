"""Whether a made-up call that reaches the gold proves anything, by itself and beside others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.certify.calls import Calls, Hit
from toolhop_tools.certify.candidates import EXAMPLES, Provenance
from toolhop_tools.certify.defects import Tried, definite
from toolhop_tools.certify.directness import (
    choices_unsaid,
    is_option,
    left_out,
    new_numbers,
    options_unasked,
    other_field,
    singled_out,
    unasked,
)
from toolhop_tools.certify.honesty import within
from toolhop_tools.certify.words import stands_in
from toolhop_tools.errors import shown
from toolhop_tools.reading import read_result

MADE_UP = "Qorvellan Thrys"
"""A name that no tool knows."""
CHANCE_RATE = 0.5
"""Share of random arguments with the gold answer, above which a made-up call proves nothing."""


@dataclass
class Doubts(Calls):
    """The calls of one hop, with those that reach the gold and are doubted."""

    unasked: list[tuple[str, Tried]] = field(default_factory=list)
    """Calls that get to the gold by an option that the question does not ask for, with the reason:
    the tool can give the gold, so the hop is no defect that could be shown."""
    lucky: list[tuple[str, Tried]] = field(default_factory=list)
    """Calls that get to the gold by luck, with the reason."""

    async def _doubtful(self, hit: Hit, example: dict[str, JSON] | None) -> bool:
        """Whether a hit of a made-up call proves nothing; it is kept with the reason."""
        if hit.candidate.provenance in EXAMPLES:
            return False
        tried, value = Tried(hit.candidate, hit.outcome, alone=True), hit.outcome.json_text
        if not singled_out(self.task, read_result(value), hit.reading, hit.candidate.arguments):
            why = "the answer is only one of several numbers or letters of the result"
            self.lucky.append((why, tried))
        elif name := other_field(
            self.task, read_result(value), hit.reading, hit.candidate.arguments
        ):
            why = f"the result has {shown(name)} as well, and the answer is another field"
            self.lucky.append((why, tried))
        elif name := unasked(self.task, hit.candidate, example):
            why = f"only calls with a value of {shown(name)} that is not asked for give the answer"
            # Another text or number where one is needed is not what the question is about.
            option = is_option(self.task, name, hit.candidate.arguments[name])
            (self.unasked if option else self.lucky).append((why, tried))
        elif await self._apart(hit):
            why = "a made-up name instead of what the question names gives the answer as well"
            self.lucky.append((why, tried))
        elif await self._outdone(hit, varied=example is not None):
            why = "a call that says more nearly what is asked gives another answer"
            self.unasked.append((why, tried))
        elif await self._by_chance(hit):
            why = "the only call found gets to the answer as random ones do"
            self.lucky.append((why, tried))
        else:
            return False
        return True

    async def _outdone(self, hit: Hit, *, varied: bool) -> bool:
        """Whether a call nearer to the question gives another answer.

        One with a number or a choice of the question that the hit leaves out, or one without an
        option that is not asked for; where the answer is a number, it has to give a number, and
        without the option one that the hit has not. A varied example has other options, as its own
        result is not the gold.
        """
        arguments = hit.candidate.arguments
        numeric = plain_number(plain_text(self.task.asked.gold)) is not None
        known = new_numbers(read_result(hit.outcome.json_text), arguments)
        for one in await self._others(hit, left_out(self.task, hit.candidate)):
            if not numeric or new_numbers(*one):
                return True
        unasked_for = iter(()) if varied else options_unasked(self.task, hit.candidate)
        fewer = await self._others(hit, unasked_for)
        return any(not numeric or new_numbers(*one) - known for one in fewer)

    async def _others(
        self, hit: Hit, calls: Iterator[dict[str, JSON]]
    ) -> list[tuple[JSON, dict[str, JSON]]]:
        """Definite results that are not the gold, each with its call's arguments."""
        made = [replace(hit.candidate, arguments=one) for one in calls if self.task.fits(one)]
        found = []
        for tried in await self._run(made):
            if isinstance(tried.outcome, Returned):
                value, given = read_result(tried.outcome.json_text), tried.candidate.arguments
                reading = self._reading(tried)
                gold = reading is not None and singled_out(self.task, value, reading, given)
                if not gold and definite(value, given):
                    found.append((value, given))
        return found

    async def _apart(self, hit: Hit) -> bool:
        """Whether a call with literals of the code reaches the gold without what is asked about."""
        asked, arguments = self.task.asked, hit.candidate.arguments
        if hit.candidate.provenance is not Provenance.SEARCH:
            return False
        found = [*(answer for _, answer in asked.mentions.answers), *asked.mentions.names]
        names = [one for one in found if not within(one, found)]
        other = {name: _without(names, value) for name, value in arguments.items()}
        if other == arguments or not self.task.fits(other):
            return False
        return await self._confirmed(replace(hit.candidate, arguments=other)) is not None

    async def _by_chance(self, hit: Hit) -> bool:
        """Whether a hit is the search's luck, as random calls of its shape get there as well.

        A call that is given, or has nothing in it but what the question and the schema say, was
        not found by trying: it proves the hop even where the tool looks at nothing, and the
        certificate tells the rate. A choice that the question does not speak of was found so.
        """
        told = not choices_unsaid(self.task, hit.candidate.arguments)
        if told and hit.candidate.provenance is Provenance.QUESTION:
            return False
        rate = (await self._chance(hit.candidate.arguments)).rate
        return rate is not None and rate > CHANCE_RATE


def _without(names: Sequence[str], value: JSON) -> JSON:
    """The value with each text that says a name made another."""
    if isinstance(value, dict):
        return {key: _without(names, part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without(names, part) for part in value]
    said = isinstance(value, str) and any(stands_in(name, value) for name in names)
    return MADE_UP if said else value
