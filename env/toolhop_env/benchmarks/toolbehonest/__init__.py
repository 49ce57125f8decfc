"""ToolBeHonest: what its traces score."""
