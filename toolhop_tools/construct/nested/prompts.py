"""The prompts of nested tasks: packaged texts, each of which a study can replace."""

from __future__ import annotations

from functools import partial

from toolhop_tools.construct.nested.seeds import NestSeed
from toolhop_tools.construct.prompts import Prompts
from toolhop_tools.construct.prompts import load as load_prompts

EXAMPLES = ("example_chain", "example_fork", "example_join")
NAMES = ("chain", *EXAMPLES, "meaning", "task", "rebuild", "repair")
"""The files, without ``.txt``. Of the examples one goes with each `chain`."""


load = partial(load_prompts, names=NAMES, package="toolhop_tools.construct.nested")
"""See `toolhop_tools.construct.prompts.load`."""


def example(prompts: Prompts, seed: NestSeed) -> str:
    """The example of a seed: of a chain where one is wanted, else of a fork or a join in turn."""
    turn = int(seed.digest[:8], 16)
    return prompts.texts[EXAMPLES[0] if seed.width == 1 else EXAMPLES[1 + turn % 2]]
