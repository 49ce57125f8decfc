"""Agents without a model: they write replies as a model does, and are read the same way."""
