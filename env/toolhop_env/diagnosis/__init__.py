"""What looks wrong with the harness in some runs, and not with the model."""
