"""`inspect eval` as a command, from another folder, against `toolhop serve` on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.played import AGENT, run_scores
from toolhop_agents.models.loopback import LoopbackServer, Request
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import metered, responder
from toolhop_env.messages import Reply
from toolhop_env.verdicts import ErrorCode
from toolhop_tools.load import load
from toolhop_tools.model import ToolSchema

pytest.importorskip("openai", minversion="3.4", reason="Inspect asks OpenAI's protocol with it")
log_module = pytest.importorskip("inspect_ai.log")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]


LEFT_OUT = {"pattern", "minLength", "maxLength", "minimum", "maximum", "examples"}


@pytest.mark.parametrize("feedback", ["detailed", "minimal"])
def test_the_command_scores_as_toolhop_run(feedback: str, tmp_path: Path) -> None:
    data, offered = load("builtin"), list[ToolSchema]()
    answer = metered(responder(data, choose(AGENT), 0))

    def heard(request: Request) -> Reply:
        offered.extend(request.tools)
        return answer(request)

    expected = run_scores(tmp_path / "run", feedback=feedback)
    command = shutil.which("inspect", path=str(Path(sys.executable).parent))
    assert command is not None
    with LoopbackServer(heard) as server:
        done = subprocess.run(
            [command, "eval", "toolhop_env/toolhop", "--model", "openai-api/loopback/scripted",
             "-T", f"feedback={feedback}", "-T", "sandbox=process", "-T", "mode=mandatory",
             "-T", "data=builtin", "--log-dir", str(tmp_path / "logs"), "--display", "none"],
            cwd=tmp_path, capture_output=True, text=True,
            env=os.environ | {"LOOPBACK_API_KEY": "none", "LOOPBACK_BASE_URL": server.base_url},
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert not server.errors
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = log_module.read_eval_log(str(path))
    assert log.status == "success"
    assert log.eval.task == "toolhop_env/toolhop"
    found = {one.id: one.scores["toolhop_env/measures"] for one in log.samples}
    assert found.keys() == expected.keys()
    # Inspect makes an object of a list or a bare value before we see it: docs/integrations.md.
    mended = {item for item, one in expected.items() if ErrorCode.NOT_OBJECT in one.conduct.errors}
    for item in expected.keys() - mended:
        before = expected[item]
        for name in ("official", "strict", "hops_solved"):
            assert found[item].value[name] == before.value(name), (item, name)
    # This provider of Inspect's leaves out bounds; all else is as `toolhop run` offers it.
    schemas = [bare(tool.schema) for item in data.items for tool in item.tools.values()]
    assert offered
    assert [one for one in map(bare, offered) if one not in schemas] == []


def bare(schema: ToolSchema) -> object:
    """A schema without the keywords that Inspect's providers may leave out."""

    def less(value: object) -> object:
        if isinstance(value, dict):
            return {name: less(one) for name, one in value.items() if name not in LEFT_OUT}
        return [less(one) for one in value] if isinstance(value, list) else value

    return schema.name, schema.description, less(schema.parameters)
