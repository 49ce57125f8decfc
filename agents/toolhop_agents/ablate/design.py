"""The design of an ablation: the levels compared, and the runs that it needs.

An *arm* is a run in its own folder below the ablation's. There are two kinds: a *base* arm plays
every item under one level from the start; a *fork* arm resumes episodes of a base arm at another
level, from where the levels begin to differ (`ForkAt`). A factor that differs from the first
request on has base arms only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from toolhop_agents.ablate.varied import DesignError, ForkAt, fork_at, varied
from toolhop_agents.runs.flags import Flag
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.attempt import Attempt, Key
from toolhop_env.fork import Fork, fork, fork_after, fork_within
from toolhop_env.levels import Template, Verbosity, named
from toolhop_env.results import results_of
from toolhop_env.runs.files import file_name
from toolhop_env.trace import Trace
from toolhop_tools.model import Item
from toolhop_tools.perturb.perturbation import Perturbation
from toolhop_tools.scenarios.label import scenarios_of


class Factor(StrEnum):
    """What changes from level to level."""

    FEEDBACK = "feedback"
    MODE = "mode"
    TOOLS = "tools"
    """Presentation of the tools (`toolhop_tools.perturb`)."""
    SCENARIO = "scenario"
    """Scenario made from the items (`toolhop_tools.scenarios`), paired by family."""
    SETTING = "setting"
    """Values of a run's flags (`toolhop_agents.ablate.varied`)."""


class Design(StrEnum):
    """How two feedback levels are compared."""

    FORKED = "forked"
    """From where the levels begin to differ, after the same turns."""
    INDEPENDENT = "independent"
    """Each level in separate episodes."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One run of an ablation."""

    level: str
    prefix: str = ""
    """Level of the base arm that a fork arm resumes from; empty for a base arm."""

    @property
    def forked(self) -> bool:
        """Whether the arm resumes another arm's episodes."""
        return bool(self.prefix)

    @property
    def name(self) -> str:
        """The name of the arm's folder."""
        return file_name(f"{self.prefix}-then-{self.level}" if self.forked else self.level)

    @property
    def base(self) -> Arm:
        """The arm that a fork arm resumes from."""
        return Arm(self.prefix)


def levels_of(text: str) -> tuple[str, ...]:
    """Split a comma-separated list of levels."""
    return tuple(name.strip() for name in text.split(","))


class Ablation(BaseModel):
    """All settings of an ablation, stored unchanged in its folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    factor: Annotated[
        Factor,
        Flag(
            "What is changed: feedback, mode, tools, scenario, or a flag below with its values.",
            metavar="NAME|FLAG=VALUE,VALUE",
            parse=str,
            default="feedback",
        ),
    ] = Factor.FEEDBACK
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
    """The feedback levels among `levels` that are not built in."""
    design: Annotated[
        Design,
        Flag("Fork where the levels begin to differ, or play each level from the start."),
    ] = Design.FORKED
    prefix_levels: Annotated[
        tuple[str, ...],
        Flag(
            "Fork only what was played under this level; may be repeated.  [default: each level]",
            names=("--prefix-level",),
        ),
    ] = ()
    """Levels under which whole episodes are played; empty for all."""
    continuations: Annotated[
        int,
        Field(ge=1, le=1000),
        Flag("Times that a forked episode is played on at each level; several show chance."),
    ] = 1
    confidence: Annotated[float, Field(ge=0.5, le=0.9999), Flag("Level of the intervals.")] = 0.95
    base: RunSettings = RunSettings()
    """Settings that all arms share, apart from the level."""

    def checked(self) -> Ablation:
        """Return the ablation after checks that do not depend on the data (see `conduct.check`).

        Raises:
            DesignError, LevelError, BadChoice: it cannot be played.
        """
        if not all(self.levels):
            raise DesignError("--levels has an empty level; name each, such as detailed,minimal")
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
                "a prefix level is for the forked design: elsewhere no turns are shared; leave it "
                "out"
            )
        if self.continuations > 1 and not (
            self.forks and self.base.epochs * self.continuations <= 100_000
        ):
            raise DesignError(
                "--continuations goes with the forked design, with at most "
                "100,000 in all epochs of an item; give fewer, or --epochs"
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
        """Check that each arm can be played, and that no two arms are the same run."""
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
        return self.fork_at is not None and self.design is Design.FORKED

    @property
    def fork_at(self) -> ForkAt | None:
        """Where episodes can be forked; None if the levels differ from the first request on."""
        if self.factor is Factor.SETTING:
            return fork_at(self.levels)
        return ForkAt.FAILURE if self.factor is Factor.FEEDBACK else None

    def branches_from(self, one: Attempt) -> bool:
        """Whether an episode of a base arm is forked."""
        match self.fork_at:
            case ForkAt.FAILURE:
                return one.failure is not None
            case ForkAt.FIRST_TURN:
                return one.score is not None and one.score.conduct.turns > 1
            case _:
                return True

    def fork(self, trace: Trace, arm: Arm, item: Item, *, origin: str) -> Fork | None:
        """Return the beginning of a branch; None if nothing in the trace differs."""
        settings = self.settings(arm)
        match self.fork_at:
            case ForkAt.LIMIT:
                return fork_within(trace, settings.episode_limits, origin=origin)
            case ForkAt.FIRST_TURN:
                tools = [item.all_tools[name] for name in trace.started.tools]
                results = results_of(settings.results, tools, item.digest)
                return fork_after(trace, 1, settings.feedback, results, origin=origin)
            case _:
                return fork(trace, settings.feedback, origin=origin)

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
            if self.forks:
                again = self.continuations > 1
                found += [Arm(one, prefix) for one in self.levels if again or one != prefix]
        return tuple(found)

    def branches(self, key: Key) -> tuple[Key, ...]:
        """Return the keys of an episode's branches in a fork arm: each has an epoch of its own,
        and so a seed of its own, the same at every level.
        """
        first = (key.epoch - 1) * self.continuations + 1
        return tuple(key._replace(epoch=first + n) for n in range(self.continuations))

    def settings(self, arm: Arm) -> RunSettings:
        """Return the settings of an arm's run.

        Raises:
            DesignError, LevelError, BadChoice: the factor has no such level.
        """
        found = self._at_level(arm)
        if not arm.forked or self.continuations == 1:
            return found
        return found.model_copy(update={"epochs": self.base.epochs * self.continuations})

    def _at_level(self, arm: Arm) -> RunSettings:
        match self.factor:
            case Factor.FEEDBACK:
                return self.base.model_copy(update={"feedback": self.verbosity(arm.level)})
            case Factor.SETTING:
                return varied(self.base, arm.level)
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
        """Return the feedback level with this name.

        Raises:
            LevelError: there is no such level.
        """
        own = next((template for template in self.templates if template.name == level), None)
        return own or named(level)
