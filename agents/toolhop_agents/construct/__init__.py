"""Makes items: asks a model stage by stage, and keeps what was paid for."""
