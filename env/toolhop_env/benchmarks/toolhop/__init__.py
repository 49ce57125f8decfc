"""ToolHop: what its traces score."""
