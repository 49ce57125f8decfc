"""RelyToolBench: what its traces score."""
