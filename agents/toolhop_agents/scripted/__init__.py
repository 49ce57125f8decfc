"""Agents that need no model: they write replies as a model does, and are read as one."""
