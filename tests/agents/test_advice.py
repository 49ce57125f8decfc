"""What a run is told where a server refuses: the server's own words, and what they support."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.serving import Server
from toolhop_agents.models.base import ModelFault
from toolhop_agents.models.clients import open_model
from toolhop_agents.models.exchange import ModelOptions
from toolhop_env.messages import UserMessage

VLLM = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
LONG = "value " * 300 + "end"


def told(name: str, status: int, body: dict[str, Any]) -> str:
    async def ask(url: str) -> str:
        async with open_model(name, ModelOptions(base_url=url, max_retries=0)) as model:
            with pytest.raises(ModelFault) as caught:
                await model.reply([UserMessage("Q?")], [])
            return str(caught.value)

    with Server(lambda exchange: exchange.send(body, status)) as server:
        return anyio.run(ask, f"{server.base_url}/v1")


def fields(message: str, **more: object) -> dict[str, Any]:
    return {"error": {"message": message, "type": "BadRequestError", **more}}


CASES = {
    "vLLM without a parser": (
        {"object": "error", "message": VLLM, "type": "BadRequestError", "param": None, "code": 400},
        ("--enable-auto-tool-choice and --tool-call-parser NAME", "--call-format text"),
        ("--temperature", "--max-tokens"),
    ),
    "a parameter that is named": (
        fields("Unsupported value", param="temperature", code="unsupported_value"),
        ("code unsupported_value, param temperature", "--temperature none"),
        ("--max-tokens", "--call-format"),
    ),
    "a parameter within tools": (
        fields("Invalid schema", param="tools[0].function.parameters", code="invalid"),
        ("param tools[0].function.parameters", "--call-format text"),
        ("--temperature",),
    ),
    "a parameter that no flag sets": (
        fields("No such thing", param="logit_bias", code=None),
        ("it names the parameter logit_bias",),
        ("--temperature", "--max-tokens", "--call-format"),
    ),
    "nothing but words": (
        fields(f"temperature and max_tokens of {LONG}"),
        (f"temperature and max_tokens of {LONG}", "the server refuses the request itself"),
        ("--temperature", "--max-tokens", "--call-format"),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("client", ["openai/x", "litellm/openai/x"])
def test_advice_is_what_the_error_states(client: str, name: str) -> None:
    body, allowed, absent = CASES[name]
    text = told(client, 400, body)
    assert all(part in text for part in allowed), text
    fix = text.partition("fix: ")[2]
    assert fix
    assert not [part for part in absent if part in fix], text
    message = body.get("message") or body["error"]["message"]
    assert message in text
