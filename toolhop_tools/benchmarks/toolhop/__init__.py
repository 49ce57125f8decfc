"""ToolHop: its files, read and written."""
