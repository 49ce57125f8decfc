"""Data cards: every figure is counted, and facts that nobody recorded are marked as not known."""
