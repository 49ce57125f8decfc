"""Scripted constructors: they answer the prompts of `toolhop construct` without a model."""
