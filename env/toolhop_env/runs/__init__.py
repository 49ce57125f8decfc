"""Runs on disk: their folders, their traces, and the results derived from them."""
