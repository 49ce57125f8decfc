"""Items as a resources server of NeMo Gym. Needs `pip install nemo-gym aiohttp`; not in one
environment with toolhop-env, whose `openai` is newer. It plays by `toolhop openenv`:

    toolhop openenv --sessions 16 --port 8000
    TOOLHOP=http://127.0.0.1:8000 ...     # where NeMo Gym starts this server

Each rollout is a session there. Tools are routes, as NeMo's agents call them, whatever the name; so
feedback on tools that are not there is ours. Arguments that are not JSON are NeMo's.
"""

from __future__ import annotations

import os
from typing import Any

import aiohttp
from fastapi import Request, Response
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import PrivateAttr


class ItemRequest(BaseSeedSessionRequest):
    """A row's item."""

    item: str


class Session:
    """A session of `toolhop openenv`, over its WebSocket."""

    def __init__(self) -> None:
        """Not connected yet."""
        self.total = 0.0
        self.done = False

    async def reset(self, item: str) -> dict[str, Any]:
        """Begin an episode; what is seen of it."""
        self._client = aiohttp.ClientSession()
        self._socket = await self._client.ws_connect(os.environ["TOOLHOP"] + "/ws")
        return await self._asked("reset", {"item": item})

    async def step(self, action: dict[str, Any]) -> dict[str, Any]:
        """Take a turn; what is seen after it."""
        return await self._asked("step", action)

    async def close(self) -> None:
        """Give the seat back."""
        await self._client.close()

    async def _asked(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        await self._socket.send_json({"type": kind, "data": data})
        answer = await self._socket.receive_json()
        if answer["type"] == "error":
            raise RuntimeError(answer["data"])
        found = answer["data"]
        self.total += found.get("reward") or 0.0
        self.done = found.get("done", False)
        return found["observation"]


class ToolHopServer(SimpleResourcesServer):
    """Episodes by NeMo's session."""

    config: BaseResourcesServerConfig
    _sessions: dict[str, Session] = PrivateAttr(default_factory=dict)

    def setup_webserver(self):
        app = super().setup_webserver()
        app.post("/{tool}")(self.call)
        return app

    async def seed_session(self, request: Request, body: ItemRequest) -> BaseSeedSessionResponse:
        session = self._sessions[request.session[SESSION_ID_KEY]] = Session()
        await session.reset(body.item)
        return BaseSeedSessionResponse()

    async def call(self, request: Request, tool: str) -> Response:
        """Call a tool: the feedback, as text."""
        session = self._sessions[request.session[SESSION_ID_KEY]]
        if session.done:
            return Response("The episode is over.")
        given = (await request.body()).decode() or "{}"
        seen = await session.step({"calls": [{"name": tool, "arguments": given}]})
        return Response("\n".join(one["content"] for one in seen["messages"]))

    async def verify(self, request: Request, body: BaseVerifyRequest) -> BaseVerifyResponse:
        session = self._sessions.pop(request.session[SESSION_ID_KEY])
        if not session.done:
            await session.step({"text": body.response.output_text})
        await session.close()
        return BaseVerifyResponse(**body.model_dump(), reward=session.total)


async def row(item: str) -> dict[str, Any]:
    """A row of NeMo's data: prompt and tools, and the item that `seed_session` takes."""
    session = Session()
    seen = await session.reset(item)
    await session.close()
    tools = [{"type": "function", "strict": False, **one["function"]} for one in seen["tools"]]
    return {
        "item": item,
        "responses_create_params": {
            "input": seen["messages"],
            "tools": tools,
            "parallel_tool_calls": False,  # a turn is one call
        },
    }


if __name__ == "__main__":
    ToolHopServer.run_webserver()
