"""Runs against each other, pair by pair: what changed, by how much, and whether it is chance."""
