"""Generated items: the command and its output."""
