"""A run: what was asked for, how it is played, what is kept of it."""
