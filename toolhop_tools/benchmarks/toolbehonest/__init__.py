"""ToolBeHonest: its files, read and written."""
