"""Scenarios: how agents are asked."""
