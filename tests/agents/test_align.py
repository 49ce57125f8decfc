"""`toolhop align`: what it writes is right, and what is planted in it is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agents.command import toolhop
from tests.env import scenes
from toolhop_agents.align.check import refusals
from toolhop_agents.align.folder import items_in
from toolhop_agents.align.kinds import AlignError, PairType, Source
from toolhop_agents.align.leaks import BY, TRAIN, VALIDATION, leaks, marks_of, splits
from toolhop_agents.align.line import Chat, Pair, lines_of
from toolhop_agents.align.rendering import ChatTemplate
from toolhop_agents.align.writers import rows_for
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.models.wire_reading import reply_from_wire
from toolhop_agents.scripted.responder import responder
from toolhop_env.messages import ReplyTokens
from toolhop_env.trace import Replied, to_line
from toolhop_sandbox.choose import open_sandbox
from toolhop_tools.load import load
from toolhop_tools.model import GoldCall, Item
from toolhop_tools.readers.native import from_rows, to_row
from toolhop_tools.scenarios.label import FIELD

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]
CHATML = ChatTemplate.read("chatml-tools")
MARKED = ChatTemplate(
    "marked",
    "{%- for m in messages -%}<|{{ m.role }}|>"
    "{%- if m.role == 'assistant' -%}{% generation %}{{ m.content }}"
    "{%- for c in m.tool_calls or [] -%}{{ c.function | tojson }}{%- endfor -%}<|end|>"
    "{% endgeneration %}{%- else -%}{{ m.content }}<|end|>{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}",
)


def italy() -> Item:
    """An item of another family, whose tools have other code."""
    item = scenes.plain()
    tool, people = (
        replace(one, body=replace(one.program, source=f"{one.program.source}\n    another = 1"))
        for one in (scenes.CAPITAL, scenes.POPULATION)
    )
    hops = (
        replace(item.hops[0], question="What is the capital of Italy?", answer="Rome", tool=tool,
                gold=GoldCall({"country": "Italy"}, "written")),
        replace(item.hops[1], question="How many people live in Rome?", answer="2748109",
                tool=people, gold=GoldCall({"city": "Rome"}, "written")),
    )  # fmt: skip
    label: Any = {**dict(item.gold[FIELD]), "family": "italy"}  # type: ignore[arg-type]  # a gold is JSON
    return replace(
        item, id="italy-plain", question="What number of persons has the Italian capital?",
        answer="2748109", hops=hops, domain="e", gold={FIELD: label},
    )  # fmt: skip


def command(*arguments: str) -> Any:
    done = toolhop("align", *arguments, "--sandbox", "process")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("align") / "family.jsonl"
    items = (*scenes.family(), italy())
    path.write_text("".join(json.dumps(to_row(item)) + "\n" for item in items))
    return path


@pytest.fixture(scope="module")
def chats(data: Path) -> Path:
    out = data.parent / "sft"
    command("sft", str(data), "--out", str(out), "--repaired", "0.5", "--mix", "0.4,0.4,0.2")
    return out


@pytest.fixture(scope="module")
def runs(data: Path) -> list[str]:
    found = []
    for agent in ("invents", "asks", "goes-on", "repairing:1", "asks-when-missing", "gives-up"):
        done = toolhop(
            "run", "--data", str(data), "--agent", agent, "--sandbox", "process", "--json",
            "--log-dir", str(data.parent / "logs"),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout)["run"])
    return found


@pytest.fixture(scope="module")
def pairs(data: Path, runs: list[str]) -> Path:
    out = data.parent / "dpo"
    command("dpo", *runs, "--out", str(out))
    return out


def refused(
    lines: list[Chat | Pair],
    folder: Path,
    template: ChatTemplate = CHATML,
    against: tuple[Item, ...] = (),
) -> list[str]:
    async def check() -> list[str]:
        async with await open_sandbox("process") as sandbox:
            found = await refusals(
                lines, items_in(folder), template, sandbox, by=BY, against=against
            )
            return [one.reason for one in found]

    return anyio.run(check)


# -- what is written -----------------------------------------------------------------------------


@pytest.mark.parametrize("template", [CHATML, MARKED], ids=lambda one: one.name)
def test_nothing_that_is_written_is_refused(
    chats: Path, pairs: Path, template: ChatTemplate
) -> None:
    assert refused([*lines_of(chats)], chats, template) == []
    assert refused([*lines_of(pairs)], pairs, template) == []


def test_chats_have_all_kinds_and_train_no_failed_call(chats: Path) -> None:
    lines = {line.id: line for line in lines_of(chats) if isinstance(line, Chat)}
    assert {line.kind for line in lines.values()} == {
        "original", "repaired", "unmatched", "missing",
    }  # fmt: skip
    for line in lines.values():
        if line.kind == "repaired":
            agent = [n for n, one in enumerate(line.messages) if one["role"] == "assistant"]
            assert {*line.trained} < {*agent}
            assert agent[0] not in line.trained


def test_asking_for_tools_is_trained_beside_the_tools_that_were_on_offer(chats: Path) -> None:
    parts = [line for line in lines_of(chats) if isinstance(line, Chat) and "~reserve" in line.id]
    parts = parts or [
        line for line in lines_of(chats) if isinstance(line, Chat) and line.kind == "unmatched"
    ]
    first, second = parts[0], parts[1]
    names = [{tool["function"]["name"] for tool in part.tools} for part in (first, second)]
    assert first.messages[-1]["tool_calls"][0]["function"]["name"] == "change_tools"
    assert names[0] < names[1]
    assert len(first.messages) - 1 not in second.trained


def test_a_thought_is_the_sub_question(chats: Path) -> None:
    said = [one["content"] for line in lines_of(chats) if isinstance(line, Chat)
            for one in line.messages if one["role"] == "assistant"]  # fmt: skip
    assert "What is the capital of Norway?" in said
    assert not any(text.startswith("Step") for text in said)


def test_pairs_have_types_from_every_source(pairs: Path, data: Path, runs: list[str]) -> None:
    lines = [line for line in lines_of(pairs) if isinstance(line, Pair)]
    types = {line.pair_type for line in lines}
    assert {
        PairType.CORRECT_HALLUCINATED, PairType.CORRECT_INDECISIVE,
        PairType.INDECISIVE_HALLUCINATED, PairType.SUCCESS_FAILURE,
    } <= types  # fmt: skip
    sources = {line.chosen_source for line in lines} | {line.rejected_source for line in lines}
    assert Source.RUN in sources
    out = data.parent / "faults"
    command("dpo", runs[4], "--out", str(out), "--faults")
    topped = [line for line in lines_of(out) if isinstance(line, Pair)]
    assert any(line.rejected_source is Source.FAULT for line in topped)
    assert refused([*topped], out) == []


def test_a_good_call_is_moved_to_the_failed_one_only_with_known_values(
    data: Path, runs: list[str]
) -> None:
    out = data.parent / "forks"
    command("dpo", runs[3], "--out", str(out))
    forked = [
        line for line in lines_of(out)
        if isinstance(line, Pair) and Source.FORK in (line.chosen_source, line.rejected_source)
    ]  # fmt: skip
    assert forked
    for line in forked:
        text = json.dumps(line.prompt)
        called = line.chosen[0]["tool_calls"][0]["function"]["arguments"]
        assert all(value in text for value in json.loads(called).values())


def test_samples_are_executed_and_become_pairs(data: Path, runs: list[str]) -> None:
    out, play = data.parent / "samples", binding_of("scenarios").agents["invents"]
    with LoopbackServer(responder(load(str(data)), play, 0)) as server:
        model = ("--model", "openai/loop", "--base-url", server.base_url, "--samples", "2")
        arguments = ("sample", runs[4], *model, "--out", str(out), "--json")
        done = json.loads(command(*arguments).stdout)
        again = json.loads(command(*arguments).stdout)
    assert done["replies"]["hallucinated"]
    assert again["replies"] == done["replies"]
    assert sum(done["replies"].values()) == 2 * done["contexts"]
    other = toolhop("align", "sample", runs[4], "--agent", "oracle", "--out", str(out))
    assert (other.returncode, "not of oracle" in other.stderr) == (2, True)
    warm = toolhop("align", *arguments, "--temperature", "0.2")
    assert (warm.returncode, "not of temperature 0.2" in warm.stderr) == (2, True), warm.stderr
    rows = (out / "samples.jsonl").read_text().splitlines(keepends=True)
    assert len(rows) == 2 * done["contexts"]
    (out / "samples.jsonl").write_text("".join(rows[:-1]) + rows[-1][:40])  # as a kill leaves it
    with LoopbackServer(responder(load(str(data)), play, 0)) as server:
        command(*arguments[:5], server.base_url, *arguments[6:])
        assert server.requests == 1
    after = (out / "samples.jsonl").read_text().splitlines(keepends=True)
    assert after[:-1] == rows[:-1]
    assert len(after) == len(rows)
    command("dpo", str(out), runs[4], "--out", str(data.parent / "sampled"))
    lines = [line for line in lines_of(data.parent / "sampled") if isinstance(line, Pair)]
    assert any(line.rejected_source is Source.SAMPLE for line in lines)
    assert refused([*lines], data.parent / "sampled") == []


def test_tokens_that_a_server_returns_are_kept_but_not_in_traces() -> None:
    body = {
        "choices": [{"message": {"content": "hello"}, "token_ids": [5, 6]}],
        "prompt_token_ids": [1, 2, 3],
    }
    reply = reply_from_wire(body)
    assert reply.tokens == ReplyTokens((1, 2, 3), (5, 6))
    assert to_line(Replied(1, reply)) == to_line(Replied(1, replace(reply, tokens=None)))
    body["choices"][0]["token_ids"] = ["5"]  # type: ignore[index]  # a body is JSON
    assert reply_from_wire(body).tokens is None


# -- what is refused -----------------------------------------------------------------------------

Plant = Callable[[dict[str, Any]], object]


def _call(message: dict[str, Any]) -> dict[str, Any]:
    function: dict[str, Any] = message["tool_calls"][0]["function"]
    return function


def _first_call(row: dict[str, Any]) -> dict[str, Any]:
    said = (one for one in row["messages"] if one.get("tool_calls"))
    return _call(next(said))


def put(path: str, value: object) -> Plant:
    """A plant that sets a value; the path's parts are keys or indexes."""

    def plant(row: dict[str, Any]) -> None:
        at: Any = row
        *before, last = [int(part) if part.lstrip("-").isdigit() else part
                         for part in path.split(".")]  # fmt: skip
        for part in before:
            at = at[part]
        at[last] = value

    return plant


CHAT_PLANTS: dict[str, tuple[Plant, str]] = {
    "no item": (put("item", "nobody"), "is not in the folder"),
    "item changed": (put("item_digest", "0" * 64), "was changed"),
    "family": (put("family", "another"), "its family"),
    "domain": (put("domain", "another"), "its domain"),
    "split": (put("split", "test"), "its split"),
    "distractor mark": (put("tools.0.distractor", True), "its tools are not"),
    "tool description": (put("tools.0.function.description", "the first"), "its tools are not"),
    "strange tool": (put("tools.0.function.name", "look_up_2"), "its tools are not"),
    "fewer tools": (lambda row: row["tools"].pop(), "its tools are not"),
    "nothing trained": (put("trained", []), "nothing in it is trained"),
    "user trained": (put("trained", [0]), "not the agent's own turns"),
    "result trained": (put("trained", [1, 2]), "not the agent's own turns"),
    "trained twice": (put("trained", [1, 1]), "not the agent's own turns"),
    "gold in the prompt": (
        lambda row: row["messages"][0].update(
            content=row["messages"][0]["content"] + " The answer is 717710."),
        "the prompt names the answer",
    ),
    "gold in a thought": (
        put("messages.1.content", "It must be Oslo."), "before it is known",
    ),
    "gold in reasoning": (
        put("messages.1.reasoning_content", "Surely 717710."), "before it is known",
    ),
    "other arguments": (
        lambda row: _first_call(row).update(arguments='{"country": "Italy"}'), "run again",
    ),
    "a failed call trained": (
        lambda row: _first_call(row).update(arguments='{"land": "Norway"}'), "run again",
    ),
    "other feedback": (put("messages.2.content", '"Oslo" '), "run again"),
    "other answer": (put("messages.-1.content", "<answer>5</answer>"), "run again"),
    "an answer too early": (
        lambda row: (row["messages"].insert(1, {"role": "assistant", "content": "Hm."}),
                     row.update(trained=[1])),
        "run again",
    ),
    "wrong result": (put("result.verdict", "failure"), "run again"),
    "another kind": (put("kind", "missing"), "its kind"),
    "another licence": (put("licence", "CC0"), "its licence"),
    "no mode": (put("conditions.mode", "guessing"), "its mode"),
    "a hint in the prompt": (
        lambda row: row["messages"][0].update(
            content=row["messages"][0]["content"] + " Begin with capital_of."),
        "its prompt is not",
    ),
    "gold with an invisible space": (
        put("messages.1.content", "It must be Os\u200blo."), "before it is known",
    ),
    "gold at the end of a long thought": (
        put("messages.1.reasoning_content", "so on " * 1000 + "Oslo"), "before it is known",
    ),
    "gold as a call's id": (put("messages.1.tool_calls.0.id", "Oslo"), "before it is known"),
}  # fmt: skip


def copied(line: Chat | Pair) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(line.model_dump_json())
    return row


@pytest.mark.parametrize("name", CHAT_PLANTS)
def test_a_planted_chat_is_refused(name: str, chats: Path) -> None:
    plant, reason = CHAT_PLANTS[name]
    line = next(
        one for one in lines_of(chats)
        if isinstance(one, Chat) and one.kind == "original" and "norway" in one.id
    )  # fmt: skip
    row = copied(line)
    plant(row)
    found = refused([Chat.model_validate(row)], chats)
    assert any(reason in one for one in found), found


def swapped(row: dict[str, Any]) -> None:
    row["chosen"], row["rejected"] = row["rejected"], row["chosen"]


PAIR_PLANTS: dict[str, tuple[PairType, Plant, str]] = {
    "the same": (
        PairType.CORRECT_HALLUCINATED, lambda row: row.update(chosen=row["rejected"]),
        "are the same",
    ),
    "the same but for space": (
        PairType.CORRECT_HALLUCINATED,
        lambda row: row.update(chosen=[{**row["rejected"][0],
                                        "content": f" {row['rejected'][0]['content']} "}]),
        "are the same",
    ),
    "swapped": (PairType.CORRECT_HALLUCINATED, swapped, "run again"),
    "wrong type": (
        PairType.CORRECT_HALLUCINATED, put("pair_type", "correct>indecisive"), "not correct>",
    ),
    "both wrong": (
        PairType.CORRECT_HALLUCINATED, put("chosen_result.verdict", "hallucinated"), "it is",
    ),
    "a limit rejects": (
        PairType.CORRECT_HALLUCINATED, put("rejected_result.verdict", "other"), "it is",
    ),
    "other ending": (
        PairType.CORRECT_HALLUCINATED, put("rejected_result.ending", "out_of_turns"), "run again",
    ),
    "unsolvable": (PairType.CORRECT_INDECISIVE, put("solvable", False), "deferring is not wrong"),
    "solvable": (PairType.INDECISIVE_HALLUCINATED, put("solvable", True), "can be solved"),
    "other action": (PairType.INDECISIVE_HALLUCINATED, put("needs", "finish"), "asks for finish"),
    "other hop": (PairType.CORRECT_HALLUCINATED, put("hop", 7), "its hop"),
    "mask too short": (
        PairType.CORRECT_HALLUCINATED,
        put("chosen_tokens", {"prompt_ids": [1], "completion_ids": [2, 3], "mask": [1]}),
        "its mask",
    ),
    "mask of nothing": (
        PairType.CORRECT_HALLUCINATED,
        put("rejected_tokens", {"prompt_ids": [1], "completion_ids": [2], "mask": [0]}),
        "is trained",
    ),
    "prompt ends with the agent": (
        PairType.CORRECT_HALLUCINATED,
        lambda row: row["prompt"].append({"role": "assistant", "content": "Hm."}),
        "does not end with a message",
    ),
    "no reply": (PairType.CORRECT_HALLUCINATED, put("chosen", []), "does not begin and end"),
    "a prompt that asks for something else": (
        PairType.CORRECT_HALLUCINATED,
        lambda row: [one.update(content="Say hello.") for one in row["prompt"]
                     if one["role"] == "user"],
        "its prompt is not",
    ),
    "tools of another step": (
        PairType.CORRECT_HALLUCINATED, lambda row: row["tools"].pop(), "its tools are not",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIR_PLANTS)
def test_a_planted_pair_is_refused(name: str, pairs: Path) -> None:
    kind, plant, reason = PAIR_PLANTS[name]
    line = next(one for one in lines_of(pairs) if isinstance(one, Pair) and one.pair_type is kind)
    row = copied(line)
    plant(row)
    found = refused([Pair.model_validate(row)], pairs)
    assert any(reason in one for one in found), found


def test_a_second_pair_of_a_step_is_refused(pairs: Path) -> None:
    line = next(one for one in lines_of(pairs) if isinstance(one, Pair))
    found = refused([line, line.model_copy(update={"id": "second"})], pairs)
    assert any("one is allowed" in one for one in found)
    assert any("have this id" in one for one in refused([line, line], pairs))
    again = line.model_copy(update={"id": "second"})
    assert any(f"line {line.id} again" in one for one in refused([line, again], pairs))


def test_a_family_in_both_splits_is_refused(chats: Path) -> None:
    lines = [line for line in lines_of(chats) if line.family == "norway"]
    moved = lines[-1].model_copy(update={"split": VALIDATION})
    train = [line.model_copy(update={"split": TRAIN}) for line in lines[:-1]]
    assert any("its family" in one for one in refused([*train, moved], chats))


def told(**changes: Any) -> Item:
    """A held-out item that shares nothing with Norway's but what is given."""
    return replace(italy(), **changes)


LEAKS: dict[str, tuple[Callable[[], Item], str]] = {
    "family": (lambda: replace(scenes.plain(), question="x", hops=()), "its family"),
    "question": (
        lambda: told(question="how many people live in the capital of norway"), "its question",
    ),
    "code": (lambda: told(hops=(scenes.plain().hops[0],)), "its tool code"),
    "code but for a comment": (
        lambda: told(hops=(replace(
            scenes.plain().hops[0],
            tool=replace(scenes.CAPITAL, body=replace(
                scenes.CAPITAL.program, source=f"# copied\n{scenes.CAPITAL.program.source}"))),)),
        "its tool code",
    ),
    "question with invisible spaces": (
        lambda: told(question=scenes.KNOWN.replace("o", "o\u200b")), "its question",
    ),
    "chain in capitals": (
        lambda: told(hops=tuple(
            replace(hop, answer=answer)
            for hop, answer in zip(italy().hops, ("OSLO", "717710"), strict=True))),
        "its chain",
    ),
    "chain": (
        lambda: told(hops=tuple(
            replace(hop, answer=answer)
            for hop, answer in zip(italy().hops, ("Oslo", "717710"), strict=True))),
        "its chain",
    ),
    "8 words": (
        lambda: told(question=f"Well: {scenes.KNOWN[:-1]} and of Sweden?"), "run of 8 words",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
def test_what_held_out_data_gives_away_is_refused(name: str, chats: Path) -> None:
    make, reason = LEAKS[name]
    lines = [line for line in lines_of(chats) if line.item == "norway-plain"]
    assert refused(lines, chats, against=(italy(),)) == []
    assert any(reason in one for one in refused(lines, chats, against=(make(),)))


def test_leaks_are_refused_before_anything_is_played(data: Path) -> None:
    done = toolhop(
        "align", "sft", str(data), "--out", str(data.parent / "no"), "--against", str(data)
    )
    assert done.returncode == 2
    assert "leak" in done.stderr
    assert not (data.parent / "no").exists()


def test_items_that_share_anything_are_in_one_split() -> None:
    items = {item.id: marks_of(item) for item in (*scenes.family(), italy())}
    both = splits(items, BY)
    norway = {both[name] for name in items if name.startswith("norway")}
    assert len(norway) == 1
    assert both["italy-plain"] not in norway
    train = {name: one for name, one in items.items() if both[name] == TRAIN}
    held = [one for name, one in items.items() if both[name] == VALIDATION]
    assert [*leaks(train, held, BY)] == []
    with pytest.raises(AlignError, match="--split-by"):
        splits(items, ("size",))


# -- templates -----------------------------------------------------------------------------------

BAD_TEMPLATES = {
    "tools trained": (
        MARKED.text.replace("{%- else -%}{{ m.content }}<|end|>",
                            "{%- else -%}{% generation %}{{ m.content }}<|end|>"
                            "{% endgeneration %}"),
        "trains what is not the agent's",
    ),
    "no end trained": (
        MARKED.text.replace("<|end|>{% endgeneration %}", "{% endgeneration %}<|end|>"),
        "does not train the end of turn",
    ),
    "thoughts stripped": (
        MARKED.text.replace("{{ m.content }}{%- for",
                            "{{ m.content if loop.last else '' }}{%- for"),
        "otherwise once more follows",
    ),
    "calls without end": (
        MARKED.text.replace("{%- endfor -%}<|end|>",
                            "{%- endfor -%}{{ '' if m.tool_calls else '<|end|>' }}"),
        "no trained end of turn",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TEMPLATES)
def test_a_template_that_trains_the_wrong_part_is_refused(name: str, chats: Path) -> None:
    text, reason = BAD_TEMPLATES[name]
    line = next(one for one in lines_of(chats) if isinstance(one, Chat) and one.kind == "missing")
    found = refused([line], chats, ChatTemplate(name, text))
    assert any(reason in one for one in found), found


def test_a_template_without_an_end_is_refused(chats: Path) -> None:
    endless = ChatTemplate("endless", MARKED.text.replace("<|end|>", ""))
    with pytest.raises(AlignError, match="would not learn to stop"):
        refused([*lines_of(chats)], chats, endless)


# -- writers -------------------------------------------------------------------------------------


def test_trl_gets_objects_and_splits_chats_with_an_untrained_turn(chats: Path, pairs: Path) -> None:
    rows, dropped = rows_for("trl", [*lines_of(chats), *lines_of(pairs)], CHATML)
    assert not dropped
    assert all(isinstance(json.loads(row["tools"]), list) for one in rows.values() for row in one)
    calls = [
        call["function"]["arguments"]
        for name, listed in rows.items() if name.startswith(("sft-train", "sft-validation"))
        for row in listed for one in row["messages"] for call in one.get("tool_calls", ())
    ]  # fmt: skip
    assert calls
    assert all(isinstance(one, dict) for one in calls)
    steps = [row for name, one in rows.items() if name.startswith("sft-steps") for row in one]
    assert steps
    assert all([one["role"] for one in row["completion"]] == ["assistant"] for row in steps)
    assert all(row["prompt"][-1]["role"] in {"user", "tool"} for row in steps)


def test_llamafactory_gets_alternating_turns_and_calls_as_json(chats: Path, pairs: Path) -> None:
    rows, dropped = rows_for("llamafactory", [*lines_of(chats), *lines_of(pairs)], CHATML)
    for name, listed in rows.items():
        for row in listed:
            sides = [one["from"] in {"human", "observation"} for one in row["conversations"]]
            assert sides == [n % 2 == 0 for n in range(len(sides))]
            assert len(sides) % 2 == int(name.startswith("dpo"))
            for one in (*row["conversations"], row.get("chosen", {}), row.get("rejected", {})):
                if one.get("from") == "function_call":
                    assert {*json.loads(one["value"])[0]} == {"name", "arguments"}
    assert "a whole trajectory is more than one turn" in dropped


def test_axolotl_gets_a_mask_by_turn_and_pairs_as_text(chats: Path, pairs: Path) -> None:
    rows, _ = rows_for("axolotl", [*lines_of(chats), *lines_of(pairs)], CHATML)
    for name, listed in rows.items():
        for row in listed:
            if name.startswith("sft"):
                assert all(
                    not one["train"] or one["role"] == "assistant" for one in row["messages"]
                )
            else:
                assert row["prompt"].endswith("<|im_start|>assistant\n")
                assert row["chosen"].endswith("<|im_end|>\n")
                assert "im_start" not in row["chosen"].partition("<|im_end|>")[0]


def test_verl_gets_calls_as_the_template_writes_them(chats: Path, pairs: Path) -> None:
    lines = [*lines_of(chats), *lines_of(pairs)]
    rows, dropped = rows_for("verl", lines, CHATML)
    texts = [one["content"] for listed in rows.values() for row in listed
             for one in row["messages"] if one["role"] == "assistant"]  # fmt: skip
    assert any("<tool_call>" in text for text in texts)
    assert not any("<|im_end|>" in text for text in texts)
    assert {"verl has no trainer of pairs"} < {*dropped}


def test_the_files_of_a_trainer_are_written_with_a_card(data: Path) -> None:
    out = data.parent / "for"
    trainers = [part for name in ("trl", "llamafactory", "axolotl") for part in ("--for", name)]
    command("sft", str(data), "--out", str(out), *trainers, "--mix", "0.4,0.4,0.2")
    info = json.loads((out / "llamafactory" / "dataset_info.json").read_text())
    assert all((out / "llamafactory" / one["file_name"]).is_file() for one in info.values())
    card = (out / "README.md").read_text()
    assert "TRL 1.16.0" in card
    assert "| unmatched |" in card


# -- wrong use -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("sft", "builtin", "--out", "OUT"), "is no scenario"),
        (("sft", "DATA", "--out", "OUT", "--mix", "1,2"), "three shares"),
        (("sft", "DATA", "--out", "OUT", "--split-by", "size"), "--split-by"),
        (("sft", "DATA", "--out", "OUT", "--chat-template", "DATA"), "does not end a turn"),
        (("dpo", "DATA", "--out", "OUT"), "DATA"),
        (("check", "OUT"), "OUT"),
    ],
)
def test_wrong_use_is_one_clear_line(
    arguments: tuple[str, ...], says: str, data: Path, tmp_path: Path
) -> None:
    names = {"OUT": str(tmp_path / "out"), "DATA": str(data)}
    done = toolhop("align", *(names.get(one, one) for one in arguments))
    assert done.returncode == 2, done.stderr
    assert names.get(says, says) in done.stderr
    assert "Traceback" not in done.stderr


def test_samples_need_somebody_who_replies(runs: list[str], tmp_path: Path) -> None:
    done = toolhop("align", "sample", runs[4], "--out", str(tmp_path / "out"))
    assert (done.returncode, "give --model" in done.stderr) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_test_set_is_refused_unless_it_is_asked_for() -> None:
    from toolhop_agents.align.leaks import refuse_tests

    refuse_tests("toolhop", [], True)
    with pytest.raises(AlignError, match="test set"):
        refuse_tests("toolhop", [], False)
    refuse_tests("mine", [scenes.plain()], False)
    official = replace(scenes.plain(), previous_answer_type="person")
    for item in (official, replace(scenes.plain(), extra={"origin": "nestools"})):
        kept = from_rows([to_row(item)], name="mine", origin="").items
        with pytest.raises(AlignError, match="test set"):
            refuse_tests("mine", kept, False)


def test_chats_of_an_official_row_under_another_name_are_refused(
    data: Path, chats: Path, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    renamed = tmp_path / "mine.jsonl"
    renamed.write_text("".join(
        json.dumps({**row, "id": f"my-{row['id']}", "previous_answer_type": "person"}) + "\n"
        for row in rows))  # fmt: skip
    done = toolhop("align", "sft", str(renamed), "--out", str(tmp_path / "out"))
    assert (done.returncode, "test set" in done.stderr) == (2, True)
    copied_to = shutil.copytree(chats, tmp_path / "chats")
    items = (chats / "items.jsonl").read_text().splitlines()
    first = {**json.loads(items[0]), "previous_answer_type": "person"}
    (copied_to / "items.jsonl").write_text("\n".join([json.dumps(first), *items[1:]]) + "\n")
    assert toolhop("align", "check", str(copied_to), "--sandbox", "process").returncode == 2
    allowed = toolhop("align", "check", str(copied_to), "--allow-test", "--sandbox", "process")
    assert (allowed.returncode, "its licence is CC-BY" in allowed.stdout) == (1, True)


def test_runs_with_treated_results_are_trained_on_as_they_were(data: Path, tmp_path: Path) -> None:
    for results in ("padded=20", "injected"):
        done = toolhop(
            "run", "--data", str(data), "--agent", "repairing:1", "--results", results, "--json",
            "--sandbox", "process", "--log-dir", str(tmp_path / "logs"),
        )  # fmt: skip
        out = tmp_path / results
        command("dpo", json.loads(done.stdout)["run"], "--out", str(out))
        lines = [*lines_of(out)]
        assert {line.conditions.results for line in lines} == {results}
        assert refused(lines, out) == []
    runs = [str(path) for path in (tmp_path / "logs").iterdir()]
    scored = json.loads(toolhop("score", *runs, "--json").stdout)
    assert {one["treatment"] for one in scored} == {"padded=20", "injected"}
    assert "(padded=20)" in toolhop("score", *runs).stdout


def test_a_prompt_of_ones_own_is_checked_with_its_template(data: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("Find this out with the tools: {question}\n<answer>ANSWER</answer> at last.")
    done = toolhop(
        "run", "--data", str(data), "--agent", "repairing:1", "--template", str(own), "--json",
        "--sandbox", "process", "--log-dir", str(tmp_path / "logs"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    command("dpo", json.loads(done.stdout)["run"], "--out", str(out))
    told = toolhop("align", "check", str(out), "--sandbox", "process")
    assert (told.returncode, "or --template" in told.stdout) == (1, True)
    command("check", str(out), "--template", str(own))


def test_a_folder_appears_whole_or_not_at_all(data: Path, tmp_path: Path) -> None:
    left, out = tmp_path / ".out.partial", tmp_path / "out"
    left.mkdir()
    (left / "sft.jsonl").write_text("half a li")
    picky = tmp_path / "picky.jinja"
    picky.write_text(
        MARKED.text.replace("{%- for m", "{%- if messages | length > 4 -%}{{ raise_exception('no') "
                            "}}{%- endif -%}{%- for m"))  # fmt: skip
    arguments = ("sft", str(data), "--mix", "0.4,0.4,0.2", "--out", str(out), "--for", "axolotl")
    failed = toolhop("align", *arguments, "--for", "verl", "--chat-template", str(picky))
    assert failed.returncode == 2, failed.stderr
    assert not out.exists()
    command(*arguments)
    assert not left.exists()
    assert {line.form for line in lines_of(out)} == {"sft"}
    command("check", str(out))
    path = out / "axolotl" / "sft-train.jsonl"
    path.write_text(path.read_text().replace('"train": false', '"train": true', 1))
    edited = toolhop("align", "check", str(out), "--sandbox", "process")
    assert (edited.returncode, "axolotl/sft-train.jsonl" in edited.stdout) == (1, True)
