"""What makes a proof of a gold call fail, as what to write and where. Pure.

A value that nothing gives, and two calls that can be read as well, come of the words of the
sub-question or of the document: the stage of the call cannot repair them, as the first document's
arguments stay. What is recommended for two calls is tried: with it, the certificate's own figures
tell them apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.conditions import ungrounded
from toolhop_tools.certify.model import HopProof, HopVerdict
from toolhop_tools.certify.support import is_number, support
from toolhop_tools.construct.stages import Findings, Place, Stage, judged
from toolhop_tools.construct.text import references
from toolhop_tools.words import as_text, parts_of

Arguments = Mapping[str, JSON]


@dataclass(frozen=True)
class Proving:
    """A gold call that was put to a proof, and what it was made of."""

    reworded: Callable[[str], Task]
    """The hop as it is asked in other words."""
    hop: int
    question: str
    """The sub-question, earlier answers in place."""
    first: Arguments
    """The first document's call, with ``{k}``: no later stage changes it."""
    gold: Arguments
    """The gold call, earlier answers in place."""
    fixed: bool
    """Whether the sub-question is the seed's own, so that the document has to follow it."""

    @cached_property
    def task(self) -> Task:
        """The hop as it is asked."""
        return self.reworded(self.question)

    def findings(self, check: str, what: str, proof: HopProof) -> Findings:
        """What speaks against a proof, at the stage that can repair it: what to write there.

        Args:
            check: its name.
            what: the call that was proven, in words.
            proof: what came of it.
        """
        if proof.verdict is HopVerdict.PROVEN:
            return judged(check, ())
        # Of a rival the model has to know; of values that were drawn it is not noted.
        most = 1 if proof.verdict is HopVerdict.UNPROVEN else 2
        evidence = proof.evidence[:most]
        listed = "; ".join(json.dumps(one.arguments, ensure_ascii=False) for one in evidence)
        noted = f"{what}: {proof.verdict}, {proof.why}" + (f" ({listed})" if listed else "")
        words = self._to_give(proof) or self._to_tell_apart(proof)
        if not words:
            return judged(check, [noted])
        place = Place(Stage.TOOL, self.hop) if self.fixed else Place(Stage.DECOMPOSE)
        # Its values are not shown: who plans knows no answer of a hop.
        plain = f"Hop {self.hop}. {what}: {proof.verdict}, {proof.why}. {words}"
        return judged(check, [plain], place)

    def _to_give(self, proof: HopProof) -> str:
        """What to write for values that nothing gives; empty where a later stage set one."""
        seen = [one.arguments for one in proof.evidence]
        if proof.verdict is not HopVerdict.UNPROVEN or seen[:1] != [self.gold]:
            return ""
        unknown = ungrounded(self.task, self.gold)
        if not all(self._is_own(str(leaf.path[0])) for leaf in unknown):
            return ""
        return " ".join(self._give(str(leaf.path[0]), leaf.value) for leaf in unknown)

    def _give(self, name: str, value: JSON) -> str:
        said = f"{as_text(value)!r}" + (" in digits" if is_number(value) else "")
        noted = f"Neither the sub-question nor the description of {name} says its value:"
        if self.fixed:
            return (
                f"{noted} have the description of the parameter {name} (not that of the tool) say "
                f"{said}, with the sub-question's words for it."
            )
        return f"{noted} have the sub-question say {said}, as the question will have to."

    def _is_own(self, name: str) -> bool:
        """Whether the first call has a value of its own there, and no earlier answer."""
        return name in self.first and not references(as_text(self.first[name]))

    def _to_tell_apart(self, proof: HopProof) -> str:
        """What to write so that one call alone is meant; empty where a later stage set them so."""
        seen = [one.arguments for one in proof.evidence]
        others = [one for one in seen if one != self.gold]
        if proof.verdict is not HopVerdict.AMBIGUOUS or self.gold not in seen or not others:
            return ""
        rival = others[0]
        names = [name for name in self.gold if self.gold[name] != rival.get(name)]
        if not names or not all(name in self.first for name in names):
            return ""
        own = {as_text(value): as_text(self.first.get(name)) for name, value in self.gold.items()}
        given = {name: as_text(rival.get(name)) for name in names}
        meant = " and ".join(f"{name} {own.get(one, one)}" for name, one in given.items())
        noted = f"As it is worded, the sub-question can mean {meant} as well"
        for text, phrases in self._wordings(names):
            task = self.reworded(text)
            if support(task, self.gold).outweighs(support(task, rival)):
                said = " and ".join(f'"{one}"' for one in phrases)
                return f"{noted}: have it say {said}, and leave what it says otherwise."
        spoken = ", ".join(f'"{" ".join(parts_of(name))}"' for name in names)
        return (
            f"{noted}: have it say which is meant in the words of the parameter's name ({spoken}), "
            "or give the parameter a name in the words of the sub-question."
        )

    def _wordings(self, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """The sub-question with words that may tell two calls apart, and these words."""
        text, value = self.question, self.gold[names[0]]
        if len(names) == 1 and isinstance(value, bool):
            parts = parts_of(names[0])
            topics = [" ".join(parts[at:]) for at in (1, 0) if parts[at:]]
            for phrase in (f"{lead}{one}" for one in topics for lead in ("without ", "with ", "")):
                yield f"{text} {phrase}", [phrase]
            return
        phrases = []
        for name in names:
            others = {part for other in names if other != name for part in parts_of(other)}
            word = next((part for part in parts_of(name) if part not in others), "")
            lead, given = f"{word} of " if word else "", as_text(self.gold[name])
            whole = re.compile(rf"(?<![\w.]){re.escape(given)}(?!\w|\.\d)")
            text = whole.sub(rf"{lead}\g<0>", text, count=1)
            phrases.append(lead + as_text(self.first[name]))
        yield text, phrases
