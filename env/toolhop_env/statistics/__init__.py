"""Statistics of paired comparisons: values in, values out; nothing of runs or traces."""
