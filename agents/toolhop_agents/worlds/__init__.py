"""Made items: the command and what it prints."""
