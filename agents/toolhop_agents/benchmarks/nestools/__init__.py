"""NesTools: how agents are asked."""
