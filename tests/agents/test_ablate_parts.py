"""The effect of each part of feedback, with scripted agents whose use of each part is known."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.items import small_item
from tests.agents.test_ablate import _killed, flags_for, told
from tests.agents.test_ablate_effect import FAILED, one
from toolhop_agents.ablate.design import Ablation, Factor
from toolhop_agents.ablate.folder import AblationFolder
from toolhop_agents.ablate.parts import Leaks, PartEffect, leak_sentences, sentences, steps
from toolhop_agents.ablate.plain import to_json
from toolhop_agents.ablate.result import result
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.scripted.model import UNKNOWN
from toolhop_agents.scripted.plan import final_answer, plan, raw_calls, turns
from toolhop_agents.scripted.responder import responder
from toolhop_env.attempt import Attempt, Key
from toolhop_env.feedback import render
from toolhop_env.levels import MINIMAL_TEXT, Level, Part
from toolhop_env.messages import Message, RawCall, Reply
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected, Repair
from toolhop_sandbox.outcome import Outcome, Returned
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet, Item

ALL = ("minimal", "placebo", "code", "location", "allowed", "suggestion", "shortened", "complete",
       "detailed")  # fmt: skip
ITEMS, CONTINUATIONS = 30, 2
REPORTED = "no such year is on record here, whatever the calendar: ask for another one of them"
FAILURES: Sequence[tuple[Call | Rejected, Outcome | None]] = (
    (
        Rejected(
            (Problem(ErrorCode.WRONG_TYPE, "year", '"1"', "integer"),),
            Repair("f", {"year": 1}, ("type_converted",)),
        ),
        None,
    ),
    (
        Call("f", {"year": 1}),
        Returned(json.dumps({"error": REPORTED, "code": 404, "param": "year", "allowed": [2, 3]})),
    ),
)
"""A call that is not run and can be repaired, and a failure of the tool's own."""
USES: dict[Part | None, Callable[[str], bool]] = {
    None: lambda text: False,
    Part.CODE: lambda text: "\nCode: " in text,
    Part.LOCATION: lambda text: "\nArgument: year" in text,
    Part.ALLOWED: lambda text: "\nAllowed: " in text,
    Part.SUGGESTION: lambda text: "\nSuggestion: " in text,
    Part.OPENING: lambda text: "\nMessage: " in text,
    Part.REST: lambda text: "\nMessage: " in text and text.endswith(("them", '"1".', "3]}")),
    Part.PROSE: lambda text: not text.startswith(MINIMAL_TEXT),
}
"""Agents: each reads one part, and then does what is right."""


def branches(
    rng: random.Random, level: str, uses: Callable[[str], bool], fails: bool
) -> list[Attempt]:
    """Branches of one level: right in nine of ten where the feedback holds what the agent reads,
    else in two of ten.
    """
    found = []
    for item in range(ITEMS):
        verdict, outcome = FAILURES[item % 2 if fails else 0]
        text = render(Level(level), "f", verdict, outcome).text
        for epoch in range(1, CONTINUATIONS + 1):
            right = rng.random() < (0.9 if uses(text) else 0.2)
            found.append(replace(one(item, right, FAILED), epoch=epoch))
    return found


@pytest.mark.parametrize("used", [*USES])
def test_the_part_that_an_agent_reads_has_the_effect_and_no_other(used: Part | None) -> None:
    ablation = Ablation(levels=ALL, prefix_levels=("minimal",), continuations=CONTINUATIONS)
    rng = random.Random(3)
    arms = {"minimal": [one(item, False, FAILED) for item in range(ITEMS)]}
    for level in ALL:
        arms[f"minimal-then-{level}"] = branches(rng, level, USES[used], used != Part.SUGGESTION)
    found = {effect.parts: effect for effect in result(ablation, arms).parts}
    assert [*found] == [
        (Part.LENGTH,), (Part.CODE,), (Part.LOCATION,), (Part.ALLOWED,), (Part.SUGGESTION,),
        (Part.OPENING,), (Part.REST,), (Part.PROSE,),
    ]  # fmt: skip
    for parts, effect in found.items():
        line = effect.effect
        assert line is not None
        assert (line.pairs, line.items) == (ITEMS * CONTINUATIONS, ITEMS)
        assert line.adjusted is not None
        if parts == (used,):
            assert line.adjusted < 0.001
            assert 0.4 < line.difference < 0.95
        else:
            assert line.adjusted > 0.05, parts
    said = list(sentences(ablation, [*found.values()]))
    assert len(said) == 8
    assert said[1].startswith("The code (minimal → code): strict ")
    assert "over 60 of 60 pairs of episodes with a failed call, forked under minimal" in said[1]


def test_each_level_is_compared_with_the_largest_that_it_contains() -> None:
    def of(*levels: str) -> list[tuple[str, str]]:
        return list(steps(Ablation(levels=levels)))

    assert of("complete", "allowed", "minimal") == [("allowed", "complete"), ("minimal", "allowed")]
    assert of("detailed", "minimal") == [("minimal", "detailed")]
    assert of("detailed", "minimal", "own") == [("minimal", "detailed"), ("detailed", "own")]
    assert of("allowed", "placebo") == [("allowed", "placebo")]
    assert list(steps(Ablation(factor=Factor.MODE, levels=("free", "direct")))) == []
    apart = PartEffect("detailed", "own", (), None, 0)
    assert apart.name == "feedback detailed → own"
    both = PartEffect("minimal", "location", (Part.CODE, Part.LOCATION), None, 0)
    assert both.name == "the code and the argument (minimal → location)"


def test_forks_of_all_prefix_levels_are_one_sample() -> None:
    ablation = Ablation(levels=("minimal", "code"))
    arms = {
        "minimal": [one(n, False, FAILED) for n in range(8)],
        "minimal-then-code": [one(n, True, FAILED) for n in range(8)],
        "code": [one(n, True, FAILED) for n in range(8)],
        "code-then-minimal": [one(n, False, FAILED) for n in range(7)],
    }
    (found,) = result(ablation, arms).parts
    assert found.effect is not None
    assert (found.effect.pairs, found.effect.items, found.planned) == (15, 8, 16)
    independent = ablation.model_copy(update={"design": "independent"})
    (found,) = result(independent, arms).parts
    assert found.effect is not None
    assert (found.effect.pairs, found.effect.gained) == (8, 8)


def reads_suggestions(item: Item, seed: int, messages: Sequence[Message], tools: bool) -> Reply:
    """Spell the first call wrong; go on as is right only where the feedback repairs it."""
    done, hops = turns(messages), plan(item)
    if not done:
        wrong = '{"country": "Norway", "style": "PLAIN"}'
        return Reply("", (RawCall("c", "capital", wrong),))
    if "Suggestion: " not in done[0][0]:
        return Reply(UNKNOWN)
    if len(done) <= len(hops):
        return Reply("", raw_calls(hops[len(done) - 1], len(done) + 1))
    return Reply(f"<answer>{final_answer(item, done[-1])}</answer>")


@pytest.mark.heavy
@pytest.mark.usefixtures("inline_module")
def test_all_levels_are_played_and_a_killed_ablation_comes_to_the_same(tmp_path: Path) -> None:
    items = tuple(small_item(f"small-{number}") for number in range(1, 9))
    data = DataSet("small", str(tmp_path / "items.json"), items)
    (tmp_path / "items.json").write_text(json.dumps(to_rows(data)), encoding="utf-8")
    answers: list[dict[str, Any]] = []
    done: subprocess.CompletedProcess[str]
    with LoopbackServer(responder(data, reads_suggestions, 5)) as server:
        for kills in ((), (5, 150)):
            logs = tmp_path / f"logs-{len(kills)}"
            flags = flags_for(
                data, logs, "--model", "openai/scripted", "--base-url", server.base_url,
                "--levels", ",".join(ALL), "--prefix-level", "minimal", "--continuations", "2",
            )  # fmt: skip
            for more in kills:
                _killed(server, flags, more)
                (folder,) = logs.iterdir()
                flags = ("--resume", str(folder), "--json")
            done = told(*flags)
            assert done.returncode == 0, done.stderr
            answers.append(json.loads(done.stdout))
    whole, killed = answers
    assert killed["parts"] == whole["parts"]
    assert killed["rows"] == whole["rows"]
    for part in whole["parts"]:
        effect = part["effect"]
        assert (effect["pairs"], effect["items"]) == (16, 8)
        assert effect["difference"] == (1.0 if part["parts"] == ["suggestion"] else 0.0)
        assert (effect["p_corrected"] < 0.1) == (part["parts"] == ["suggestion"])
    assert whole["arms"]["minimal-then-minimal"] == {"scored": 16, "errored": 0}
    assert whole["arms"]["minimal"]["scored"] == 8
    for trace in AblationFolder.open(Path(whole["folder"])).stores()[5][1].traces():
        assert trace.started.parent == f"minimal/{trace.started.item}_mandatory_e1_a1"
    refused = told("--resume", whole["folder"], "--continuations", "3")
    assert "another --continuations: it has 2, given is 3" in refused.stderr
    shown = told("--show", whole["folder"]).stdout
    assert shown.startswith("Length without content (minimal → placebo): strict stays at 0.0")


def test_effects_are_also_given_without_the_forks_that_leak() -> None:
    ablation = Ablation(
        levels=("minimal", "code"), prefix_levels=("minimal",), continuations=CONTINUATIONS
    )
    arms = {
        "minimal": [one(item, False, FAILED) for item in range(ITEMS)],
        **{
            f"minimal-then-{level}": [
                replace(one(item, level == "code" and item < 10, FAILED), epoch=epoch)
                for item in range(ITEMS)
                for epoch in (1, 2)
            ]
            for level in ("minimal", "code")
        },
    }
    # All that was right under `code` leaked; of another fork, one branch at the smaller level.
    forks = {
        ("minimal", "code", Key(str(item), "mandatory", epoch))
        for item in range(10)
        for epoch in (1, 2)
    }
    other = {("minimal", "minimal", Key("11", "mandatory", 2))}
    counts = {
        "minimal": Counter(messages=60),
        "code": Counter({"messages": 60, "leaking": 20, "gold result": 20}),
    }
    whole = result(ablation, arms, leaks=Leaks(counts, forks | other))
    (part,) = whole.parts
    assert part.effect is not None
    assert part.tight is not None
    assert (part.effect.pairs, part.effect.gained, part.leaking) == (60, 20, 21)
    assert (part.tight.pairs, part.tight.gained) == (39, 0)
    said = list(leak_sentences(ablation, whole.parts, whole.leaks))
    assert said[0] == (
        "Messages that give away what stands nowhere before: minimal 0 of 60; "
        "code 20 of 60 (gold result 20)."
    )
    assert said[1].startswith(
        "Without forks that give something away, the code (minimal → code): +0.0 points"
    )
    plain = json.loads(json.dumps(to_json(ablation, whole)))
    assert plain["leaks"]["code"] == {"messages": 60, "leaking": 20, "gold result": 20}
    assert plain["parts"][0]["effect_without_leaks"]["pairs"] == 39
    elsewhere = Leaks(counts, {("code", "code", key) for _, _, key in forks})
    assert result(ablation, arms, leaks=elsewhere).parts[0].leaking == 0
    assert list(leak_sentences(ablation, [], Leaks({}, set()))) == []


@pytest.mark.heavy
@pytest.mark.usefixtures("inline_module")
@pytest.mark.parametrize("continuations", ["1", "2"])
def test_a_level_that_gives_the_gold_away_is_found_in_the_traces(
    continuations: str, tmp_path: Path
) -> None:
    (tmp_path / "own.txt").write_text("[rejected]\nIt is Oslo.\n[failed]\nNo.", encoding="utf-8")
    flags = (
        "--agent", "faulty:1:not_json", "--levels", "minimal,own", "--prefix-level", "own",
        "--level", str(tmp_path / "own.txt"), "--continuations", continuations,
        "--limit", "3", "--sandbox", "process", "--log-dir", str(tmp_path / "logs"),
    )  # fmt: skip
    items = tuple(small_item(f"small-{number}") for number in range(1, 4))
    (tmp_path / "items.json").write_text(json.dumps(to_rows(DataSet("x", "x", items))), "utf-8")
    done = told("--data", str(tmp_path / "items.json"), *flags, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    # The second and third message of an episode hold what the first one gave away.
    branches = 3 * int(continuations)
    own = branches if continuations == "1" else branches + 3
    assert answer["leaks"]["own"] == {
        "messages": 3 * own, "leaking": own, "gold argument": own, "gold result": own,
    }  # fmt: skip
    assert answer["leaks"]["minimal"] == {"messages": 3 * branches, "leaking": 0}
    (part,) = answer["parts"]
    assert (part["first"], part["second"], part["parts"]) == ("minimal", "own", [])
    assert part["effect"]["pairs"] == part["leaking"] == branches
    assert part["effect_without_leaks"] is None
    shown = told("--show", answer["folder"]).stdout
    assert "feedback minimal → own: no pair is left." in " ".join(shown.split())
