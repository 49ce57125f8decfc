"""What looks wrong with the harness, rather than with the model, in some runs."""
