"""Properties that every tool should have, tested with generated calls in the sandbox."""
