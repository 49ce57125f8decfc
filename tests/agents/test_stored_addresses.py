"""A folder that came from elsewhere gets no key for the addresses in it."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.command import toolhop
from tests.agents.test_secrets import Echo, ran
from toolhop_agents.cli.stored_addresses import StoredAddress, of_run
from toolhop_agents.runs.settings import RunSettings

STRANGER = "https://models.example/v1"
ASKED = StoredAddress("--base-url", "openai/x", STRANGER)


@pytest.mark.parametrize(
    ("stored", "key", "sent"),
    [
        (ASKED, "sk-proj-7731", ["OPENAI_API_KEY"]),
        (ASKED, "", []),
        (ASKED, "none", []),
        (ASKED, "no-key-needed", []),
        (replace(ASKED, base_url="https://api.openai.com/v1"), "sk-proj-7731", []),
        (replace(ASKED, base_url="https://api.openai.com.example/v1"), "sk-proj-7731",
         ["OPENAI_API_KEY"]),
        (replace(ASKED, models="anthropic/x"), "", ["keys of anthropic"]),
        (replace(ASKED, models="litellm/openai/x"), "sk-proj-7731", ["OPENAI_API_KEY"]),
        (replace(ASKED, models="litellm/groq/x"), "", ["keys of groq"]),
        (replace(ASKED, models="mechanical"), "sk-proj-7731", []),
        (replace(ASKED, models="mechanical, openai/x"), "sk-proj-7731", ["OPENAI_API_KEY"]),
        (replace(ASKED, options=('extra_headers={"X": "Bearer ${GATE}"}',)), "", ["GATE"]),
    ],
)  # fmt: skip
def test_what_an_address_would_be_sent(
    stored: StoredAddress, key: str, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    assert list(stored.keys) == sent


def test_every_address_of_a_run_is_looked_at() -> None:
    fields = {name for name in RunSettings.model_fields if name.endswith("base_url")}
    models = {"model": "openai/a", "simulator": "openai/b", "user_model": "openai/c"}
    given = {**models, "judge": "openai/d", **dict.fromkeys(fields, STRANGER)}
    of_each = RunSettings.model_validate(given)
    stored = [*of_run(of_each)]
    assert [one.base_url for one in stored] == [STRANGER] * len(fields)
    assert {one.flag for one in stored} == {f"--{name.replace('_', '-')}" for name in fields}


@pytest.mark.parametrize("asked", ["model", "judge", "simulator", "user_model"])
def test_a_run_is_not_resumed_at_an_address_that_nobody_named(asked: str, tmp_path: Path) -> None:
    played = ran(tmp_path, "run", "--limit", "1", "--sandbox", "process", "--json")
    run = json.loads(played.stdout)["run"]
    manifest = tmp_path / run / "manifest.json"
    name = "base_url" if asked == "model" else f"{asked}_base_url"
    flag = f"--{name.replace('_', '-')}"
    with Echo() as stranger:
        kept = json.loads(manifest.read_text())
        kept["settings"] |= {asked: "openai/x", name: stranger.url}
        if asked == "model":
            kept["settings"]["agent"] = None
        manifest.write_text(json.dumps(kept))
        done = ran(tmp_path, "run", "--resume", run)
        assert (done.returncode, stranger.seen) == (2, [])
        said = done.stderr.decode()
        assert "would send it OPENAI_API_KEY" in said
        assert f"that address, give {flag} {stranger.url}" in said
        for named in ((flag, stranger.url), ()):
            env = {} if named else {"OPENAI_BASE_URL": stranger.url}
            assert ran(tmp_path, "run", "--resume", run, *named, **env).returncode != 2
        assert ran(tmp_path, "run", "--resume", run, OPENAI_API_KEY="").returncode != 2


def test_an_ablation_is_not_resumed_at_an_address_that_nobody_named(tmp_path: Path) -> None:
    folder = _ablation(tmp_path)
    with Echo() as stranger:
        for path in folder.rglob("*.json"):
            path.write_text(path.read_text().replace("http://127.0.0.1:9/v1", stranger.url))
        done = ran(tmp_path, "ablate", "--resume", str(folder))
        assert (done.returncode, stranger.seen) == (2, [])
        assert f"that address, give --base-url {stranger.url}" in done.stderr.decode()
        ran(tmp_path, "ablate", "--resume", str(folder), "--base-url", stranger.url)
        assert stranger.seen


def _ablation(folder: Path) -> Path:
    """One that was begun with a model that nobody answers for."""
    asked = ("--model", "openai/x", "--base-url", "http://127.0.0.1:9/v1", "--max-retries", "0")
    ran(folder, "ablate", "--limit", "1", "--sandbox", "process", *asked, "--log-dir", "logs")
    (made,) = (folder / "logs").iterdir()
    return made


def test_construction_is_not_resumed_at_an_address_that_nobody_named(tmp_path: Path) -> None:
    with Echo() as first:
        begun = ("A", "--items", "2", "--sandbox", "process", "--model", "openai/x")
        reader = ("--readers", "openai/y", "--reader-base-url", first.url)
        limit = ("--run-token-limit", "1", "--out", "made")
        ran(tmp_path, "construct", "from-domain", *begun, "--base-url", first.url, *reader, *limit)
        settings = tmp_path / "made" / "settings.json"
        with Echo() as stranger:
            settings.write_text(settings.read_text().replace(first.url, stranger.url))
            again = ("construct", "resume", "made", "--run-token-limit", "9999")
            done = ran(tmp_path, *again)
            assert (done.returncode, stranger.seen) == (2, [])
            assert f"that address, give --base-url {stranger.url}" in done.stderr.decode()
            other = ran(tmp_path, *again, "--base-url", first.url)
            assert (other.returncode, stranger.seen) == (2, [])
            assert "--base-url is fixed in a folder that was begun" in other.stderr.decode()
            ran(tmp_path, *again, "--base-url", stranger.url)
            assert stranger.seen


@pytest.mark.parametrize("command", ["run", "ablate", "construct from-domain"])
def test_the_command_that_is_printed_resumes(command: str, tmp_path: Path) -> None:
    """As printed, at an address that the command would not take from the folder alone."""
    with Echo(status=500) as server:
        asked = ("--model", "openai/x", "--base-url", server.url, "--sandbox", "process")
        begun = {
            "run": ("--limit", "1", "--max-retries", "0", "--log-dir", "my logs"),
            "ablate": ("--limit", "1", "--max-retries", "0", "--log-dir", "my logs"),
            "construct from-domain": ("A", "--items", "1", "--out", "my folder", "--readers",
                                      "openai/y,openai/z", "--reader-base-url", server.url,
                                      "--reader-base-url", server.url),
        }  # fmt: skip
        first = ran(tmp_path, *command.split(), *begun[command], *asked)
        ((_, again),) = (
            line.split("resume with: ")
            for line in (first.stdout + first.stderr).decode().splitlines()
            if "resume with: " in line
        )
        so_far = len(server.seen)
        toolhop_, *words = shlex.split(again)
        assert (toolhop_, words[0]) == ("toolhop", command.split()[0])
        assert ran(tmp_path, *words).returncode == first.returncode != 2
        assert len(server.seen) > so_far > 0


def test_a_run_at_a_providers_own_address_is_resumed_as_before(tmp_path: Path) -> None:
    played = toolhop("run", "--limit", "1", "--sandbox", "process", "--json", cwd=tmp_path)
    run = json.loads(played.stdout)["run"]
    assert ran(tmp_path, "run", "--resume", run).returncode == 0
