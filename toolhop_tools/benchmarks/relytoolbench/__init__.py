"""RelyToolBench: its files, read and written."""
