"""Asks blind readers, and runs their plans."""
