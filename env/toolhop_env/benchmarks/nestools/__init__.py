"""NesTools: how its traces are scored."""
