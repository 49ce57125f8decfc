"""Properties of tools: the command and its output."""
