"""Scenarios: how its traces are scored."""
