"""Nested tasks: what they are made from is run, models are asked, and files are written."""
