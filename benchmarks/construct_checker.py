"""What a checker refuses and what it costs, by scripted constructors and checkers.

    python -m benchmarks.construct_checker right [--items 96]    honest and clumsy items, read right
    python -m benchmarks.construct_checker plants [--each 4]     questions that mean something else
    python -m benchmarks.construct_checker erring                checkers that err
    python -m benchmarks.construct_checker kills [--kills 50]    killed over and over

Each is a folder under ``--out`` that `toolhop construct --show` reads. No model is asked: the
scripted checker reads the scripted constructor's phrases right, and nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.construct import KEY, construct, fresh, interval, killed_over_and_over, rows
from toolhop_agents.models.loopback import LoopbackServer, RequestResponder
from toolhop_agents.scripted.constructor import honest, reader
from toolhop_agents.scripted.constructor.atlas import Journey, journey
from toolhop_agents.scripted.constructor.model import answered, script

DOMAIN = "General"
CHECKER = ["--checker", "scripted/honest"]
Reply = dict[str, Any]
Change: TypeAlias = Callable[[str], str]


def asked_of(plan: Journey, name: str = "", about: str = "") -> Change:
    """Another name in the place of the attribute's, or words before what it is asked of."""
    own, other = plan.attribute.name, name or plan.attribute.name

    def change(text: str) -> str:
        if plan.again and f"look up its {own}" in text:
            said = f"the {other} of {about}it" if about else f"its {other}"
            return text.replace(f"its {own}", said).replace(f"that {own}", f"that {other}")
        return text.replace(f"the {own} of ", f"the {other} of {about}")

    return change


def former(plan: Journey, stage: str) -> Change:
    return asked_of(plan, f"former {plan.attribute.name}")


def hidden_hop(plan: Journey, stage: str) -> Change:
    return asked_of(plan, about="the neighbour of ")


def of_another(plan: Journey, stage: str) -> Change:
    """A hop more, in words that the documents have."""
    return asked_of(plan, about=f"the {plan.theme.second} of ")


def vague(plan: Journey, stage: str) -> Change:
    """The code, of a calling code and a country code."""
    return asked_of(plan, plan.attribute.name.split()[-1])


def other_field(plan: Journey, stage: str) -> Change:
    """What the same table has as well: the question alone asks for it."""
    names = [one.name for one in plan.theme.attributes]
    other = names[(names.index(plan.attribute.name) + 1) % len(names)]
    return asked_of(plan, other if stage == "question" else "")


def of_the_start(plan: Journey, stage: str) -> Change:
    """The question alone asks for the attribute of what it begins with."""
    about = plan.theme.phrase.format(plan.start)
    own = f"the {plan.theme.first} {plan.start} in its {plan.theme.second}"
    return lambda text: text.replace(about, own) if stage == "question" else text


def other_operation(plan: Journey, stage: str) -> Change:
    words = {"sum of the digits": "product of the digits", "days after": "days before",
             "add up to": "average to", "written in base": "read in base"}  # fmt: skip

    def change(text: str) -> str:
        for own, other in words.items():
            text = text.replace(own, other) if stage == "question" else text
        return text

    return change


KINDS: Mapping[str, Callable[[Journey, str], Change]] = {
    "former": former,
    "hidden-hop": hidden_hop,
    "of-another": of_another,
    "vague": vague,
    "other-field": other_field,
    "of-the-start": of_the_start,
    "other-operation": other_operation,
}
"""In plan and question, the last three in the question alone; the stage is whose text is changed.
Rules of words find some of them before a checker is asked.
"""


def planted(kind: str, *, stubborn: bool) -> Callable[[Mapping[str, Any], Sequence[str]], str]:
    """The honest constructor, but for what its sub-questions and its question mean.

    Where it repairs, plan and question are honest once a repair speaks of another reading.
    """

    def play(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
        if reader.asked(inputs):
            return script("honest")(inputs, repairs)
        own: Reply = honest.reply(inputs)
        stage, plan = inputs["stage"], journey(inputs["item"], inputs["domain"])
        told = any("nother model" in one for one in repairs)
        change = KINDS[kind](plan, stage)
        if stage == "decompose" and (stubborn or not told):
            for hop in own["hops"]:
                hop["question"] = change(hop["question"])
        if stage == "question" and (stubborn or not told):
            # A plan that was repaired is asked for as it is.
            plain = [text for text, _ in plan.hops()] == inputs["sub_questions"]
            spoiled = KINDS[kind](plan, "decompose")(str(plan.hops())) != str(plan.hops())
            if stubborn or not (plain and spoiled):
                own["question"] = change(own["question"])
        return json.dumps(own, ensure_ascii=False)

    return play


def serving(kind: str, *, stubborn: bool) -> RequestResponder:
    play = planted(kind, stubborn=stubborn)
    return lambda request: answered(play, request.messages)


def run(folder: Path, sandbox: str, *arguments: str) -> list[dict[str, Any]]:
    """Make a folder; its books."""
    subprocess.run(
        construct("--domain", DOMAIN, "--out", str(fresh(folder)), "--least-yield", "0",
                  "--sandbox", sandbox, "--at-a-time", "3", *arguments),
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=KEY,
    )  # fmt: skip
    lines = (folder / "books.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read(book: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the checker made of an item; None where it was not shown it."""
    found = [one for one in book["criteria"] if one["criterion"] == "rebuilt"]
    return {**found[0]["figure"], "holds": found[0]["holds"]} if found else None


def right(out: Path, sandbox: str, items: int) -> None:
    for name in ("honest", "clumsy"):
        folder = out / f"right-{name}"
        books = run(folder, sandbox, "--items", str(items), "--model", f"scripted/{name}", *CHECKER)
        shown = [one for one in map(read, books) if one]
        first = sum(one["agreed_at_first"] for one in shown)
        accepted = sum(book["accepted"] for book in books)
        replies = [row["stage"].startswith("rebuild") for row in rows(folder, "reply")]
        print(f"{name}: {items} items, {accepted} accepted, {len(shown)} shown to the checker")
        print(f"  agreed at first: {interval(first, len(shown))}")
        print(f"  replies: {len(replies)}, of which the checker's {sum(replies)}")
        for book in books:
            if book.get("refused"):
                print(f"  {book['item']}: {(read(book) or {}).get('why')}")


def effective(kind: str, item: str) -> bool:
    """Whether a kind changes anything of an item: some have one attribute, of one word."""
    plan = journey(item, DOMAIN)
    return KINDS[kind](plan, "question")(plan.question()) != plan.question()


def plants(out: Path, sandbox: str, each: int) -> None:
    counted: list[list[int]] = []
    for kind in KINDS:
        found = []
        for name, stubborn, more in (
            ("plain", True, []), ("stays", True, CHECKER), ("repairs", False, CHECKER),
        ):  # fmt: skip
            with LoopbackServer(serving(kind, stubborn=stubborn)) as server:
                own = ["--model", "openai/scripted", "--base-url", server.base_url, *more]
                books = run(out / f"{kind}-{name}", sandbox, "--items", str(each), *own)
            planted_in = {book["item"] for book in books if effective(kind, book["item"])}
            found.append({book["item"] for book in books if book["accepted"]} & planted_in)
        without, stays, repairs = found
        counted.append([len(planted_in), len(without), len(without & stays),
                        len(without & repairs)])  # fmt: skip
        print(f"{kind}: planted, accepted without a checker, with one, repaired: {counted[-1]}",
              flush=True)  # fmt: skip
    total, passed, kept, repaired = (sum(one) for one in zip(*counted, strict=True))
    print(f"accepted without a checker: {interval(passed, total)}")
    print(f"of these accepted with the fault: {interval(kept, passed)}")
    print(f"of these repaired and accepted: {interval(repaired, passed)}")


def erring(out: Path, sandbox: str, items: int) -> None:
    for name in reader.READERS:
        folder = out / f"erring-{name}"
        own = ["--model", "scripted/honest", "--checker", f"scripted/{name}"]
        books = run(folder, sandbox, "--items", str(items), *own)
        refused = sum(bool(book.get("refused")) for book in books)
        print(f"{name}: accepted {sum(book['accepted'] for book in books)} of {items}, refused by "
              f"the checker alone {refused}, other {items - refused}")  # fmt: skip


def kills(out: Path, sandbox: str, count: int, items: int) -> None:
    begin = ["--domain", DOMAIN, "--items", str(items), "--model", "scripted/clumsy",
             "--least-yield", "0", "--sandbox", sandbox, *CHECKER]  # fmt: skip
    files = ("items.jsonl", "certificates.jsonl", "books.jsonl", "funnel.json", "refused.jsonl")
    killed_over_and_over(out, begin, files, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["right", "plants", "erring", "kills"])
    parser.add_argument("--out", type=Path, default=Path("construct-benchmark"))
    parser.add_argument("--sandbox", default="process")
    parser.add_argument("--each", type=int, default=4)
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--kills", type=int, default=50)
    given = parser.parse_args()
    if given.what == "right":
        right(given.out, given.sandbox, given.items or 96)
    elif given.what == "plants":
        plants(given.out, given.sandbox, given.each)
    elif given.what == "erring":
        erring(given.out, given.sandbox, given.items or 4)
    else:
        kills(given.out, given.sandbox, given.kills, given.items or 6)


if __name__ == "__main__":
    main()
