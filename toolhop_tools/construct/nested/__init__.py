"""Building nested tasks as in NesTools: from model-written code, certified items or a tool pool.

Nothing here queries a model or runs a tool. `toolhop_agents.construct.nested` does.
"""
