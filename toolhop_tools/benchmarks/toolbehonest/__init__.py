"""ToolBeHonest: reading and writing its files."""
