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
from typing import Any

from benchmarks.construct import KEY, construct, fresh, interval, killed_over_and_over, rows
from toolhop_agents.models.loopback import LoopbackServer, RequestResponder
from toolhop_agents.scripted.constructor import honest, reader
from toolhop_agents.scripted.constructor.atlas import Journey, journey
from toolhop_agents.scripted.constructor.model import answered, script

DOMAIN = "General"
CHECKER = ["--checker", "scripted/honest"]
Reply = dict[str, Any]


def attribute(plan: Journey, before: str = "", after: str = "") -> Callable[[str], str]:
    """The attribute, with words before it or after its "of", wherever a text has it."""
    name = plan.attribute.name

    def change(text: str) -> str:
        if plan.again and f"look up its {name}" in text:
            said = f"the {before}{name} of {after}it" if after else f"its {before}{name}"
            text = text.replace(f"its {name}", said)
            return text.replace(f"that {name}", f"that {before}{name}")
        return text.replace(f"the {name} of ", f"the {before}{name} of {after}")

    return change


def former(plan: Journey, stage: str) -> Callable[[str], str]:
    return attribute(plan, before="former ")


def hidden_hop(plan: Journey, stage: str) -> Callable[[str], str]:
    return attribute(plan, after="the neighbour of ")


def other_relation(plan: Journey, stage: str) -> Callable[[str], str]:
    own = plan.theme.phrase if stage == "question" else plan.theme.ask
    first = own.format(plan.start)
    other = f"the {plan.theme.second} that came after {plan.start}"
    return lambda text: text.replace(
        first, other if stage == "question" else f"What is {other}?"
    )  # fmt: skip


def other_operation(plan: Journey, stage: str) -> Callable[[str], str]:
    words = {"sum of the digits": "product of the digits", "days after": "days before",
             "add up to": "average to", "written in base": "read in base"}  # fmt: skip

    def change(text: str) -> str:
        for own, other in words.items():
            text = text.replace(own, other) if stage == "question" else text
        return text

    return change


def of_the_start(plan: Journey, stage: str) -> Callable[[str], str]:
    about = plan.theme.phrase.format(plan.start)
    own = f"the {plan.theme.first} {plan.start}, by its {plan.theme.second}"
    return lambda text: text.replace(about, own) if stage == "question" else text


def other_form(plan: Journey, stage: str) -> Callable[[str], str]:
    asked = plan.hops()[-1][0].partition("{")[0]
    last = {"question", "decompose"}
    return lambda text: (
        text.replace("?", ", written backwards?") if stage in last and asked in text else text
    )


KINDS = {
    "former": former,
    "hidden-hop": hidden_hop,
    "other-relation": other_relation,
    "other-operation": other_operation,
    "of-the-start": of_the_start,
    "other-form": other_form,
}


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


def plants(out: Path, sandbox: str, each: int) -> None:
    counted: dict[str, list[int]] = {}
    for kind in KINDS:
        found = []
        for name, stubborn, more in (
            ("plain", True, []), ("stays", True, CHECKER), ("repairs", False, CHECKER),
        ):  # fmt: skip
            with LoopbackServer(serving(kind, stubborn=stubborn)) as server:
                own = ["--model", "openai/scripted", "--base-url", server.base_url, *more]
                books = run(out / f"{kind}-{name}", sandbox, "--items", str(each), *own)
            found.append({book["item"] for book in books if book["accepted"]})
        without, stays, repairs = found
        counted[kind] = [len(without), len(without & stays), len(without & repairs)]
        print(f"{kind}: accepted without a checker {len(without)} of {each}")
        print(f"  of these with one {len(without & stays)}; repaired {len(without & repairs)}")
    total, kept, repaired = (sum(one) for one in zip(*counted.values(), strict=True))
    print(f"accepted with the fault: {interval(kept, total)}")
    print(f"repaired and accepted: {interval(repaired, total)}")


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
