"""ToolBeHonest: how agents play it."""
