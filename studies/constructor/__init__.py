"""Scripted constructors and readers: models without a model, for measurements and tests."""
