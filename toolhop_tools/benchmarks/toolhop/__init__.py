"""ToolHop: reading and writing its files."""
