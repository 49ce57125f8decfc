"""RelyToolBench: how its traces are scored."""
