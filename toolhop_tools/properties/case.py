"""A tool under test: its examples, their outcomes, and the confirmation of suspected failures."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.batch import Arguments, CallRun
from toolhop_tools.properties import draw, harness
from toolhop_tools.properties.examples import Examples
from toolhop_tools.properties.harness import fact
from toolhop_tools.properties.model import (
    BASE,
    Caller,
    CounterExample,
    Miss,
    Rejection,
    SandboxSetting,
    Subject,
)
from toolhop_tools.properties.store import Stored

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

SAMPLE = 2
"""Number of calls of a batch that are always repeated alone."""
MOST_KINDS = 3
"""Maximum number of failure classes reported for one tool and property."""
MOST_TRIED = 4
"""Suspicious examples of one group that are called alone before the suspicion is dropped."""


@dataclass(frozen=True, slots=True)
class CaseFailure:
    """A failure shown by a call in a process of its own."""

    kind: str
    reported: str
    settings: tuple[SandboxSetting, ...] = (BASE,)
    earlier: tuple[Arguments, ...] = ()


Classify: TypeAlias = Callable[[T], CaseFailure | None]
"""Function that calls an example in processes of its own; None if the property holds for it."""


class Case:
    """A tool with its examples and their runs, each computed once and on demand."""

    def __init__(
        self,
        subject: Subject,
        call: Caller,
        reject: Rejection,
        *,
        count: int,
        seed: int,
        formats: bool = False,
        stored: Sequence[Stored] = (),
    ) -> None:
        """Prepare a case without calling anything.

        Args:
            subject: the tool.
            call: runs the calls.
            reject: the simulator's refusal of invalid calls.
            count: number of examples for each property.
            seed: seed of the drawn examples.
            formats: whether a text that violates its parameter's `format` is invalid input.
            stored: counter-examples of earlier runs, which are called first.
        """
        self.subject, self.reject = subject, reject
        self.stored = stored
        self.program: Program = subject.tool.program
        self._call = call
        before = [one.arguments for one in stored if one.property != "bad-input"]
        self.examples = Examples(subject, count=count, seed=seed, formats=formats, before=before)

    def alone(self, arguments: Arguments, setting: SandboxSetting = BASE) -> Outcome:
        """Run an ordinary call in a process of its own."""
        return self._call(setting, self.program, arguments)

    def after(self, arguments: Arguments) -> Outcome:
        """Return the arguments as a call leaves them."""
        return self._call(BASE, *harness.sequence(self.program, [arguments], after=True))

    def last_of(self, earlier: Sequence[Arguments], last: Arguments) -> Outcome:
        """Return the outcome of a call after others in the same process."""
        return self._call(BASE, *harness.sequence(self.program, [*earlier, last]))

    def batched(
        self, sets: Sequence[Arguments], setting: SandboxSetting = BASE
    ) -> list[CallRun | None]:
        """Run the argument sets in batches."""
        return harness.run_batched(self._call, setting, self.program, sets)

    def load_fault(self, setting: SandboxSetting = BASE) -> Outcome | None:
        """Return the outcome that shows the tool cannot be called at all, or None if it can.

        A call in a process of its own confirms the fault.
        """
        fault = harness.load(self._call, setting, self.program)
        if fault is None:
            return None
        alone = self.alone(self.some_arguments, setting)
        return alone if fact(alone) == fact(fault) else None

    @cached_property
    def base_fault(self) -> Outcome | None:
        """Load fault in the base setting, which runs use; None if the tool loads."""
        return self.load_fault()

    @property
    def some_arguments(self) -> Arguments:
        """Arguments for a call whose arguments make no difference."""
        golds = self.subject.golds
        return golds[0].arguments if golds else {}

    @property
    def valid(self) -> Sequence[Arguments]:
        """Distinct valid arguments."""
        return self.examples.valid

    @cached_property
    def raw(self) -> list[CallRun | None]:
        """Outcomes of the valid examples in batches."""
        return self.batched(self.valid)

    @cached_property
    def base(self) -> list[CallRun | None]:
        """Outcomes of the valid examples; from separate calls if a batch proved unreliable."""
        batched = [at for at, run in enumerate(self.raw) if run is not None and not run.alone]
        sample = random.Random(self.examples.seed).sample(batched, min(SAMPLE, len(batched)))
        for at in sample:
            run = self.raw[at]
            if run is not None and fact(self.alone(self.valid[at])) != fact(run.outcome):
                return harness.run_alone(self._call, BASE, self.program, self.valid)
        return self.raw

    @cached_property
    def made(self) -> list[tuple[Arguments, CallRun]]:
        """Valid examples that were called, with their runs."""
        pairs = zip(self.valid, self.base, strict=True)
        return [(arguments, run) for arguments, run in pairs if run is not None]

    @cached_property
    def steady(self) -> list[int]:
        """Indices of examples that ended by themselves, so that repeating them is quick."""
        return [
            at
            for at, run in enumerate(self.base)
            if run is not None and isinstance(run.outcome, Returned | Raised)
        ]

    def at(self, setting: SandboxSetting) -> list[tuple[int, CallRun, CallRun]]:
        """Run the steady examples in another setting and return (index, base run, other run)."""
        others = self.batched([self.valid[at] for at in self.steady], setting)
        return self._pairs(others, self.base)

    def reversed(self) -> list[tuple[int, CallRun, CallRun]]:
        """Run the steady examples in reverse order and return (index, batch run, reversed run)."""
        sets = [self.valid[at] for at in self.steady]
        return self._pairs(self.batched(sets[::-1])[::-1], self.raw)

    def _pairs(
        self, others: Sequence[CallRun | None], firsts: Sequence[CallRun | None]
    ) -> list[tuple[int, CallRun, CallRun]]:
        pairs = zip(self.steady, others, strict=True)
        return [
            (at, first, other)
            for at, other in pairs
            if other is not None and (first := firsts[at]) is not None
        ]

    def settle(
        self,
        property_: str,
        suspects: Mapping[str, Sequence[Arguments]],
        classify: Classify[Arguments],
    ) -> list[CounterExample]:
        """Return confirmed counter-examples among suspicious arguments, as small as possible.

        Args:
            property_: name of the property.
            suspects: suspicious valid arguments, grouped by the reason for suspicion, so that no
                group hides another.
            classify: makes the calls that decide.
        """
        doubted = {draw.text_of(dict(a)) for group in suspects.values() for a in group}
        sound = {draw.text_of(dict(a)) for a in self.valid} - doubted
        found = self._settled(
            property_, suspects, classify, lambda: self.examples.valid_strategy, sound, dict
        )
        return [example for _, example in found]

    def settle_misses(
        self,
        property_: str,
        suspects: Mapping[str, Sequence[Miss]],
        classify: Classify[Miss],
    ) -> list[CounterExample]:
        """Return confirmed counter-examples among suspicious invalid arguments; see `settle`."""
        found = self._settled(
            property_, suspects, classify, lambda: self.examples.miss_strategy, (),
            lambda miss: dict(miss.arguments),
        )  # fmt: skip
        return [replace(example, about=_about(miss)) for miss, example in found]

    def _settled(
        self,
        property_: str,
        suspects: Mapping[str, Sequence[T]],
        classify: Classify[T],
        strategy: Callable[[], SearchStrategy[T]],
        sound: Collection[str],
        arguments_of: Callable[[T], dict[str, JSON]],
    ) -> Iterator[tuple[T, CounterExample]]:
        kept = {draw.text_of(one.arguments) for one in self.stored if one.property == property_}
        for first, failure in confirmed(suspects, classify):
            small: T | None = first
            if draw.text_of(arguments_of(first)) not in kept:
                fails = partial(_fails_as, failure.kind, classify)
                made = self.examples
                small = draw.shrunk(strategy(), made.count, made.seed, fails, sound=sound)
            best, failure, shrunk = _smallest(first, failure, small, classify)
            arguments = arguments_of(best)
            yield best, CounterExample(
                property_, failure.kind, failure.reported, arguments, failure.earlier,
                failure.settings, shrunk,
            )  # fmt: skip


def _fails_as(kind: str, classify: Classify[T], example: T) -> bool:
    failure = classify(example)
    return failure is not None and failure.kind == kind


def confirmed(
    suspects: Mapping[str, Sequence[T]], classify: Classify[T]
) -> list[tuple[T, CaseFailure]]:
    """Return the first confirmed suspect of each failure class, decided by separate calls."""
    found: dict[str, tuple[T, CaseFailure]] = {}
    for group in suspects.values():
        for example in group[:MOST_TRIED]:
            failure = classify(example)
            if failure is not None:
                found.setdefault(failure.kind, (example, failure))
                break
    return list(found.values())[:MOST_KINDS]


def _smallest(
    first: T, failure: CaseFailure, small: T | None, classify: Classify[T]
) -> tuple[T, CaseFailure, bool]:
    """Return the smaller example with its failure, and whether shrinking confirmed it."""
    if small is None or small is first:
        return first, failure, small is first
    if len(draw.text_of(small)) <= len(draw.text_of(first)):
        again = classify(small)
        if again is not None and again.kind == failure.kind:
            return small, again, True
    return first, failure, True


def _about(miss: Miss) -> dict[str, str]:
    about = {"path": miss.path, "fault": miss.fault, "parameter": miss.parameter}
    return about if miss.base is None else {**about, "base": json.dumps(dict(miss.base))}
