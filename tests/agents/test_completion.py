"""Completion as a shell has it that loads what is printed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.command import toolhop
from toolhop_agents.cli import COMMANDS

pytestmark = pytest.mark.heavy

ASK = {
    "bash": """
        COMP_WORDS=({words}); COMP_CWORD={last}; COMP_TYPE=9
        _toolhop_completion toolhop
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "fish": "complete -C '{line}'",
    "zsh": "(( $+_comps[toolhop] )) && print -l ${{_comps[toolhop]}}",
}
LOAD = {
    "bash": 'eval "$(toolhop completion bash)"\n',
    "zsh": 'eval "$(toolhop completion zsh)"\n',
    "fish": "toolhop completion fish | source\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the command in its `bin`."""
    script = tmp_path / "bin" / "toolhop"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom toolhop_agents.cli import main\nmain()\n")
    script.chmod(0o755)
    return tmp_path


def environment(home: Path, **more: str) -> dict[str, str]:
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "TOOLHOP", "ZDOTDIR"))}
    return kept | {"HOME": str(home), "PATH": path} | more


def asked(shell: str, home: Path, *words: str) -> list[str]:
    """What a shell whose startup file loads the script offers for the last of the words."""
    line = LOAD[shell] + ASK[shell].format(
        words=" ".join(words or ("''",)), last=len(words) - 1, line=" ".join(words)
    )
    done = subprocess.run(
        [shell, "-c", line], env=environment(home), capture_output=True, text=True
    )
    return [one.split("\t")[0] for one in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_completes_commands_and_flags(shell: str, home: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    if shell == "zsh":
        assert asked(shell, home) == ["_toolhop_completion"]
        return
    assert asked(shell, home, "toolhop", "sc") == ["score"]
    assert asked(shell, home, "toolhop", "run", "--turn-l") == ["--turn-limit"]
    assert asked(shell, home, "toolhop", "run", "--sandbox", "p") == ["process"]


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_script_is_printed_and_no_file_is_written(shell: str, home: Path) -> None:
    before = sorted(home.rglob("*"))
    done = toolhop("completion", shell, env=environment(home))
    assert done.returncode == 0, done.stderr
    assert "_TOOLHOP_COMPLETE" in done.stdout
    assert sorted(home.rglob("*")) == before


def test_commands_are_offered_without_their_modules(home: Path) -> None:
    words = {"COMP_WORDS": "toolhop ", "COMP_CWORD": "1", "_TOOLHOP_COMPLETE": "bash_complete"}
    code = (
        "import sys; sys.argv[0] = 'toolhop'\nfrom toolhop_agents.cli import main\n"
        "try: main()\nfinally: sys.stderr.write(str('toolhop_agents.runs.command' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(home, **words), capture_output=True, text=True
    )
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == list(COMMANDS)
    assert done.stderr == "False"


def test_a_shell_that_is_not_known_is_refused(home: Path) -> None:
    done = toolhop("completion", env=environment(home, SHELL="/bin/tcsh"))
    assert done.returncode == 2
    assert "$SHELL is tcsh; give one of bash, zsh, fish" in done.stderr
