"""What was measured, and how: commands that print the tables of the docs."""
