"""NesTools through the commands: played, scored by group, answered out of a file, resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.report.collect import collect
from toolhop_agents.report.runs import open_sources
from toolhop_agents.scripted.responder import responder
from toolhop_tools.load import load

pytestmark = pytest.mark.usefixtures("inline_module")

OWN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "nestools_own.json").read_text()
)
BINDING = binding_of("nestools")
WHOLE = [f"{who}{what}" for who in ("", "strict_") for what in ("tree", "format", "average")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Our own two rows."""
    for name, rows in (("test_data", OWN["rows"]), ("test_api_ids", OWN["ids"])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "test_data.jsonl"


def played(data: Path, to: Path, *flags: str) -> tuple[Path, dict[str, Any]]:
    """A run, and the figures of its one group."""
    done = toolhop("run", "--data", str(data), "--log-dir", str(to), "--json", *flags)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return Path(answer["run"]), answer["summaries"][0]


def value(summary: dict[str, Any], measure: str) -> float | None:
    figure = summary[measure]
    return None if figure is None else figure["value"]


def test_the_gold_is_right_by_every_measure_in_every_mode(data: Path, tmp_path: Path) -> None:
    rows = [{"test_id": n, "task": f"In other words {n}."} for n in (1, 2)]
    (data.parent / "test_no_conjunctions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = toolhop("run", "--data", str(data), "--agent", "gold", "--mode", "all", "--json",
                   "--log-dir", str(tmp_path / "logs"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {one["mode"] for one in answer["summaries"]} == set(BINDING.benchmark.modes)
    for summary in answer["summaries"]:
        calls = summary["mode"] == "calls"
        wanted = [None, None, None, 1.0, None, 1.0] if calls else [1.0] * 6
        assert [value(summary, name) for name in WHOLE] == wanted
    prompts = {
        path.name[:10]: json.loads(path.read_text().splitlines()[0])["messages"][0]["content"]
        for path in (Path(answer["run"]) / "episodes").glob("1_*")
    }
    assert "'ferry': {'type': 'str', 'description': 'the ferry'}" in prompts["1_base_e1_"]
    assert "'ferry': {'description': 'the ferry'}" in prompts["1_no-types"]
    assert "Task: In other words 1." in prompts["1_no-conju"]
    assert f"Task: {OWN['rows'][0]['task']}"[:30] in prompts["1_no-conne"]


CALLED = {
    "gold": {"tree": 1.0, "nested_f1": 1.0, "order_f1": 1.0, "param_f1": 1.0},
    "all-tools": {"tree": 0.0, "selection_f1": 1.0, "order_f1": 1.0, "param_f1": 0.0},
    "empty": {"tree": 0.0, "selection_f1": 0.0},
}


@pytest.mark.parametrize("agent", CALLED)
def test_calls_are_made_and_compared_with_the_golds_resolved(
    data: Path, tmp_path: Path, agent: str
) -> None:
    folder, summary = played(data, tmp_path, "--agent", agent, "--mode", "calls")
    found = {name: value(summary, f"strict_{name}") for name in CALLED[agent]}
    assert found == CALLED[agent]
    assert [value(summary, name) for name in ("tree", "average", "format")] == [None] * 3
    assert toolhop("replay", str(folder), "--verify").returncode == 0
    assert "wrong by Tree, official" not in toolhop("diagnose", str(folder)).stdout
    refused = toolhop("export", str(folder), "--to", "predictions", "--out", str(tmp_path / "f"))
    assert (refused.returncode, "no place for calls" in refused.stderr) == (2, True)


def test_calls_over_the_wire_in_both_formats(data: Path, tmp_path: Path) -> None:
    play = BINDING.agents["gold"]
    with LoopbackServer(responder(load(str(data)), play, 0)) as server:
        model = ("--model", "openai/scripted", "--base-url", server.base_url, "--mode", "calls")
        _, native = played(data, tmp_path, *model)
    assert value(native, "strict_tree") == 1.0
    assert native["calls"]["value"] > 1


def test_a_template_of_the_users_has_the_official_list_of_tools(data: Path, tmp_path: Path) -> None:
    template = tmp_path / "official.txt"
    template.write_text("APIs:\n{tools}\nTask description:\n{question}")
    folder, _ = played(data, tmp_path, "--agent", "gold", "--template", str(template))
    first = json.loads(next((folder / "episodes").glob("1_*")).read_text().splitlines()[0])
    api = OWN["rows"][0]["api"][0]
    text = str([{"api_name": "find_ferry", "api_id": 11, **api}])[:-1]
    assert first["messages"][0]["content"].startswith(f"APIs:\n{text}, {{'api_name': 'book_seat'")
    assert json.loads((folder / "manifest.json").read_text())["prompt"] == "the user's template"
    template.write_text("{question}")
    done = toolhop("run", "--data", str(data), "--agent", "gold", "--template", str(template))
    assert (done.returncode, "{tools}" in done.stderr) == (2, True)


def test_a_type_that_json_schema_has_not_is_shown_as_it_is(data: Path, tmp_path: Path) -> None:
    rows = json.loads(json.dumps(OWN["rows"]))
    rows[0]["api"][0]["parameters"]["day"]["type"] = "datetime"
    data.write_text("\n".join(map(json.dumps, rows)))
    folder, _ = played(data, tmp_path, "--agent", "gold")
    first = json.loads(next((folder / "episodes").glob("1_*")).read_text().splitlines()[0])
    wanted = str(rows[0]["api"][0]["parameters"])
    assert f"'parameters': {wanted}" in first["messages"][0]["content"]


def test_one_reply_is_announced_to_who_plays(data: Path, tmp_path: Path) -> None:
    flags = ("--data", str(data), "--log-dir", str(tmp_path), "--sandbox", "process")
    out = toolhop("play", *flags).stdout
    assert "You have one turn" in out
    assert "9 turns" not in out


def test_a_mode_that_the_data_lacks_is_refused_before_anything_is_played(
    data: Path, tmp_path: Path
) -> None:
    done = toolhop("run", "--data", str(data), "--agent", "gold", "--mode", "no-conjunctions",
                   "--log-dir", str(tmp_path / "logs"))  # fmt: skip
    assert done.returncode == 2
    assert "test_no_conjunctions.jsonl" in done.stderr
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("agent", ["oracle", "faulty:1", "repairing"])
def test_an_agent_that_goes_by_hops_is_refused(data: Path, tmp_path: Path, agent: str) -> None:
    done = toolhop("run", "--data", str(data), "--agent", agent, "--log-dir", str(tmp_path / "l"))
    assert done.returncode == 2
    assert "NesTools has none" in done.stderr
    assert "one of gold, empty" in done.stderr
    assert not (tmp_path / "l").exists()


def test_figures_by_depth_beside_those_of_all(data: Path, tmp_path: Path) -> None:
    folder, summary = played(data, tmp_path, "--agent", "renumbered")
    assert [value(summary, name) for name in ("tree", "strict_tree")] == [0.5, 1.0]
    done = toolhop("score", str(folder), "--by", "depth", "--json")
    whole, *parts = json.loads(done.stdout)
    assert whole == summary
    assert [(one["by"], one["part"], value(one, "tree")) for one in parts] == [
        ("depth", "2", 0.0),
        ("depth", "3", 1.0),
    ]
    text = toolhop("score", str(folder), "--by", "structure").stdout
    assert "NesTools by structure" in text
    refused = toolhop("score", str(folder), "--by", "colour")
    assert (refused.returncode, "depth, structure" in refused.stderr) == (2, True)
    assert "by domain" in toolhop("score", str(folder), "--by", "domain").stdout


def test_the_average_is_the_mean_of_the_four_with_an_error_of_its_own(
    data: Path, tmp_path: Path
) -> None:
    _, summary = played(data, tmp_path, "--agent", "all-tools")
    four = [value(summary, f"{name}_f1") for name in ("selection", "order", "param", "nested")]
    assert four == [1.0, 1.0, 0.0, 0.0]
    assert value(summary, "average") == 0.5
    assert summary["average"]["stderr"] == 0.0


def test_answers_go_into_the_official_file_and_out_of_it(data: Path, tmp_path: Path) -> None:
    folder, summary = played(data, tmp_path, "--agent", "renumbered")
    file = tmp_path / "answers.jsonl"
    done = toolhop("export", str(folder), "--to", "predictions", "--out", str(file))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["test_id"] for row in rows] == [1, 2]
    again, scored = played(data, tmp_path, "--agent", f"predictions:{file}")
    figures = [name for name in scored if name not in ("agent", "wall_s", "endings")]
    assert {name: scored[name] for name in figures} == {name: summary[name] for name in figures}
    back = tmp_path / "back.jsonl"
    toolhop("export", str(again), "--to", "predictions", "--out", str(back))
    assert back.read_bytes() == file.read_bytes()


def test_answers_that_are_missing_count_strictly_and_not_officially(
    data: Path, tmp_path: Path
) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"test_id": 1, "response": -1}\n')
    folder, summary = played(data, tmp_path, "--agent", f"predictions:{file}")
    assert (summary["errored"], value(summary, "format"), value(summary, "tree")) == (0, None, None)
    assert (value(summary, "strict_format"), value(summary, "strict_tree")) == (0.0, 0.0)
    out = tmp_path / "back.jsonl"
    toolhop("export", str(folder), "--to", "predictions", "--out", str(out))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["response"] for row in rows] == [-1, -1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"test_id": 1, "response": 5}', "response: expected text"),
        ('{"response": "[]"}', "test_id"),
        ('{"test_id": 1, "response": "[]"}\n{"test_id": 1, "response": "[]"}', "answered before"),
        ('{"test_id": 77, "response": "[]"}', "the data has not"),
        ("{", "broken line"),
    ],
)
def test_a_wrong_file_of_answers_is_told(data: Path, tmp_path: Path, line: str, told: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(line)
    done = toolhop("run", "--data", str(data), "--agent", f"predictions:{file}")
    assert done.returncode == 2
    assert told in done.stderr


def test_a_run_is_not_resumed_with_another_file_of_answers(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"test_id": 1, "response": "[]"}')
    folder, _ = played(data, tmp_path, "--agent", f"predictions:{file}")
    assert toolhop("run", "--resume", str(folder)).returncode == 0
    file.write_text('{"test_id": 1, "response": "[1]"}')
    done = toolhop("run", "--resume", str(folder))
    assert (done.returncode, "its content differs" in done.stderr) == (2, True)


def test_an_answer_that_stops_the_official_code_is_counted_and_left_out(
    data: Path, tmp_path: Path
) -> None:
    (case,) = (case for case in OWN["cases"] if case["official"] is None)
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"test_id": case["row"], "response": case["answer"]}))
    _, summary = played(data, tmp_path, "--agent", f"predictions:{file}", "--sample-id", "2")
    assert (value(summary, "official_raises"), summary["tree"], summary["errored"]) == (
        1.0,
        None,
        0,
    )
    assert value(summary, "strict_selection_r") == pytest.approx(2 / 3)


def test_every_reader_of_runs_takes_it(data: Path, tmp_path: Path) -> None:
    one, _ = played(data, tmp_path, "--agent", "renumbered")
    other, _ = played(data, tmp_path, "--agent", "gold", "--tools", "names=scrambled")
    first = next(iter(sorted((one / "episodes").iterdir()))).stem
    for command in (
        ("show", str(one)),
        ("show", str(one), first),
        ("replay", str(one), "--verify"),
        ("diagnose", str(one)),
        ("compare", str(one), str(other), "--allow-differences", "--by", "depth"),
        ("report", str(one), "--out", str(tmp_path / "page.html")),
        ("export", str(one), "--to", "parquet", "--out", str(tmp_path / "out")),
    ):
        done = toolhop(*command)
        assert done.returncode in (0, 1 if command[0] == "diagnose" else 0), (command, done.stderr)


def test_a_report_has_the_figures_by_facet(data: Path, tmp_path: Path) -> None:
    folder, _ = played(data, tmp_path, "--agent", "renumbered")
    shown: Any = collect(open_sources([folder])).data
    (group,) = shown["groups"]
    parts = {one["value"]: one["figures"]["tree"][0] for one in group["facets"]["depth"]}
    assert parts == {"2": 0.0, "3": 1.0}


def test_distractors_for_each_tool_are_unlike_it_in_name(nestools_500: Path) -> None:
    from toolhop_tools.perturb.perturbation import Perturbation, perturbed

    data = load(str(nestools_500))
    how = Perturbation.parse("distractors=5:each+order=shuffled")
    some = data.items[:20]
    found = perturbed(some, how, pool=data, seed=1)
    assert found == perturbed(some, how, pool=data, seed=1)
    for own, item in zip(some, found, strict=True):
        assert len(item.tools) == 6 * len(own.tools)
        ids = [tool.facts["id"] for tool in item.tools.values()]
        assert len(set(ids)) == len(ids)


ROWS = 100
AGENTS = {
    # Of the gold nothing is wrong. Placeholders in lists have to be the gold's own, officially.
    "gold": {"tree": 1.0, "strict_tree": 1.0, "average": 1.0, "strict_average": 1.0},
    "empty": {"format": 1.0, "empty": 1.0, "tree": 0.0, "average": 0.0, "strict_average": 0.0},
    "all-tools": {"format": 1.0, "tree": 0.0, "selection_p": 1.0, "nested_f1": 0.0},
    "renumbered": {"tree": 98 / 100, "strict_tree": 1.0, "strict_average": 1.0},
}


@pytest.mark.heavy
@pytest.mark.parametrize("agent", AGENTS)
def test_published_rows_through_a_server_with_each_agent(
    nestools_500: Path, tmp_path: Path, agent: str
) -> None:
    data = load(str(nestools_500))
    with LoopbackServer(responder(data, BINDING.agents[agent], 0)) as server:
        model = ("--model", "openai/scripted", "--base-url", server.base_url)
        _, summary = played(nestools_500, tmp_path, *model, "--limit", str(ROWS))
    assert (summary["episodes"], summary["errored"]) == (ROWS, 0)
    assert {name: value(summary, name) for name in AGENTS[agent]} == pytest.approx(AGENTS[agent])


def test_official_precision_is_0_where_nothing_was_predicted(data: Path, tmp_path: Path) -> None:
    """As the official code divides; strictly there is no precision of no call."""
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(json.dumps({"test_id": n, "response": "[]"}) for n in (1, 2)))
    run, found = played(data, tmp_path / "logs", "--agent", f"predictions:{answers}")
    for name in ("selection", "order", "param", "nested"):
        assert (value(found, f"{name}_p"), value(found, f"{name}_f1")) == (0.0, 0.0), name
        assert value(found, f"strict_{name}_p") is None
    (again,) = json.loads(toolhop("score", str(run), "--json").stdout)
    assert again == found
    failed = tmp_path / "failed.jsonl"
    failed.write_text("\n".join(json.dumps({"test_id": n, "response": -1}) for n in (1, 2)))
    _, found = played(data, tmp_path / "logs", "--agent", f"predictions:{failed}")
    assert value(found, "selection_p") is None, "officially such rows are skipped"


@pytest.mark.data
def test_official_figures_of_every_scenario(nestools_500: Path, tmp_path: Path) -> None:
    """Each share of the released code, from its own counts, is the command's."""
    golden = json.loads((nestools_500.parents[1] / "golden" / "nestools.json").read_text())
    wrong, seen = [], 0
    for number, scenario in enumerate(golden["scenarios"]):
        scored = [one for one in scenario["per_row_counts"] if one]
        if not scored:
            continue
        sums = dict(zip(golden["fields"], map(sum, zip(*scored, strict=True)), strict=True))
        answers = tmp_path / f"{number}.jsonl"
        rows = [{"test_id": n, "response": said} for n, said in scenario["predictions"]]
        answers.write_text("\n".join(map(json.dumps, rows)))
        ids = (part for n, _ in scenario["predictions"] for part in ("--sample-id", str(n)))
        _, found = played(
            nestools_500, tmp_path / "logs", "--agent", f"predictions:{answers}", *ids
        )
        wanted = {"format": sums["correct_format_num"] / sums["all_num"]}
        for name, short in (
            ("selection", "api"), ("order", "order"), ("param", "param"), ("nested", "nest"),
        ):  # fmt: skip
            right, made, gold = (sums[f"{w}_{short}_num"] for w in ("correct", "predict", "gold"))
            p, r = right / made if made else 0.0, right / gold if gold else 0.0
            f1 = 2 * p * r / (p + r) if p + r else 0.0
            wanted |= {f"{name}_p": p, f"{name}_r": r, f"{name}_f1": f1}
        for name, share in wanted.items():
            seen += 1
            ours = value(found, name)
            if ours is None or abs(ours - share) > 1e-9:
                wrong.append((scenario["name"], name, ours, share))
    assert (wrong, seen) == ([], 13 * len(golden["scenarios"]))
