"""How a model is asked to think, as each client sends it. Pure."""

from __future__ import annotations

from toolhop_sandbox.outcome import JSON

LEAST_BUDGET = 1024
"""The smallest thinking budget that Anthropic accepts, in tokens."""


def thinking_parameters(
    model: str,
    *,
    effort: str | None,
    budget: int | None,
    temperature: float | None,
    max_tokens: int | None,
    tool_choice: str | None,
) -> dict[str, JSON]:
    """The request's parameters for thinking.

    Args:
        model: as ``--model`` takes it.
        effort: of `--reasoning-effort`; None leaves it to the provider.
        budget: of `--thinking-budget`, in tokens.
        temperature: that is sent; None for none.
        max_tokens: of a reply, thoughts included; None for none.
        tool_choice: of `--tool-choice`; None leaves it to the provider.

    Raises:
        ValueError: the provider refuses this together, or has no such parameter.
    """
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
        if max_tokens is not None and budget >= max_tokens:
            raise ValueError(
                f"--thinking-budget {budget} leaves nothing of --max-tokens {max_tokens}, which "
                "counts thoughts too; give a smaller budget or more tokens"
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
        if tool_choice == "required":
            raise ValueError(
                "--tool-choice required: Anthropic's models cannot be forced to call while "
                "they think; leave it out, or leave --reasoning-effort and --thinking-budget out"
            )
    return found


def _is_anthropics(model: str) -> bool:
    return model.removeprefix("litellm/").startswith("anthropic/") or "claude" in model
