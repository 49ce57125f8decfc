"""Words that stand for one another in a choice's name and in a question. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def stem(word: str) -> str:
    """A word without the *s* of a plural."""
    return word.removesuffix("s") if len(word) > 3 else word


_ALIKE = (
    "father mother parent parents parentage paternal maternal",
    "husband wife spouse marriage married",
    "son daughter child children",
    "brother sister sibling",
    "born birth",
    "die dies died death",
    "wrote written author writer authored playwright",
    "directed director",
    "founded founding foundation founder established establishment",
    "published publication publisher",
    "star stars starred starring actor actress actors cast plays played lead",
    "studied study educated education attended",
    "opened open opening",
    "who whom whose person",
    "where place location city country",
    "when date year time",
    "year years annual",
    "sum total add addition plus adding",
    "difference subtract subtraction minus before fewer less more",
    "product multiply multiplication times multiplying multiplied",
    "quotient divide division ratio divided",
    "power exponent exponentiate exponentiation raised",
    "letters alphabets alphabetic letter characters char",
    "different distinct unique",
    "largest biggest size highest greatest maximum max longest",
    "smallest lowest least minimum min shortest",
    "earliest oldest first start started began begin",
    "latest newest last end ended final",
    "old age",
    "long length duration runtime",
    "tall high height elevation altitude",
    "wide width",
    "far distance",
    "deep depth",
    "heavy weight mass",
    "large big size area",
    "fast speed",
    "case lower lowercase small",
    "inclusive inclusively exclusive exclusively strictly end ends bounds endpoints counting"
    " include included including excluded excluding",
    "exclude excluding excluded without except ignore ignoring omit skip remove contain no",
    "descending desc decreasing reverse reversed backwards",
    "middle median",
    "average mean avg",
    "km kilometre kilometres kilometer kilometers",
    "mi mile miles",
    "m metre metres meter meters",
    "cm centimetre centimetres centimeter centimeters",
    "ft foot feet",
    "kg kilogram kilograms kilo kilos",
    "g gram grams",
    "lb lbs pound pounds",
    "c celsius centigrade",
    "f fahrenheit",
    "k kelvin",
    "h hr hrs hour hours",
    "min mins minute minutes",
    "sec secs second seconds",
    "usd dollar dollars",
    "eur euro euros",
    "gbp pound pounds",
    "lat latitude",
    "lon lng longitude",
    "won win wins winner winning winners",
    "lost lose loses loser losing",
    "asc ascending increasing",
    "gt greater more above over exceed exceeds exceeding larger",
    "lt less fewer below under smaller",
    "case upper uppercase capital capitals",
)
"""One group a line."""
_GROUPS = tuple(frozenset(group.split()) for group in _ALIKE)
EMPTY = frozenset(
    (
        *("of", "the", "a", "an", "in", "on", "for", "to", "and", "or", "is", "by", "only", "with"),
        *("include", "including", "includes", "ignore", "ignoring", "exclude", "excluding", "use"),
        *("handle", "consider", "return", "show", "allow", "enable", "output", "get", "info"),
    )
)
"""Words of a name that say nothing of its topic."""
_LEAST_STEM = 4


def word_match(word: str, asked: Sequence[str]) -> float:
    """How well words match one: 1 if it is among them, less for its beginning or a synonym."""
    if word in asked or stem(word) in map(stem, asked):
        return 1.0
    if len(word) >= _LEAST_STEM and any(
        word[:_LEAST_STEM] == other[:_LEAST_STEM] for other in asked
    ):
        return 0.9
    near = (group for group in _GROUPS if word in group)
    return 0.8 if any(not group.isdisjoint(asked) for group in near) else 0.0
