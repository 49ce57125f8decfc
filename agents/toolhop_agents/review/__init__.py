"""Made data before people, on a page or a terminal: they answer first, then judge."""
