"""Data sets: the command, and its exports."""
