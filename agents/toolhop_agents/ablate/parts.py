"""Effects of the parts of feedback: differences of two levels, one of which contains the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.ablate.contrasts import Arms, Contrast, Levels, contrasts
from toolhop_agents.ablate.design import Ablation, Factor
from toolhop_agents.compare.cells import difference, effect
from toolhop_env.attempt import Key
from toolhop_env.leaks import Leak
from toolhop_env.levels import PARTS, Part, added
from toolhop_env.measures import Measure
from toolhop_env.pairs.line import Line, Options, corrected, line
from toolhop_env.pairs.pair import Pair


@dataclass(frozen=True, slots=True)
class Leaks:
    """What the feedback of an ablation gives away (`toolhop_env.leaks`)."""

    counts: Mapping[str, Counter[str]]
    """By level: ``messages``, those ``leaking``, and those that leak each kind of value."""
    forks: set[tuple[str, str, Key]]
    """Prefix level, level and branch wherever feedback in the fork's own turn leaks. Which later
    calls fail depends on the level, so that leaving forks out by these would bias the effect."""


NO_LEAKS = Leaks({}, set())


@dataclass(frozen=True, slots=True)
class PartEffect:
    """What one level adds to a smaller one (`steps`), and the effect of that."""

    first: str
    second: str
    parts: tuple[Part, ...]
    """Empty if neither level contains the other."""
    effect: Line | None
    """Effect in the leading measure, corrected for the other parts; None without a pair. Forks of
    all prefix levels are taken together, clustered by item."""
    planned: int
    """Number of pairs if none were lost."""
    tight: Line | None = None
    """The effect without forks that leak at either level; None without a pair."""
    leaking: int = 0
    """Number of pairs of forks that leak."""

    @property
    def name(self) -> str:
        """The parts and the levels, in words."""
        levels = f"{self.first} → {self.second}"
        return f"{' and '.join(self.parts)} ({levels})" if self.parts else f"feedback {levels}"


def steps(ablation: Ablation) -> Levels:
    """Return each level after the largest that it contains, else after the first one."""
    compared, first = [], ablation.levels[0]
    for level in ablation.levels if ablation.factor is Factor.FEEDBACK else ():
        smaller = [other for other in PARTS if other in ablation.levels and added(other, level)]
        if smaller:
            compared.append((max(smaller, key=lambda other: len(PARTS[other])).value, level))
        elif level != first and not added(level, first):
            compared.append((first, level))
    return compared


def options_of(own: Ablation) -> Options:
    """Return how the pairs of an ablation are compared."""
    return Options(seed=own.base.seed, confidence=own.confidence, power=own.continuations == 1)


def part_effects(
    ablation: Ablation, measure: Measure, arms: Arms, planned: int, leaks: Leaks = NO_LEAKS
) -> Sequence[PartEffect]:
    """Return the effect of each part that two of the levels differ by (`steps`)."""
    compared, options = steps(ablation), options_of(ablation)
    every = contrasts(ablation, arms, planned, compared) if compared else []
    chosen = [_chosen(ablation, every, levels) for levels in compared]
    effects = corrected([line(measure, [*pairs.values()], options) for pairs, _ in chosen])
    parts = []
    for (first, second), (pairs, wanted), whole in zip(compared, chosen, effects, strict=True):
        left = [
            pair
            for (prefix, key), pair in pairs.items()
            if not {(prefix, first, key), (prefix, second, key)} & leaks.forks
        ]
        tight, more = line(measure, left, options), added(first, second)
        leaking = len(pairs) - len(left)
        parts.append(PartEffect(first, second, more, whole, wanted, tight, leaking))
    return parts


def _chosen(
    ablation: Ablation, every: Sequence[Contrast], levels: tuple[str, str]
) -> tuple[Mapping[tuple[str, Key], Pair], int]:
    """Return the pairs of two levels by prefix level and key, and their planned number."""
    own = [contrast for contrast in every if (contrast.first, contrast.second) == levels]
    own = [contrast for contrast in own if contrast.forked] if ablation.forks else own[:1]
    groups = ((c.prefix, c.failed if c.forked else c.pairs) for c in own)
    pairs = {(prefix, pair.key): pair for prefix, group in groups for pair in group}
    return pairs, len(pairs) + sum(contrast.left_out for contrast in own)


def sentences(ablation: Ablation, parts: Sequence[PartEffect]) -> Iterator[str]:
    """Yield a sentence on each part."""
    of = "all episodes"
    if ablation.forks:
        of = f"episodes with a failed call, forked under {', '.join(ablation.played_levels)}"
    for part in parts:
        what, line = f"{part.name[0].upper()}{part.name[1:]}", part.effect
        said = line and effect(line, ablation.confidence, what=what, of=of, planned=part.planned)
        yield said or f"{what}: there is no pair to compare."


def leak_sentences(ablation: Ablation, parts: Sequence[PartEffect], leaks: Leaks) -> Iterator[str]:
    """Yield what messages of each level leak, and the effects without the forks that leak."""
    shares = []
    for level, counts in leaks.counts.items():
        kinds = ", ".join(f"{kind} {counts[kind]}" for kind in Leak if counts[kind])
        share = f"{level} {counts['leaking']} of {counts['messages']} ({kinds})"
        shares.append(share.removesuffix(" ()"))
    if shares:
        yield f"Messages that give away what stands nowhere before: {'; '.join(shares)}."
    for part in parts:
        if part.leaking:
            line = part.tight
            left = difference(line, ablation.confidence, line.pairs) if line else "no pair is left"
            yield f"Without forks that give something away, {part.name}: {left}."
