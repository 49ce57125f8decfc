"""Building items: the prompt of each stage, the checks of its reply, and the acceptance criteria.

Nothing here queries a model. `toolhop_agents.construct` does, and writes the ledger.
"""
