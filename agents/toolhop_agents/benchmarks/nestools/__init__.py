"""NesTools: how agents play it."""
