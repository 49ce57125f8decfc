"""NesTools: what its traces score."""
