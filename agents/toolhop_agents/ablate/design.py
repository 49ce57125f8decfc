"""What an ablation compares, and the runs that it is made of.

An *arm* is a run, in a folder of its own below the ablation's. Feedback has two kinds: a *base*
arm plays every item under one level from the start; a *fork* arm resumes from the first failed
calls of a base arm, at another level. Every other factor has base arms only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from toolhop_agents.runs.flags import Flag
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.levels import Template, Verbosity, named
from toolhop_env.runs.files import file_name
from toolhop_tools.perturb.perturbation import Perturbation
from toolhop_tools.scenarios.label import scenarios_of


class DesignError(ValueError):
    """An ablation that cannot be played as asked; says why and what is allowed."""


class Factor(StrEnum):
    """What is changed from level to level."""

    FEEDBACK = "feedback"
    MODE = "mode"
    TOOLS = "tools"
    """How the tools are shown (`toolhop_tools.perturb`)."""
    SCENARIO = "scenario"
    """What the items are made into (`toolhop_tools.scenarios`), paired by family."""


class Design(StrEnum):
    """How two feedback levels come to be compared."""

    FORKED = "forked"
    """From the first failed call on, after the same turns."""
    INDEPENDENT = "independent"
    """Each level in episodes of its own."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One run of an ablation."""

    level: str
    prefix: str = ""
    """For a fork arm the level of the base arm that it resumes from; else empty."""

    @property
    def forked(self) -> bool:
        """Whether it resumes another arm's episodes."""
        return bool(self.prefix)

    @property
    def name(self) -> str:
        """Its folder's name."""
        return file_name(f"{self.prefix}-then-{self.level}" if self.forked else self.level)

    @property
    def base(self) -> Arm:
        """The arm that a fork arm resumes from."""
        return Arm(self.prefix)


def levels_of(text: str) -> tuple[str, ...]:
    """Levels from a list with commas."""
    return tuple(name.strip() for name in text.split(","))


class Ablation(BaseModel):
    """Everything that was asked for; it goes into the ablation's folder as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    factor: Annotated[Factor, Flag("What is changed from level to level.")] = Factor.FEEDBACK
    levels: Annotated[
        tuple[str, ...],
        Flag(
            "The factor's levels, with commas; the first is what the others are compared with.  "
            "[default: detailed,minimal, or the benchmark's first two modes]",
            parse=levels_of,
            default="",
        ),
    ] = ("detailed", "minimal")
    templates: tuple[Template, ...] = ()
    """The feedback levels among them that are not built in."""
    design: Annotated[
        Design,
        Flag("Feedback: fork at the first failed call, or play each level from the start."),
    ] = Design.FORKED
    prefix_levels: Annotated[
        tuple[str, ...],
        Flag(
            "Fork only what was played under this level; may be repeated.  [default: each level]",
            names=("--prefix-level",),
        ),
    ] = ()
    """Levels under which whole episodes are played; all of them where none is given."""
    confidence: Annotated[float, Field(ge=0.5, le=0.9999), Flag("Level of the intervals.")] = 0.95
    base: RunSettings = RunSettings()
    """The settings that every arm has but for its level."""

    def checked(self) -> Ablation:
        """The same, if it can be played, whatever the data (see `conduct.check`).

        Raises:
            DesignError, LevelError, BadChoice: it cannot.
        """
        if len(self.levels) < 2:
            raise DesignError(
                f"an ablation compares two levels or more, and is given {self.levels[0]} alone; "
                "name another by --levels"
            )
        if len(set(self.levels)) < len(self.levels):
            raise DesignError(f"the levels {', '.join(self.levels)} are not all different")
        self._check_settings()
        unknown = [level for level in self.prefix_levels if level not in self.levels]
        if unknown:
            raise DesignError(
                f"{unknown[0]!r} is not a level of this ablation; they are {', '.join(self.levels)}"
            )
        if self.prefix_levels and not self.forks:
            raise DesignError(
                "a prefix level is for the forked design of the feedback factor: elsewhere no "
                "turns are shared; leave it out"
            )
        if self.forks and self.base.keep_thoughts == "off":
            raise DesignError(
                "episodes cannot be forked without their thoughts; leave --keep-thoughts off out, "
                "or give --design independent"
            )
        if self.forks and self.base.time_limit_s is not None:
            raise DesignError(
                "a time limit is not the same for a branch, which begins in the middle: limit "
                "turns or tokens, or take the independent design"
            )
        return self

    def _check_settings(self) -> None:
        """See that each arm can be played, and that no two of them are the same run."""
        seen: dict[str, str] = {}
        for arm in self.arms:
            text = self.settings(arm).model_dump_json()
            if not arm.forked and text in seen:
                raise DesignError(f"the levels {seen[text]} and {arm.level} are the same")
            if not arm.forked:
                seen[text] = arm.level

    @property
    def forks(self) -> bool:
        """Whether episodes are forked."""
        return self.factor is Factor.FEEDBACK and self.design is Design.FORKED

    @property
    def played_levels(self) -> tuple[str, ...]:
        """The levels that have a base arm, in order."""
        if not self.forks or not self.prefix_levels:
            return self.levels
        return tuple(level for level in self.levels if level in self.prefix_levels)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All runs, each after the one that it resumes from."""
        found = []
        for prefix in self.played_levels:
            found.append(Arm(prefix))
            others = [level for level in self.levels if level != prefix] if self.forks else []
            found += [Arm(level, prefix) for level in others]
        return tuple(found)

    def settings(self, arm: Arm) -> RunSettings:
        """The run that an arm is.

        Raises:
            DesignError, LevelError, BadChoice: its level is none of the factor's.
        """
        match self.factor:
            case Factor.FEEDBACK:
                return self.base.model_copy(update={"feedback": self.verbosity(arm.level)})
            case Factor.MODE:
                return self.base.model_copy(update={"modes": (arm.level,)})
            case Factor.TOOLS:
                shown = str(Perturbation.parse(arm.level))
                return self.base.model_copy(update={"perturbation": shown})
            case Factor.SCENARIO:
                into = scenarios_of(arm.level)
                if len(into) > 1:
                    raise DesignError(f"{arm.level!r}: a level is one scenario")
                return self.base.model_copy(update={"into": into, "siblings": False})

    def verbosity(self, level: str) -> Verbosity:
        """The feedback level of a name.

        Raises:
            LevelError: there is none.
        """
        own = next((template for template in self.templates if template.name == level), None)
        return own or named(level)
