"""Measure the effect of one factor: play the same items under each level, and compare pairs."""
