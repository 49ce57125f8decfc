"""Compare several runs with the first: split by mode, domain or hops, with corrected p-values,
and over several tries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolhop_agents.compare.conditions import DEFAULTS
from toolhop_agents.compare.pairing import Pairing, pair_up
from toolhop_env.benchmark import Benchmark
from toolhop_env.facets import DOMAIN, MODE, in_order, splitting
from toolhop_env.measures import DIVERGENCES, Measure
from toolhop_env.pairs.line import Line, Options, compared, corrected, lines
from toolhop_env.pairs.pair import Pair
from toolhop_env.pairs.totals import TotalLine, total_lines
from toolhop_env.runs.sides import NotComparable, Side, benchmark_of, domains, read_sides
from toolhop_env.statistics import bootstrap, passing
from toolhop_env.statistics.passing import KINDS, PassRate

ALL = "all"
"""The stratum that holds every pair."""
DIVERGENCE = "divergence"
"""Compares the shares of first divergences and of the paper's kinds of error, pair by pair."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """Options of a comparison."""

    by: str | None = None
    """Facet to split by (`toolhop_env.facets`), or `DIVERGENCE` for its measures over all pairs.
    None splits by mode if several modes were played."""
    ks: Sequence[int] | None = None
    """Numbers of tries for pass@k and pass^k; None for powers of two up to the number of epochs."""
    common: bool = False
    allow_differences: bool = False
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Stratum:
    """Pairs that share a facet's value, and their figures."""

    by: str
    """`all`, or the facet that splits the pairs."""
    value: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Passing:
    """pass@k or pass^k of two runs over the same items and epochs, in one mode."""

    mode: str
    measure: Measure
    kind: str
    k: int
    before: PassRate
    after: PassRate
    difference: float
    low: float | None
    """None if there are too few items to resample, or all differ by the same amount."""
    high: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run against the baseline."""

    pairing: Pairing
    strata: Sequence[Stratum]
    passes: Sequence[Passing]
    discordant: Sequence[Pair]
    """Pairs with one side right and the other wrong by at least one answer measure."""
    totals: Sequence[TotalLine] = ()


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """All comparisons with one baseline."""

    benchmark: Benchmark
    sides: Sequence[Side]
    comparisons: Sequence[Comparison]
    options: Options

    @property
    def lines(self) -> Sequence[Line]:
        """Lines of all comparisons."""
        return _lines(self.comparisons)

    @property
    def corrected(self) -> bool:
        """Whether any p-value is corrected because several tests of one family are shown."""
        return any(line.adjusted is not None for line in self.lines)


def compare(sides: Sequence[Side], request: ComparisonRequest) -> ComparisonReport:
    """Compare every run with the first.

    Raises:
        NotComparable: two runs are of different benchmarks, differ in more than is allowed, share
            no pair, or have fewer epochs than the requested tries.
        StoreError: the items' domains are needed and cannot be read.
        UnknownFacet: the episodes do not have the requested facet.
    """
    benchmark = benchmark_of({one.letter: one.episodes.values() for one in sides})
    if benchmark is None:
        folders = ", ".join(str(side.folder) for side in sides)
        raise NotComparable(f"no episode was begun in {folders}: there is nothing to compare")
    baseline, *others = sides
    asked = {"common": request.common, "allow_differences": request.allow_differences}
    pairings = [pair_up(baseline, other, **asked) for other in others]
    for one in pairings:
        _check_ks(one, request.ks)
    measures = compared(benchmark)
    if request.by == DIVERGENCE:
        own = map(benchmark.measure, benchmark.presentation.categories)
        measures, request = (benchmark.lead, *DIVERGENCES, *own), replace(request, by=None)
    named_domains = domains(sides) if request.by == DOMAIN else {}
    found = [
        Comparison(
            pairing=one,
            strata=_strata(measures, one.pairs, request, named_domains),
            passes=list(_passes(benchmark, one, request)),
            discordant=[p for p in one.pairs if p.discordant(benchmark.answer_measures)],
            totals=total_lines(benchmark, one.pairs, confidence=request.options.confidence),
        )
        for one in pairings
    ]
    return ComparisonReport(benchmark, sides, _adjusted(found), request.options)


def read_and_compare(folders: Sequence[Path], request: ComparisonRequest) -> ComparisonReport:
    """Read the runs in `folders`, and compare them with the first."""
    return compare(read_sides(folders, DEFAULTS), request)


def _strata(
    measures: Sequence[Measure],
    pairs: Sequence[Pair],
    request: ComparisonRequest,
    named_domains: Mapping[str, str],
) -> list[Stratum]:
    """Return a stratum of all pairs, and one for each part if the facet has several values."""
    by = request.by
    if by is None and len({pair.key.mode for pair in pairs}) > 1:
        by = MODE
    parts: dict[str, list[Pair]] = defaultdict(list)
    if by is not None:
        value = splitting(by, (pair.before for pair in pairs), named_domains)
        for pair in pairs:
            # The key of a pair of two modes names both.
            parts[pair.key.mode if by == MODE else value(pair.before)].append(pair)
    strata = [Stratum(ALL, "", lines(measures, pairs, request.options))]
    if by is None or len(parts) == 1:
        return strata
    return strata + [
        Stratum(by, part, lines(measures, parts[part], request.options))
        for part in sorted(parts, key=in_order)
    ]


def _check_ks(pairing: Pairing, ks: Sequence[int] | None) -> None:
    most = _epochs(pairing)
    if ks and max(ks) > most:
        raise NotComparable(
            f"--k {max(ks)} needs as many epochs; {pairing.before.folder} and "
            f"{pairing.after.folder} have {most} in common"
        )


def _epochs(pairing: Pairing) -> int:
    return min(side.epochs for side in pairing.sides)


def _passes(
    benchmark: Benchmark, pairing: Pairing, request: ComparisonRequest
) -> Iterator[Passing]:
    """Yield pass rates by mode and measure, if items were played more than once or `ks` are
    given.
    """
    most, ks = _epochs(pairing), request.ks
    if ks is None:
        ks = passing.usual_ks(most)
    measures = [measure for measure in benchmark.answer_measures if measure.binary]
    by_mode: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairing.pairs:
        by_mode[pair.key.mode].append(pair)
    for mode, pairs in by_mode.items():
        for measure in measures:
            for kind in KINDS:
                for k in ks:
                    one = _passing(mode, measure, kind, k, pairs, request.options)
                    if one is not None:
                        yield one


def _passing(
    mode: str, measure: Measure, kind: str, k: int, pairs: Sequence[Pair], options: Options
) -> Passing | None:
    tried: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for pair in pairs:
        parts = pair.parts(measure)
        if parts is not None:
            tried[pair.cluster, pair.key.item].append((bool(parts[0][0]), bool(parts[1][0])))
    estimate, sides = KINDS[kind], [zip(*tries, strict=True) for tries in tried.values()]
    counts = [[(len(right), sum(right)) for right in both] for both in sides]
    before, after = (
        passing.over_items([both[side] for both in counts], k, estimate) for side in (0, 1)
    )
    if before is None or after is None:
        return None
    values: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (cluster, _), (one, other) in zip(tried, counts, strict=True):
        if one[0] >= k:
            values[cluster].append((estimate(*one, k), estimate(*other, k)))
    interval = bootstrap.clustered(
        values, seed=options.seed, resamples=options.resamples, confidence=options.confidence
    )
    spread = interval.low != interval.high and len(values) >= bootstrap.LEAST_CLUSTERS
    return Passing(
        mode=mode,
        measure=measure,
        kind=kind,
        k=k,
        before=before,
        after=after,
        difference=interval.estimate,
        low=interval.low if spread else None,
        high=interval.high if spread else None,
    )


def _adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Apply Holm's correction over all tests shown for a measure; error codes form one family."""
    families: dict[str, list[Line]] = defaultdict(list)
    for one in _lines(comparisons):
        families[one.measure.family or one.measure.name].append(one)
    known = {
        id(one): together
        for family in families.values()
        if len(family) > 1
        for one, together in zip(family, corrected(family), strict=True)
    }

    def adjusted(stratum: Stratum) -> Stratum:
        return replace(stratum, lines=[known.get(id(one)) or one for one in stratum.lines])

    return [replace(one, strata=[adjusted(part) for part in one.strata]) for one in comparisons]


def _lines(comparisons: Sequence[Comparison]) -> list[Line]:
    return [one for part in comparisons for stratum in part.strata for one in stratum.lines]
