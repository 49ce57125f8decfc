"""An MCP server with the tools of a rollout, for harnesses of verifiers. Needs verifiers.

One process serves all rollouts of an evaluation; a rollout's state lists its tools. Schemas are
served unchanged. Nothing runs here: results come from the taskset, which sees every call before the
harness does.
"""

from __future__ import annotations

from typing import Any

import mcp_types
import verifiers.v1 as vf
from mcp.server.mcpserver import MCPServer
from pydantic import Field

NOT_HERE = (
    "This harness runs calls without asking the rollout first, which the taskset needs. "
    "Use one that does, such as null."
)


class ToolsState(vf.State):
    """What the tool server needs to know about a rollout."""

    tools: list[dict[str, Any]] = Field(default_factory=list)
    """Name, description and parameters of each tool, in the order shown."""


class ItemTools(vf.Toolset[vf.SharedToolsetConfig, ToolsState]):
    """Lists the tools of the rollout that asks."""

    TOOL_PREFIX = None

    def register(self, mcp: MCPServer) -> None:
        """Answer ``tools/list`` with the original schemas, which `MCPServer` would derive from
        signatures, and refuse ``tools/call``.
        """

        async def listed(_: object, __: object) -> mcp_types.ListToolsResult:
            state = await self._pull_state()
            tools = state.tools if isinstance(state, ToolsState) else []
            return mcp_types.ListToolsResult(
                tools=[
                    mcp_types.Tool(
                        name=one["name"],
                        description=one["description"],
                        input_schema=one["parameters"],
                    )
                    for one in tools
                ]
            )

        async def called(_: object, __: object) -> mcp_types.CallToolResult:
            text = mcp_types.TextContent(type="text", text=NOT_HERE)
            return mcp_types.CallToolResult(content=[text], is_error=True)

        server = mcp._lowlevel_server  # noqa: SLF001 -- it has no public name
        server.add_request_handler("tools/list", mcp_types.PaginatedRequestParams, listed)
        server.add_request_handler("tools/call", mcp_types.CallToolRequestParams, called)


if __name__ == "__main__":
    ItemTools.run()
