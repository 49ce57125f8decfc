"""ToolBeHonest: how its traces are scored."""
