"""Hypothesis strategies from tool schemas: valid arguments, and arguments with one fault.

This package imports nothing: Hypothesis takes a third of a second to load, and runs do not need it.
"""
