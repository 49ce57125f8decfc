"""A run on disk: its folder, the traces in it, and what they come to."""
