"""Prompts: packaged text files, each of which a study can replace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.stages import Problem, Stage
from toolhop_tools.errors import BadChoice

NAMES = (
    *("decompose", "propose", "tool", "refine", "facts_lookup", "facts_compute", "code", "call"),
    *("second", "question", "domain", "domains", "repair"),
)
"""File names without ``.txt``. `repair` is sent when a reply fails a check; `second` goes to a
different model than the one that builds items."""
EXAMPLES = ("example_chain", "example_fork", "example_join")
"""Examples of nested tasks; one accompanies each `chain` prompt."""
_FIELD = "{problems}"


@dataclass(frozen=True)
class Prompts:
    """Prompt texts by name."""

    texts: Mapping[str, str]

    def version(self, name: str) -> str:
        """Return the first twelve hex digits of the text's SHA-256."""
        return hashlib.sha256(self.texts[name].encode()).hexdigest()[:12]

    @property
    def digest(self) -> str:
        """SHA-256 of all texts together."""
        text = json.dumps(dict(self.texts), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def repair(self, problems: Sequence[Problem]) -> str:
        """Return the message that lists what is wrong with a reply."""
        return self.texts["repair"].replace(
            _FIELD, "\n".join(f"- {problem.message}" for problem in problems)
        )


def load(
    folder: Path | None = None,
    names: Sequence[str] = NAMES,
    package: str = "toolhop_tools.construct",
) -> Prompts:
    """Read the packaged texts; files in `folder` replace texts of the same name.

    `names` are the prompts of a `package`, which keeps them in its folder ``prompts``.

    Raises:
        BadChoice: the folder has no prompt, an unknown prompt, or one that lacks its field.
    """
    home = files(package) / "prompts"
    texts = {name: (home / f"{name}.txt").read_text(encoding="utf-8") for name in names}
    if folder is None:
        return Prompts(texts)
    own = sorted(folder.glob("*.txt")) if folder.is_dir() else []
    unknown = [path.name for path in own if path.stem not in names]
    if not own or unknown:
        given = f"it has {(*unknown, 'no .txt file')[0]}"
        raise BadChoice(
            f"{folder} is no folder of prompts: {given}",
            fix=f"name its files {', '.join(f'{name}.txt' for name in names)}; those that are not "
            "there are the product's",
        )
    texts |= {path.stem: path.read_text(encoding="utf-8") for path in own}
    if _FIELD not in texts["repair"]:
        raise BadChoice(f"{folder}/repair.txt has no {_FIELD}, where the problems go")
    return Prompts(texts)


load_nested = partial(
    load,
    names=("chain", *EXAMPLES, "meaning", "task", "rebuild", "repair"),
    package="toolhop_tools.construct.nested",
)
"""Read the prompts of nested tasks; see `load`."""


def inputs(stage: Stage, values: Mapping[str, JSON]) -> str:
    """Format the inputs of a stage as the message that follows the prompt."""
    return json.dumps({"stage": stage.value, **values}, ensure_ascii=False, indent=1)
