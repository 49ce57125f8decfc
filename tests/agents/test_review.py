"""Reviews of made items: kept at once, blind, resumed, compared, applied to what is exported."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from click.testing import CliRunner

from tests.agents import command
from tests.agents.made_folder import NAMES, write_folder
from tests.waiting import CEILING_S
from toolhop_agents.construct.command import construct
from toolhop_agents.construct.reviews import NAME, Material, ReviewError, add, read
from toolhop_agents.review.bench import Bench
from toolhop_agents.review.figures import pairs
from toolhop_agents.review.page import page
from toolhop_agents.review.server import ReviewServer
from toolhop_agents.review.session import ReviewSession
from toolhop_env.statistics.wilson import wilson_upper
from toolhop_tools.construct.reviews import (
    Review,
    Ruling,
    fate,
    is_disputed,
    pairs_of,
    sample,
    samples,
    standing,
)
from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load
from toolhop_tools.readers.folder import builtin
from toolhop_tools.readers.native import to_row
from toolhop_tools.scenarios.label import Label, Scenario, labelled

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
    [one] = pairs(found)
    # Cohen 1960 on the table 20, 5, 10, 15: agreement 0.7, by chance 0.5, kappa 0.4.
    assert one["items"] == 50
    assert one["raw_agreement"] == pytest.approx(0.7)
    assert one["kappa"] == pytest.approx(0.4)
    assert one["raw_interval"] == pytest.approx((0.5625, 0.8090), abs=5e-4)
    low, high = one["kappa_interval"]
    assert 0.1 < low < 0.4 < high < 0.7
    assert {*one["disputed"]} == {name for name, (x, y) in given.items() if x is not y}


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
    with pytest.raises(ReviewError, match=r"line 3 is not a review"):
        [*read(folder)]


BENCH = Bench("process")
"""Of tests that make no call."""


def session(folder: Path, reviewer: str, *, settles: bool = False) -> ReviewSession:
    return ReviewSession.open(Material.read(folder), reviewer, BENCH, settles=settles)


def shown(of: ReviewSession, item: str) -> str:
    """What the page says of an item, without its head, script and names of fields."""
    main = page(of, item).partition("<main")[2].partition("</main>")[0]
    return unescape(re.sub(r"<[^>]*>", "|", main))


def judge(of: ReviewSession, item: str, ruling: Ruling, reason: str = "") -> None:
    of.derive(item, "a guess")
    of.say(item, ruling, reason)


def test_a_reviewer_answers_before_the_gold_is_shown_and_goes_on_where_he_stopped(
    folder: Path,
) -> None:
    anna = session(folder, "anna")
    gold = builtin().by_id[NAMES[0]]
    before = shown(anna, NAMES[0])
    assert gold.question in before
    # The order of the data is that of the chain.
    assert [one.title for one in anna.cases[NAMES[0]].shown] == sorted(gold.tools) != [*gold.tools]
    assert gold.hops[0].tool.schema.description[:30] in before
    for hidden in ("|Answer|", gold.hops[0].question, gold.hops[0].tool.program.source[:40]):
        assert hidden not in before
    with pytest.raises(ValueError, match="an answer of your own first"):
        anna.say(NAMES[0], A, "")
    assert anna.derive(NAMES[0], f" {gold.answer}. ").agreed is True
    assert anna.derive(NAMES[0], "another").derived == f"{gold.answer}."
    after = shown(anna, NAMES[0])
    assert gold.hops[0].question in after
    assert "|Answer|" in after
    anna.say(NAMES[0], R, "it is odd")
    anna.say(NAMES[1], S, "")
    assert anna.derive(NAMES[2], "").agreed is False
    again = session(folder, "anna")
    assert [case.id for case in again.left] == [NAMES[2], NAMES[1]]
    assert again.is_revealed(NAMES[2])
    assert not again.is_revealed(NAMES[1])
    kept = {one.item: (one.ruling, one.derived, one.agreed) for one in read(folder)}
    assert kept[NAMES[0]] == (R, f"{gold.answer}.", True)
    ben = session(folder, "ben")
    assert ben.said == {}
    assert [case.id for case in ben.left] == [*NAMES]
    ben.derive(NAMES[0], "x")
    with pytest.raises(ValueError, match="needs a reason"):
        ben.say(NAMES[0], R, " ")
    with pytest.raises(ValueError, match="no item 'lost-1'"):
        ben.say("lost-1", A, "")


def test_rows_of_earlier_versions_are_read_and_their_items_stay_revealed(folder: Path) -> None:
    digest = builtin().by_id[NAMES[0]].digest
    row = {
        "reviewer": "anna", "item": NAMES[0], "digest": digest, "ruling": "accept", "reason": "",
        "settles": False, "at": "2026-11-01T00:00:00+00:00",
    }  # fmt: skip
    (folder / NAME).write_text(json.dumps(row) + "\n", encoding="utf-8")
    anna = session(folder, "anna")
    assert anna.is_revealed(NAMES[0])
    assert (anna.said[NAMES[0]].derived, len(anna.left)) == (None, 2)


def test_a_reviewer_calls_the_tools_and_the_calls_are_the_answer_to_a_nested_task(
    tmp_path: Path,
) -> None:
    parameters = {"text": {"type": "str", "description": "A text"}}
    apis = [
        {
            "api_name": name, "api_description": name, "parameters": parameters,
            "required": ["text"], "responses": {"out": {"type": "str", "description": "Out"}},
        }
        for name in ("first", "second")
    ]  # fmt: skip
    calls = [
        {"api_name": "first", "parameters": {"text": "a"}, "responses": ["API_call_0"]},
        {"api_name": "second", "parameters": {"text": "API_call_0"}, "responses": ["API_call_1"]},
    ]
    row = {"test_id": 1, "api": apis, "task": "Do it.", "call": calls, "field": "a/b"}
    data = tmp_path / "test_data.jsonl"
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")
    [item] = load(data).items
    for good in (True, False):
        with Bench("process") as bench:
            name = f"anna-{good}"
            anna = ReviewSession.open(Material.read(data), name, bench)
            assert "API_call_0" not in shown(anna, item.id)
            assert "needs the argument" in bench.call(item, "first", "{}")
            bench.call(item, "second", '{"text": "a mistake"}')
            bench.forget(item)
            given = json.loads(bench.call(item, "first", '{"text": "a"}'))["out"]
            bench.call(item, "second", json.dumps({"text": given if good else "a"}))
            assert anna.derive(item.id, "done").agreed is good
            assert "API_call_0" in shown(anna, item.id)
    assert {one.reviewer: one.agreed for one in read(data)} == {
        "anna-True": True, "anna-False": False,
    }  # fmt: skip
    assert (tmp_path / f"test_data.{NAME}").is_file()


def test_nested_tasks_of_a_folder_go_by_their_seeds(tmp_path: Path) -> None:
    api = {
        "api_name": "first", "api_description": "first", "parameters": {}, "required": [],
        "responses": {"out": {"type": "str", "description": "Out"}},
    }  # fmt: skip
    call = {"api_name": "first", "parameters": {}, "responses": ["API_call_0"]}
    row = {"test_id": 1, "api": [api], "task": "Do it.", "call": [call], "field": "a/b"}
    book = {"item": "pool-7", "accepted": True, "criteria": [], "steps": []}
    provenance = {"test_id": 1, "item": "pool-7", "results": ["RESULT"], "reading": "disputed"}
    for name, value in (
        ("settings.json", {"kind": "nestools"}), ("seeds.jsonl", {}), ("books.jsonl", book),
        ("test_data.jsonl", row), ("provenance.jsonl", provenance),
    ):  # fmt: skip
        (tmp_path / name).write_text(json.dumps(value) + "\n", encoding="utf-8")
    anna = session(tmp_path, "anna")
    assert [*anna.cases] == ["pool-7"]
    assert anna.material.items[0].extra["reading"] == "disputed"
    assert "RESULT" not in shown(anna, "pool-7")
    anna.derive("pool-7", "")
    assert "RESULT" in shown(anna, "pool-7")
    assert next(read(tmp_path)).item == "pool-7"


def test_a_label_is_judged_without_its_name_before_the_answer(tmp_path: Path) -> None:
    item = builtin().by_id[NAMES[0]]
    label = Label(Scenario.MISSING_TOOL, item.id, solvable=False, lost=(1,))
    data = tmp_path / "scenarios.jsonl"
    twin = labelled(item, label, f"{item.id}~missing-tool")
    data.write_text(json.dumps(to_row(twin)) + "\n", encoding="utf-8")
    anna = session(data, "anna")
    [case] = anna.left
    before = shown(anna, case.id).replace(case.asks, "")
    for hidden in ("missing", "solvable", item.hops[0].question, item.id):
        assert hidden not in before
    with pytest.raises(ValueError, match="begin with solvable or unsolvable"):
        anna.derive(case.id, "perhaps")
    assert anna.derive(case.id, "unsolvable: no tool knows rivers").agreed is True
    assert "missing-tool" in shown(anna, case.id)
    assert next(read(data)).item == twin.id
    ben = session(data, "ben")
    assert ben.derive(case.id, "solvable").agreed is False


def test_a_sample_is_drawn_alike_for_everybody_and_bounds_the_share_of_wrong_items() -> None:
    digests = {f"item-{n}": f"digest-{n}" for n in range(100)}
    small, large = sample(digests, 10, 0), sample(digests, 30, 0)
    assert (large[:10], len({*large})) == (small, 30)
    assert sample(digests, 10, 1) != small
    assert small != sorted(small)

    def row(item: str, ruling: Ruling = A) -> Review:
        return Review("a", item, digests[item], ruling, "why", drawn=(30, 0))

    def bound(*reviews: Review) -> tuple[int, int]:
        [drawn] = samples(standing(reviews, digests), digests)
        return drawn.judged, drawn.wrong

    assert bound(*map(row, large)) == (30, 0)
    assert bound(*map(row, large[:9]), row(large[9], R)) == (10, 1)
    # What was skipped, or passed over without a word, counts as wrong.
    assert bound(*map(row, large[:8]), row(large[9], S)) == (10, 2)
    assert samples(standing([Review("a", "item-1", "digest-1", A)], digests), digests) == []
    # Wilson's upper limit at 1.645 deviations: 2.706 / (30 + 2.706) where none is wrong.
    assert wilson_upper(0, 30) == pytest.approx(2.7055 / 32.7055, abs=1e-4)


def test_a_third_person_settles_what_two_judge_differently(folder: Path) -> None:
    with pytest.raises(BadChoice, match="no two reviewers"):
        session(folder, "eve", settles=True)
    judge(session(folder, "anna"), NAMES[0], R, "it is odd")
    judge(session(folder, "ben"), NAMES[0], A)
    with pytest.raises(BadChoice, match="cannot do both"):
        session(folder, "ben", settles=True)
    eve = session(folder, "eve", settles=True)
    assert [*eve.cases] == [NAMES[0]]
    judge(eve, NAMES[0], A)
    with pytest.raises(BadChoice, match="cannot do both"):
        session(folder, "eve")
    assert fate(Material.read(folder).standing()[NAMES[0]]) is A


class Client:
    """Speaks to a page's server as a browser does, or as somebody who has no business there."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.path = parts.path
        self.connection = HTTPConnection(str(parts.hostname), parts.port or 0, timeout=CEILING_S)

    def close(self) -> None:
        self.connection.close()

    def __call__(self, path: str, form: Any = None, **headers: str) -> tuple[int, str]:
        method = "GET" if form is None else "POST"
        body = urlencode(form) if isinstance(form, dict) else form
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        content = unescape(reply.read().decode())
        location = reply.getheader("Location")
        return (reply.status, content) if location is None else self(location)


def test_the_server_shows_the_gold_after_an_answer_and_is_there_for_one_reviewer_alone(
    folder: Path,
) -> None:
    judge(session(folder, "anna"), NAMES[0], R, "SECRET-OF-ANNA")
    with (
        Bench("process") as bench,
        ReviewServer(ReviewSession.open(Material.read(folder), "ben", bench)) as server,
        closing(Client(server.address)) as ask,
    ):
        home = ask.path
        status, text = ask(home)
        assert status == 200
        assert "0 of 3 judged" in text
        assert builtin().by_id[NAMES[0]].question in text
        assert "def " not in text
        assert "anna" not in text.lower()
        gold = builtin().by_id[NAMES[0]].hops[0]
        call = {"item": NAMES[0], "tool": gold.tool.name, "arguments": "{}"}
        assert "needs the argument" in ask(f"{home}call", call)[1]
        assert gold.gold is not None
        call["arguments"] = json.dumps(dict(gold.gold.arguments))
        assert gold.answer in ask(f"{home}call", call)[1]
        verdict = {"item": NAMES[0], "ruling": "accept", "reason": ""}
        status, text = ask(f"{home}verdict", verdict)
        assert (status, "an answer of your own first" in text) == (400, True)
        assert ask(f"{home}answer", {"item": NAMES[0], "answer": " "})[0] == 400
        status, text = ask(f"{home}answer", {"item": NAMES[0], "answer": "no <b>idea"})
        assert (status, "is not the gold: no <b>idea" in text) == (200, True)
        assert "def " in text
        for path, form, headers, wanted in (
            (f"{home}call", {"item": "item-9", "tool": "x", "arguments": ""}, {}, 400),
            (f"{home}verdict/", verdict, {}, 404),
            ("/", None, {}, 404),
            ("/guessed/", None, {}, 404),
            (f"{home}other", None, {}, 404),
            (f"{home}verdict", None, {}, 404),
            (home, None, {"Host": "evil.example"}, 404),
            (f"{home}verdict", verdict, {"Host": "evil.example"}, 404),
            (f"{home}verdict", {"item": "x", "ruling": "accept"}, {}, 400),
            (f"{home}verdict", {"item": NAMES[0], "ruling": "burn"}, {}, 400),
            (f"{home}verdict", {"item": NAMES[0], "ruling": "reject"}, {}, 400),
            (f"{home}verdict", {"ruling": "accept"}, {}, 400),
            (f"{home}verdict", "no form", {}, 400),
            (f"{home}verdict", verdict, {"Content-Length": "99999"}, 413),
        ):
            assert ask(path, form, **headers)[0] == wanted, (path, form)
        assert [one.ruling for one in read(folder) if one.reviewer == "ben"] == [S]
        status, text = ask(f"{home}verdict", verdict)
        assert (status, "1 of 3 judged" in text) == (200, True)
        assert builtin().by_id[NAMES[1]].question in text
    last = [*read(folder)][-1]
    assert (last.reviewer, last.item, last.ruling) == ("ben", NAMES[0], A)
    assert (last.derived, last.agreed) == ("no <b>idea", False)


def test_foreign_text_is_no_markup_on_the_page(tmp_path: Path) -> None:
    item = builtin().by_id[NAMES[0]]
    hostile = "</main><script>x</script>\x1b[31m"
    write_folder(tmp_path / "made", (replace(item, question=hostile, answer=hostile),))
    anna = session(tmp_path / "made", "anna")
    anna.derive(item.id, f'" autofocus {hostile}')
    anna.say(item.id, S, f'" autofocus {hostile}')
    text = page(anna, item.id, hostile)
    assert text.count("<script>") == 1
    assert text.count("</main>") == 1
    assert "\x1b" not in text
    assert '" autofocus' not in text


def test_what_cannot_be_kept_is_told_and_not_taken_for_kept(folder: Path) -> None:
    with (
        ReviewServer(session(folder, "ben")) as server,
        closing(Client(server.address)) as ask,
    ):
        (folder / NAME).mkdir()
        status, text = ask(f"{ask.path}answer", {"item": NAMES[0], "answer": "x"})
        assert status == 500
        assert "cannot be written" in text
        assert "the gold:" not in ask(ask.path)[1]


def on_terminal(folder: Path, name: str, typed: str, *flags: str) -> str:
    arguments = ["review", str(folder), "--reviewer", name, "--terminal", *flags]
    arguments += ["--sandbox", "process"]
    done = CliRunner().invoke(construct, arguments, input=typed, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_on_the_terminal_an_answer_comes_before_a_verdict(folder: Path) -> None:
    gold = builtin().by_id[NAMES[0]]
    call = f"call {gold.hops[0].tool.name} {{}}"
    typed = f"a\n{call}\n{gold.answer}\nc\nx\nr\n\nr\nit is odd\nskip\nquit\n"
    output = on_terminal(folder, "anna", typed.removeprefix("a\n"))
    before, after = output.split("your answer is the gold")
    assert gold.hops[0].question in after
    assert gold.hops[0].question not in before
    assert "needs the argument" in before
    assert "def " in after
    assert "'x' is none of" in after
    assert "a rejection needs a reason" in after
    assert "anna: 1 of 3 judged, 2 left" in output
    output = on_terminal(folder, "anna", "none\n")  # and the input ends
    assert "your answer is not the gold" in output
    output = on_terminal(folder, "anna", "a\n")
    assert builtin().by_id[NAMES[2]].hops[0].question in output
    assert "anna: 2 of 3 judged, 1 left" in output
    said = {one.item: (one.ruling, one.agreed) for one in read(folder)}
    assert said == {NAMES[0]: (R, True), NAMES[1]: (S, None), NAMES[2]: (A, False)}


def review(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return command.toolhop("construct", "review", str(folder), *flags)


def agreement(folder: Path, *flags: str) -> str:
    return command.toolhop("construct", "agreement", str(folder), *flags).stdout


def test_agreement_is_printed_with_what_reviewers_differ_in(folder: Path) -> None:
    assert "nobody has reviewed" in agreement(folder)
    on_terminal(folder, "anna", "none\nr\nit is odd\nnone\na\n")
    on_terminal(folder, "ben", f"{builtin().by_id[NAMES[0]].answer}\na\nnone\na\n")
    printed = agreement(folder)
    for text in ("anna, ben", "0.500", "1 of 2", "0 of 2", "left out of an export", "1 of 3",
                 f"{NAMES[0]}: anna rejects (it is odd); ben accepts"):  # fmt: skip
        assert text in printed
    plain = json.loads(agreement(folder, "--json"))
    assert plain["rejected"] == [NAMES[0]]
    assert plain["reviewers"]["ben"] == {
        "accept": 2, "reject": 0, "skip": 0, "derived": 2, "derived_gold": 1,
    }  # fmt: skip
    [pair] = plain["pairs"]
    assert (pair["raw_agreement"], pair["kappa"], pair["disputed"]) == (0.5, 0.0, [NAMES[0]])
    assert plain["samples"] == []


def test_a_sample_of_accepted_items_is_reviewed_and_bounds_what_is_wrong(folder: Path) -> None:
    on_terminal(folder, "anna", "none\na\nnone\na\n", "--sample", "2", "--seed", "3")
    printed = " ".join(agreement(folder).split())
    assert "Random sample of 2 of 3 items (seed 3): 0 of 2 rejected: at most 57.5 %" in printed
    [drawn] = json.loads(agreement(folder, "--json"))["samples"]
    assert drawn["wrong_at_most"] == pytest.approx(0.575, abs=1e-3)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--reviewer", "a/b"), "--reviewer is 'a/b'"),
        (("--settle", "--reviewer", "a"), "no two reviewers"),
        (("--sample", "4"), "--sample is 4, and there are 3 items"),
        (("--sample", "2", "--settle"), "leave --sample out"),
        (("--reviewer", " "), "it is blank"),
    ],
)
def test_wrong_use_of_reviews(folder: Path, flags: tuple[str, ...], message: str) -> None:
    done = review(folder, *flags)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_accepted_items_there_is_nothing_to_review(tmp_path: Path) -> None:
    assert review(tmp_path).returncode == 2
    assert review(tmp_path / "nothing").returncode == 2
    write_folder(tmp_path / "made")
    (tmp_path / "made" / "books.jsonl").unlink()
    done = review(tmp_path / "made")
    assert (done.returncode, "no accepted items yet" in done.stderr) == (2, True)
