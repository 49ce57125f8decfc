"""ToolHop: how its traces are scored."""
