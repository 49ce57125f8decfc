"""Hypothesis strategies from tool schemas: valid arguments, and arguments with one fault.

Nothing is imported here: hypothesis takes a third of a second to load, and a run has no use for it.
"""
