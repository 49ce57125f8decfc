"""Adapters, each through its harness's own entry; `python -m tests.adapters` has them all."""
