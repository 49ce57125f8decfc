"""RelyToolBench: reading and writing its files."""
