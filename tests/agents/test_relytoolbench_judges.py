"""Who judges RelyToolBench's runs: rules unless told otherwise, a model over HTTP, people's labels.

No table mixes two judges, and no judge is asked what it has answered.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.agents.test_relytoolbench_runs import data as data
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_env.messages import Reply
from toolhop_env.runs.store import RunStore

pytestmark = pytest.mark.heavy


def judge(request: Request) -> Reply:
    """Finds fault with nothing."""
    text = request.messages[0].content
    for verdict in ("Relevant", "Truthful", "Solved"):
        if f'"{verdict}"' in text.rsplit("schema:", 1)[1]:
            return Reply(json.dumps({"reason": "kind", "verdict": verdict}))
    raise AssertionError(text)


def play(data: str, folder: Path, *more: str) -> Path:
    done = toolhop("run", "--data", data, "--log-dir", str(folder), "--max-samples", "1", "--json",
                   *more)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["run"])


def summaries(*runs: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(toolhop("score", "--json", *map(str, runs)).stdout)
    return found


def test_rules_judge_unless_told_otherwise(data: str, tmp_path: Path) -> None:
    run = play(data, tmp_path / "logs", "--agent", "all-tools")
    assert RunStore.open(run).manifest["settings"]["judge"] == "mechanical"
    (summary,) = summaries(run)
    assert (summary["judge"], summary["open"]["value"]) == ("mechanical", 0.0)
    assert summary["hallucination"]["value"] <= summary["hallucination_most"]["value"]
    table = toolhop("score", str(run)).stdout
    assert "judged by mechanical" in " ".join(table.split())


def test_another_judge_is_asked_everything_anew_and_none_is_mixed(
    data: str, tmp_path: Path
) -> None:
    rules = play(data, tmp_path / "logs", "--agent", "all-tools")
    run = play(data, tmp_path / "logs", "--agent", "all-tools")
    before = summaries(run)
    asked: list[str] = []

    def counting(request: Request) -> Reply:
        asked.append(request.messages[0].content)
        return judge(request)

    with LoopbackServer(counting) as server:
        model = ("--judge", "openai/kind", "--judge-base-url", server.base_url)
        again = toolhop("run", "--resume", str(run), *model, "--json")
        assert again.returncode == 0, again.stderr
        first = len(asked)
        assert first == len(set(asked)) > 0
        assert toolhop("run", "--resume", str(run), *model, "--json").returncode == 0
        assert len(asked) == first, "what it has answered it is not asked"
    (one,) = summaries(run)
    assert one["judge"] == "openai/kind"
    assert one["hallucination"] != before[0]["hallucination"]
    both = summaries(rules, run)
    assert [row["judge"] for row in both] == ["mechanical", "openai/kind"]
    assert both[0] | {"wall_s": 0} == before[0] | {"wall_s": 0}
    differs = toolhop("compare", str(rules), str(run)).stdout
    assert "judge: mechanical / openai/kind" in differs
    back = toolhop("run", "--resume", str(run), "--judge", "mechanical", "--json")
    assert back.returncode == 0, back.stderr
    assert summaries(run) == before, "its answers are kept"


def test_votes_are_counted_and_named(data: str, tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def wavering(request: Request) -> Reply:
        text = request.messages[0].content
        asked[text] += 1
        said = judge(request).content
        if asked[text] == 2:
            said = said.replace("Truthful", "Untruthful").replace("Solved", "Unsolved")
        return Reply(said)

    with LoopbackServer(wavering) as server:
        model = ("--judge", "openai/kind", "--judge-base-url", server.base_url)
        run = play(data, tmp_path, "--agent", "gold", *model, "--judge-votes", "3")
    assert set(asked.values()) == {3}
    (summary,) = summaries(run)
    assert (summary["judge"], summary["strict"]["value"]) == ("openai/kind x3", 1.0)


def test_a_judge_that_is_down_loses_no_figure_of_the_one_before(data: str, tmp_path: Path) -> None:
    run = play(data, tmp_path, "--agent", "all-tools")
    before = summaries(run)
    done = toolhop("run", "--resume", str(run), "--judge", "openai/gone", "--judge-base-url",
                   "http://127.0.0.1:9/v1", "--max-retries", "0", "--json")  # fmt: skip
    assert done.returncode != 0
    assert summaries(run) == before


def test_replies_of_a_judge_are_found_in_the_cache(data: str, tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(request: Request) -> Reply:
        asked.append(request.messages[0].content)
        return judge(request)

    with LoopbackServer(counting) as server:
        model = ("--judge", "openai/kind", "--judge-base-url", server.base_url)
        for _ in range(2):
            play(data, tmp_path / "logs", "--agent", "gold", *model, "--cache", str(tmp_path / "c"))
    assert len(asked) == len(set(asked)) > 0


def checked(run: Path, *more: str) -> list[dict[str, Any]]:
    done = toolhop("judge-check", str(run), "--json", *more)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_a_model_is_checked_against_rules_and_people(data: str, tmp_path: Path) -> None:
    run = play(data, tmp_path / "logs", "--agent", "all-tools")
    path = tmp_path / "labels.json"
    alone = toolhop("judge-check", str(run))
    assert (alone.returncode, "only mechanical answered" in alone.stderr) == (2, True)
    assert toolhop("judge-check", str(run), "--questions", str(path)).returncode == 0
    rows = json.loads(path.read_text())
    assert all(row["answer"] is None and "verdict" in row["schema"]["required"] for row in rows)
    kept = toolhop("judge-check", str(run), "--questions", str(path))
    assert (kept.returncode, "is there already" in kept.stderr) == (2, True)

    with LoopbackServer(judge) as server:
        model = ("--judge", "openai/kind", "--judge-base-url", server.base_url)
        assert toolhop("run", "--resume", str(run), *model, "--json").returncode == 0
    labelled = [row for row in rows if row["about"] == "calling_truthfulness"]
    for row in labelled:
        row["answer"] = {"verdict": "Untruthful"}
    path.write_text(json.dumps(rows))
    found = {
        (one["judge"], one["against"].partition("#")[0], one["about"]): one
        for one in checked(run, "--labels", str(path))
    }
    people = found["openai/kind", "file:labels.json", "calling_truthfulness"]
    assert (people["accuracy"], people["kappa"]) == (0.0, 0.0)
    assert people["confusion"] == [
        {"judge": "Truthful", "against": "Untruthful", "questions": people["questions"]}
    ]
    rules = found["openai/kind", "mechanical", "calling_truthfulness"]
    assert rules["questions"] > 0
    assert sum(one["questions"] for one in rules["confusion"]) == rules["questions"]
    assert rules["accuracy_limits"][0] <= rules["accuracy"] <= rules["accuracy_limits"][1]
    assert found["openai/kind", "mechanical", "all"]["kappa"] is None
    assert ("mechanical", "file:labels.json", "calling_truthfulness") in found
    text = toolhop("judge-check", str(run), "--labels", str(path)).stdout
    assert "calling_truthfulness: openai/kind (rows) against file:labels.json#" in text


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("[]", "no label is of a question of these runs"),
        ('{"abc": {"verdict": "Solved"}}', "no label is of a question of these runs"),
        ('"yes"', "neither a JSON object"),
        ("{", "cannot be read"),
    ],
)
def test_labels_of_nothing_are_refused(labels: str, said: str, data: str, tmp_path: Path) -> None:
    run = play(data, tmp_path / "logs", "--agent", "all-tools")
    path = tmp_path / "labels.json"
    path.write_text(labels)
    done = toolhop("judge-check", str(run), "--labels", str(path))
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_label_that_is_no_answer_is_named(data: str, tmp_path: Path) -> None:
    run = play(data, tmp_path / "logs", "--agent", "all-tools")
    path = tmp_path / "labels.json"
    assert (
        toolhop("judge-check", str(run), "--questions", str(path), "--sample", "3").returncode == 0
    )
    rows = json.loads(path.read_text())
    assert len(rows) == 3 <= len({row["about"] for row in rows}) + 1, "of all kinds in turn"
    path.write_text(json.dumps([row | {"answer": {"verdict": "Maybe"}} for row in rows]))
    done = toolhop("judge-check", str(run), "--labels", str(path))
    assert (done.returncode, "'Maybe'} is not an answer" in done.stderr) == (2, True), done.stderr


def test_runs_without_questions_have_nothing_to_check(tmp_path: Path) -> None:
    run = play("builtin", tmp_path, "--limit", "1", "--sandbox", "process")
    done = toolhop("judge-check", str(run))
    assert (done.returncode, "asked no judge" in done.stderr) == (2, True)


def test_labels_that_were_changed_are_asked_again(data: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    kinds = ("tool_relevance", "calling_truthfulness", "answer_status", "answer_relevance")
    verdicts = ("Relevant", "Truthful", "Solved", "Irrelevant")
    said = {kind: {"verdict": one} for kind, one in zip(kinds, verdicts, strict=True)}
    path.write_text(json.dumps(said))
    run = play(data, tmp_path / "logs", "--agent", "all-tools", "--judge", f"stub:{path}")
    (before,) = summaries(run)
    path.write_text(json.dumps(said | {"calling_truthfulness": {"verdict": "Untruthful"}}))
    assert toolhop("run", "--resume", str(run), "--json").returncode == 0
    (after,) = summaries(run)
    assert before["judge"] != after["judge"]
    assert before["hallucination"]["value"] < after["hallucination"]["value"]
