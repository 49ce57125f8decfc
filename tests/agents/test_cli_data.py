from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents import command
from tests.serving import Exchange, Server
from tests.toolhop_tools.rows import row, same_names, write
from toolhop_agents.data_view import parameter_rows
from toolhop_agents.terminal import visible
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks import READ
from toolhop_tools.benchmarks.nestools import reader as nestools
from toolhop_tools.benchmarks.toolhop.reader import read
from toolhop_tools.load import source_of
from toolhop_tools.readers import fetch


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLHOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path / "cache"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    two = [row(), same_names(id="b", domain="Other", question="Why [bold]?\x1b[31m")]
    return str(write(tmp_path, two))


def toolhop(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    result = command.toolhop("data", *arguments, env=os.environ)
    assert result.returncode == code, result.stderr
    return result


def told(*arguments: str) -> object:
    return json.loads(toolhop(*arguments, "--json").stdout)


# --- list


def test_list_names_the_data_sets() -> None:
    result = toolhop("list")
    assert "builtin" in result.stdout
    assert "not fetched" in result.stdout
    assert "--data PATH" in result.stderr
    listed = told("list")
    assert isinstance(listed, list)
    assert [(one["name"], one["ready"]) for one in listed] == [
        ("builtin", True),
        ("toolhop", False),
        ("nestools", False),
        ("toolbehonest", False),
        ("relytoolbench", False),
        ("worlds", True),
    ]


def test_list_shows_items_as_they_are(rows: str) -> None:
    out = toolhop("list", "--data", rows).stdout
    assert "How old?" in out
    assert "Why [bold]?\\x1b[31m" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("choice", "ids"),
    [
        ([], ["7", "b"]),
        (["--limit", "1"], ["7"]),
        (["--limit", "2-2"], ["b"]),
        (["--domain", "Other"], ["b"]),
        (["--domain", "Other", "--domain", "History", "--limit", "1"], ["7"]),
    ],
)
def test_list_chooses(rows: str, choice: Sequence[str], ids: list[str]) -> None:
    listed = told("list", "--data", rows, *choice)
    assert isinstance(listed, list)
    assert [one["id"] for one in listed] == ids
    assert set(listed[0]) == {"id", "domain", "hops", "tools", "answer_type", "question"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--limit", "3"], 2, "name a data set by --data"),
        (["--data", "nope"], 2, "no data set 'nope'"),
        (["--data", "toolhop"], 3, "toolhop data fetch"),
        (
            ["--data", "ROWS", "--limit", "x"],
            2,
            "give a count such as 10, or a range such as 10-20",
        ),
        (["--data", "ROWS", "--domain", "none"], 2, "it has History, Other"),
    ],
)
def test_list_says_what_is_wrong(
    rows: str, arguments: Sequence[str], code: int, message: str
) -> None:
    given = [rows if argument == "ROWS" else argument for argument in arguments]
    result = toolhop("list", *given, code=code)
    assert message in result.stderr
    assert result.stdout == ""


# --- show


def test_show_tells_everything_about_an_item(tmp_path: Path) -> None:
    gold = {"arguments": {"who": "Ada"}, "source": "written"}
    path = str(write(tmp_path, [row(gold_calls=[gold, None])]))
    out = toolhop("show", "7", "--data", path).stdout
    for text in ("How old?", "When was Ada born?", "1815", 'born(who="Ada")', "(written)"):
        assert text in out
    assert "minus  (no gold call known)" in out
    assert "who*" in out
    assert "return 1815" not in out
    assert "return 1815" in toolhop("show", "7", "--data", path, "--code").stdout


def test_show_as_json_holds_code_and_gold_call(rows: str) -> None:
    shown = told("show", "b", "--data", rows)
    assert isinstance(shown, dict)
    assert [hop["tool"]["name"] for hop in shown["hops"]] == ["ask", "ask_2", "ask_3"]
    assert shown["hops"][2]["tool"]["function"] == "ask"
    assert shown["hops"][0]["gold"] is None
    assert "return 1815" in shown["hops"][0]["tool"]["source"]


def test_show_says_what_is_wrong(rows: str) -> None:
    assert "its 2 ids are 7 … b" in toolhop("show", "nope", "--data", rows, code=2).stderr
    assert "fits 2 items (7, b …)" in toolhop("show", "*", "--data", rows, code=2).stderr


# --- validate


def test_validate_passes_findings_unless_strict(rows: str) -> None:
    result = toolhop("validate", "--data", rows)
    assert result.stdout.startswith("finding shared-name: id b: hop 3 (ask_3)")
    assert "2 usable items, 0 errors, 1 finding" in result.stderr
    assert toolhop("validate", "--data", rows, "--strict", code=1).stdout == result.stdout


def test_validate_lists_errors_and_findings(tmp_path: Path) -> None:
    path = str(write(tmp_path, [row(question=5), row(id=8, answer=36)]))
    report = json.loads(toolhop("validate", "--data", path, "--json", code=1).stdout)
    assert report["usable_items"] == 1
    assert [(one["where"], one["field"]) for one in report["errors"]] == [("id 7", "question")]
    assert [one["rule"] for one in report["findings"]] == ["number-answer"]
    out = toolhop("validate", "--data", path, code=1).stdout
    assert out.splitlines() == [
        "error   wrong-type: id 7: question: expected text that is not blank; given the number 5",
        "finding number-answer: id 8: answer: expected an answer as text; "
        "given the number 36, taken as text",
    ]


@pytest.mark.parametrize(
    ("text", "rule"), [("{", "bad-json"), ("[]", "unreadable"), ("{}", "not-a-list")]
)
def test_validate_tells_what_is_no_data_file(tmp_path: Path, text: str, rule: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    report = json.loads(toolhop("validate", "--data", str(path), "--json", code=1).stdout)
    assert [one["rule"] for one in report["errors"]] == [rule]


def test_validate_of_nothing_is_a_fault_of_usage(tmp_path: Path) -> None:
    assert (
        "no file or folder" in toolhop("validate", "--data", str(tmp_path / "none"), code=2).stderr
    )
    (tmp_path / "folder").mkdir()
    assert "items.json" in toolhop("validate", "--data", str(tmp_path / "folder"), code=1).stdout
    toolhop("validate", "--data", "toolhop", code=3)


# --- fetch


def test_fetch_prints_where_the_file_is(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "adopt", lambda file, *, target, pin: target)
    assert toolhop("fetch", "--copy", rows).stdout == f"{source_of('toolhop').path}\n"
    monkeypatch.setattr(fetch, "fetch", lambda *, progress, **_: progress(1, 2))
    assert toolhop("fetch", "--url", "http://x").stdout == f"{source_of('toolhop').path}\n"


def test_fetch_says_what_to_do_without_a_network(rows: str) -> None:
    failed = toolhop("fetch", "--url", "http://127.0.0.1:1/x", code=3)
    assert "--copy FILE" in failed.stderr
    assert failed.stdout == ""
    assert "not 19,720,396" in toolhop("fetch", "--copy", rows, code=3).stderr
    assert (
        "give one of them" in toolhop("fetch", "--copy", rows, "--url", "http://x", code=2).stderr
    )


FILES = {name: {pin.name for pin in source_of(name).pins} for name in READ}
GOLDEN = Path(__file__).parents[1] / "golden"


def official_copies(folder: Path) -> None:
    """Files of our own under the official names, in the official forms."""
    own = {
        name: json.loads((GOLDEN / f"{name}_own.json").read_text())
        for name in ("nestools", "toolbehonest", "relytoolbench")
    }
    sets = own["relytoolbench"]["sets"]
    for name in FILES["relytoolbench"]:
        rows = sets.get(name.removesuffix(".json"), sets["G1_instruction"])
        (folder / name).write_text(json.dumps(rows))
    for name in FILES["toolbehonest"]:
        (folder / name).write_text(json.dumps(own["toolbehonest"]["rows"]))
    for name, rows in (
        ("test_data", own["nestools"]["rows"]),
        ("test_api_ids", own["nestools"]["ids"]),
    ):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server with files under the official names; the pinned sizes are theirs."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    official_copies(folder)
    sized = tuple(replace(pin, size_bytes=None) for pin in nestools.SOURCE.pins)
    source = replace(nestools.SOURCE, pins=sized)
    monkeypatch.setattr(nestools, "SOURCE", source)
    monkeypatch.setattr(nestools, "READER", replace(nestools.READER, source=source))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def reply(exchange: Exchange) -> None:
        """By the name alone, as a proxy is asked for whole addresses."""
        path = folder / exchange.path.rpartition("/")[2]
        if path.is_file():
            exchange.send(path.read_bytes())
        else:
            exchange.send(b"", 404)

    with Server(reply) as server:
        yield server.base_url


@pytest.mark.parametrize("name", ["nestools", "toolbehonest", "relytoolbench"])
def test_data_without_a_published_digest_is_recorded_and_then_checked(
    name: str, mirror: str, tmp_path: Path
) -> None:
    assert f"data fetch {name}" in toolhop("validate", "--data", name, code=3).stderr
    first = toolhop("fetch", name, "--url", mirror)
    assert first.stderr.count("no published digest is known") == len(FILES[name])
    assert Path(first.stdout.strip()).exists()
    assert toolhop("validate", "--data", name).stderr.startswith(f"{name}: ")
    items = told("list", "--data", name)
    assert isinstance(items, list)
    one = told("show", items[0]["id"], "--data", name)
    assert isinstance(one, dict)
    assert one["id"] == items[0]["id"]
    again = toolhop("fetch", name, "--url", "http://127.0.0.1:1")
    assert "digest" not in again.stderr, "nothing is asked for what is there"

    damaged = source_of(name).file(source_of(name).pins[-1])
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1] + b" ")
    assert "its SHA-256 differs" in toolhop("validate", "--data", name, code=3).stderr
    (tmp_path / "mirror" / damaged.name).write_bytes(b"[" + b" " * (len(whole) - 2) + b"]")
    other = toolhop("fetch", name, "--url", mirror, code=3)
    assert "which holds the digest of the first" in other.stderr
    (tmp_path / "mirror" / damaged.name).write_bytes(whole)
    toolhop("fetch", name, "--url", mirror)
    assert damaged.read_bytes() == whole


def test_a_page_in_the_place_of_data_is_not_kept(mirror: str, tmp_path: Path) -> None:
    (tmp_path / "mirror" / "test_en.json").write_text("<html>log in first</html>")
    failed = toolhop("fetch", "toolbehonest", "--url", mirror, code=3)
    assert "is not a JSON file; nothing was kept" in failed.stderr
    assert not source_of("toolbehonest").path.exists()


def test_a_folder_of_copies_is_imported(mirror: str, tmp_path: Path) -> None:
    toolhop("fetch", "relytoolbench", "--copy", str(tmp_path / "mirror"))
    items = told("list", "--data", "relytoolbench")
    assert isinstance(items, list)
    assert len({one["id"].rpartition("-")[0] for one in items}) == 9
    one = tmp_path / "mirror" / "G1_instruction.json"
    assert "give the folder" in toolhop("fetch", "relytoolbench", "--copy", str(one), code=2).stderr
    one.unlink()
    assert (
        "G1_instruction.json"
        in toolhop("fetch", "relytoolbench", "--copy", str(tmp_path / "mirror"), code=3).stderr
    )


@pytest.mark.parametrize("name", ["nestools", "toolbehonest", "relytoolbench"])
def test_without_a_network_one_line_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for proxy in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(proxy, "http://127.0.0.1:1")
    failed = toolhop("fetch", name, code=3)
    (line, fix) = failed.stderr.strip().splitlines()
    assert "no download from https://" in line
    assert fix.startswith("  fix: download https://")


def test_proxies_are_those_of_the_usual_variables(
    mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", mirror)
    monkeypatch.setenv("http_proxy", mirror)
    toolhop("fetch", "toolbehonest", "--url", "http://data.example")


# --- wrong files

SET, EN = "relytoolbench:G1_instruction.json", "toolbehonest:test_en.json"
ROWS = "nestools:test_data.jsonl"
WRONG: dict[str, tuple[str, Any, str]] = {
    "answers for queries": (SET, {"7": {"query": "q", "answer": {}}}, "converted answers"),
    "ids for queries": (SET, {"7": 0}, "test_query_ids"),
    "results for tasks": (EN, {"os": {"level_1": []}}, "results by subtask"),
    "answers for tasks": (ROWS, [{"test_id": 1, "response": "[]"}], "answers: play"),
    "ids for tasks": (ROWS, [{"test_id": 1, "api_ids": [1]}], "ids of tools"),
    "prompts for tasks": (ROWS, [{"test_id": 1, "prompt": "p"}], "prompts"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_another_kind_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, content, said = WRONG[name]
    monkeypatch.chdir(tmp_path)
    path = Path(source.partition(":")[2])
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))
    assert said in toolhop("validate", "--data", source, code=1).stdout


def test_a_part_of_the_data_and_another_language_are_findings(tmp_path: Path) -> None:
    rows = json.loads((GOLDEN / "toolbehonest_own.json").read_text())["rows"]
    path = tmp_path / "test_zh.json"
    path.write_text(json.dumps(rows))
    found = toolhop("validate", "--data", f"toolbehonest:{path}").stdout
    assert "other-language" in found
    assert "not-the-whole" in found
    assert "50 pairs of each subtask" in found


def test_ids_of_another_part_of_the_data_are_told_at_once(tmp_path: Path) -> None:
    official_copies(tmp_path)
    ids = tmp_path / "test_api_ids.jsonl"
    ids.write_text(ids.read_text().splitlines()[0])
    found = toolhop("validate", "--data", f"nestools:{tmp_path / 'test_data.jsonl'}", code=1).stdout
    assert "no ids of 1 row of 2, such as test_id 2" in found


def test_a_set_that_is_none_is_refused_or_a_finding(tmp_path: Path) -> None:
    official_copies(tmp_path)
    path = tmp_path / "G1_instruction.json"
    refused = toolhop("validate", "--data", f"relytoolbench:{path}?set=xyz", code=1)
    assert "?set=xyz is not a set" in refused.stdout
    path.rename(tmp_path / "mine.json")
    found = toolhop("validate", "--data", f"relytoolbench:{tmp_path / 'mine.json'}").stdout
    assert "mine: its tasks are taken for solvable" in found


# --- export


def test_export_writes_what_can_be_read_again(rows: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = toolhop("export", "--data", rows, "--out", str(out))
    assert result.stdout == ""
    assert "wrote 2 items" in result.stderr
    assert read(out).items == read(Path(rows)).items
    assert toolhop("export", "--data", rows, "--out", "-").stdout == out.read_text(encoding="utf-8")


def test_export_to_jsonl_writes_an_item_in_each_line(rows: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    toolhop("export", "--data", rows, "--out", str(out))
    assert [isinstance(json.loads(line), dict) for line in out.read_text().splitlines()] == [
        True
    ] * 2
    assert read(out).items == read(Path(rows)).items


def test_export_replaces_a_file_only_if_forced(rows: str, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    out.write_text("mine")
    assert "--overwrite" in toolhop("export", "--data", rows, "--out", str(out), code=2).stderr
    assert out.read_text() == "mine"
    toolhop("export", "--data", rows, "--out", str(out), "--overwrite")
    assert len(read(out).items) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "rows.json"]


@pytest.mark.parametrize("out", [".", "rows.json/out.json"])
def test_export_says_where_it_cannot_write(rows: str, tmp_path: Path, out: str) -> None:
    toolhop("export", "--data", rows, "--out", str(tmp_path / out), code=2)


# --- views


def test_nested_parameters_get_rows_of_their_own() -> None:
    inner: JSON = {"type": "object", "properties": {"start": {"type": "integer", "minimum": 0}}}
    schema: dict[str, JSON] = {
        "type": "object",
        "required": ["ranges"],
        "properties": {
            "ranges": {"type": "array", "items": inner},
            "mode": {"type": ["string", "null"], "enum": ["a", "b"], "default": "a"},
            "words": {"type": "array", "items": {"type": "string", "description": "A word."}},
            "odd": True,
        },
    }
    assert list(parameter_rows(schema)) == [
        ("ranges*", "array of object", ""),
        ("ranges[].start", "integer", "minimum 0"),
        ("mode", "string or null", 'one of ["a", "b"]. default "a"'),
        ("words", "array of string", "A word"),
        ("odd", "any", ""),
    ]


def test_control_characters_are_shown() -> None:
    assert visible("a\x1b[0m\tb\n\x9b\x00é") == "a\\x1b[0m\tb\n\\x9b\\x00é"


# --- new and schema


def test_a_new_data_set_works_as_it_is_and_says_how_to_go_on(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    said = toolhop("new", str(mine)).stdout
    assert f"toolhop certify --data {mine}" in said
    assert toolhop("validate", "--data", str(mine), "--strict").stdout == ""
    assert "is there already" in toolhop("new", str(mine), code=2).stderr
    played = command.toolhop(
        *("run", "--data", str(mine), "--sandbox", "process", "--json"), cwd=tmp_path
    )
    (summary,) = json.loads(played.stdout)["summaries"]
    assert (summary["strict"]["value"], summary["hops_solved"]["value"]) == (1, 1)


def test_a_schema_is_written_from_a_source(tmp_path: Path) -> None:
    source, out = tmp_path / "f.py", tmp_path / "f.json"
    source.write_text('def f(day: int):\n    """Counts."""\n')
    done = toolhop("schema", str(source), "--out", str(out))
    assert done.stdout == ""
    assert json.loads(out.read_text()) == json.loads(toolhop("schema", str(source)).stdout)
    assert "still to say: the parameter day has no line" in done.stderr
    assert "--overwrite" in toolhop("schema", str(source), "--out", str(out), code=2).stderr
    toolhop("schema", str(source), "--out", str(out), "--overwrite")
    source.write_text("def f(day): ...")
    assert "f.py: line 1: the parameter day" in toolhop("schema", str(source), code=2).stderr
