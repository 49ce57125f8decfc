"""What a run was asked to do, as one value: it goes into the manifest as it is.

Each field that has a `Flag` is a flag of `toolhop run`; name, type, bounds, default and help are
stated here alone (`toolhop_agents.cli.options`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from toolhop_agents.models.exchange import Api
from toolhop_agents.models.gguf import CHATML, CONTEXT, read_chat_template
from toolhop_agents.runs.flags import (
    Amount,
    Count,
    Flag,
    Section,
    goes_with,
    in_section,
    max_tokens_of,
    modes_of,
    operational,
    shard_of,
    temperature_of,
)
from toolhop_agents.runs.ledger import RunLimits
from toolhop_env.feedback import Level, Verbosity
from toolhop_env.levels import level_of
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import ReasoningHistory
from toolhop_env.reading import CallFormat
from toolhop_env.runs.elsewhere import checked_url
from toolhop_sandbox.base import Limits, Policy
from toolhop_sandbox.choose import Kind
from toolhop_sandbox.docker.engine import Transport
from toolhop_tools.blind.claims import Claim, claim_named
from toolhop_tools.perturb.perturbation import Perturbation
from toolhop_tools.scenarios.label import Scenario, scenarios_of

MAX_TOKENS = 2048
"""Tokens of a reply, so that one that loops ends. ToolHop's evaluators allow 256 and 1,024; this
leaves room for calls in parallel. At 20 tokens a second it takes less than `timeout_s`."""


def _shown(text: str) -> str:
    return str(Perturbation.parse(text))


class RunSettings(BaseModel):
    """Settings of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # fmt: off
    agent: Annotated[str | None, Flag(
        "MODULE:NAME, an agent of your own, or a scripted one: oracle, as-listed, no-english, "
        "copy-from-question, frequency:DATA, do-nothing, constant:TEXT, faulty[:RATE], "
        "repairing[:RATE], predictions:FILE (answers out of a file), or one of the benchmark's "
        "own: gold, empty; NesTools also all-tools, renumbered; ToolBeHonest always-unsolvable; "
        "RelyToolBench all-tools, always-ask, always-give-up; scenarios goes-on, gives-up, asks, "
        "asks-when-missing, invents.  [default: oracle]",
        default="", section=Section.PLAYER)] = "oracle"
    """None where `model` plays."""
    model: Annotated[str | None, Flag(
        "provider/model, such as openai/gpt-4o.", section=Section.PLAYER)] = None
    """None where an agent plays."""
    base_url: Annotated[str | None, Flag(
        "Base URL of the model's API, if not its provider's.",
        section=Section.PLAYER, goes_with="model")] = None
    gguf: Annotated[Path | None, Flag(
        "A model's GGUF file, served on this machine (extra local).", metavar="FILE",
        section=Section.PLAYER, operational=True)] = None
    """`model` is then made of the file's name."""
    gguf_context: Annotated[int, Field(ge=256), Flag(
        "Context of a GGUF model in tokens, at most its own.",
        section=Section.PLAYER, goes_with="gguf")] = CONTEXT
    gguf_threads: Annotated[Count, Flag(
        "Processors that a GGUF model uses.  [default: all]",
        section=Section.PLAYER, operational=True, goes_with="gguf")] = None
    chat_template: Annotated[str | None, Flag(
        f"Chat template instead of the GGUF model's own: {CHATML}, or a Jinja file.",
        metavar="NAME|FILE", parse=read_chat_template,
        section=Section.PLAYER, goes_with="gguf")] = None
    """The template's text."""
    data: Annotated[str, Flag(
        "A data set of `toolhop data list`, a file or folder, or READER:PATH.",
        section=Section.ITEMS)] = "builtin"
    modes: Annotated[tuple[str, ...], Flag(
        "The benchmark's modes with commas, or all; ToolHop's are mandatory, free, direct.  "
        "[default: its first]", names=("--mode",), parse=modes_of, section=Section.ASKING)] = ()
    """Empty for the benchmark's first; in a manifest those that were played."""
    feedback: Annotated[Verbosity, Flag(
        "What feedback says of failed calls: detailed, minimal, or [NAME=]FILE, a template.",
        metavar="LEVEL", default="detailed", parse=level_of,
        section=Section.ASKING)] = Level.DETAILED
    perturbation: Annotated[str, Flag(
        "How tools are shown, such as names=scrambled+distractors=5; docs/ablation.md lists them.",
        names=("--tools",), parse=_shown, section=Section.ASKING)] = "as-is"
    """How the items' tools are shown (`toolhop_tools.perturb`)."""
    into: Annotated[tuple[Scenario, ...], Flag(
        "Make scenarios of the items first, as `toolhop perturb` does, and play these: all, or "
        "names such as missing-tool. An ablation compares each with plain.",
        metavar="NAME[,NAME]", parse=scenarios_of, section=Section.ITEMS)] = ()
    """What items are made into; empty for nothing (`toolhop_agents.runs.scenarios`)."""
    siblings: bool = True
    """Whether the siblings of these are played too. Only `toolhop ablate` leaves them out."""
    forked_from: str | None = None
    """The run beside this one whose episodes are resumed at another feedback level. Only
    `toolhop ablate` plays such a run."""
    call_format: Annotated[CallFormat, Flag(
        "How calls are written.", section=Section.ASKING)] = CallFormat.NATIVE
    answer_malformed: Annotated[bool, Flag(
        "Answer a malformed call with feedback, instead of ending the episode.",
        section=Section.ASKING)] = False
    single_shot: Annotated[bool, Flag(
        "Scenarios: asking the user or for tools ends the episode, as in RelyToolBench.",
        section=Section.ASKING)] = False
    template: Annotated[str | None, Flag(
        "A prompt template of your own.", metavar="FILE", section=Section.ASKING)] = None
    """The text of a template that replaces the shipped one."""
    judge: Annotated[str | None, Flag(
        "Who answers what a benchmark cannot score by itself: mechanical (its own rules), "
        "overlap, minilm, file:PATH, stub:PATH, PROVIDER/MODEL; several with commas.  [default: "
        "the benchmark's]", section=Section.STAND_INS, operational=True)] = None
    """None where the benchmark has none either; in a manifest the one that was asked."""
    judge_votes: Annotated[int, Field(ge=1), Flag(
        "How often a judging model is asked each question; the majority counts.",
        section=Section.STAND_INS, operational=True, goes_with="judge")] = 1
    judge_base_url: Annotated[str | None, Flag(
        "Base URL of the judge's API.", names=("--judge-base-url",),
        section=Section.STAND_INS, operational=True, goes_with="judge")] = None
    simulator: Annotated[str | None, Flag(
        "PROVIDER/MODEL that answers in place of simulated tools.",
        section=Section.STAND_INS)] = None
    simulator_base_url: Annotated[str | None, Flag(
        "Base URL of the simulator's API.", names=("--simulator-base-url",),
        section=Section.STAND_INS, goes_with="simulator")] = None
    user_model: Annotated[str | None, Flag(
        "PROVIDER/MODEL that phrases the user's replies; a rule decides what they say.",
        section=Section.STAND_INS)] = None
    user_model_base_url: Annotated[str | None, Flag(
        "Base URL of the user model's API.",
        section=Section.STAND_INS, goes_with="user_model")] = None
    limit: Annotated[str | None, Flag(
        "10 for the first ten items, 10-20 for a range.", section=Section.ITEMS)] = None
    sample_ids: Annotated[tuple[str, ...], Flag(
        "Items by id; may be repeated.", names=("--sample-id",), section=Section.ITEMS)] = ()
    epochs: Annotated[int, Field(ge=1, le=100_000), Flag(
        "How often each item is played.", section=Section.ITEMS)] = 1
    shard: Annotated[tuple[int, int] | None, Flag(
        "Play part I of N alone, each Nth episode; `toolhop merge` puts the parts together.",
        metavar="I/N", parse=shard_of, section=Section.ITEMS)] = None
    seed: Annotated[int, Field(ge=0), Flag(
        "Seed of everything that is drawn.", section=Section.ITEMS)] = 0
    approve: Annotated[bool, Flag(
        "Ask at the terminal before each tool call; one episode at a time.",
        section=Section.PLAYER)] = False
    executor: Annotated[Literal["local", "ray"], Flag(
        "Where the work is done: here, or on each node of a Ray cluster (extra ray).",
        section=Section.WHERE, operational=True)] = "local"
    ray_address: Annotated[str | None, Flag(
        "The cluster's head.  [default: the cluster of this machine, else a new one]",
        metavar="HOST:PORT", section=Section.WHERE, operational=True)] = None
    max_samples: Annotated[Count, Flag(
        "Episodes at a time, on each node.", section=Section.KEEPING, operational=True)] = None
    """None for one a processor with an agent, 10 with a model."""
    max_connections: Annotated[Count, Flag(
        "Requests at a time; fewer while the model's server refuses.  [default: as many as "
        "episodes]", section=Section.REQUESTS, operational=True)] = None
    sandbox: Annotated[Kind, Flag("What isolates tools.", section=Section.SANDBOX)] = "auto"
    policy: Annotated[Policy, Flag(
        "What tools' code may do: see docs/policy.md.", section=Section.SANDBOX)] = "restricted"
    sandbox_base: Annotated[str | None, Flag(
        "Docker image with python3 to build the sandbox on.", section=Section.SANDBOX)] = None
    runtime: Annotated[str | None, Flag(
        "Container runtime, such as runsc; it needs Docker.", section=Section.SANDBOX)] = None
    transport: Annotated[Transport, Flag(
        "How containers are talked to; remote engines need attach.",
        section=Section.SANDBOX)] = "auto"
    tool_timeout_s: Annotated[float, Field(ge=0.01, le=3600), Flag(
        "Seconds per call.", section=Section.SANDBOX)] = 10.0
    tool_memory_mib: Annotated[int, Field(ge=16, le=65536), Flag(
        "MiB per call.", section=Section.SANDBOX)] = 256
    turn_limit: Annotated[Count, Flag(
        "Replies per episode; a benchmark may have a default of its own.",
        section=Section.LIMITS)] = 9
    call_limit: Annotated[Count, Flag("Calls per episode.", section=Section.LIMITS)] = 64
    token_limit: Annotated[Count, Flag("Tokens per episode.", section=Section.LIMITS)] = None
    time_limit_s: Annotated[Amount, Flag("Seconds per episode.", section=Section.LIMITS)] = None
    cost_limit: Annotated[Amount, Flag("USD per episode.", section=Section.LIMITS)] = None
    run_token_limit: Annotated[Count, Flag(
        "Tokens in the whole run.", section=Section.LIMITS, operational=True)] = None
    run_call_limit: Annotated[Count, Flag(
        "Tool calls in the whole run.", section=Section.LIMITS, operational=True)] = None
    run_time_limit_s: Annotated[Amount, Flag(
        "Seconds of this session.", section=Section.LIMITS, operational=True)] = None
    run_cost_limit: Annotated[Amount, Flag(
        "USD in the whole run.", section=Section.LIMITS, operational=True)] = None
    price: Annotated[str | None, Flag(
        "USD per million tokens, where the response states no cost.",
        metavar="IN,OUT[,CACHED]", section=Section.REQUESTS)] = None
    temperature: Annotated[float | None, Flag(
        "Sampling temperature; none leaves it to the provider, as reasoning models want it.",
        metavar="NUMBER|none", default="none", parse=temperature_of,
        section=Section.REQUESTS)] = None
    api: Annotated[Api, Flag(
        "Protocol of an openai/ model; responses is OpenAI's for reasoning models.",
        section=Section.REQUESTS)] = Api.CHAT
    stream: Annotated[Literal["on", "off"], Flag(
        "Have replies streamed, for servers that cut or refuse long ones otherwise.",
        section=Section.REQUESTS)] = "off"
    reasoning_effort: Annotated[Annotated[str, Field(min_length=1)] | None, Flag(
        "How much a reasoning model thinks, such as low, medium or high; the provider's default "
        "where not given.", metavar="EFFORT", section=Section.REQUESTS)] = None
    thinking_budget: Annotated[Count, Flag(
        "Tokens that a model may think in a reply, where its provider takes such a limit.",
        section=Section.REQUESTS)] = None
    reasoning_history: Annotated[ReasoningHistory, Flag(
        "Thoughts of earlier turns that go back to the model; auto does as its provider "
        "asks.", section=Section.REQUESTS)] = ReasoningHistory.AUTO
    keep_thoughts: Annotated[Literal["on", "off"], Flag(
        "Keep thoughts in traces; off keeps their lengths and digests, and forks no "
        "episode.", section=Section.REQUESTS)] = "on"
    strict_tools: Annotated[Literal["on", "off"], Flag(
        "Have the provider hold calls to the tools' schemas, where these allow it.",
        section=Section.REQUESTS)] = "off"
    tool_choice: Annotated[Literal["auto", "required", "none"] | None, Flag(
        "Whether the model has to call; the provider's default where not given.",
        section=Section.REQUESTS)] = None
    parallel_tool_calls: Annotated[Literal["on", "off"] | None, Flag(
        "Several calls in a reply; the provider's default where not given.",
        section=Section.REQUESTS)] = None
    max_tokens: Annotated[Count, Flag(
        "Tokens per reply, reasoning included; none leaves it to the provider.",
        metavar="NUMBER|none", default=str(MAX_TOKENS), parse=max_tokens_of,
        section=Section.REQUESTS)] = MAX_TOKENS
    stop: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Flag(
        "Text at which a reply ends; may be repeated.", section=Section.REQUESTS)] = ()
    request_options: Annotated[tuple[str, ...], Flag(
        "Another parameter of each request, such as top_p=0.9: JSON, or else text; may be "
        "repeated.", names=("--request-option",), metavar="NAME=VALUE",
        section=Section.REQUESTS)] = ()
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False), Flag(
        "Seconds per request.", section=Section.REQUESTS, operational=True)] = 120.0
    max_retries: Annotated[int, Field(ge=0), Flag(
        "Retries of a failed request.", section=Section.REQUESTS, operational=True)] = 5
    retry_on_error: Annotated[int, Field(ge=0), Flag(
        "Retries of an errored episode.", section=Section.KEEPING, operational=True)] = 2
    cache: Annotated[Path | None, Flag(
        "Keep replies here, and take those that are kept: none is paid for twice.",
        metavar="FOLDER", section=Section.REQUESTS, operational=True)] = None
    otel: Annotated[Literal["off", "spans", "content"], Flag(
        "Send OpenTelemetry spans; content adds what is said, called and answered.",
        section=Section.KEEPING, operational=True)] = "off"
    skip_broken: Annotated[bool, Flag(
        "Leave out items that cannot be used.", section=Section.ITEMS)] = False
    certified_only: Annotated[Claim | None, BeforeValidator(
        lambda given: claim_named(str(given)) if given is not None else None), Flag(
        "Only items of which `toolhop certify` shows this: executed, determined (proven), or read "
        "by blind readers.",
        metavar="[CLAIM]", parse=claim_named, alone=Claim.DETERMINED.value,
        section=Section.ITEMS)] = None
    certificates: Annotated[Path | None, Flag(
        "Certificates of the items, as `toolhop certify` writes them.  [default with "
        "--certified-only: certificates/DATA.jsonl, else what comes with the data]",
        metavar="FILE", section=Section.ITEMS)] = None
    last_wins: Annotated[bool, Flag(
        "Of tools that share a name run the last one's code, as the official evaluator "
        "does.", section=Section.ITEMS)] = False
    log_dir: Annotated[Path, Flag(
        "Where run folders go.", section=Section.KEEPING, operational=True)] = Path("logs")
    segments_to: Annotated[str | None, Flag(
        "Move packed episodes to an object store, such as s3://bucket/runs (extra fsspec).",
        metavar="URL", parse=checked_url, section=Section.KEEPING, operational=True)] = None
    """Without credentials: it stands in the manifest."""
    # fmt: on

    @property
    def agent_name(self) -> str:
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


WHO_PLAYS = in_section(RunSettings, Section.PLAYER)
OF_REQUESTS = in_section(RunSettings, Section.REQUESTS)
"""Settings of requests to the model."""
OPERATIONAL = operational(RunSettings)
"""They may differ from one session of a run to the next. A model's file may lie elsewhere; what is
in it is checked. A judge's answers are kept: another judge is asked everything anew, and figures
are made of its answers alone."""
GOES_WITH: Mapping[str, str] = {**dict.fromkeys(OF_REQUESTS, "model"), **goes_with(RunSettings)}
"""Settings that mean nothing without another one."""
