"""Effects of the parts of feedback: differences of two levels, one of which contains the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolhop_agents.ablate.contrasts import Arms, Contrast, Levels, contrasts
from toolhop_agents.ablate.design import Ablation, Factor
from toolhop_agents.compare.cells import effect
from toolhop_env.levels import PARTS, Level, Part, added
from toolhop_env.measures import Measure
from toolhop_env.pairs.line import Line, Options, corrected, line
from toolhop_env.pairs.pair import Pair


@dataclass(frozen=True, slots=True)
class PartEffect:
    """What one level adds to the largest level that it contains, and the effect of that."""

    first: str
    second: str
    parts: tuple[Part, ...]
    effect: Line | None
    """Effect in the leading measure, corrected for the other parts; None without a pair. Forks of
    all prefix levels are taken together, clustered by item."""
    planned: int
    """Number of pairs if none were lost."""


def steps(ablation: Ablation) -> Levels:
    """Return each built-in level after the largest other level that it contains."""
    if ablation.factor is not Factor.FEEDBACK:
        return []
    contained = {
        level: [other for other in ablation.levels if added(other, level)]
        for level in ablation.levels
    }
    return [
        (max(others, key=lambda name: len(PARTS[Level(name)])), level)
        for level, others in contained.items()
        if others
    ]


def part_effects(
    ablation: Ablation, measure: Measure, arms: Arms, planned: int
) -> Sequence[PartEffect]:
    """Return the effect of each part that two of the levels differ by (`steps`)."""
    options = Options(seed=ablation.base.seed, confidence=ablation.confidence)
    compared = steps(ablation)
    found = contrasts(ablation, arms, planned, compared) if compared else []
    chosen = [_chosen(ablation, found, levels) for levels in compared]
    effects = corrected([line(measure, pairs, options) for pairs, _ in chosen])
    return [
        PartEffect(first, second, added(first, second), one, wanted)
        for (first, second), (_, wanted), one in zip(compared, chosen, effects, strict=True)
    ]


def _chosen(
    ablation: Ablation, found: Sequence[Contrast], levels: tuple[str, str]
) -> tuple[Sequence[Pair], int]:
    """Return the pairs of two levels, and their number if none were lost."""
    own = [one for one in found if (one.first, one.second) == levels]
    own = [one for one in own if one.forked] if ablation.forks else own[:1]
    pairs = [pair for one in own for pair in (one.failed if ablation.forks else one.pairs)]
    return pairs, len(pairs) + sum(one.left_out for one in own)


def sentences(ablation: Ablation, found: Sequence[PartEffect]) -> Iterator[str]:
    """Yield what is known of the effect of each part."""
    of = "all episodes"
    if ablation.forks:
        of = f"episodes with a failed call, forked under {', '.join(ablation.played_levels)}"
    for one in found:
        *others, last = one.parts
        what = f"{', '.join(others)} and {last}" if others else str(last)
        what = f"{what[0].upper()}{what[1:]} ({one.first} → {one.second})"
        if one.effect is None:
            yield f"{what}: there is no pair to compare."
        else:
            yield effect(one.effect, ablation.confidence, what=what, of=of, planned=one.planned)
