"""RelyToolBench: how agents are asked."""
