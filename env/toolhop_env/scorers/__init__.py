"""The scorers of benchmarks: each a pure function of a trace and a judge's answers."""
