"""Reviews of made items: kept at once, blind, resumed, compared, applied to what is exported."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from tests.agents import command
from tests.agents.made_folder import NAMES, write_folder
from toolhop_agents.cli.construct import construct
from toolhop_agents.construct.reviews import NAME, Material, ReviewError, add, compared, read
from toolhop_agents.review.server import ReviewServer
from toolhop_agents.review.session import ReviewSession
from toolhop_tools.construct.reviews import Review, Ruling, fate, is_disputed, pairs_of, standing
from toolhop_tools.errors import BadChoice

A, R, S = Ruling.ACCEPT, Ruling.REJECT, Ruling.SKIP


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "made")
    return tmp_path / "made"


def words(*rulings: tuple[str, Ruling], settling: Sequence[Ruling] = ()) -> dict[str, Review]:
    alone = [(name, ruling, False) for name, ruling in rulings]
    third = [(f"third {n}", ruling, True) for n, ruling in enumerate(settling)]
    found = [
        Review(name, "i", "d", ruling, "why", settles, str(n))
        for n, (name, ruling, settles) in enumerate([*alone, *third])
    ]
    return standing(found, {"i": "d"})["i"]


@pytest.mark.parametrize(
    ("said", "becomes", "disputed"),
    [
        (words(), A, False),
        (words(("a", A)), A, False),
        (words(("a", A), ("b", R)), R, True),
        (words(("a", R), ("a", A)), A, False),
        (words(("a", R), ("b", S)), R, False),
        (words(("a", A), ("b", R), settling=[A]), A, True),
        (words(("a", A), ("b", R), settling=[R]), R, True),
        (words(("a", A), ("b", R), settling=[S]), R, True),
        (words(("a", A), ("b", R), settling=[R, A]), A, True),
    ],
)
def test_what_becomes_of_an_item(said: dict[str, Review], becomes: Ruling, disputed: bool) -> None:
    assert fate(said) is becomes
    assert is_disputed(said) is disputed


def test_an_item_that_too_few_accept_is_not_judged_yet() -> None:
    assert fate(words(("a", A)), accepts=2) is S
    assert fate(words(("a", A), ("b", A)), accepts=2) is A


def test_a_word_on_another_version_of_an_item_counts_nowhere() -> None:
    assert standing([Review("a", "i", "old", R, "why")], {"i": "new"}) == {"i": {}}


def test_agreement_is_counted_over_what_two_judged_alone() -> None:
    given = {
        **{f"both-{n}": (A, A) for n in range(20)},
        **{f"wrong-{n}": (R, R) for n in range(15)},
        **{f"first-{n}": (A, R) for n in range(5)},
        **{f"second-{n}": (R, A) for n in range(10)},
    }
    reviews = [
        Review(name, item, "d", ruling, "why")
        for item, pair in given.items()
        for name, ruling in zip("ab", pair, strict=True)
    ]
    reviews += [Review("c", "both-0", "d", R, "why", settles=True)]
    reviews += [Review("a", "alone", "d", R, "why"), Review("b", "alone", "d", S)]
    found = standing(reviews, dict.fromkeys([*given, "alone"], "d"))
    assert set(pairs_of(found)) == {("a", "b")}
    [one] = compared(found)
    # Cohen 1960 on the table 20, 5, 10, 15: agreement 0.7, by chance 0.5, kappa 0.4.
    assert one.found.questions == 50
    assert one.found.accuracy == pytest.approx(0.7)
    assert one.found.kappa == pytest.approx(0.4)
    assert one.raw_limits == pytest.approx((0.5625, 0.8090), abs=5e-4)
    low, high = one.found.kappa_limits or (1.0, 0.0)
    assert 0.1 < low < 0.4 < high < 0.7
    assert {*one.disputed} == {name for name, (x, y) in given.items() if x is not y}


def test_a_word_is_added_after_the_last_whole_line(folder: Path) -> None:
    first = add(folder, Review("a", "i", "d", A))
    with (folder / NAME).open("ab") as file:
        file.write(b'{"reviewer": "a", "it')  # as a kill leaves it
    assert [*read(folder)] == [first]
    second = add(folder, Review("a", "j", "d", R, "  because\n"))
    assert [*read(folder)] == [first, second]
    assert second.reason == "because"
    with (folder / NAME).open("ab") as file:
        file.write(b'{"item": 1}\n')
    with pytest.raises(ReviewError, match=r"line 3 is no review"):
        [*read(folder)]


def session(folder: Path, reviewer: str, *, settles: bool = False) -> ReviewSession:
    return ReviewSession.open(Material.read(folder), reviewer, settles=settles)


def test_a_reviewer_goes_on_where_he_stopped_and_sees_nothing_of_others(folder: Path) -> None:
    anna = session(folder, "anna")
    anna.say(NAMES[0], R, "it is odd")
    anna.say(NAMES[1], S, "")
    assert [item.id for item in session(folder, "anna").left] == [NAMES[2], NAMES[1]]
    ben = session(folder, "ben")
    assert ben.said == {}
    assert [item.id for item in ben.left] == [*NAMES]
    with pytest.raises(ValueError, match="needs a reason"):
        ben.say(NAMES[0], R, " ")
    with pytest.raises(ValueError, match="no item 'lost-1'"):
        ben.say("lost-1", A, "")


def test_a_third_person_settles_what_two_judge_differently(folder: Path) -> None:
    with pytest.raises(BadChoice, match="no two reviewers"):
        session(folder, "eve", settles=True)
    session(folder, "anna").say(NAMES[0], R, "it is odd")
    session(folder, "ben").say(NAMES[0], A, "")
    with pytest.raises(BadChoice, match="cannot do both"):
        session(folder, "ben", settles=True)
    eve = session(folder, "eve", settles=True)
    assert [item.id for item in eve.items] == [NAMES[0]]
    eve.say(NAMES[0], A, "")
    with pytest.raises(BadChoice, match="cannot do both"):
        session(folder, "eve")
    assert fate(Material.read(folder).standing()[NAMES[0]]) is A


class Client:
    """Speaks to a page's server as a browser does, or as somebody who has no business there."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.path = parts.path
        self.connection = HTTPConnection(str(parts.hostname), parts.port or 0, timeout=10)

    def close(self) -> None:
        self.connection.close()

    def __call__(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:  # noqa: ANN401 -- JSON
        method = "GET" if body is None else "POST"
        text = body if isinstance(body, str | None) else json.dumps(body)
        self.connection.request(method, path, text, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        return reply.status, json.loads(content) if content.startswith(b"{") else content


def test_the_server_gives_items_takes_verdicts_and_is_there_for_one_reviewer_alone(
    folder: Path,
) -> None:
    add(folder, session(folder, "anna").say(NAMES[0], R, "SECRET-OF-ANNA"))
    with (
        ReviewServer(session(folder, "ben")) as server,
        closing(Client(server.address)) as ask,
    ):
        home = ask.path
        assert ask(home)[0] == 200
        status, state = ask(f"{home}state")
        assert (status, [row["ruling"] for row in state["items"]]) == (200, [None] * 3)
        status, item = ask(f"{home}item/0")
        assert (status, item["id"]) == (200, NAMES[0])
        assert "def " in item["tools"][0]["code"]
        assert "anna" not in json.dumps([state, item]).lower()
        verdict = {"item": NAMES[0], "ruling": "accept", "reason": ""}
        for path, body, headers, wanted in (
            (f"{home}item/9", None, {}, 404),
            (f"{home}verdict/", verdict, {}, 404),
            ("/", None, {}, 404),
            ("/guessed/state", None, {}, 404),
            (f"{home}state", None, {"Host": "evil.example"}, 404),
            (f"{home}verdict", verdict, {"Host": "evil.example"}, 404),
            (f"{home}verdict", {"item": "x", "ruling": "accept"}, {}, 400),
            (f"{home}verdict", {"item": NAMES[0], "ruling": "burn"}, {}, 400),
            (f"{home}verdict", {"item": NAMES[0], "ruling": "reject"}, {}, 400),
            (f"{home}verdict", "[]", {}, 400),
            (f"{home}verdict", "no JSON", {}, 400),
        ):
            assert ask(path, body, **headers)[0] == wanted, (path, body)
        assert [one.reviewer for one in read(folder)] == ["anna", "anna"]
        assert ask(f"{home}verdict", verdict) == (200, {"ruling": "accept", "reason": ""})
    last = [*read(folder)][-1]
    assert (last.reviewer, last.item, last.ruling) == ("ben", NAMES[0], A)


def test_what_cannot_be_kept_is_told_and_not_taken_for_kept(folder: Path) -> None:
    with (
        ReviewServer(session(folder, "ben")) as server,
        closing(Client(server.address)) as ask,
    ):
        (folder / NAME).mkdir()
        verdict = {"item": NAMES[0], "ruling": "accept", "reason": ""}
        status, told = ask(f"{ask.path}verdict", verdict)
        assert status == 500
        assert "cannot be written" in told["error"]
        assert ask(f"{ask.path}state")[1]["items"][0]["ruling"] is None


def on_terminal(folder: Path, name: str, typed: str) -> str:
    arguments = ["--review", str(folder), "--reviewer", name, "--terminal"]
    done = CliRunner().invoke(construct, arguments, input=typed, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_on_the_terminal_a_letter_is_a_verdict(folder: Path) -> None:
    output = on_terminal(folder, "anna", "c\nx\nr\n\nr\nit is odd\ns\nq\n")
    assert "def " in output
    assert "'x' is none of" in output
    assert "a rejection needs a reason" in output
    assert "anna: 1 of 3 judged, 2 left" in output
    output = on_terminal(folder, "anna", "a\n")  # and the input ends
    assert "anna: 2 of 3 judged, 1 left" in output
    said = {one.item: one.ruling for one in read(folder)}
    assert said == {NAMES[0]: R, NAMES[1]: S, NAMES[2]: A}


def review(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return command.toolhop("construct", "--review", str(folder), *flags)


def test_agreement_is_printed_with_what_reviewers_differ_in(folder: Path) -> None:
    assert "nobody has reviewed" in review(folder, "--agreement").stdout
    on_terminal(folder, "anna", "r\nit is odd\na\na\n")
    on_terminal(folder, "ben", "a\na\n")
    printed = review(folder, "--agreement").stdout
    assert "anna and ben, 2 items: raw agreement 0.500" in printed
    assert f"{NAMES[0]}: anna rejects (it is odd), ben accepts" in printed
    assert "left out of an export: 1 of 3" in printed
    plain = json.loads(review(folder, "--agreement", "--json").stdout)
    assert plain["rejected"] == [NAMES[0]]
    [pair] = plain["pairs"]
    assert (pair["raw_agreement"], pair["kappa"], pair["disputed"]) == (0.5, 0.0, [NAMES[0]])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--reviewer", "a/b"), "--reviewer is 'a/b'"),
        (("--reviewer", "a", "--agreement"), "give it alone"),
        (("--settle", "--reviewer", "a"), "no two reviewers"),
    ],
)
def test_wrong_use_of_reviews(folder: Path, flags: tuple[str, ...], message: str) -> None:
    done = review(folder, *flags)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_accepted_items_there_is_nothing_to_review(tmp_path: Path) -> None:
    assert "has no settings.json" in review(tmp_path).stderr
    write_folder(tmp_path / "made")
    (tmp_path / "made" / "books.jsonl").unlink()
    done = review(tmp_path / "made")
    assert (done.returncode, "no accepted items yet" in done.stderr) == (2, True)
