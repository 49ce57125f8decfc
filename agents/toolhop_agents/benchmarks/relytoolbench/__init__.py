"""RelyToolBench: how agents play it."""
