"""NesTools: its files, read."""
