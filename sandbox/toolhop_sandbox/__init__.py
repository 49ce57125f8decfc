"""Isolated execution of untrusted Python functions: source text in, an outcome out."""
