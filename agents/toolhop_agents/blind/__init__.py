"""Asks blind readers, and keeps what they said."""
