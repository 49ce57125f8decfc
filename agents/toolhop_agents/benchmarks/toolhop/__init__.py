"""ToolHop: how agents are asked."""
