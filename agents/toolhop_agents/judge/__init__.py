"""Judges, which answer a benchmark's questions on a trace."""
