"""Runs: settings, work units, execution, and the commands that show their results."""
