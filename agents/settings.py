"""What a run was asked to do, as one value: it goes into the manifest as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agents.prompts import Mode
from env.feedback import Level
from env.limits import EpisodeLimits
from env.reading import Dialect
from sandbox.base import Limits, Policy
from sandbox.choose import Kind
from sandbox.engine import Transport


class RunSettings(BaseModel):
    """Settings of a run. Each is a flag of `toolhop run` by the same name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str = "builtin"
    agent: str | None = "oracle"
    """A scripted player; None where `model` plays."""
    model: str | None = None
    """`provider/model`; None where an agent plays."""
    base_url: str | None = None
    modes: tuple[Mode, ...] = (Mode.MANDATORY,)
    feedback: Level = Level.DETAILED
    dialect: Dialect = Dialect.NATIVE
    template: str | None = None
    """The text of a template that replaces the shipped one."""
    limit: str | None = None
    sample_ids: tuple[str, ...] = ()
    epochs: Annotated[int, Field(ge=1)] = 1
    seed: int = 0
    max_samples: Annotated[int, Field(ge=1)] | None = None
    """Episodes at a time; None for one a processor with an agent, 10 with a model."""
    sandbox: Kind = "auto"
    policy: Policy = "restricted"
    sandbox_base: str | None = None
    runtime: str | None = None
    transport: Transport = "auto"
    tool_timeout_s: float = 10.0
    tool_memory_mib: int = 256
    turn_limit: int | None = 9
    call_limit: int | None = 64
    token_limit: int | None = None
    time_limit_s: float | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None
    timeout_s: float = 120.0
    max_retries: int = 5
    retry_on_error: Annotated[int, Field(ge=0)] = 2
    """How often a void episode is played again."""
    last_wins: bool = False
    log_dir: Path = Path("logs")

    @property
    def player(self) -> str:
        """Name of whoever plays."""
        return self.model or self.agent or "unnamed"

    @property
    def episode_limits(self) -> EpisodeLimits:
        """The limits of each episode."""
        return EpisodeLimits(self.turn_limit, self.call_limit, self.token_limit, self.time_limit_s)

    @property
    def tool_limits(self) -> Limits:
        """The limits of each call."""
        return Limits(wall_s=self.tool_timeout_s, memory_mib=self.tool_memory_mib)
