"""Making items: what each stage is asked, what its reply must hold, and when an item is accepted.

Nothing here asks a model. `toolhop_agents.construct` does, and keeps the ledger.
"""
