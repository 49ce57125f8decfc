"""`toolhop why`: which step lost an episode, tested by repairing it."""
