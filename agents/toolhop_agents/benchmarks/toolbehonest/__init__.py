"""ToolBeHonest: how agents are asked."""
