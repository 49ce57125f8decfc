"""`toolhop data export` of a folder of made items: reviewed, with siblings and twins."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from studies.constructor.serving import respond
from tests.agents import command
from tests.agents.made_folder import NAMES, certificate, write_folder
from toolhop_agents.construct import folder as folders
from toolhop_agents.construct.family import NoSibling, siblings
from toolhop_agents.construct.reviews import Material, add
from toolhop_agents.construct.session import construct
from toolhop_agents.construct.settings import Settings
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_sandbox.base import Program
from toolhop_tools.certify.file import read
from toolhop_tools.certify.model import HopVerdict
from toolhop_tools.construct.replies import WrittenHop
from toolhop_tools.construct.reviews import Review, Ruling
from toolhop_tools.construct.seeds import proposed
from toolhop_tools.construct.siblings import (
    changes,
    records_of,
    sibling,
    with_records,
)
from toolhop_tools.load import load
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.scenarios.label import Scenario, label_of

SOURCE = """RECORDS = [
    {'city': 'Velm', 'river': 'Orra', 'people': 12},
    {'city': 'Tarn', 'river': 'Ister', 'people': 40},
]


def look(city, field="river"):
    return next(one[field] for one in RECORDS if one["city"] == city)
"""
PLAN = [WrittenHop(question="Which river is in Velm?", depends_on=[], arguments={"city": "Velm"})]


def item(source: str = SOURCE, answer: str = "Orra") -> Item:
    tool = Tool(ToolSchema("look", "Looks.", {"type": "object"}), Program(source, "look"))
    hop = Hop("Which river is in Velm?", answer, tool, GoldCall({"city": "Velm"}, "written"))
    return Item("a-1", "Which river is in Velm?", answer, (hop,), "Rivers", "name")


def test_one_record_is_another_and_all_else_stays() -> None:
    [change] = changes(item(), 0)
    assert (change.key, change.field, change.before, change.after) == (
        "Velm", "river", "Orra", "Ister",
    )  # fmt: skip
    changed = change.tool.program.source
    assert records_of(changed) == [
        {"city": "Velm", "river": "Ister", "people": 12},
        {"city": "Tarn", "river": "Ister", "people": 40},
    ]
    assert changed.partition("]")[2] == SOURCE.partition("]")[2]
    made = sibling(item(), PLAN, change, ["Ister"])
    assert (made.id, made.answer, made.question) == ("a-1~sibling", "Ister", item().question)
    assert (made.hops[0].answer, made.hops[0].tool.schema) == ("Ister", item().hops[0].tool.schema)
    assert made.extra["changed"] == {
        "hop": 1, "tool": "look", "field": "river", "record": "Velm", "before": "Orra",
        "after": "Ister",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("def look(city):\n    return 'Orra'\n", "Orra"),
        (SOURCE, "Elbe"),  # no record says it
        (SOURCE.replace("'people': 12", "'bank': 'Orra'"), "Orra"),  # two fields do
        (SOURCE.replace("Tarn", "Velm").replace("Ister", "Orra"), "Orra"),  # two records do
        ("RECORDS = make()\n", "Orra"),
        ("RECORDS = [1, 2]\n", "Orra"),
        ("def look(:", "Orra"),
    ],
)
def test_where_it_is_not_plain_which_record_answers_nothing_is_changed(
    source: str, answer: str
) -> None:
    assert changes(item(source, answer), 0) == []


def test_a_table_is_replaced_where_it_stands() -> None:
    source = f'"""Doc."""\nimport re\n{SOURCE}'
    assert records_of(with_records(source, [{"a": "]\n'"}])) == [{"a": "]\n'"}]
    with pytest.raises(ValueError, match="no RECORDS"):
        with_records("x = 1\n", [])


def export(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return command.toolhop("data", "export", "--data", str(folder), *flags)


PLAIN = ("--without", "sibling", "--without", "unsolvable", "--without", "missing")


def test_what_reviewers_reject_is_left_out(tmp_path: Path) -> None:
    items = write_folder(tmp_path / "made")
    for name, one, ruling in (
        ("anna", 0, Ruling.ACCEPT), ("anna", 1, Ruling.REJECT), ("ben", 0, Ruling.ACCEPT),
    ):  # fmt: skip
        add(tmp_path / "made", Review(name, items[one].id, items[one].digest, ruling, "why"))

    def exported(*flags: str) -> list[str]:
        done = export(tmp_path / "made", "--out", "-", *PLAIN, *flags)
        assert done.returncode == 0, done.stderr
        return [row["id"] for row in json.loads(done.stdout)]

    assert exported() == [NAMES[0], NAMES[2]]
    assert exported("--accepted-by", "2") == [NAMES[0]]
    assert exported("--ignore-reviews") == [*NAMES]
    done = export(tmp_path / "made", "--out", "-", *PLAIN, "--accepted-by", "3")
    assert (done.returncode, "1 rejected, 2 not accepted" in done.stderr) == (2, True)


def test_items_whose_ledger_has_no_plan_have_no_sibling(tmp_path: Path) -> None:
    items = write_folder(tmp_path)
    found = anyio.run(siblings, Material.read(tmp_path), items, "process", 0, lambda: None)
    assert set(found.refused.values()) == {NoSibling.NO_PLAN}


def test_without_certificates_that_hold_nothing_is_run(tmp_path: Path) -> None:
    write_folder(tmp_path / "made")
    certificates = tmp_path / "made" / folders.CERTIFICATES
    certificates.write_text("", encoding="utf-8")
    done = export(tmp_path / "made", "--out", str(tmp_path / "x.json"))
    assert (done.returncode, "certificates.jsonl is empty" in done.stderr) == (2, True)
    certificates.unlink()
    done = export(tmp_path / "made", "--out", str(tmp_path / "x.json"))
    assert done.returncode == 2
    assert "there are no certificates at" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize(
    ("source", "flags", "message"),
    [
        ("made", ("--out", "-"), "twins go to a file beside --out"),
        (
            "made",
            ("--out", "there.json", *PLAIN),
            "is there already; give another --out, or pass --overwrite",
        ),
        ("builtin", ("--out", "x.json", "--without", "sibling"), "--without goes with a folder"),
        ("made", ("--out", "x.json", "--without", "cousin"), "'cousin' is not one of"),
    ],
)
def test_wrong_use(tmp_path: Path, source: str, flags: tuple[str, ...], message: str) -> None:
    write_folder(tmp_path / "made")
    (tmp_path / "there.json").write_text("", encoding="utf-8")
    done = command.toolhop("data", "export", "--data", source, *flags, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One item, made by the honest constructor."""
    folder = tmp_path_factory.mktemp("made") / "made"
    with LoopbackServer(respond) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "none-is-needed")
        own: dict[str, Any] = {"base_url": server.base_url, "sandbox": "process", "examples": 20}
        wanted = Settings(model="openai/honest", **own)
        seeds = proposed("Geography", 1, (2, 7))
        folders.make(folder, wanted.model_dump(mode="json"), seeds)
        assert anyio.run(construct, folder, wanted).accepted == 1
    return folder


def test_siblings_and_twins_are_of_the_family_and_their_labels_are_shown(
    made: Path, tmp_path: Path
) -> None:
    out, proofs = tmp_path / "mine.json", tmp_path / "proofs.jsonl"
    flags = ("--out", str(out), "--sandbox", "process", "--certificates-out", str(proofs))
    done = export(made, *flags)
    assert done.returncode == 0, done.stderr
    own, other = load(out).items
    assert own == load(made / folders.ITEMS).items[0]
    assert other.question == own.question
    assert other.answer != own.answer
    changed = [a.tool != b.tool for a, b in zip(own.hops, other.hops, strict=True)]
    assert changed.count(True) == 1
    held = {one.item: one for one in read(proofs)}
    for one in (own, other):
        assert held[one.id].verdict is HopVerdict.PROVEN
        assert not held[one.id].stale(one.digest)
    twins = load(tmp_path / "mine.scenarios.jsonl").items
    labels = [label_of(one.gold) for one in twins]
    # Nobody wrote how the question goes without a value.
    assert {one.scenario for one in labels if not one.solvable} == {Scenario.MISSING_TOOL}
    assert {one.family for one in labels} == {own.id}
    families = {one.extra["family"] for one in (own, other, *twins)}
    assert families == {own.id}
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert export(made, *flags).returncode == 2
    assert export(made, *flags, "--overwrite").returncode == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_sibling_whose_criteria_do_not_hold_is_not_made(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    material = Material.read(made)

    async def unproven(item: Item, *rest: object) -> object:
        return certificate_of(item)

    def certificate_of(item: Item) -> object:
        one = certificate(item)
        return type(one)(
            one.item, one.digest, one.basis, HopVerdict.UNPROVEN, "", one.shape, one.hops
        )

    monkeypatch.setattr("toolhop_agents.construct.family.certify", unproven)
    found = anyio.run(siblings, material, material.items, "process", 0, lambda: None)
    assert (found.items, [*found.refused.values()]) == ({}, [NoSibling.NONE_HOLDS])
