"""Two conditions over the same episodes: their pairs, and the figures of a comparison."""
