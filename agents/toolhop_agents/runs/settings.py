"""The settings of a run as one value, which is written to the manifest.

Each field with a `Flag` is a flag of `toolhop run`, whose name, type, bounds, default and help are
defined only here (`toolhop_agents.cli.options`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
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
    pass_rate_of,
    shard_of,
    temperature_of,
)
from toolhop_agents.runs.ledger import RunLimits
from toolhop_env.feedback import Level, Verbosity
from toolhop_env.levels import level_of
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import ReasoningHistory
from toolhop_env.reading import CallFormat
from toolhop_env.results import checked_results
from toolhop_env.runs.elsewhere import checked_url
from toolhop_sandbox.base import Limits, Policy
from toolhop_sandbox.choose import Kind
from toolhop_sandbox.docker.engine import Transport
from toolhop_tools.blind.claims import Claim, claim_named
from toolhop_tools.perturb.perturbation import Perturbation
from toolhop_tools.scenarios.label import Scenario, scenarios_of

MAX_TOKENS = 2048
"""Default token limit of a reply, so that endless replies stop. ToolHop's evaluators allow 256
and 1,024; this leaves room for parallel calls. At 20 tokens a second it takes less than
`timeout_s`."""


OfPlayer = partial(Flag, section=Section.PLAYER)
OfItems = partial(Flag, section=Section.ITEMS)
OfAsking = partial(Flag, section=Section.ASKING)
OfRequests = partial(Flag, section=Section.REQUESTS)
OfStandIns = partial(Flag, section=Section.STAND_INS)
OfSandbox = partial(Flag, section=Section.SANDBOX)
OfLimits = partial(Flag, section=Section.LIMITS)
OfWhere = partial(Flag, section=Section.WHERE)
OfKeeping = partial(Flag, section=Section.KEEPING)
"""Flags of each section of help texts."""


def _shown(text: str) -> str:
    return str(Perturbation.parse(text))


class RunSettings(BaseModel):
    """Settings of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # fmt: off
    agent: Annotated[str | None, OfPlayer(
        "MODULE:NAME, an agent of your own, or a scripted one: oracle, as-listed, no-english, "
        "copy-from-question, frequency:DATA, do-nothing, constant:TEXT, faulty[:RATE], "
        "repairing[:RATE], predictions:FILE (answers out of a file), or one of the benchmark's "
        "own: gold, empty; NesTools also all-tools, renumbered; ToolBeHonest always-unsolvable; "
        "RelyToolBench all-tools, always-ask, always-give-up; scenarios goes-on, gives-up, asks, "
        "asks-when-missing, invents.  [default: oracle]",
        default="")] = "oracle"
    """None if `model` plays."""
    model: Annotated[str | None, OfPlayer("provider/model, such as openai/gpt-4o.")] = None
    """None if an agent plays."""
    base_url: Annotated[str | None, OfPlayer(
        "Base URL of the model's API, if not its provider's.", goes_with="model")] = None
    gguf: Annotated[Path | None, OfPlayer(
        "A model's GGUF file, served on this machine (extra local).", metavar="FILE",
        operational=True)] = None
    """If given, `model` is derived from the file's name."""
    gguf_context: Annotated[int, Field(ge=256), OfPlayer(
        "Context of a GGUF model in tokens, at most its own.", goes_with="gguf")] = CONTEXT
    gguf_threads: Annotated[Count, OfPlayer(
        "Processors that a GGUF model uses.  [default: all]",
        operational=True, goes_with="gguf")] = None
    chat_template: Annotated[str | None, OfPlayer(
        f"Chat template instead of the GGUF model's own: {CHATML}, or a Jinja file.",
        metavar="NAME|FILE", parse=read_chat_template, goes_with="gguf")] = None
    """Text of the template."""
    data: Annotated[str, OfItems(
        "A data set of `toolhop data list`, a file or folder, or READER:PATH.")] = "builtin"
    modes: Annotated[tuple[str, ...], OfAsking(
        "The benchmark's modes with commas, or all; ToolHop's are mandatory, free, direct.  "
        "[default: its first]", names=("--mode",), parse=modes_of)] = ()
    """Empty for the benchmark's first mode; a manifest has the modes played."""
    feedback: Annotated[Verbosity, OfAsking(
        f"Feedback to failed calls: {', '.join(Level)}, or [NAME=]FILE, a template.",
        metavar="LEVEL", default="detailed", parse=level_of)] = Level.DETAILED
    perturbation: Annotated[str, OfAsking(
        "How tools are shown, such as names=scrambled+distractors=5; docs/ablation.md lists them.",
        names=("--tools",), parse=_shown)] = "as-is"
    """Perturbation of the items' tools (`toolhop_tools.perturb`)."""
    results: Annotated[str, OfAsking(
        "Treatment of successful results: padded=N (tokens), injected (an instruction), or both "
        "joined by +.", parse=checked_results)] = "as-is"
    phrasing: Annotated[str, OfAsking(
        "Phrasing of the prompt; ToolHop has brief, formal and plain, which are system "
        "messages.", metavar="NAME")] = "usual"
    into: Annotated[tuple[Scenario, ...], OfItems(
        "Turn the items into scenarios first, as `toolhop perturb` does, and play these: all, or "
        "names such as missing-tool. An ablation compares each with plain.",
        metavar="NAME[,NAME]", parse=scenarios_of)] = ()
    """Scenarios to make from the items; empty for none (`toolhop_agents.runs.scenarios`)."""
    siblings: bool = True
    """Whether siblings of the scenarios are played too. Only `toolhop ablate` leaves them out."""
    forked_from: str | None = None
    """Run whose episodes are continued, relative to the folder of this one. Only `toolhop ablate`
    and `toolhop why` play such runs."""
    call_format: Annotated[CallFormat, OfAsking("How calls are written.")] = CallFormat.NATIVE
    answer_malformed: Annotated[bool, OfAsking(
        "Answer a malformed call with feedback, instead of ending the episode.")] = False
    single_shot: Annotated[bool, OfAsking(
        "Scenarios: asking the user or for tools ends the episode, as in RelyToolBench.")] = False
    template: Annotated[str | None, OfAsking(
        "A prompt template of your own.", metavar="FILE")] = None
    """Text of a template that replaces the built-in one."""
    judge: Annotated[str | None, OfStandIns(
        "Judge of what a benchmark cannot score by itself: mechanical (its own rules), overlap, "
        "minilm, file:PATH, stub:PATH, PROVIDER/MODEL; several with commas.  [default: the "
        "benchmark's]", operational=True)] = None
    """None for the benchmark's own judge, if any; a manifest has the judge used."""
    judge_votes: Annotated[int, Field(ge=1), OfStandIns(
        "Times that a judging model is asked each question; the majority counts.",
        operational=True, goes_with="judge")] = 1
    judge_base_url: Annotated[str | None, OfStandIns(
        "Base URL of the judge's API.",
        names=("--judge-base-url",), operational=True, goes_with="judge")] = None
    simulator: Annotated[str | None, OfStandIns(
        "PROVIDER/MODEL that answers in place of simulated tools.")] = None
    simulator_base_url: Annotated[str | None, OfStandIns(
        "Base URL of the simulator's API.",
        names=("--simulator-base-url",), goes_with="simulator")] = None
    user_model: Annotated[str | None, OfStandIns(
        "PROVIDER/MODEL that phrases the user's replies; a rule decides what they say.")] = None
    user_model_base_url: Annotated[str | None, OfStandIns(
        "Base URL of the user model's API.", goes_with="user_model")] = None
    limit: Annotated[Annotated[str, Field(coerce_numbers_to_str=True)] | None, OfItems(
        "10 for the first ten items, 10-20 for a range.")] = None
    sample_ids: Annotated[tuple[str, ...], OfItems(
        "Items by id; may be repeated.", names=("--sample-id",))] = ()
    pass_rate: Annotated[tuple[float, float] | None, OfItems(
        "Only items with such a pass rate in --profile, as 0.2-0.8.",
        metavar="LOW-HIGH", parse=pass_rate_of, goes_with="profile")] = None
    profile: Annotated[Path | None, OfItems(
        "Pass rates that `toolhop profile` wrote.", metavar="FILE", goes_with="pass_rate")] = None
    epochs: Annotated[int, Field(ge=1, le=100_000), OfItems("Times each item is played.")] = 1
    shard: Annotated[tuple[int, int] | None, OfItems(
        "Play only part I of N, every Nth episode; `toolhop merge` joins the parts.",
        metavar="I/N", parse=shard_of)] = None
    seed: Annotated[int, Field(ge=0), OfItems("Seed of all random choices.")] = 0
    approve: Annotated[bool, OfPlayer(
        "Ask at the terminal before each tool call; one episode at a time.")] = False
    executor: Annotated[Literal["local", "ray"], OfWhere(
        "Where the work runs: here, or on every node of a Ray cluster (extra ray).",
        operational=True)] = "local"
    ray_address: Annotated[str | None, OfWhere(
        "The cluster's head.  [default: the cluster of this machine, else a new one]",
        metavar="HOST:PORT", operational=True)] = None
    max_samples: Annotated[Count, OfKeeping(
        "Episodes at a time, on each node.", operational=True)] = None
    """None for one per processor with an agent, or 10 with a model."""
    max_connections: Annotated[Count, OfRequests(
        "Requests at a time; fewer while the model's server refuses.  [default: one for each "
        "episode]", operational=True)] = None
    sandbox: Annotated[Kind, OfSandbox("What isolates tools.")] = "auto"
    policy: Annotated[Policy, OfSandbox(
        "What tools' code may do: see docs/policy.md.")] = "restricted"
    sandbox_base: Annotated[str | None, OfSandbox(
        "Docker image with python3 to build the sandbox on.")] = None
    runtime: Annotated[str | None, OfSandbox(
        "Container runtime, such as runsc; it needs Docker.")] = None
    transport: Annotated[Transport, OfSandbox(
        "Connection to containers; remote engines need attach.")] = "auto"
    tool_timeout_s: Annotated[float, Field(ge=0.01, le=3600), OfSandbox("Seconds per call.")] = 10.0
    tool_memory_mib: Annotated[int, Field(ge=16, le=65536), OfSandbox("MiB per call.")] = 256
    turn_limit: Annotated[Count, OfLimits(
        "Replies per episode; a benchmark may have a default of its own.")] = 9
    call_limit: Annotated[Count, OfLimits("Calls per episode.")] = 64
    token_limit: Annotated[Count, OfLimits("Tokens per episode.")] = None
    time_limit_s: Annotated[Amount, OfLimits("Seconds per episode.")] = None
    cost_limit: Annotated[Amount, OfLimits("USD per episode.")] = None
    run_token_limit: Annotated[Count, OfLimits("Tokens in the whole run.", operational=True)] = None
    run_call_limit: Annotated[Count, OfLimits(
        "Tool calls in the whole run.", operational=True)] = None
    run_time_limit_s: Annotated[Amount, OfLimits(
        "Seconds of this session.", operational=True)] = None
    run_cost_limit: Annotated[Amount, OfLimits("USD in the whole run.", operational=True)] = None
    price: Annotated[str | None, OfRequests(
        "USD per million tokens, if the response states no cost.",
        metavar="IN,OUT[,CACHED]")] = None
    temperature: Annotated[float | None, OfRequests(
        "Sampling temperature; none leaves it to the provider, as reasoning models want it.",
        metavar="NUMBER|none", default="none", parse=temperature_of)] = None
    api: Annotated[Api, OfRequests(
        "Protocol of an openai/ model; responses is OpenAI's for reasoning models.")] = Api.CHAT
    stream: Annotated[Literal["on", "off"], OfRequests(
        "Stream replies, for servers that otherwise cut or refuse long ones.")] = "off"
    reasoning_effort: Annotated[Annotated[str, Field(min_length=1)] | None, OfRequests(
        "How much a reasoning model thinks, such as low, medium or high.  [default: the "
        "provider's]", metavar="EFFORT")] = None
    thinking_budget: Annotated[Count, OfRequests(
        "Maximum of thought tokens in a reply, if the provider takes such a limit.")] = None
    reasoning_history: Annotated[ReasoningHistory, OfRequests(
        "Thoughts of earlier turns that go back to the model; auto follows its "
        "provider.")] = ReasoningHistory.AUTO
    keep_thoughts: Annotated[Literal["on", "off"], OfRequests(
        "Keep thoughts in traces; off keeps only their lengths and digests, and prevents "
        "forking.")] = "on"
    strict_tools: Annotated[Literal["on", "off"], OfRequests(
        "Have the provider enforce the tools' schemas, if these allow it.")] = "off"
    tool_choice: Annotated[Literal["auto", "required", "none"] | None, OfRequests(
        "Whether the model has to call a tool.  [default: the provider's]")] = None
    parallel_tool_calls: Annotated[Literal["on", "off"] | None, OfRequests(
        "Allow several calls in a reply.  [default: the provider's]")] = None
    max_tokens: Annotated[Count, OfRequests(
        "Tokens per reply, reasoning included; none leaves it to the provider.",
        metavar="NUMBER|none", default=str(MAX_TOKENS), parse=max_tokens_of)] = MAX_TOKENS
    stop: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], OfRequests(
        "Text at which a reply ends; may be repeated.")] = ()
    request_options: Annotated[tuple[str, ...], OfRequests(
        "Another parameter of each request, such as top_p=0.9, as JSON or text; may be "
        "repeated.", names=("--request-option",), metavar="NAME=VALUE")] = ()
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False), OfRequests(
        "Seconds per request.", operational=True)] = 120.0
    max_retries: Annotated[int, Field(ge=0), OfRequests(
        "Retries of a failed request.", operational=True)] = 5
    retry_on_error: Annotated[int, Field(ge=0), OfKeeping(
        "Retries of an errored episode.", operational=True)] = 2
    cache: Annotated[Path | None, OfRequests(
        "Keep replies here and reuse them: none is paid for twice.",
        metavar="FOLDER", operational=True)] = None
    otel: Annotated[Literal["off", "spans", "content"], OfKeeping(
        "Send OpenTelemetry spans; content adds messages, calls and answers.",
        operational=True)] = "off"
    skip_broken: Annotated[bool, OfItems("Leave out items that cannot be used.")] = False
    certified_only: Annotated[Claim | None, BeforeValidator(
        lambda given: claim_named(str(given)) if given is not None else None), OfItems(
        "Only items for which `toolhop certify` shows this claim: executed, determined (proven), "
        "or read by blind readers.",
        metavar="[CLAIM]", parse=claim_named, alone=Claim.DETERMINED.value)] = None
    certificates: Annotated[Path | None, OfItems(
        "Certificates of the items, as `toolhop certify` writes them.  [default with "
        "--certified-only: certificates/DATA.jsonl, else those that come with the data]",
        metavar="FILE")] = None
    last_wins: Annotated[bool, OfItems(
        "If tools share a name, run the last one's code, as the official evaluator "
        "does.")] = False
    log_dir: Annotated[Path, OfKeeping("Where run folders go.", operational=True)] = Path("logs")
    segments_to: Annotated[str | None, OfKeeping(
        "Move packed episodes to an object store, such as s3://bucket/runs (extra fsspec).",
        metavar="URL", parse=checked_url, operational=True)] = None
    """Contains no credentials, since it is written to the manifest."""
    # fmt: on

    @property
    def agent_name(self) -> str:
        """Name of the agent or model."""
        return self.model or ("unnamed" if self.agent is None else self.agent)

    def check_limits(self) -> None:
        """Check the limits of episodes, of the run and of tools.

        Raises:
            ValueError: one is out of range.
        """
        _ = self.episode_limits, self.run_limits, self.tool_limits

    @property
    def episode_limits(self) -> EpisodeLimits:
        """Limits of each episode."""
        return EpisodeLimits(
            self.turn_limit, self.call_limit, self.token_limit, self.time_limit_s, self.cost_limit
        )

    @property
    def run_limits(self) -> RunLimits:
        """Limits of the whole run."""
        return RunLimits(
            tokens=self.run_token_limit,
            calls=self.run_call_limit,
            cost_usd=self.run_cost_limit,
            time_s=self.run_time_limit_s,
            known_costs=self.cost_limit is not None or self.run_cost_limit is not None,
        )

    @property
    def tool_limits(self) -> Limits:
        """Limits of each call."""
        return Limits(wall_s=self.tool_timeout_s, memory_mib=self.tool_memory_mib)


WHO_PLAYS = in_section(RunSettings, Section.PLAYER)
OF_REQUESTS = in_section(RunSettings, Section.REQUESTS)
"""Settings of model requests."""
OPERATIONAL = operational(RunSettings)
"""Settings that may differ between sessions of a run. A model's file may move; its content is
checked. Judges' answers are kept: a new judge is asked everything again, and figures are based
on its answers alone."""
GOES_WITH: Mapping[str, str] = {**dict.fromkeys(OF_REQUESTS, "model"), **goes_with(RunSettings)}
"""Settings that require another one."""
