"""Blind readers: models plan calls from a question and documents; the plans are executed."""
