"""ToolHop: how agents play it."""
