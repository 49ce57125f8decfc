"""A seat at an episode, for whatever shows one to a person or speaks a protocol."""
