"""Domains of questions: named by a model, merged as it says, whatever it replies."""

from __future__ import annotations

import json
from collections.abc import Mapping

import anyio
import pytest

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.domains import Group, Groups, classify, key, merged
from toolhop_tools.construct.prompts import load
from toolhop_tools.readers.folder import builtin

ITEMS = builtin().items[:4]
NAMES = dict(
    zip((item.id for item in ITEMS), ("Film", "movies", "film ", "Chemistry"), strict=True)
)


def test_like_names_are_one_and_the_frequent_spelling_is_shown() -> None:
    assert [*merged(NAMES, None).values()] == ["Film", "movies", "Film", "Chemistry"]
    groups = Groups(groups=[Group(domain="Film", members=["Film", "Movies"])])
    assert groups.problems({"film": 2, "movies": 1, "chemistry": 1}) == []
    assert {*merged(NAMES, groups).values()} == {"Film", "Chemistry"}


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ([("Film", ["Film", "Opera"])], "'opera' is none of"),
        ([("Film", ["Film", "Movies"]), ("Movies", ["Movies", "Chemistry"])], "in two groups"),
        ([("Cinema", ["Film", "Movies"])], "'Cinema' is not a member"),
    ],
)
def test_groups_that_cannot_be_used(groups: list[tuple[str, list[str]]], problem: str) -> None:
    given = Groups(groups=[Group(domain=domain, members=of) for domain, of in groups])
    [found] = given.problems({key(name): 1 for name in NAMES.values()})
    assert problem in found


def asked(*merges: str, classified: Mapping[str, list[str]] | None = None) -> tuple[
    dict[str, str], list[tuple[str, str, dict[str, JSON]]]
]:  # fmt: skip
    """What `classify` makes of these replies, and what it asked."""
    seen: list[tuple[str, str, dict[str, JSON]]] = []
    replies = {item: [json.dumps({"domain": name})] for item, name in NAMES.items()}
    replies |= {"": [*merges], **(classified or {})}

    async def ask(item: str, prompt: str, inputs: Mapping[str, JSON]) -> str:
        seen.append((item, prompt, dict(inputs)))
        return replies[item].pop(0)

    return anyio.run(classify, ITEMS, ask), seen


def test_each_question_is_asked_alone_and_all_names_at_once() -> None:
    good = json.dumps({"groups": [{"domain": "Film", "members": ["Film", "movies"]}]})
    domains, seen = asked(good)
    assert [*domains.values()] == ["Film", "Film", "Film", "Chemistry"]
    assert [prompt for _, prompt, _ in seen] == ["domain"] * 4 + ["domains"]
    assert seen[0][2] == {"question": ITEMS[0].question}
    assert seen[-1][2] == {"domains": {"Chemistry": 1, "Film": 2, "movies": 1}}


def test_a_reply_that_cannot_be_used_is_asked_for_once_more() -> None:
    bad = json.dumps({"groups": [{"domain": "Film", "members": ["Film", "Opera"]}]})
    first = ITEMS[0].id
    again = {first: ["no JSON", json.dumps({"domain": "Film"})]}
    domains, seen = asked(bad, "no JSON", classified=again)
    assert [*domains.values()] == ["Film", "movies", "Film", "Chemistry"]
    assert "does not parse" in str(seen[1][2]["problems with your last reply"])
    assert "'opera' is none of" in str(seen[-1][2]["problems with your last reply"])
    lost, _ = asked('{"groups": []}', classified={first: ["no JSON", "no JSON"]})
    assert first not in lost
    assert len(lost) == 3


def test_the_prompts_say_what_they_want() -> None:
    prompts = load(names=("domain", "domains", "repair"))
    assert '"domain"' in prompts.texts["domain"]
    assert '"members"' in prompts.texts["domains"]
