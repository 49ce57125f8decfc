"""Episodes for training loops and other harnesses: reset, step and reward on a shared sandbox."""
