"""Make items with models, stage by stage, and keep every reply that was paid for."""
