"""Adapters to other harnesses. Each module needs its harness, installed by an extra."""
