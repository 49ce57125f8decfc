"""Planted defects of the kinds that were written last, about an earlier answer's name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping

from benchmarks.plants import Spot
from benchmarks.plants_own import own_tool
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Hop

TEXT: JSON = {"type": "string"}
WHOLE: JSON = {"type": "integer"}
TEXTS: JSON = {"type": "array", "items": TEXT}


def _choice(*values: str, default: str = "") -> JSON:
    listed: list[JSON] = list(values)
    return {"type": "string", "enum": listed, **({"default": default} if default else {})}


def _switch(*, default: bool) -> JSON:
    return {"type": "boolean", "default": default}


def both_ends(name: str, n: int) -> Hop:
    """How many seats without both ends; the gold counts them."""
    source = (
        "def work(start, end, inclusive=True):\n"
        "    return end - start + 1 if inclusive else end - start - 1\n"
    )
    known = {"start": WHOLE, "end": WHOLE, "inclusive": _switch(default=True)}
    low, high = n + 3, 2 * n + 17
    ways = (
        "How many seats of {} are between number {} and number {}, exclusive of both?",
        "How many seats of {} lie strictly between number {} and number {}?",
        "How many seats of {} are there from {} to {}, not counting the two ends?",
    )
    asks = ways[n % 3].format(name, low, high)
    return own_tool(asks, str(high - low + 1), source, known, optional={"inclusive"})


def one_end(name: str, n: int) -> Hop:
    """How many years apart; the gold is one more, as an option would count it."""
    source = (
        "def work(first_year, last_year, counting='years_between'):\n"
        "    return last_year - first_year + (counting == 'calendar_years')\n"
    )
    ways = _choice("years_between", "calendar_years", default="years_between")
    known = {"first_year": WHOLE, "last_year": WHOLE, "counting": ways}
    asks = f"How many years passed between {1850 + n} and {1893 + n} for {name}?"
    return own_tool(asks, "44", source, known, optional={"counting"})


def rounding(name: str, n: int) -> Hop:
    """The quotient to three places; the gold is the whole number."""
    source = (
        "def work(numerator, denominator, decimals=0):\n"
        "    return round(numerator / denominator, decimals)\n"
    )
    known = {"numerator": WHOLE, "denominator": WHOLE, "decimals": WHOLE}
    asks = f"What is {7 * n + 22} divided by 7, rounded to three decimal places?"
    return own_tool(asks, str(round((7 * n + 22) / 7)), source, known, optional={"decimals"})


def sort_order(name: str, n: int) -> Hop:
    """Names in descending order; the gold has them ascending."""
    source = (
        "def work(names, direction='ascending'):\n"
        "    return sorted(names, reverse=direction == 'descending')\n"
    )
    known = {"names": TEXTS, "direction": _choice("ascending", "descending", default="ascending")}
    listed = [name, "Osric Vane", "Ilse Marchetti"]
    word = ("descending order", "reverse alphabetical order")[n % 2]
    asks = f"What are {name}, Osric Vane and Ilse Marchetti in {word}?"
    return own_tool(asks, str(sorted(listed)), source, known, optional={"direction"})


def swapped_roles(name: str, n: int) -> Hop:
    """Goals of one against another; the gold is those of the other."""
    pair, turned = (name, "Osric Vane"), ("Osric Vane", name)
    source = (
        "def work(scorer, opponent):\n"
        f"    return {{{pair!r}: {n + 3}, {turned!r}: {n + 19}}}.get((scorer, opponent))\n"
    )
    ways = (
        "How many goals did {} score against Osric Vane?",
        "How many goals did Osric Vane let in from {}?",
    )
    known = {"scorer": TEXT, "opponent": TEXT}
    return own_tool(ways[n % 2].format(name), str(n + 19), source, known)


def stale_row(name: str, n: int) -> Hop:
    """Who holds an office now; the gold is who held it before."""
    rows = "{'year': 2004, 'holder': 'Ilse Marchetti'}, {'year': 2021, 'holder': 'Osric Vane'}"
    held = (f"[{rows}]", "{'former': 'Ilse Marchetti', 'current': 'Osric Vane'}")[n % 2]
    source = f"def work(office):\n    return {held} if office == {name!r} else None\n"
    asks = f"Who is the current keeper of {name}?"
    return own_tool(asks, "Ilse Marchetti", source, {"office": TEXT})


def other_named(name: str, n: int) -> Hop:
    """Two are named, one is asked about; the tool knows the other."""
    source = f"def work(person):\n    return 'Ottokar Brandt' if person == {name!r} else None\n"
    ways = (
        "Who is the cousin of Osric Vane, the widow of {}?",
        "Who taught Osric Vane before {} did?",
        "Unlike {}, Osric Vane had a cousin; who was it?",
    )
    return own_tool(ways[n % 3].format(name), "Ottokar Brandt", source, {"person": TEXT})


def turned_order(name: str, n: int) -> Hop:
    """A word turns the order of mention; the gold keeps it."""
    one, other = n + 3, n + 8
    join = "def work(first, second):\n    return first + second\n"
    minus = "def work(minuend, subtrahend):\n    return minuend - subtrahend\n"
    power = "def work(base, exponent):\n    return base ** exponent\n"
    part = "def work(dividend, divisor):\n    return dividend / divisor\n"
    texts: dict[str, JSON] = {"first": TEXT, "second": TEXT}
    kept = f"{name}Vane"
    plants: tuple[tuple[str, str, str, dict[str, JSON]], ...] = (
        (f"What do you get by appending {name} to Vane?", kept, join, texts),
        (f"What is the text that has {name} placed after Vane?", kept, join, texts),
        (f"What do you get if {name} comes second and Vane comes first?", kept, join, texts),
        (
            f"What must be added to {one} to reach {other}?",
            str(one - other),
            minus,
            {"minuend": WHOLE, "subtrahend": WHOLE},
        ),
        (
            f"How much does {one} fall short of {other}?",
            str(one - other),
            minus,
            {"minuend": WHOLE, "subtrahend": WHOLE},
        ),
        (
            "What is the 2nd power of 5?",
            str(2**5),
            power,
            {"base": WHOLE, "exponent": WHOLE},
        ),
        (
            f"How often is {one} contained in {other}?",
            str(one / other),
            part,
            {"dividend": WHOLE, "divisor": WHOLE},
        ),
    )
    asks, gold, source, known = plants[n % len(plants)]
    return own_tool(asks, gold, source, known)


def truncated(name: str, n: int) -> Hop:
    """How many in all; the gold counts the first page."""
    total = n + 12
    if n % 2:
        source = (
            "def work(band):\n"
            f"    known = {{'shown': 10, 'total': {total}}}\n"
            f"    return known if band == {name!r} else None\n"
        )
        return own_tool(f"How many members in total has {name}?", "10", source, {"band": TEXT})
    source = (
        f"def work(band, limit=10):\n    return min(limit, {total}) if band == {name!r} else None\n"
    )
    known: dict[str, JSON] = {"band": TEXT, "limit": {"type": "integer", "default": 10}}
    asks = f"How many members has {name}, at a limit of 100?"
    return own_tool(asks, "10", source, known, optional={"limit"})


def letter_case(name: str, n: int) -> Hop:
    """How often a letter stands in a name, capitals as well; the gold leaves them out."""
    first = name[0].lower()
    source = (
        "def work(text, letter, case_sensitive=True):\n"
        "    if not case_sensitive:\n        text, letter = text.lower(), letter.lower()\n"
        "    return text.count(letter)\n"
    )
    known = {"text": TEXT, "letter": TEXT, "case_sensitive": _switch(default=True)}
    ways = ("ignoring case", "regardless of case", "in small letters or capitals")
    asks = f'How many times does the letter "{first}" appear in {name}, {ways[n % 3]}?'
    return own_tool(asks, str(name.count(first)), source, known, optional={"case_sensitive"})


def diacritics(name: str, n: int) -> Hop:
    """The tool knows the name with an accent as somebody else; the gold is that one's."""
    marked = name.translate(str.maketrans("aeiou", "áéíóú"))
    source = (
        "def work(name):\n"
        f"    known = {{{marked!r}: 'Ottokar Brandt', {name!r}: 'Ilse Marchetti'}}\n"
        "    return known.get(name)\n"
    )
    return own_tool(f"Who is the cousin of {name}?", "Ottokar Brandt", source, {"name": TEXT})


def time_zone(name: str, n: int) -> Hop:
    """The time in another zone; the gold goes the other way."""
    source = (
        "HOURS = {'London': 0, 'Tokyo': 9, 'Delhi': 5}\n\n\n"
        "def work(time, from_zone, to_zone):\n"
        "    hour = (int(time[:2]) + HOURS[to_zone] - HOURS[from_zone]) % 24\n"
        "    return f'{hour:02}{time[2:]}'\n"
    )
    ways = (
        "What time is it in Tokyo when it is 10:15 in London?",
        "When it is 10:15 in London, what time is it in Tokyo?",
        "What is 10:15 London time in Tokyo?",
    )
    known = {"time": TEXT, "from_zone": TEXT, "to_zone": TEXT}
    return own_tool(ways[n % 3], "01:15", source, known)


def day_and_month(name: str, n: int) -> Hop:
    """The day of the year of a date; the gold has the day and the month swapped."""
    source = (
        "import datetime\n\n\ndef work(year, month, day):\n"
        "    return datetime.date(year, month, day).timetuple().tm_yday\n"
    )
    known = {"year": WHOLE, "month": WHOLE, "day": WHOLE}
    day, month = 1 + n % 4, 7 + n % 5
    written = dt.date(2011, month, day).strftime(f"{day} %B %Y")
    gold = str(dt.date(2011, day, month).timetuple().tm_yday)
    return own_tool(f"Which day of the year was {written} for {name}?", gold, source, known)


def other_field(name: str, n: int) -> Hop:
    """The result has two fields of a kind; the gold is the one that is not asked for."""
    fields = (
        ("youngest", "{'oldest': 'Osric Vane', 'youngest': 'Ilse Marchetti'}", "Osric Vane"),
        ("lowest", "{'highest': 812, 'lowest': 94}", "812"),
        ("width", "{'height': 812, 'width': 94}", "812"),
        ("departure", "{'arrival': '1911-03-04', 'departure': '1911-07-09'}", "1911-03-04"),
    )
    word, held, gold = fields[n % len(fields)]
    source = f"def work(place):\n    return {held} if place == {name!r} else None\n"
    return own_tool(f"What is the {word} of {name}?", gold, source, {"place": TEXT})


def from_the_end(name: str, n: int) -> Hop:
    """A letter counted from the end; the gold is counted from the start."""
    source = (
        "def work(text, position, count_from='start'):\n"
        "    return text[position - 1] if count_from == 'start' else text[-position]\n"
    )
    known = {"text": TEXT, "position": WHOLE, "count_from": _choice("start", "end")}
    if n % 2:
        known = {"text": TEXT, "position": WHOLE}
    at = next((k for k in range(2, 5) if name[k - 1].lower() != name[-k].lower()), 2)
    word = ("second", "third", "fourth")[at - 2]
    asks = f"What is the {word} letter from the end of {name}?"
    return own_tool(asks, name[at - 1], source, known, optional={"count_from"})


def other_relation(name: str, n: int) -> Hop:
    """One relation is asked for in words that no choice has; the gold is the other's."""
    source = (
        "def work(person, relation):\n"
        "    known = {'teacher': 'Ottokar Brandt', 'student': 'Ilse Marchetti'}\n"
        f"    return known.get(relation) if person == {name!r} else None\n"
    )
    ways = (f"Who was taught by {name}?", f"Whose lessons did {name} attend?")
    gold = ("Ottokar Brandt", "Ilse Marchetti")[n % 2]
    known = {"person": TEXT, "relation": _choice("teacher", "student")}
    return own_tool(ways[n % 2], gold, source, known)


def scale(name: str, n: int) -> Hop:
    """A figure in thousands where single ones are asked for, or the other way round."""
    source = (
        "def work(town, scale='units'):\n"
        f"    return {{'units': {n + 41}000, 'thousands': {n + 41}}}[scale]"
        f" if town == {name!r} else None\n"
    )
    known = {"town": TEXT, "scale": _choice("units", "thousands", default="units")}
    asks = f"How many thousands of people live in {name}?"
    return own_tool(asks, f"{n + 41}000", source, known, optional={"scale"})


def _on_names(make: Callable[[str, int], Hop]) -> Callable[[Spot], Iterator[Hop]]:
    def planted(spot: Spot) -> Iterator[Hop]:
        for name in spot.names[-1:]:
            yield make(name, spot.at + int("".join(filter(str.isdecimal, spot.item.id)) or 0) % 97)

    return planted


LATER: Mapping[str, Callable[[Spot], Iterator[Hop]]] = {
    "both ends counted": _on_names(both_ends),
    "off by one": _on_names(one_end),
    "rounding ignored": _on_names(rounding),
    "other sort order": _on_names(sort_order),
    "roles swapped": _on_names(swapped_roles),
    "stale row": _on_names(stale_row),
    "the other who is named": _on_names(other_named),
    "reversed by a word": _on_names(turned_order),
    "list cut off": _on_names(truncated),
    "letter case": _on_names(letter_case),
    "diacritics": _on_names(diacritics),
    "time zones swapped": _on_names(time_zone),
    "day and month swapped": _on_names(day_and_month),
    "other field of two": _on_names(other_field),
    "counted from the start": _on_names(from_the_end),
    "the other relation": _on_names(other_relation),
    "another scale": _on_names(scale),
}
