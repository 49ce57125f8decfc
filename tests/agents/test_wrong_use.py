"""Wrong uses of the command: each has one message that helps, its exit code, and no traceback.

`wrong_uses.txt` has a command and, on the line below it, exit code and the message's first line.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.agents.command import TOOLHOP, toolhop
from toolhop_agents.cli import COMMANDS

TABLE = Path(__file__).with_name("wrong_uses.txt").read_text(encoding="utf-8")
USES = re.findall(r"^\$ toolhop (.*)\n(\d) (.*)$", TABLE, flags=re.MULTILINE)
FILES = {
    "empty.json": b"[]",
    "broken.json": b"{",
    "object.json": b'{"a": 1}',
    "rows.jsonl": b'{"id": 1}\n',
    "bin.json": b"\xff\xfe\x00",
    "text.txt": b"hello",
    "key.toml": b'modle = "x"\n',
    "bad.toml": b"= 3",
    "type.toml": b"limit = {a=1}\n",
    "template.txt": b"no place for a question",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands find files that cannot be used."""
    made = tmp_path_factory.mktemp("uses")
    for name, content in FILES.items():
        (made / name).write_bytes(content)
    (made / "folder").mkdir()
    return made


@pytest.mark.parametrize(("command", "code", "line"), USES, ids=[use[0] for use in USES])
def test_a_wrong_use_is_told_in_a_line(folder: Path, command: str, code: str, line: str) -> None:
    done = toolhop(*command.split(), cwd=folder)
    assert done.returncode == int(code)
    assert done.stderr.splitlines()[0] == line
    assert "Traceback" not in done.stderr
    assert "--help" not in done.stderr


def test_every_command_is_used_wrongly_here() -> None:
    assert len(USES) >= 80
    assert {use[0].split()[0] for use in USES} >= set(COMMANDS)


def test_a_variable_that_sets_nothing_is_told(tmp_path: Path) -> None:
    done = toolhop("show", "nope", cwd=tmp_path, env={"TOOLHOP_SHOW_JSNO": "1"})
    first = "toolhop: the variable TOOLHOP_SHOW_JSNO sets no flag (did you mean TOOLHOP_SHOW_JSON?)"
    assert done.stderr.splitlines()[0] == first


def test_what_only_docker_has_is_never_given_up(tmp_path: Path) -> None:
    env = {"DOCKER_HOST": f"unix://{tmp_path}/no.sock", "PATH": ""}
    done = toolhop("run", "--limit", "1", "--runtime", "runsc", cwd=tmp_path, env=env)
    assert done.returncode == 3
    assert "process sandbox" not in done.stderr
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    "command", ["data list", "data export --out -", "data show astronomy-1", "run --help"]
)
def test_whoever_reads_the_output_may_stop(command: str, tmp_path: Path) -> None:
    """Such as `head`: bytes, texts and tables end alike, as SIGPIPE would end them."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        ended = subprocess.run(
            [*TOOLHOP, *command.split()], stdout=writes, stderr=subprocess.PIPE, cwd=tmp_path
        )
    finally:
        os.close(writes)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_nobody_need_read_the_output(tmp_path: Path) -> None:
    shell = ["sh", "-c", '"$@" >&-', "sh", *TOOLHOP, "data", "list"]
    ended = subprocess.run(shell, stderr=subprocess.PIPE, cwd=tmp_path)
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
