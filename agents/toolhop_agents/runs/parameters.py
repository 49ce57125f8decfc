"""Request parameters derived from a run's settings. None of them may contain a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolhop_agents.models.cache import SECRET
from toolhop_agents.models.exchange import HEADERS, QUERY, Api
from toolhop_agents.models.wire_responses import NOT_TAKEN, check_shapes
from toolhop_agents.runs.flags import flag_name
from toolhop_agents.runs.settings import OF_REQUESTS, RunSettings
from toolhop_env.reading import CallFormat
from toolhop_sandbox.outcome import JSON
from toolhop_tools.secrets import REFERENCE

LEAST_BUDGET = 1024
"""The smallest thinking budget that Anthropic accepts, in tokens."""
SET_OTHERWISE: Mapping[str, str] = {
    **{name: f"use {flag_name(setting)}"
       for setting in ("model", "base_url", "seed", *OF_REQUESTS)
       for name in (setting, flag_name(setting).lstrip("-").replace("-", "_"))},
    **dict.fromkeys(("max_completion_tokens", "max_output_tokens"), "use --max-tokens"),
    "api_base": "use --base-url",
    "num_retries": "use --max-retries",
    "thinking": "use --thinking-budget or --reasoning-effort",
    **dict.fromkeys(
        ("messages", "input", "tools", "functions", "function_call", "n", "stream_options",
         "previous_response_id", "conversation"),
        "the episode decides it",
    ),
    **dict.fromkeys(("api_key", "authorization"), "it would stand in the manifest; use .env"),
}  # fmt: skip
"""Request parameters that `--request-option` cannot set, and why. Servers with OpenAI's protocol
define ``thinking`` themselves, so for them it is allowed."""


def request_parameters(settings: RunSettings) -> dict[str, JSON]:
    """Return the request parameters that have no setting of their own in `ModelOptions`.

    Raises:
        ValueError: an option is not NAME=VALUE, or must be set otherwise; or the provider does not
            accept the combination.
    """
    parameters: dict[str, JSON] = {"stop": list(settings.stop)} if settings.stop else {}
    for text in settings.request_options:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ValueError(f"--request-option {text!r} is not a NAME=VALUE, such as top_p=0.9")
        if name in parameters:
            raise ValueError(f"--request-option {name} is given twice; give it once")
        own = name == "thinking" and (settings.model or "").startswith("openai/")
        if name in SET_OTHERWISE and not own:
            raise ValueError(f"--request-option {name}: {SET_OTHERWISE[name]}")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
        _check_private(name, parameters[name])
    if settings.api is Api.RESPONSES and not (settings.model or "").startswith("openai/"):
        raise ValueError("--api responses goes with --model openai/NAME alone")
    if settings.api is Api.RESPONSES:
        if lacking := sorted(parameters.keys() & NOT_TAKEN):
            raise ValueError(f"--api responses: the protocol has no {lacking[0]}; leave it out")
        check_shapes(parameters)
    if settings.stream == "on":
        if (settings.model or "").removeprefix("litellm/").partition("/")[0] in {"", "openrouter"}:
            raise ValueError(
                "--stream on goes with a --model, and with OpenRouter's as openai/NAME alone, "
                "with its --base-url: litellm drops signatures of thoughts from its streams"
            )
        parameters["stream"] = True
        if settings.api is Api.CHAT:
            parameters["stream_options"] = {"include_usage": True}
    return parameters | _of_tools(settings) | _thinking(settings)


def _of_tools(settings: RunSettings) -> dict[str, JSON]:
    """Return the parameters that control tool calls."""
    found: dict[str, JSON] = {}
    if settings.tool_choice is not None:
        found["tool_choice"] = settings.tool_choice
    if settings.parallel_tool_calls is not None:
        found["parallel_tool_calls"] = settings.parallel_tool_calls == "on"
    if found and settings.call_format is CallFormat.TEXT:
        flag = f"--{next(iter(found)).replace('_', '-')}"
        raise ValueError(f"{flag}: in the text format no tools are sent; leave it out")
    return found


def _thinking(settings: RunSettings) -> dict[str, JSON]:
    """Return the parameters that control thinking. Raises ValueError if the provider refuses the
    combination.
    """
    model, temperature = settings.model or "", settings.temperature
    effort, budget = settings.reasoning_effort, settings.thinking_budget
    found: dict[str, JSON] = {}
    if effort is not None:
        found["reasoning_effort"] = effort
    if budget is not None:
        if effort is not None:
            raise ValueError(
                f"--thinking-budget {budget} and --reasoning-effort {effort} both say how much is "
                "thought; leave one of them out"
            )
        if model.startswith("openai/"):
            raise ValueError(
                f"--thinking-budget {budget}: OpenAI's protocol has no such parameter; use "
                "--reasoning-effort, or --request-option with the name that the server takes"
            )
        if settings.max_tokens is not None and budget >= settings.max_tokens:
            raise ValueError(
                f"--thinking-budget {budget} leaves nothing of --max-tokens {settings.max_tokens}, "
                "which counts thoughts too; give a smaller budget or more tokens"
            )
        if _is_anthropics(model) and budget < LEAST_BUDGET:
            raise ValueError(
                f"--thinking-budget {budget}: Anthropic's models take no less than {LEAST_BUDGET}"
            )
        found["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if found and effort != "none" and _is_anthropics(model):
        if temperature not in {None, 1.0}:
            raise ValueError(
                f"--temperature {temperature}: Anthropic's models take no other than 1 while they "
                "think; leave --temperature out"
            )
        if settings.tool_choice == "required":
            raise ValueError(
                "--tool-choice required: Anthropic's models cannot be forced to call while "
                "they think; leave it out, or leave --reasoning-effort and --thinking-budget out"
            )
    return found


def _is_anthropics(model: str) -> bool:
    return model.removeprefix("litellm/").startswith("anthropic/") or "claude" in model


def _check_private(name: str, value: JSON) -> None:
    """Check that a request parameter contains no secret, since it is written to the manifest."""
    fix = "it would stand in the manifest; use the provider's variable, or .env"
    if SECRET.fullmatch(name):
        raise ValueError(f"--request-option {name}: {fix}")
    if name == "headers":
        raise ValueError(f"--request-option {name}: use {HEADERS}")
    if name in (HEADERS, QUERY):
        parts = value.values() if isinstance(value, dict) else [None]
        if not all(isinstance(part, str) and REFERENCE.fullmatch(part) for part in parts):
            raise ValueError(
                f"--request-option {name}: values come from the environment, so that none stands "
                f"in the manifest; export a variable and give its name, such as {name}="
                '{"X-Token": "Bearer ${MY_TOKEN}"}'
            )
    elif isinstance(value, dict):
        for key, part in value.items():
            _check_private(key, part)
