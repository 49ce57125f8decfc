"""What a run was asked to do, as one value: it goes into the manifest as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agents.prompts import Mode
from agents.runs.ledger import RunLimits
from env.feedback import Level, Verbosity
from env.limits import EpisodeLimits
from env.reading import Dialect
from sandbox.base import Limits, Policy
from sandbox.choose import Kind
from sandbox.engine import Transport

OPERATIONAL = frozenset(
    {
        "max_samples", "max_connections", "log_dir", "timeout_s", "max_retries", "retry_on_error",
        "run_token_limit", "run_call_limit", "run_time_limit_s", "run_cost_limit", "cache",
    }
)  # fmt: skip
"""Settings that change how far and how fast a run goes, and no result: they may differ from one
sitting of a run to the next."""


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
    feedback: Verbosity = Level.DETAILED
    presentation: str = "as-is"
    """How the items' tools are shown (`toolhop_tools.presentation`)."""
    forked_from: str | None = None
    """The run beside this one whose episodes are gone on with at another feedback level. Only
    `toolhop ablate` plays such a run."""
    dialect: Dialect = Dialect.NATIVE
    template: str | None = None
    """The text of a template that replaces the shipped one."""
    limit: str | None = None
    sample_ids: tuple[str, ...] = ()
    epochs: Annotated[int, Field(ge=1)] = 1
    seed: int = 0
    max_samples: Annotated[int, Field(ge=1)] | None = None
    """Episodes at a time; None for one a processor with an agent, 10 with a model."""
    max_connections: Annotated[int, Field(ge=1)] | None = None
    """Requests to the model at a time, fewer while it refuses; None for as many as episodes."""
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
    cost_limit: float | None = None
    """USD an episode."""
    run_token_limit: int | None = None
    run_call_limit: int | None = None
    run_time_limit_s: float | None = None
    run_cost_limit: float | None = None
    """USD the whole run."""
    price: str | None = None
    """USD for a million tokens, ``IN,OUT``, where neither the response nor the table tells."""
    cache: Path | None = None
    """A folder of replies to look in first; None asks for each."""
    temperature: float | None = 0.0
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    max_retries: Annotated[int, Field(ge=0)] = 5
    retry_on_error: Annotated[int, Field(ge=0)] = 2
    """How often a void episode is played again."""
    last_wins: bool = False
    skip_broken: bool = False
    """Leave out items that cannot be used instead of refusing the data."""
    certified_only: bool = False
    """Play only items that certificates prove."""
    certificates: Path | None = None
    """The file of certificates; None for none, or for the usual one of the data set."""
    log_dir: Path = Path("logs")

    @property
    def player(self) -> str:
        """Name of whoever plays."""
        return self.model or ("unnamed" if self.agent is None else self.agent)

    @property
    def episode_limits(self) -> EpisodeLimits:
        """The limits of each episode."""
        return EpisodeLimits(
            self.turn_limit, self.call_limit, self.token_limit, self.time_limit_s, self.cost_limit
        )

    @property
    def run_limits(self) -> RunLimits:
        """The limits of the whole run."""
        return RunLimits(
            tokens=self.run_token_limit,
            calls=self.run_call_limit,
            cost_usd=self.run_cost_limit,
            time_s=self.run_time_limit_s,
            known_costs=self.cost_limit is not None or self.run_cost_limit is not None,
        )

    @property
    def tool_limits(self) -> Limits:
        """The limits of each call."""
        return Limits(wall_s=self.tool_timeout_s, memory_mib=self.tool_memory_mib)
