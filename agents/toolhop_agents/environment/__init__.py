"""Episodes for training loops and other harnesses: reset, step, reward, over one sandbox."""
