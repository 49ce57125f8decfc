"""Properties that every tool should have, tested by generated calls in the sandbox."""
