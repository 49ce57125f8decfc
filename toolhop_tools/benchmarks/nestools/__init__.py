"""NesTools: reading its files."""
