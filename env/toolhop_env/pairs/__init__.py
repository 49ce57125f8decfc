"""Pairs of the same episodes under two conditions, and the figures that compare them."""
