"""Compare runs pair by pair: what changed, by how much, and whether chance explains it."""
