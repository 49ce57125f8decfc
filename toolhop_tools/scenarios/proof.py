"""Labels shown by execution: what a draft claims is run, and what it cannot show is not made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from toolhop_sandbox.base import Session
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.answering import Kind, values
from toolhop_tools.certify.audit import randomised
from toolhop_tools.certify.calls import MOST_CUT, KnownCalls
from toolhop_tools.certify.candidates import Task, Tried, texts_of
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import Basis, HopProof, HopVerdict
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.search import Search
from toolhop_tools.certify.standing import ungrounded
from toolhop_tools.dates import whole_date
from toolhop_tools.declared import compiled, fits
from toolhop_tools.failures import tells_of_error
from toolhop_tools.leaves import leaves
from toolhop_tools.model import GoldCall, Item, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.scenarios.label import Checks, Label
from toolhop_tools.scenarios.scene import Draft, Expected, Gives, Reason, Scene, gold_of
from toolhop_tools.words import as_text, scalars

MOST_OF_ONE, MOST_REVEALED, LONGEST_REVEALED = 4, 8, 60
"""Values that one tool may pass to another, and all tools together; characters of one."""
MOST_IN_PAIRS = 80
"""Calls of a search with what another tool revealed: there are many, and few values to try."""
OTHERS = 16
"""Calls with other values that show whether a tool computes or looks up."""
SOME, NEARLY_ALL = 0.3, 0.9
"""Share of calls with made-up texts, or with other numbers alone, that a tool answers which
computes: a table has no made-up names, and not every number."""


@dataclass(frozen=True, slots=True)
class Proven:
    """An item whose label was shown, and the others of its family that go with it."""

    item: Item
    label: Label
    siblings: tuple[Proven, ...] = ()


@dataclass
class Prover:
    """Shows what the drafts of one family claim; a search that two of them ask for is made once."""

    session: Session
    """Has the limits of the certificate."""
    basis: Basis
    found: dict[str, HopProof] = field(default_factory=dict)
    revealed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By search: what the tool revealed."""
    endless: set[str] = field(default_factory=set)
    """Digests of programs whose calls ran out of time or memory in a search."""
    calls: int = 0
    """Calls that claims and searches made, those included that `known` spared."""
    known: KnownCalls = field(default_factory=KnownCalls)

    async def prove(self, draft: Draft, taken_out: frozenset[str] = frozenset()) -> Proven | Reason:
        """The draft as an item whose label holds, or why it does not.

        Args:
            draft: what is claimed.
            taken_out: tools that were taken out of the item that this one is a sibling of.

        Raises:
            SandboxFault, SandboxUnavailable: as `Session.call`.
        """
        with_gold = await self._with_gold(draft)
        if isinstance(with_gold, Reason):
            return with_gold
        draft = with_gold
        for one in draft.expected:
            if not await self._gives(draft.item, one):
                return Reason.NOT_SOLVED if one.gives is Gives.ANSWER else Reason.STILL_SOLVED
        twins = await self._twins(draft)
        if isinstance(twins, Reason):
            return twins
        item = _less(draft.item, twins | taken_out)
        if not item.order:
            return Reason.NO_DONOR
        tried = sum(task.hop.tool.name not in twins for task in draft.in_vain)
        before = draft.label.checks
        checks = Checks(before.tools + tried, (*before.taken_out, *sorted(twins)))
        siblings = []
        for sibling in draft.siblings:
            proven = await self.prove(sibling, twins)
            if isinstance(proven, Reason):
                return proven
            siblings.append(proven)
        return Proven(item, replace(draft.label, checks=checks), tuple(siblings))

    async def computing(self, scene: Scene) -> frozenset[str]:
        """The item's tools that answer calls with values that nobody can have listed."""
        found = set[str]()
        for at, hop in enumerate(scene.item.hops):
            task = Task(hop, asked(scene.item, at, scene.returned))
            arguments = dict(gold_of(hop).arguments)
            sets = randomised(task, arguments, OTHERS, f"{self.basis.seed}/{hop.question}")
            runs = await self.known(self.session, hop.tool.program, sets)
            self.calls += len(sets)
            kind = Kind.of(hop.answer)
            answered = {
                canonical(one): run is not None and _answers(kind, run.outcome, one)
                for one, run in zip(sets, runs, strict=True)
            }
            # What the source does not name, a table does not hold.
            strange = [one for one in sets if _texts(task, one).isdisjoint(task.source.texts)]
            some = [answered[canonical(one)] for one in strange]
            least = SOME if _texts(task, arguments) else NEARLY_ALL
            if len(some) > 1 and sum(some) >= least * len(some):
                found.add(hop.tool.name)
        return frozenset(found)

    async def _with_gold(self, draft: Draft) -> Draft | Reason:
        """The draft with the gold calls that had to be found anew, expected to answer."""
        for at, task in draft.find:
            proof = await self._search(task)
            alone = len(draft.item.hops) == 1
            if proof.verdict is not HopVerdict.PROVEN or proof.arguments is None:
                return Reason.NOT_ALONE if alone else Reason.NO_PAIR
            if not alone and not _is_job(draft.item, at, proof.arguments):
                return Reason.NO_PAIR
            gold = GoldCall(proof.arguments, str(proof.provenance), proof.reading)
            hops = list(draft.item.hops)
            hops[at] = replace(hops[at], gold=gold)
            again = Expected(
                hops[at].tool.name, dict(proof.arguments), hops[at].answer, Gives.ANSWER
            )
            item = replace(draft.item, hops=tuple(hops))
            draft = replace(draft, item=item, expected=(*draft.expected, again))
        return draft

    async def _twins(self, draft: Draft) -> frozenset[str] | Reason:
        """Tools of others that do a lost job, alone or with what another tool reveals; the reason
        where one of the item's own does it.
        """
        found = set[str]()
        for task in draft.in_vain:
            name = task.hop.tool.name
            if name in found or not _does_job(await self._search(task)):
                continue
            if name not in draft.removable:
                return _fault(draft, name)
            found.add(name)
        for task in draft.in_vain if draft.in_pairs else ():
            name = task.hop.tool.name
            jobs = [one for one in draft.in_vain if one.asked == task.asked and one is not task]
            revealed = {
                text: one.hop.tool.name
                for one in jobs
                if one.hop.tool.name not in found
                for text in self.revealed.get(_key(one), ())
            }
            if name in found or not revealed:
                continue
            earlier = (*task.asked.earlier, *islice(revealed, MOST_REVEALED))
            more = replace(task, asked=replace(task.asked, earlier=earlier))
            proof = await self._search(more, MOST_IN_PAIRS)
            if not _does_job(proof):
                continue
            given = _all_texts(proof.arguments or {})
            pair = [name, *(revealed[text] for text in revealed if text in given)]
            out = next((one for one in pair if one in draft.removable), None)
            if out is None:
                return _fault(draft, name)
            found.add(out)
        return frozenset(found)

    async def _search(self, task: Task, most: int | None = None) -> HopProof:
        tool = task.hop.tool
        key = _key(task)
        if key not in self.found:
            seed = f"{self.basis.seed}/{task.hop.question}"
            # A tool that ran out of time all over in one search is given up sooner in the next.
            basis = self.basis
            if most is not None:
                basis = replace(basis, executions=min(basis.executions, most))
            search = Search(self.session, task, basis, seed, run_batch=self.known)
            search.calls.cut = MOST_CUT - 1 if tool.program.digest in self.endless else 0
            self.found[key] = await search.prove()
            if search.calls.cut >= MOST_CUT:
                self.endless.add(tool.program.digest)
            self.calls += search.calls.executions
            self.revealed[key] = _revealed_by(task, search.calls.tried)
        return self.found[key]

    async def _gives(self, item: Item, one: Expected) -> bool:
        tool = item.all_tools[one.tool]
        schema = tool.schema.parameters
        if one.accepted and not fits(compiled(schema), schema, one.arguments):
            return False
        self.calls += 1
        outcome = await self.session.call(tool.program, one.arguments)
        return _is_as_expected(one, outcome)


def _does_job(proof: HopProof) -> bool:
    """Whether a tool counts as one that does a lost job: any call that gives the answer does it."""
    return proof.verdict is HopVerdict.PROVEN or proof.executed


def _key(task: Task) -> str:
    tool = task.hop.tool
    return canonical(
        [repr(task.asked), task.hop.question, dict(tool.schema.parameters), tool.body_parts]
    )


def _fault(draft: Draft, name: str) -> Reason:
    """Why an item is refused one of whose tools, which has to stay, does a lost job."""
    hops = list(enumerate(draft.item.hops, 1))
    lost = {hop.tool.name for at, hop in hops if at in draft.label.lost}
    own = {hop.tool.name for _, hop in hops} - lost
    return Reason.OWN_TOOL if name in own else draft.fault


def _revealed_by(task: Task, calls: Sequence[Tried]) -> tuple[str, ...]:
    """What a tool reveals to calls with what the question says: short values, none of the
    call's own.
    """
    found = dict[str, None]()
    for one in calls:
        if not one.text or tells_of_error(one.value) or len(found) >= MOST_OF_ONE:
            continue
        if not task.content(one.arguments) or ungrounded(task, one.arguments):
            continue
        given = _all_texts(one.arguments)
        for _, leaf in scalars(one.value):
            text = as_text(leaf)
            if (
                leaf is not None
                and not isinstance(leaf, bool)
                and 0 < len(text) <= LONGEST_REVEALED
            ):
                found |= {} if text in given else {text: None}
    return tuple(islice(found, MOST_OF_ONE))


def _all_texts(arguments: Mapping[str, JSON]) -> set[str]:
    return {as_text(leaf) for _, leaf in scalars(dict(arguments))}


def _texts(task: Task, arguments: dict[str, JSON]) -> set[str]:
    """The texts of a call that say what it is about."""
    content = [leaf for leaf in leaves(task.schema, arguments) if not leaf.is_option]
    return {leaf.value for leaf in content if isinstance(leaf.value, str)}


def _answers(kind: Kind, outcome: Outcome, arguments: dict[str, JSON]) -> bool:
    """Whether a call gives an answer of a kind, whichever."""
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
    return any(Kind.of(answer.text) is kind for answer in values(value, arguments))


def _is_job(item: Item, at: int, arguments: dict[str, JSON]) -> bool:
    """Whether a tool's call for a second hop is a job of its own.

    It is none where it holds the answer, in whatever notation, or where another hop that the tool
    serves has the same answer.
    """
    hop, given = item.hops[at], texts_of(arguments)
    day = whole_date(hop.answer)
    held = any(
        same_answer(hop.answer, text) or (day is not None and whole_date(text) == day)
        for text in given
    )
    others = (
        other.answer
        for n, other in enumerate(item.hops)
        if n != at and other.tool.name == hop.tool.name
    )
    return not held and not any(same_answer(hop.answer, answer) for answer in others)


def _is_as_expected(one: Expected, outcome: Outcome) -> bool:
    if one.gives is Gives.FAILURE:
        return isinstance(outcome, Raised) and one.says in outcome.message
    if not isinstance(outcome, Returned):
        return one.gives is Gives.NO_ANSWER
    value = read_result(outcome.json_text)
    held = judge(one.answer, value, one.arguments) is not None and not tells_of_error(value)
    return held if one.gives is Gives.ANSWER else not held


def _less(item: Item, names: frozenset[str]) -> Item:
    """The item without some tools of others."""
    return replace(
        item,
        others=tuple(tool for tool in item.others if tool.name not in names),
        order=tuple(name for name in item.order if name not in names),
    )
