"""Ask blind readers for plans, and run the plans."""
