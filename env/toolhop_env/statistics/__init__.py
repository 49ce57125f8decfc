"""Statistics of paired comparisons: pure functions of values, independent of runs and traces."""
