"""Judges: who answers a benchmark's questions on a trace."""
