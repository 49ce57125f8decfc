"""Profiles: the difficulty of items and tools for one agent, as a file and a table."""
