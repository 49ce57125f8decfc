"""Making nested tasks as NesTools has them: out of code that a model writes, out of certified
items, and out of a pool of tools.

Nothing here asks a model or runs a tool. `toolhop_agents.construct.nested` does.
"""
