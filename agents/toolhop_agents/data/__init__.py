"""Data sets: the command, and exports."""
