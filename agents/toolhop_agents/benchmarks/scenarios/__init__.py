"""Scenarios: how agents play them."""
