"""`toolhop data card`: figures are counted, foreign text is no markup, gaps are said to be gaps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.agents import command
from tests.agents.made_folder import write_folder
from toolhop_agents.card.collect import collect
from toolhop_agents.card.page import Card, Section, Table, markdown
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.ledger import StepLedger
from toolhop_agents.construct.reviews import add
from toolhop_agents.export.huggingface import hub_licence
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.construct.accept import Criterion
from toolhop_tools.construct.reviews import Review, Ruling
from toolhop_tools.construct.stages import VERSION
from toolhop_tools.model import DataSet
from toolhop_tools.readers.folder import builtin


def head(text: str) -> dict[str, Any]:
    _, found, _ = text.split("---\n", 2)
    value: dict[str, Any] = yaml.safe_load(found)
    return value


def table(card: Card, title: str, first: str) -> dict[str, tuple[str, ...]]:
    """A table's rows by their first cell."""
    [section] = [one for one in card.sections if one.title == title]
    [found] = [one for one in section.parts if isinstance(one, Table) and one.head[0] == first]
    return {row[0]: row[1:] for row in found.rows}


def text(card: Card, title: str) -> str:
    [section] = [one for one in card.sections if one.title == title]
    return "\n".join(one for one in section.parts if isinstance(one, str))


def test_a_made_folder_is_counted_whole(tmp_path: Path) -> None:
    one = builtin().by_id["geography-1"]
    family: dict[str, JSON] = {"family": one.id, "licence": "CC-BY-4.0", "question_by": "model"}
    unsafe: dict[str, JSON] = {**family, "official_unsafe": ["it ends in 0"]}
    items = write_folder(
        tmp_path / "made",
        (replace(one, extra=family), replace(builtin().by_id["geography-3"], extra=unsafe)),
    )
    for name, ruling in (("anna", Ruling.ACCEPT), ("ben", Ruling.REJECT)):
        add(tmp_path / "made", Review(name, items[0].id, items[0].digest, ruling, "why"))
    card = collect(str(tmp_path / "made"))
    assert card.items == 2
    assert table(card, "Sizes", "what")["items"] == ("2",)
    hops = sum(len(item.hops) for item in items)
    assert table(card, "Sizes", "what")["hops"] == (f"{hops}",)
    assert table(card, "Sizes", "domain") == {"Geography": ("2",)}
    assert table(card, "Licence", "licence") == {"CC-BY-4.0": ("2",)}
    assert table(card, "Provenance", "what")["cost, whoever paid"] == ("$0.7500",)
    assert table(card, "Provenance", "what")["tokens"] == ("3,000",)
    assert table(card, "Provenance", "setting")["model"] == ("openai/made-up",)
    assert "2 of 3, 66.7 % (95 %: 20.8 to 93.9)" in text(card, "Funnel")
    assert table(card, "Funnel", "rejected at") == {"code of hop 1": ("1",)}
    assert table(card, "Criteria", "criterion")["proven"] == (str(VERSION), "2 of 2")
    assert table(card, "Proofs", "what")["items proven, of all"][0].startswith("2 of 2")
    assert table(card, "Families", "what")["items of the largest"] == ("2",)
    assert table(card, "Reviews", "what")["left out of an export"] == ("1 of 2",)
    [pair] = table(card, "Reviews", "who").values()
    assert (pair[0], pair[3]) == ("1", "1")
    limits = text(card, "Known limits")
    assert "answer of 1 item by accident" in limits
    assert "1 of 2 items were not judged by two people" in limits
    whole = markdown(card)
    assert "anna" not in whole
    assert str(tmp_path) not in whole
    assert head(whole) == {
        "pretty_name": "made",
        "license": "cc-by-4.0",
        "size_categories": ["n<1K"],
        "task_categories": ["question-answering"],
        "tags": ["tool-use", "function-calling", "multi-hop", "toolhop-env", "synthetic"],
        "configs": [{"config_name": "default", "data_files": "items.jsonl"}],
    }


def test_what_was_asked_of_a_model_without_tools_is_summed(tmp_path: Path) -> None:
    write_folder(tmp_path)
    rows = folders.read_books(tmp_path)
    assert "none was asked" in text(collect(str(tmp_path)), "Criteria")
    for row, right in zip(rows, (1, 0, 0), strict=False):
        figure: dict[str, JSON] = {"model": "a_b", "asked": 4, "right": right, "share": right / 4}
        judged = Criterion.PROVEN.row(figure, holds=not right)
        row["criteria"].append({**judged, "criterion": "closed-book"})
    folders.write_lines(tmp_path / folders.BOOKS, rows)
    assert r"Without tools a\_b is right in 1 of 12, 8.3 %" in text(
        collect(str(tmp_path)), "Criteria"
    )


def test_what_blind_readers_read_is_counted_over_all_that_they_were_shown(tmp_path: Path) -> None:
    item = replace(builtin().by_id["geography-1"], extra={"reading": "read"})
    write_folder(tmp_path, (item, builtin().by_id["geography-3"]))
    assert "none was asked" in text(collect(str(tmp_path)), "Criteria")
    rows = folders.read_books(tmp_path)
    for row, agree in zip(rows, (3, 2, 0), strict=True):
        ballots: list[JSON] = [
            {"model": "a_b" if n else "c", "sample": n, "vote": "agrees" if n < agree else "luck"}
            for n in range(3)
        ]
        judged = Criterion.PROVEN.row({"ballots": ballots}, holds=agree > 1)
        row["criteria"] = [{**judged, "criterion": "read"}]
        row["refused"] = agree == 0
    folders.write_lines(tmp_path / folders.BOOKS, rows)
    card = collect(str(tmp_path))
    read = table(card, "Criteria", "what")
    assert read["blind readers"] == ("a_b, c",)
    # Phi of the three pairs: 1, 0.5 and 0.5.
    assert read["what they are worth"][0].startswith("effective readers: 1.3 (3 votes")
    through = read["votes that came to the answer through every hop"][0]
    assert through.startswith("5 of 9, 55.6 %")
    assert read["items read as meant"][0].startswith("2 of 3, 66.7 %")
    assert table(card, "Criteria", "criterion")["read"] == (str(VERSION), "2 of 2")
    read = table(card, "Proofs", "by blind readers")
    assert read == {"read": ("1",), "disputed": ("0",), "unread": ("1",)}
    limits = text(card, "Known limits")
    assert "1 of 2 items are `unread`" in limits
    assert "left out (1)" in limits


def test_documents_are_counted_before_and_after_refining(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    item = builtin().by_id["geography-1"]
    write_folder(folder, (item,))
    assert "Refinement" not in {one.title for one in collect(str(folder)).sections}
    ledger = StepLedger(folder)
    parameters = {"x": {"type": "string"}, "y": {"type": "array"}, "z": {"type": "string"}}
    for number, (stage, description, names) in enumerate((
        ("tool", "left", "xyz"), ("tool", "d" * 10, "xy"), ("refine", "d" * 30, "xyz"),
    )):  # fmt: skip
        schema = {"properties": {name: parameters[name] for name in names}, "required": ["x"]}
        reply = {"tool": {"name": "t", "description": description, "parameters": schema}}
        row: dict[str, Any] = {
            "item": item.id, "stage": stage, "hop": 1, "usage": {}, "retries": 0, "model": "m",
            "text": f"```json\n{json.dumps(reply)}\n```",
        }  # fmt: skip
        ledger.add("reply", f"{number}", row)
        ledger.add("reply", f"lost {number}", {**row, "item": "lost-1"})
    ledger.close()
    card = collect(str(folder))
    assert table(card, "Refinement", "what") == {
        "tools": ("1", "1"),
        "characters of the description, mean": ("10.0", "30.0"),
        "parameters a tool, mean": ("2.0", "3.0"),
        "tools with 2 parameters": ("1", "0"),
        "parameters of type string": ("1", "2"),
        "parameters of type array": ("1", "1"),
        "required parameters a tool, mean": ("1.0", "1.0"),
        "tools with 1 required parameters": ("1", "1"),
        "required parameters of type string": ("1", "1"),
        "tools with 3 parameters": ("0", "1"),
    }


def test_sets_as_toolbehonest_have_its_table_1(tmp_path: Path) -> None:
    row = {
        "subtask": "os", "task": "abcd", "tools": "1. A: a\n2. B: b", "planning_tools": ["A", "B"],
        "unsolvable_task": "ab", "unsolvable_tools": "1. A: a",
        "planning_tools_unsolvable": ["A", "UnsolvableQuery", "Finish"],
    }  # fmt: skip
    path = tmp_path / "made_en.json"
    path.write_text(json.dumps([row]), encoding="utf-8")
    card = collect(f"toolbehonest:{path}")
    rows = table(card, "Sizes", "subtask")
    assert rows["os"] == ("PT", "1", "1", "3.0", "1.5", "2.0", "1.0")
    assert rows["overall"][1:] == rows["os"][1:]
    assert rows["web"] == ("PT", "0", "0", *["not known"] * 4)


def test_of_other_data_it_says_what_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    items = builtin().items[:3]
    path.write_text(json.dumps(to_rows(DataSet("mine", "", items))), encoding="utf-8")
    card = collect(str(path))
    whole = markdown(card)
    assert head(whole)["license"] == "unknown"
    assert "The licence is not known." in whole
    assert "Families are not known" in whole
    assert "Whether items can be solved is not known" in whole
    assert "Funnel, criteria, reviews and checks of overlap are not known" in whole
    assert table(card, "Provenance", "what")["read from"] == ("mine.json",)
    assert collect("builtin").items == len(builtin().items)


def test_foreign_text_is_no_markup() -> None:
    hostile = "a|b\n---\n<script>x</script> [c](d) `e` \x1b[31m"
    rows = Table(("x|y",), ((hostile,),))
    card = Card(hostile, "Sum.", 5, (hostile,), (), {hostile: hostile}, (Section("S", (rows,)),))
    whole = markdown(card)
    found = head(whole)
    assert found["license"] == "other"
    assert [*found["configs"][0].values()] == [hostile, hostile]
    body = whole.split("---\n", 2)[2]
    row = body.splitlines()[-2]
    assert row.count("|") - row.count("\\|") == 2
    assert "<script" not in body
    assert "\x1b" not in body


@pytest.mark.parametrize(
    ("given", "head"),
    [
        ([], {"license": "unknown"}),
        (["own"], {"license": "unknown"}),
        (["Apache 2.0"], {"license": "apache-2.0"}),
        (["Apache-2.0"], {"license": "apache-2.0"}),
        (["MIT", "CC BY 4.0"], {"license": ["mit", "cc-by-4.0"]}),
        (["MIT", "mine"], {"license": "other", "license_name": "MIT, mine"}),
    ],
)
def test_licences_have_the_names_of_the_hub(given: list[str], head: dict[str, JSON]) -> None:
    assert hub_licence(given) == head


def test_the_command_writes_a_file_once(tmp_path: Path) -> None:
    out = str(tmp_path / "README.md")
    assert command.toolhop("data", "card", "--data", "builtin", "--out", out).returncode == 0
    assert Path(out).read_text(encoding="utf-8").startswith("---\npretty_name: ")
    again = command.toolhop("data", "card", "--data", "builtin", "--out", out)
    assert (again.returncode, "--overwrite" in again.stderr) == (2, True)
    assert (
        command.toolhop("data", "card", "--data", "builtin", "--out", out, "--overwrite").returncode
        == 0
    )
