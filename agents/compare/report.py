"""A comparison of several runs with the first of them: groups, corrections, tries, flips."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path

from agents.compare.measures import CODES, MEASURES, Line, Options, lines
from agents.compare.pairing import Pair, Pairing, pair_up
from agents.compare.sides import Key, NotComparable, Played, Side, domains, read_sides
from agents.statistics import bootstrap, passing
from agents.statistics.multiple import holm
from agents.statistics.passing import PassRate
from env.score import Score

ALL = "all"
"""The group of every pair."""
RULES: Mapping[str, Callable[[Score], bool]] = {
    "strict": lambda one: one.strict,
    "official": lambda one: bool(one.official),
}
KINDS: Mapping[str, Callable[[int, int, int], float]] = {
    "pass@k": passing.pass_at_k,
    "pass^k": passing.pass_hat_k,
}
_FAMILY = {measure.name: measure.family or measure.name for measure in (*MEASURES, *CODES)}


class By(StrEnum):
    """What pairs are split by."""

    MODE = "mode"
    DOMAIN = "domain"
    HOPS = "hops"


@dataclass(frozen=True, slots=True)
class Request:
    """What a comparison is asked for."""

    by: By | None = None
    """None splits by mode where several were played, and else not at all."""
    ks: Sequence[int] | None = None
    """Tries of pass@k and pass^k; None for powers of two up to the epochs."""
    common: bool = False
    allow_differences: bool = False
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Group:
    """Pairs that have something in common, and their figures."""

    by: str
    """`all`, or what pairs were split by."""
    value: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Passing:
    """pass@k or pass^k of two runs over the same items and epochs, in one mode."""

    mode: str
    rule: str
    kind: str
    k: int
    before: PassRate
    after: PassRate
    difference: float
    low: float | None
    """None with too few items to resample, or where all differ alike."""
    high: float | None


@dataclass(frozen=True, slots=True)
class Flip:
    """A pair whose correctness changed under either rule."""

    key: Key
    strict: tuple[bool, bool]
    official: tuple[bool, bool]
    played: tuple[Played, Played]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run against the baseline."""

    pairing: Pairing
    groups: Sequence[Group]
    passes: Sequence[Passing]
    flips: Sequence[Flip]


@dataclass(frozen=True, slots=True)
class Report:
    """All comparisons with one baseline."""

    sides: Sequence[Side]
    comparisons: Sequence[Comparison]
    corrected: bool
    """Whether any p-value was corrected: several tests of one family are shown."""
    options: Options


def compare(sides: Sequence[Side], request: Request) -> Report:
    """Compare every run with the first.

    Raises:
        NotComparable: two runs differ in more than is allowed, share no pair, or have fewer
            epochs than the tries asked for.
        StoreError: the items' domains are asked for and cannot be read.
    """
    baseline, *others = sides
    pairings = [
        pair_up(
            baseline,
            other,
            common=request.common,
            allow_differences=request.allow_differences,
        )
        for other in others
    ]
    for one in pairings:
        _check_ks(one, request.ks)
    named = domains(sides) if request.by is By.DOMAIN else {}
    found = [_comparison(one, request, named) for one in pairings]
    adjusted = _adjusted(found)
    return Report(
        sides=sides,
        comparisons=adjusted,
        corrected=any(line.adjusted is not None for line in _all_lines(adjusted)),
        options=request.options,
    )


def read_and_compare(folders: Sequence[Path], request: Request) -> Report:
    """The same for runs in folders, the first being the baseline."""
    return compare(read_sides(folders), request)


def _comparison(pairing: Pairing, request: Request, named: Mapping[str, str]) -> Comparison:
    return Comparison(
        pairing=pairing,
        groups=_groups(pairing.pairs, request, named),
        passes=list(_passes(pairing, request)),
        flips=[flip for flip in map(_flip, pairing.pairs) if flip is not None],
    )


def _groups(pairs: Sequence[Pair], request: Request, named: Mapping[str, str]) -> list[Group]:
    """Every pair, and the parts they are split into where there are several."""
    by = request.by
    if by is None and len({pair.key.mode for pair in pairs}) > 1:
        by = By.MODE
    groups = [Group(ALL, "", lines(pairs, request.options))]
    if by is None:
        return groups
    parts: dict[int | str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        parts[_part(by, pair, named)].append(pair)
    if len(parts) == 1:
        return groups
    ordered = sorted(parts, key=lambda value: (isinstance(value, str), value))
    split = (Group(by.value, str(part), lines(parts[part], request.options)) for part in ordered)
    return [*groups, *split]


def _part(by: By, pair: Pair, named: Mapping[str, str]) -> int | str:
    match by:
        case By.MODE:
            return pair.key.mode
        case By.DOMAIN:
            return named.get(pair.key.item, "unknown")
        case By.HOPS:
            return pair.hops


def _flip(pair: Pair) -> Flip | None:
    strict = (pair.before.strict, pair.after.strict)
    official = (bool(pair.before.official), bool(pair.after.official))
    if strict[0] == strict[1] and official[0] == official[1]:
        return None
    return Flip(pair.key, strict, official, pair.played)


def _epochs(pairing: Pairing) -> int:
    return min(pairing.before.epochs, pairing.after.epochs)


def _check_ks(pairing: Pairing, ks: Sequence[int] | None) -> None:
    most = _epochs(pairing)
    if ks and max(ks) > most:
        raise NotComparable(
            f"--k {max(ks)} needs as many epochs; {pairing.before.folder} and "
            f"{pairing.after.folder} have {most} in common"
        )


def _passes(pairing: Pairing, request: Request) -> Iterable[Passing]:
    """By mode and rule; only where items were played more than once, or it was asked for."""
    most = _epochs(pairing)
    ks = request.ks
    if ks is None:
        ks = [k for k in (2**power for power in range(most.bit_length())) if k <= most]
        ks = ks if most > 1 else []
    by_mode: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairing.pairs:
        by_mode[pair.key.mode][pair.key.item].append(pair)
    for mode, items in by_mode.items():
        for rule in RULES:
            for kind in KINDS:
                for k in ks:
                    one = _passing(mode, rule, kind, k, items, request.options)
                    if one is not None:
                        yield one


def _passing(
    mode: str,
    rule: str,
    kind: str,
    k: int,
    items: Mapping[str, Sequence[Pair]],
    options: Options,
) -> Passing | None:
    right, estimate = RULES[rule], KINDS[kind]
    tries = {
        item: (
            (len(pairs), sum(right(pair.before) for pair in pairs)),
            (len(pairs), sum(right(pair.after) for pair in pairs)),
        )
        for item, pairs in items.items()
        if len(pairs) >= k
    }
    before = passing.over_items([one for one, _ in tries.values()], k, estimate)
    after = passing.over_items([other for _, other in tries.values()], k, estimate)
    if before is None or after is None:
        return None
    interval = bootstrap.clustered(
        {item: [(estimate(*b, k), estimate(*a, k))] for item, (b, a) in tries.items()},
        seed=options.seed,
        resamples=options.resamples,
        confidence=options.confidence,
    )
    spread = interval.low != interval.high and len(tries) >= bootstrap.LEAST_CLUSTERS
    return Passing(
        mode=mode,
        rule=rule,
        kind=kind,
        k=k,
        before=before,
        after=after,
        difference=interval.estimate,
        low=interval.low if spread else None,
        high=interval.high if spread else None,
    )


def _adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Holm's correction over all tests of one measure that are shown; error codes together."""
    families: dict[str, list[Line]] = defaultdict(list)
    for one in _all_lines(comparisons):
        families[_FAMILY[one.measure]].append(one)
    corrected: dict[int, float] = {}
    for family in families.values():
        if len(family) > 1:
            values = holm([one.p_value for one in family])
            corrected |= {id(one): p for one, p in zip(family, values, strict=True)}
    return [
        replace(
            comparison,
            groups=[
                replace(
                    group,
                    lines=[replace(one, adjusted=corrected.get(id(one))) for one in group.lines],
                )
                for group in comparison.groups
            ],
        )
        for comparison in comparisons
    ]


def _all_lines(comparisons: Sequence[Comparison]) -> list[Line]:
    groups = chain.from_iterable(one.groups for one in comparisons)
    return list(chain.from_iterable(group.lines for group in groups))
