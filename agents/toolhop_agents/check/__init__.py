"""Properties of tools: the command and what it prints."""
