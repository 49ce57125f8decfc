"""One folder a benchmark: here its files are read and written.

The same names stand in `toolhop_env.benchmarks`, where traces are scored, and in
`toolhop_agents.benchmarks`, which says how agents are asked. Nothing outside of a benchmark's
folders names it; whatever is common to several stands beside the folders.
"""

READ = ("toolhop", "nestools", "toolbehonest", "relytoolbench")
"""The product's own benchmarks that have official files, which their ``reader`` reads."""
OWN = (*READ, "scenarios")
"""All of the product's own."""
