"""Benchmarks, one folder each: their files are read and written here.

The same names are used in `toolhop_env.benchmarks`, where traces are scored, and in
`toolhop_agents.benchmarks`, where agents are prompted. Nothing outside a benchmark's folders names
it; code shared by several benchmarks is beside the folders.
"""

READ = ("toolhop", "nestools", "toolbehonest", "relytoolbench")
"""Built-in benchmarks with official files, which their ``reader`` module reads."""
OWN = (*READ, "scenarios")
"""All built-in benchmarks."""
