"""Scenarios: what its traces score."""
