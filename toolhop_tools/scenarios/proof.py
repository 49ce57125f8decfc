"""Prove labels by execution: every claim of a draft is run, and a draft that fails is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from toolhop_sandbox.base import Session
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.answers import same_answer
from toolhop_tools.certify.answering import Kind, values
from toolhop_tools.certify.audit import randomised
from toolhop_tools.certify.calls import KnownCalls
from toolhop_tools.certify.candidates import Task, texts_of
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import Basis, HopProof, HopVerdict
from toolhop_tools.certify.prove import asked
from toolhop_tools.certify.search import Search
from toolhop_tools.dates import whole_date
from toolhop_tools.declared import compiled, fits
from toolhop_tools.failures import tells_of_error
from toolhop_tools.leaves import leaves
from toolhop_tools.model import Flaky, GoldCall, Item, Tool, canonical
from toolhop_tools.reading import read_result
from toolhop_tools.scenarios.held import holders
from toolhop_tools.scenarios.label import Checks, Label
from toolhop_tools.scenarios.scene import (
    Draft,
    Expected,
    Gives,
    Reason,
    Scene,
    gold_of,
    to_be_tried,
)
from toolhop_tools.scenarios.ways import Ways

OTHERS = 16
"""Number of calls with other values that show whether a tool computes or looks up."""
SOME, NEARLY_ALL = 0.3, 0.9
"""Minimum shares of calls that a computing tool answers: with made-up texts, and with only other
numbers. A lookup table does not have made-up names, nor every number."""


@dataclass(frozen=True, slots=True)
class Proven:
    """An item with a proven label, and its siblings."""

    item: Item
    label: Label
    siblings: tuple[Proven, ...] = ()


@dataclass
class Prover:
    """Proves the claims of one family's drafts; searches shared by drafts run once."""

    session: Session
    """Session with the limits of the certificate."""
    basis: Basis
    found: dict[str, HopProof] = field(default_factory=dict)
    calls: int = 0
    """Number of calls for claims and searches, including those that `known` saved."""
    known: KnownCalls = field(default_factory=KnownCalls)

    def __post_init__(self) -> None:
        """Share calls between searches."""
        self.ways = Ways(self.session, self.known, self.basis.seed)

    async def prove(
        self, draft: Draft, instead: Mapping[str, str] | None = None
    ) -> Proven | Reason:
        """Return the draft as an item whose label holds, or why it does not.

        Args:
            draft: the draft to prove.
            instead: for each tool removed from the item to which this sibling belongs, its
                replacement; empty if there is none.

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
        if not await self._matters(draft):
            return Reason.NOT_NEEDED
        checks = await self._in_vain(draft)
        if isinstance(checks, Reason):
            return checks
        instead = dict(instead or {}) | _instead(draft, {*checks.taken_out})
        item = _less(draft.item, instead, draft)
        if not item.order:
            return Reason.NO_DONOR
        siblings = []
        for sibling in draft.siblings:
            sibling = replace(sibling, removable=draft.removable, further=draft.further)
            proven = await self.prove(sibling, {} if draft.apart else instead)
            if isinstance(proven, Reason):
                return proven
            siblings.append(proven)
        label = draft.label
        if draft.in_vain:
            label = replace(label, checks=checks)
        return Proven(item, label, tuple(siblings))

    async def computing(self, scene: Scene) -> frozenset[str]:
        """Return the item's tools that answer calls with values which no table can contain."""
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
            # A table in the source cannot contain texts that the source does not mention.
            strange = [one for one in sets if _texts(task, one).isdisjoint(task.source.texts)]
            some = [answered[canonical(one)] for one in strange]
            least = SOME if _texts(task, arguments) else NEARLY_ALL
            if len(some) > 1 and sum(some) >= least * len(some):
                found.add(hop.tool.name)
        return frozenset(found)

    async def _with_gold(self, draft: Draft) -> Draft | Reason:
        """Return the draft with newly found gold calls, which are added to the expected ones."""
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

    async def _matters(self, draft: Draft) -> bool:
        """Whether most of the answered guesses give another answer."""
        same = list[bool]()
        for one in draft.guesses:
            self.calls += 1
            outcome = await self.session.call(draft.item.all_tools[one.tool].program, one.arguments)
            if isinstance(outcome, Returned) and not tells_of_error(read_result(outcome.json_text)):
                same.append(_is_as_expected(one, outcome))
        return len(same) < 2 or 2 * sum(same) < len(same)

    async def _in_vain(self, draft: Draft) -> Checks | Reason:
        """Prove that the answers are out of reach; the reason if a tool that stays reveals one."""
        tools, done = to_be_tried(draft.item), Checks()
        out = list[str]()
        for vain in draft.in_vain:
            may_give = holders(draft.item, vain, [tool for tool in tools if tool.name not in out])
            own = {hop.tool.name for hop in draft.item.hops}
            if not may_give.isdisjoint(own):
                return Reason.HELD
            out += sorted(may_give & draft.removable)
            left = [tool for tool in tools if tool.name not in out]
            searched = await self.ways.search(vain, left, draft.removable)
            self.calls += searched.calls
            if searched.fault:
                return _fault(draft, searched.fault)
            if searched.undecided:
                return Reason.UNFINISHED
            out += sorted(searched.out)
            done = Checks(
                len(tools) - len(out), tuple(out),
                min(done.depth or searched.depth, searched.depth),
                done.calls + searched.calls, done.untried + searched.untried,
            )  # fmt: skip
        return done

    async def _search(self, task: Task) -> HopProof:
        """Search for the gold call of a hop with a new tool."""
        key = canonical(
            [repr(task.asked), task.hop.question, dict(task.schema), task.hop.tool.body_parts]
        )
        if key not in self.found:
            seed = f"{self.basis.seed}/{task.hop.question}"
            search = Search(self.session, task, self.basis, seed, run_batch=self.known)
            self.found[key] = await search.prove()
            self.calls += search.calls.executions
        return self.found[key]

    async def _gives(self, item: Item, one: Expected) -> bool:
        tool = item.all_tools[one.tool]
        schema = tool.schema.parameters
        if one.accepted and not fits(compiled(schema), schema, one.arguments):
            return False
        self.calls += 1
        at_first = tool.body.first if one.first and isinstance(tool.body, Flaky) else None
        outcome = await self.session.call(at_first or tool.program, one.arguments)
        return _is_as_expected(one, outcome)


def _fault(draft: Draft, name: str) -> Reason:
    """Return the reason for refusing an item in which a tool that must stay does a lost job."""
    hops = list(enumerate(draft.item.hops, 1))
    lost = {hop.tool.name for at, hop in hops if at in draft.label.lost}
    own = {hop.tool.name for _, hop in hops} - lost
    return Reason.OWN_TOOL if name in own else draft.fault


def _texts(task: Task, arguments: dict[str, JSON]) -> set[str]:
    """Return the texts in a call's arguments, without options."""
    content = [leaf for leaf in leaves(task.schema, arguments) if not leaf.is_option]
    return {leaf.value for leaf in content if isinstance(leaf.value, str)}


def _answers(kind: Kind, outcome: Outcome, arguments: dict[str, JSON]) -> bool:
    """Whether a call gives any answer of a kind."""
    value = read_result(outcome.json_text) if isinstance(outcome, Returned) else None
    return any(Kind.of(answer.text) is kind for answer in values(value, arguments))


def _is_job(item: Item, at: int, arguments: dict[str, JSON]) -> bool:
    """Whether a tool's call for a second hop really does a second job.

    It does not if the arguments contain the answer, in any notation, or if another hop served by
    the tool has the same answer.
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


def _instead(draft: Draft, out: set[str]) -> dict[str, str]:
    """Return a replacement from the spare tools for each removed tool; empty if none is left."""
    item = draft.item
    off = {*item.order, *out}
    spare = iter(
        [tool.name for tool in item.others if tool.name in draft.removable and tool.name not in off]
    )
    places = [name for name in item.order if name in out]
    return dict.fromkeys(out, "") | {name: next(spare, "") for name in places}


def _less(item: Item, instead: Mapping[str, str], draft: Draft) -> Item:
    """Remove or replace tools of other items; hold back only the required number."""
    order = [instead.get(name, name) for name in item.order]
    shown = {name for name in order if name}
    others, held = list[Tool](), 0
    for tool in item.others:
        is_held = tool.name in draft.removable and tool.name not in shown
        held += is_held
        if tool.name not in instead and not (is_held and held > draft.further):
            others.append(tool)
    return replace(item, others=tuple(others), order=tuple(name for name in order if name))
