"""The domains that ship, the worlds made of them, and what is said of a wrong file."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from studies.real_names import builtin_words, plain, words_in
from tests.worlds.domain_faults import faults
from toolhop_tools.worlds.domain import Attribute, Kind, domains, parse
from toolhop_tools.worlds.draw import Stuck, draw
from toolhop_tools.worlds.knobs import Joins, Knobs
from toolhop_tools.worlds.names import STYLES, coined, styles
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import MANY, Value, World, make

SEEDS = 20
EVERY = pytest.mark.parametrize("name", domains())
AGES = {
    "expeditions": "expedition.departed leader, expedition.departed reserves, "
    "peak.climbed climber, climber.joined",
    "film": "film.released director, film.released composer, film.released star, "
    "film.released cast, director.debut",
    "hospital": "patient.admitted, patient.admitted doctor, doctor.licensed",
    "league": "player.signed, cup.decided referee, referee.licensed",
    "library": "book.published author, author.debut, librarian.hired, reader.joined",
    "museum": "sculpture.finished sculptor, sculptor.mastered, sculpture.donated donor, "
    "exhibition.opened curator, curator.hired",
    "observatories": "asteroid.discovered discoverer, astronomer.elected",
    "opera": "opera.premiered composer, opera.premiered librettist, singer.debut, librettist.debut",
    "railways": "line.opened surveyor, locomotive.delivered designer",
    "shipping": "ship.launched first_captain, captain.licensed",
    "university": "student.admitted, fellow.elected",
    "vineyards": "wine.launched maker, winemaker.hired",
}
"""Events, and the relation to the people who take part; without one it is the person itself."""


@cache
def worlds(name: str) -> list[World]:
    return [make(domains()[name], f"{seed}", f"{seed}") for seed in range(SEEDS)]


def rows(world: World) -> Iterator[tuple[str, str]]:
    return ((kind, name) for kind, table in world.tables.items() for name in table)


def walked(world: World, kind: str, path: str, name: str) -> tuple[str, str]:
    for step in path.split(".") if path else ():
        name = world.related(kind, step, name)
        kind = world.domain.relation(kind, step).to
    return kind, name


def year(value: Value) -> int:
    return int(str(value)[:4])


def day(value: Value) -> date:
    """The day itself, or the first after a year."""
    return date.fromisoformat(value) if isinstance(value, str) else date(int(value) + 1, 1, 1)


@EVERY
def test_a_domain_has_what_chains_are_made_of(name: str) -> None:
    domain = domains()[name]
    assert 5 <= len(domain.types) <= 7
    assert all(2 <= len(kind.attributes) <= 4 for kind in domain.types.values())
    attributes = [of for kind in domain.types.values() for of in kind.attributes.values()]
    assert {of.kind for of in attributes} == set(Kind)
    assert any(others(of.unit) for of in attributes)
    assert any(of.after for of in attributes)
    assert any(kind.code for kind in domain.types.values())
    assert sum(link.many for _, _, link in domain.links) >= 2
    assert any(link.same for _, _, link in domain.links)
    assert max(kind.count[1] for kind in domain.types.values()) in range(70, 91)


def test_there_are_twelve_domains() -> None:
    assert len(domains()) >= 12


@EVERY
def test_chains_of_eight_hops_exist(name: str) -> None:
    knobs = Knobs(hops=(8, 8), joins=Joins.NONE)
    drawn = 0
    for seed, world in enumerate(worlds(name)):
        try:
            draw(world, knobs, random.Random(seed))
        except Stuck:
            continue
        drawn += 1
    assert drawn >= 0.9 * SEEDS


@EVERY
def test_no_name_or_code_is_of_two(name: str) -> None:
    for world in worlds(name):
        codes = sum(bool(world.domain.types[kind].code) for kind, _ in rows(world))
        assert len(world.owner) == len(list(rows(world))) + codes


@EVERY
def test_relations_hold(name: str) -> None:
    for world in worlds(name):
        for kind, entity in rows(world):
            for relation, link in world.domain.types[kind].relations.items():
                ends = world.relateds(kind, relation, entity)
                assert all(end in world.tables[link.to] for end in ends)
                assert entity not in ends
                if link.many:
                    assert MANY[0] <= len(set(ends)) == len(ends) <= MANY[1]
                if link.same:
                    mine = walked(world, kind, link.same[0], entity)
                    assert mine == walked(world, link.to, link.same[1], ends[0])


@EVERY
def test_nobody_is_related_to_an_entity_twice(name: str) -> None:
    """Who stars in a film is not in its supporting cast as well."""
    for world in worlds(name):
        for kind, entity in rows(world):
            relations = world.domain.types[kind].relations.items()
            ends = [end for each, _ in relations for end in world.relateds(kind, each, entity)]
            assert len(set(ends)) == len(ends)


@EVERY
def test_every_end_of_a_free_relation_serves(name: str) -> None:
    for world in worlds(name):
        for kind, relation, link in world.domain.links:
            if not (link.many or link.same):
                used = {world.related(kind, relation, entity) for entity in world.tables[kind]}
                every = min(len(world.tables[kind]), len(world.tables[link.to]))
                assert len(used) == every


@EVERY
def test_values_lie_in_their_range_and_order(name: str) -> None:
    for world in worlds(name):
        for kind, entity in rows(world):
            for key, of in world.domain.types[kind].attributes.items():
                value = world.value(kind, key, entity)
                if of.kind is Kind.CATEGORY:
                    assert value in of.values
                elif of.after:
                    path, _, last = of.after.rpartition(".")
                    owner, start = walked(world, kind, path, entity)
                    first = world.value(owner, last, start)
                    assert of.low <= apart(of, first, value) <= of.high
                else:
                    number = year(value) if of.kind is Kind.DATE else int(value)
                    assert of.low <= number <= of.high
                    assert of.kind is not Kind.NUMBER or not number % of.step
                assert of.kind not in {Kind.YEAR, Kind.DATE} or 1000 <= year(value) <= 2024


def apart(of: Attribute, start: Value, value: Value) -> int:
    if of.kind is Kind.DATE:
        return (day(value) - day(start)).days
    return year(value) - year(start)


@EVERY
def test_people_are_of_an_age_for_what_they_do(name: str) -> None:
    for event in AGES[name].split(", "):
        field, _, relation = event.partition(" ")
        kind, attribute = field.split(".")
        domain = domains()[name]
        to = domain.relation(kind, relation).to if relation else kind
        for world in worlds(name):
            for entity in world.tables[kind]:
                when = year(world.value(kind, attribute, entity))
                people = world.relateds(kind, relation, entity) if relation else (entity,)
                for person in people:
                    assert 16 <= when - year(world.value(to, "born", person)) <= 80, event


@EVERY
def test_superlatives_have_candidates_and_few_ties(name: str) -> None:
    domain = domains()[name]
    sets: list[tuple[World, str, tuple[str, ...]]] = []
    for world in worlds(name):
        for kind, relation, link in domain.links:
            ends = world.tables[link.to]
            sets += [(world, kind, world.sources(kind, relation, end)) for end in ends]
            if link.many:
                names = world.tables[kind]
                sets += [(world, link.to, world.relateds(kind, relation, end)) for end in names]
    large = [members for _, _, members in sets if len(members) > 2]
    assert len(large) >= len(sets) / 3
    assert sum(len(members) > 20 for members in large) <= 0.02 * len(large)
    tied: dict[tuple[str, str], list[bool]] = {}
    for world, kind, members in sets:
        for key, of in domain.types[kind].attributes.items():
            if len(members) > 2 and of.kind is not Kind.CATEGORY:
                values = sorted(str(world.value(kind, key, end)).zfill(10) for end in members)
                pairs = (values[:2], values[-2:])
                tied.setdefault((kind, key), []).extend(a == b for a, b in pairs)
    assert {
        key: sum(ties) / len(ties) for key, ties in tied.items() if sum(ties) > len(ties) / 20
    } == {}


def test_worlds_of_the_same_names_have_other_values() -> None:
    first, second = (make(domains()["shipping"], "names", values) for values in ("a", "b"))
    assert list(first.tables["ship"]) == list(second.tables["ship"])
    assert first.tables != second.tables
    assert first == make(domains()["shipping"], "names", "a")


@EVERY
@pytest.mark.parametrize("size", [0.5, 6.0])
def test_worlds_come_in_sizes(name: str, size: float) -> None:
    world = make(domains()[name], "seed", "seed", size)
    assert len(world.owner) >= 0.4 * size * len(worlds(name)[0].owner)


# -- names ----------------------------------------------------------------------------------


def test_styles_have_thousands_of_names() -> None:
    assert len(STYLES) >= 8
    assert all(len(style.roots()) - len(style.real) > 2000 for style in STYLES.values())
    used = {
        each
        for of in domains().values()
        for kind in of.types.values()
        for each in styles(kind.names)
    }
    assert used == set(STYLES)


def named(words: set[str]) -> dict[str, set[str]]:
    """Roots in use that are among some words."""
    return {
        name: roots
        for name, style in STYLES.items()
        if (roots := {root for root in style.roots() - style.real if plain(root) in words})
    }


def test_no_name_is_a_word_of_the_builtin_items() -> None:
    assert named(builtin_words()) == {}


def test_no_name_is_an_english_word() -> None:
    lists = [path for path in Path("/usr/share/dict").glob("*english*") if path.is_file()]
    if not lists:
        missing = "no word lists: apt-get install wamerican wbritish"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    assert named(words_in(lists)) == {}


def test_real_names_are_never_coined() -> None:
    assert "Dorothea" in STYLES["work"].real
    drawn, taken = random.Random(1), set[str]()
    names = {coined("work", drawn, taken) for _ in range(2000)}
    assert not names & STYLES["work"].real


def test_a_style_that_is_used_up_says_so() -> None:
    taken = STYLES["vine"].roots()
    with pytest.raises(ValueError, match="no free name of the form 'vine'; make the world smaller"):
        coined("vine", random.Random(1), taken)


# -- wrong files ----------------------------------------------------------------------------

RIGHT = """
about = "Ships."
units = {crowns = "cr"}
[types.harbour]
names = "{place} Haven"
count = [4, 6]
attributes.opened = {kind = "year", noun = "opening year", low = 1800, high = 1900, verb = "opened"}
attributes.coast = {kind = "category", noun = "coast", values = ["north", "south", "west"], is_ = "{} harbour"}
[types.ship]
names = "vessel"
count = [9, 12]
code = "SH-####"
attributes.price = {kind = "number", noun = "price", unit = "crowns", low = 10, high = 190, step = 5, most = "dearest", least = "cheapest", more = "dearer", less = "cheaper"}
attributes.built = {kind = "year", noun = "construction year", after = "home.opened", low = 1, high = 90, verb = "built"}
relations.home = {to = "harbour", noun = "home harbour", linked = "registered at {}", clause = "where {} is registered"}
relations.calls = {to = "harbour", noun = "ports of call", linked = "calling at {}", back = "visited by {}"}
"""  # noqa: E501 - an inline table is one line


@EVERY
def test_the_files_that_ship_are_right(name: str) -> None:
    assert list(faults(domains()[name])) == []


def test_the_right_file_is_right() -> None:
    domain = parse("ships", RIGHT)
    assert list(faults(domain)) == []
    assert domain.types["ship"].plural == "ships"
    assert make(domain, "seed", "seed").tables["ship"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("about =", "about", "Expected '=' after a key"),
        ("[types.ship]", "[types.ship]\ncolour = 1", "types.ship.colour"),
        ('kind = "number"', 'kind = "amount"', "types.ship.attributes.price.kind"),
    ],
)
def test_a_wrong_field_says_where(before: str, after: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse("ships", RIGHT.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('unit = "crowns"', 'unit = "metre"', "price.unit: 'metre' is none of metres, feet,"),
        ('unit = "crowns"', 'unit = "metres"', "units.crowns: no attribute has it"),
        ("[9, 12]", "[9, 8]", "types.ship.count: [9, 8] is not from 2 or more to as many or more"),
        ('"vessel"', '"boat"', "types.ship.names: 'boat' asks for a style that is not among place"),
        ("SH-####", "SH-##", "types.ship.code: 'SH-##' is not letters and then four or more #"),
        ("construction year", "price", "types.ship.*: 'price' is said of two fields"),
        ("cheapest", "dearest", "types.ship.*: 'dearest' is said of two fields"),
        ("calling at {}", "registered at {}", "'registered at {}' is said of two fields"),
        ('least = "cheapest", ', "", "price.most: goes with least"),
        ('"west"]', '"south"]', "harbour.attributes.coast.values: three or more, each once"),
        ("{} harbour", "coastal", "coast.is_: 'coastal' is not a phrase with one {}"),
        ('is_ = "{}', 'low = 1, is_ = "{}', "coast.kind: a category has a noun, values and is_"),
        ('unit = "crowns"', 'values = ["a"]', "price.kind: only a category has values and is_"),
        ('more = "dearer", ', "", "price.more: goes with less"),
        ('verb = "opened"', 'most = "newest"', "opened.verb: years and dates have one, and noth"),
        ("registered at {}", "at {} now", "home.linked: 'at {} now' does not end in {}"),
        ("low = 10,", "low = 195,", "price.low: 195 is not below high, 190"),
        ("step = 5", "step = 4", "price.step: low is not a multiple of it"),
        ("low = 1800", "low = 180", "opened.low: 180 to 1900 are not years from 1000 to 2024"),
        ("visited by {}", "visited", "calls.back: 'visited' is not a phrase with one {}"),
        ("low = 1800", 'unit = "metres", low = 1800', "opened.unit: a year has neither unit nor"),
        ('"harbour", noun = "home', '"port", noun = "home', "home.to: 'port' is none of harbour,"),
        (
            'back = "visited by {}"',
            'same = ["", ""], back = "visited by {}"',
            "calls.same: a relation has one of",
        ),
        ("where {} is", "where it is", "home.clause: 'where it is registered' is not a phrase"),
        ('verb = "opened"', 'verb = "opened", counted = "years"', "counted: only a number counts"),
        ('back = "visited by {}"', 'same = ["home"]', "calls.same: needs two paths"),
        ('back = "visited by {}"', 'same = ["", ""]', "calls.same: ['', ''] lead to two types"),
        (
            'back = "visited by {}"',
            'same = ["port", ""]',
            "'port' is no path: ship leads to calls, home, not to",
        ),
        ('back = "visited by {}"', 'same = ["home", ""]', None),
        ("high = 190, step = 5, most", "high = 95, step = 5, most", "price.step: fewer than 20"),
        ("home.opened", "home.founded", "built.after: 'founded' is none of opened"),
        ("home.opened", "calls.opened", "'calls' is no path: ship leads to home, not to 'calls'"),
        ("home.opened", "built", "types: ship.built needs ship.built; break the circle"),
        ('"year", noun = "op', '"category", noun = "op', "attributes: none has an order"),
        (
            "[types.ship]",
            "[types.harbours]\nnames = 'place'\ncount = [2, 2]\n[types.ship]",
            "types: two have the noun 'harbours'; change one",
        ),
        (
            "[types.ship]",
            "[types.isle]\nnames = 'place'\ncount = [2, 2]\n[types.ship]",
            "types.isle: no relations join it to harbour; add one",
        ),
        ("count = [4, 6]", "count = [4, 6]\ncode = 'SH-####'", "types: two have codes that begin"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(before: str, after: str, message: str | None) -> None:
    assert RIGHT.count(before) >= 1
    domain = parse("ships", RIGHT.replace(before, after, 1))
    assert message in "\n".join(faults(domain)) if message else not list(faults(domain))
